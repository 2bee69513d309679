/* Deliberately missing: the compiler reports it, so nothing fails at run time. */
#error "firstbyte's runtime has no dynamic loading: its programs are static, which is why they start fast (<dlfcn.h>)"
