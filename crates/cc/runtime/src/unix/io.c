#include "../internal.h"
#include <unistd.h>

ssize_t read(int descriptor, void *into, size_t size)
{
    return __fb_return(syscall3(SYS_read, descriptor, into, size));
}

ssize_t write(int descriptor, const void *bytes, size_t length)
{
    return __fb_return(syscall3(SYS_write, descriptor, bytes, length));
}

int close(int descriptor)
{
    return (int)__fb_return(syscall1(SYS_close, descriptor));
}
