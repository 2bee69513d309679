/* Deliberately missing: found out by the compiler, not at run time. */
#error "firstbyte's runtime has no tables of its own: qsort and bsearch are in <stdlib.h> (<search.h>)"
