/* Deliberately missing: found out by the compiler, not at run time. */
#error "firstbyte's runtime has no basename and dirname: strrchr is in <string.h> (<libgen.h>)"
