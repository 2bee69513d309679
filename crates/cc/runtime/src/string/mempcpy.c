#include "../internal.h"
#include <string.h>

void *mempcpy(void *restrict to, const void *restrict from, size_t length)
{
    return (unsigned char *)memcpy(to, from, length) + length;
}
