/* Deliberately missing: found out by the compiler, not at run time. */
#error "firstbyte's runtime has no timeval: clock_gettime is in <time.h> (<sys/time.h>)"
