/* Deliberately missing: the compiler reports it, so nothing fails at run time. */
#error "firstbyte's runtime has no select: poll is in <poll.h> (<sys/select.h>)"
