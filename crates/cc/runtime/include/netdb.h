/* Deliberately missing: the compiler reports it, so nothing fails at run time. */
#error "firstbyte's runtime has no name resolution: use a full C library (<netdb.h>)"
