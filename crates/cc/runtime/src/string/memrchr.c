#include "../internal.h"
#include <string.h>

void *memrchr(const void *bytes, int c, size_t length)
{
    const unsigned char *first = bytes;
    while (length--)
        if (first[length] == (unsigned char)c)
            return (void *)(first + length);
    return NULL;
}
