/* Deliberately missing: the compiler reports it, so nothing fails at run time. */
#error "firstbyte's runtime has no file-system statistics (<sys/statvfs.h>)"
