/* Deliberately missing: the compiler reports it, so nothing fails at run time. */
#error "firstbyte's runtime has no directory streams: opendir is in glibc and musl (<dirent.h>)"
