/* Deliberately missing: found out by the compiler, not at run time. */
#error "firstbyte's runtime has no floating-point environment: rounding is to nearest, traps are off (<fenv.h>)"
