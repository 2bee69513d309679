#include "word.h"

char *strchrnul(const char *string, int c)
{
    for (; !aligned(string); string++)
        if (!*string || *string == (char)c)
            return (char *)string;
    for (;; string += sizeof(word)) {
        word bytes = *(const word *)string;
        if (HAS_ZERO(bytes) || HAS_ZERO(bytes ^ EACH_BYTE(c)))
            break;
    }
    while (*string && *string != (char)c)
        string++;
    return (char *)string;
}

char *strchr(const char *string, int c)
{
    char *found = strchrnul(string, c);
    return *found == (char)c ? found : NULL;
}
