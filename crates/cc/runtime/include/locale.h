/* Deliberately missing: found out by the compiler, not at run time. */
#error "firstbyte's runtime has no locales: text is bytes, and the C locale is the only one (<locale.h>)"
