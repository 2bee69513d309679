/* Deliberately missing: found out by the compiler, not at run time. */
#error "firstbyte's runtime has no syscall(): its own calls are in <unistd.h> (<sys/syscall.h>)"
