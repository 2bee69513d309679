/* Deliberately missing: the compiler reports it, so nothing fails at run time. */
#error "firstbyte's runtime has no processor times: clock_gettime is in <time.h> (<sys/times.h>)"
