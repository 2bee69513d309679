/* Deliberately missing: the compiler reports it, so nothing fails at run time. */
#error "firstbyte's runtime has no resource limits or usage (<sys/resource.h>)"
