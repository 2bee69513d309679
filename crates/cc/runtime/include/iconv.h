/* Deliberately missing: the compiler reports it, so nothing fails at run time. */
#error "firstbyte's runtime has no wide characters or character sets: text is bytes (<iconv.h>)"
