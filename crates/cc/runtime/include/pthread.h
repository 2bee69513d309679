/* Deliberately missing: the compiler reports it, so nothing fails at run time. */
#error "firstbyte's runtime has no threads: a process of one thread needs no thread-local storage, locks or start-up work for them (<pthread.h>)"
