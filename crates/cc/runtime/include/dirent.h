/* Deliberately missing: found out by the compiler, not at run time. */
#error "firstbyte's runtime has no reading of folders: glibc or musl has opendir (<dirent.h>)"
