/* The compiler cannot see the arguments, so floating point is always linked. */
#include "format.h"

static int format_any(FILE *stream, const char *format, va_list list)
{
    __fb_link_floating_point();
    return __fb_format(stream, format, list);
}

int vprintf(const char *restrict format, va_list list)
{
    return format_any(stdout, format, list);
}

int vfprintf(FILE *restrict stream, const char *restrict format, va_list list)
{
    return format_any(stream, format, list);
}
