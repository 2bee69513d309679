#include "format.h"

int snprintf(char *restrict string, size_t size, const char *restrict format, ...)
{
    va_list list;
    va_start(list, format);
    int length = __fb_format_to_string(string, size, format, list);
    va_end(list);
    return length;
}
