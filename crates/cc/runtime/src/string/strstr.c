#include "../internal.h"
#include <string.h>

char *strstr(const char *string, const char *needle)
{
    return memmem(string, strlen(string), needle, strlen(needle));
}
