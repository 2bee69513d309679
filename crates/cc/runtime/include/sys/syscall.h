/* Deliberately missing: the compiler reports it, so nothing fails at run time. */
#error "firstbyte's runtime has no syscall(): its own calls are in <unistd.h> (<sys/syscall.h>)"
