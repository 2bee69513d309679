/* Deliberately missing: the compiler reports it, so nothing fails at run time. */
#error "firstbyte's runtime has no ioctl: isatty is in <unistd.h> (<sys/ioctl.h>)"
