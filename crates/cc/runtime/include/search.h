/* Deliberately missing: the compiler reports it, so nothing fails at run time. */
#error "firstbyte's runtime has no hash tables or trees: qsort and bsearch are in <stdlib.h> (<search.h>)"
