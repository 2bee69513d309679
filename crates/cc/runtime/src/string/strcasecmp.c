#include "../internal.h"
#include <ctype.h>
#include <string.h>

int strncasecmp(const char *left, const char *right, size_t limit)
{
    const unsigned char *a = (const unsigned char *)left, *b = (const unsigned char *)right;
    for (; limit && *a && tolower(*a) == tolower(*b); limit--, a++)
        b++;
    return limit ? tolower(*a) - tolower(*b) : 0;
}

int strcasecmp(const char *left, const char *right)
{
    return strncasecmp(left, right, SIZE_MAX);
}
