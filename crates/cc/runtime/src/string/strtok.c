#include "../internal.h"
#include <string.h>

char *strtok_r(char *restrict string, const char *restrict delimiters, char **restrict next)
{
    if (!string)
        string = *next;
    string += strspn(string, delimiters);
    char *end = string + strcspn(string, delimiters);
    *next = *end ? end + 1 : end;
    if (end == string)
        return NULL;
    *end = '\0';
    return string;
}

char *strtok(char *restrict string, const char *restrict delimiters)
{
    static char *next;
    return strtok_r(string, delimiters, &next);
}

char *strsep(char **restrict string, const char *restrict delimiters)
{
    char *token = *string;
    if (!token)
        return NULL;
    char *end = strpbrk(token, delimiters);
    if (end)
        *end++ = '\0';
    *string = end;
    return token;
}
