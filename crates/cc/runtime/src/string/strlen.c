#include "word.h"

size_t strlen(const char *string)
{
    const char *end = string;
    for (; !aligned(end); end++)
        if (!*end)
            return (size_t)(end - string);
    while (!HAS_ZERO(*(const word *)end))
        end += sizeof(word);
    while (*end)
        end++;
    return (size_t)(end - string);
}
