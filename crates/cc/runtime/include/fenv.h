/* Deliberately missing: the compiler reports it, so nothing fails at run time. */
#error "firstbyte's runtime has no floating-point environment: it rounds to nearest, without traps (<fenv.h>)"
