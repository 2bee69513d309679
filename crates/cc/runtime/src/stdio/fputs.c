#include "stream.h"
#include <string.h>

int fputs(const char *restrict string, FILE *restrict stream)
{
    size_t length = strlen(string);
    if (__fb_write(stream, string, length) != length || __fb_settle(stream))
        return EOF;
    return 1;
}
