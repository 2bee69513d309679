/* Deliberately missing: the compiler reports it, so nothing fails at run time. */
#error "firstbyte's runtime has no locales: text is bytes, and the C locale is the only one (<locale.h>)"
