#include "../internal.h"
#include <stdlib.h>
#include <string.h>

char *strndup(const char *string, size_t limit)
{
    size_t length = strnlen(string, limit);
    char *copy = malloc(length + 1);
    if (!copy)
        return NULL;
    copy[length] = '\0';
    return memcpy(copy, string, length);
}

char *strdup(const char *string)
{
    return strndup(string, SIZE_MAX);
}
