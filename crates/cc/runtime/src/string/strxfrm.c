#include "../internal.h"
#include <string.h>

size_t strxfrm(char *restrict to, const char *restrict from, size_t size)
{
    size_t length = strlen(from);
    if (length < size)
        strcpy(to, from);
    return length;
}
