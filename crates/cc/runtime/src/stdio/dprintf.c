#include "format.h"

int dprintf(int descriptor, const char *restrict format, ...)
{
    va_list list;
    va_start(list, format);
    int length = __fb_format_to_descriptor(descriptor, format, list);
    va_end(list);
    return length;
}
