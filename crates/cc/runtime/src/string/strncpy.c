#include "../internal.h"
#include <string.h>

char *stpncpy(char *restrict to, const char *restrict from, size_t size)
{
    size_t length = strnlen(from, size);
    memcpy(to, from, length);
    memset(to + length, 0, size - length);
    return to + length;
}

char *strncpy(char *restrict to, const char *restrict from, size_t size)
{
    stpncpy(to, from, size);
    return to;
}
