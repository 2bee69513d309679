/* Deliberately missing: found out by the compiler, not at run time. */
#error "firstbyte's runtime has no gathered writes: write is in <unistd.h>, and stdio gathers (<sys/uio.h>)"
