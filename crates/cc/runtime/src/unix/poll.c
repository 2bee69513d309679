#include "../internal.h"
#include <poll.h>
#include <time.h>

int poll(struct pollfd *descriptors, nfds_t count, int milliseconds)
{
    struct timespec limit = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000L};
    return (int)__fb_return(syscall5(SYS_ppoll, descriptors, count, milliseconds < 0 ? NULL : &limit, NULL, 0));
}
