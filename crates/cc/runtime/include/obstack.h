/* Deliberately missing: the compiler reports it, so nothing fails at run time. */
#error "firstbyte's runtime has no obstacks: malloc is in <stdlib.h> (<obstack.h>)"
