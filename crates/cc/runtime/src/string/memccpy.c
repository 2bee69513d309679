#include "../internal.h"
#include <string.h>

void *memccpy(void *restrict to, const void *restrict from, int c, size_t length)
{
    const unsigned char *found = memchr(from, c, length);
    size_t part = found ? (size_t)(found - (const unsigned char *)from) + 1 : length;
    memcpy(to, from, part);
    return found ? (unsigned char *)to + part : NULL;
}
