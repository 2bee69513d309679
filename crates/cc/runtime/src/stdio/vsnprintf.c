/* The compiler cannot see the arguments, so floating point is always linked. */
#include "format.h"

int vsnprintf(char *restrict string, size_t size, const char *restrict format, va_list list)
{
    __fb_link_floating_point();
    return __fb_format_to_string(string, size, format, list);
}

int vsprintf(char *restrict string, const char *restrict format, va_list list)
{
    return vsnprintf(string, INT_MAX, format, list);
}

int vdprintf(int descriptor, const char *restrict format, va_list list)
{
    __fb_link_floating_point();
    return __fb_format_to_descriptor(descriptor, format, list);
}
