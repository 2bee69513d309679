/* Deliberately missing: found out by the compiler, not at run time. */
#error "firstbyte's runtime has no error(): err and warn are in <err.h> (<error.h>)"
