#include "format.h"

int sprintf(char *restrict string, const char *restrict format, ...)
{
    va_list list;
    va_start(list, format);
    int length = __fb_format_to_string(string, INT_MAX, format, list);
    va_end(list);
    return length;
}
