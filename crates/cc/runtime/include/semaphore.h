/* Deliberately missing: found out by the compiler, not at run time. */
#error "firstbyte's runtime has no threads (<semaphore.h>)"
