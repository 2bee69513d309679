/* Deliberately missing: the compiler reports it, so nothing fails at run time. */
#error "firstbyte's runtime has no timeval: clock_gettime is in <time.h> (<sys/time.h>)"
