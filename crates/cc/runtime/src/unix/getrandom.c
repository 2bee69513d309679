#include "../internal.h"
#include <sys/random.h>

ssize_t getrandom(void *into, size_t size, unsigned flags)
{
    return __fb_return(syscall3(SYS_getrandom, into, size, flags));
}
