/* Deliberately missing: found out by the compiler, not at run time. */
#error "firstbyte's runtime has no user database: reading it is the business of a full C library (<pwd.h>)"
