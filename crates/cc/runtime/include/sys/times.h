/* Deliberately missing: found out by the compiler, not at run time. */
#error "firstbyte's runtime has no processor times: clock_gettime is in <time.h> (<sys/times.h>)"
