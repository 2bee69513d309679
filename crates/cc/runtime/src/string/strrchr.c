#include "../internal.h"
#include <string.h>

char *strrchr(const char *string, int c)
{
    return memrchr(string, c, strlen(string) + 1);
}
