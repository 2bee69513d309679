/* Deliberately missing: the compiler reports it, so nothing fails at run time. */
#error "firstbyte's runtime has no gathered writes: write is in <unistd.h>, and stdio has buffers (<sys/uio.h>)"
