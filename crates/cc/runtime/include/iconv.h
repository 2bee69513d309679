/* Deliberately missing: found out by the compiler, not at run time. */
#error "firstbyte's runtime has no wide characters or character sets: text is bytes (<iconv.h>)"
