/* Deliberately missing: found out by the compiler, not at run time. */
#error "firstbyte's runtime has no limits or usage of resources (<sys/resource.h>)"
