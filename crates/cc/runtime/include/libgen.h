/* Deliberately missing: the compiler reports it, so nothing fails at run time. */
#error "firstbyte's runtime has no basename and dirname: strrchr is in <string.h> (<libgen.h>)"
