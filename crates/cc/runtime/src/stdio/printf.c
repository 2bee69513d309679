#include "format.h"

int printf(const char *restrict format, ...)
{
    va_list list;
    va_start(list, format);
    int length = __fb_format(stdout, format, list);
    va_end(list);
    return length;
}
