#include "stream.h"
#include <string.h>

int puts(const char *string)
{
    size_t length = strlen(string);
    if (__fb_write(stdout, string, length) != length || __fb_write(stdout, "\n", 1) != 1 || __fb_settle(stdout))
        return EOF;
    return 1;
}
