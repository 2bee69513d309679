/* The compiler cannot see the arguments, so floating point is always linked. */
#include "format.h"
#include <err.h>
#include <stdlib.h>

void __fb_warn(const char *, va_list, const int *);

void vwarn(const char *format, va_list list)
{
    int number = errno;
    __fb_link_floating_point();
    __fb_warn(format, list, &number);
    errno = number;
}

void vwarnx(const char *format, va_list list)
{
    __fb_link_floating_point();
    __fb_warn(format, list, NULL);
}

void verr(int status, const char *format, va_list list)
{
    vwarn(format, list);
    exit(status);
}

void verrx(int status, const char *format, va_list list)
{
    vwarnx(format, list);
    exit(status);
}
