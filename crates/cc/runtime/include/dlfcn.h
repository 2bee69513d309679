/* Deliberately missing: found out by the compiler, not at run time. */
#error "firstbyte's runtime has no dynamic loading: programs are static, and that is why they start fast (<dlfcn.h>)"
