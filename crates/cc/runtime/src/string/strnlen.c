#include "../internal.h"
#include <string.h>

size_t strnlen(const char *string, size_t limit)
{
    const char *end = memchr(string, '\0', limit);
    return end ? (size_t)(end - string) : limit;
}
