#include "format.h"

int fprintf(FILE *restrict stream, const char *restrict format, ...)
{
    va_list list;
    va_start(list, format);
    int length = __fb_format(stream, format, list);
    va_end(list);
    return length;
}
