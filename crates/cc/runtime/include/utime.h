/* Deliberately missing: found out by the compiler, not at run time. */
#error "firstbyte's runtime has no setting of file times (<utime.h>)"
