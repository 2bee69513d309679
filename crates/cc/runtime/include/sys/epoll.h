/* Deliberately missing: found out by the compiler, not at run time. */
#error "firstbyte's runtime has no epoll: poll is in <poll.h> (<sys/epoll.h>)"
