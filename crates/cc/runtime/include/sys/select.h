/* Deliberately missing: found out by the compiler, not at run time. */
#error "firstbyte's runtime has no select: poll is in <poll.h> (<sys/select.h>)"
