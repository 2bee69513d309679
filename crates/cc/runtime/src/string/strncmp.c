#include "../internal.h"
#include <string.h>

int strncmp(const char *left, const char *right, size_t limit)
{
    const unsigned char *a = (const unsigned char *)left, *b = (const unsigned char *)right;
    for (; limit && *a && *a == *b; limit--, a++)
        b++;
    return limit ? *a - *b : 0;
}
