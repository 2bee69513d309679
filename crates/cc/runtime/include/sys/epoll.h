/* Deliberately missing: the compiler reports it, so nothing fails at run time. */
#error "firstbyte's runtime has no epoll: poll is in <poll.h> (<sys/epoll.h>)"
