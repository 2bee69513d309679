/* Deliberately missing: found out by the compiler, not at run time. */
#error "firstbyte's runtime has no file locks (<sys/file.h>)"
