#include "../internal.h"

/* The kernel returns errors as -errno, from -4095 to -1, and nothing else in that range (man 2 syscall). */
long __fb_return(long result)
{
    if ((unsigned long)result > -4096UL) {
        errno = (int)-result;
        return -1;
    }
    return result;
}
