/* Deliberately missing: the compiler reports it, so nothing fails at run time. */
#error "firstbyte's runtime has no translations: text is bytes, and the C locale is the only one (<libintl.h>)"
