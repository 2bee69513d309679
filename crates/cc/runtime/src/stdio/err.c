#include "format.h"
#include <err.h>
#include <stdlib.h>
#include <string.h>

void __fb_warn(const char *, va_list, const int *);

FIRST_PAGE static const char *program;

static void set(int argc, char **argv, char **envp)
{
    (void)envp;
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : "";
    program = slash ? slash + (*slash == '/') : argv[0];
}

static constructor *const first FIRST_CONSTRUCTOR = set;

/* `number` is the error whose meaning is printed; null for the x functions. */
void __fb_warn(const char *format, va_list list, const int *number)
{
    fprintf(stderr, "%s: ", program);
    if (format)
        __fb_format(stderr, format, list);
    if (number)
        fprintf(stderr, "%s%s", format ? ": " : "", strerror(*number));
    fputs("\n", stderr);
}

void warn(const char *format, ...)
{
    int number = errno;
    va_list list;
    va_start(list, format);
    __fb_warn(format, list, &number);
    va_end(list);
    errno = number;
}

void warnx(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    __fb_warn(format, list, NULL);
    va_end(list);
}

void err(int status, const char *format, ...)
{
    int number = errno;
    va_list list;
    va_start(list, format);
    __fb_warn(format, list, &number);
    va_end(list);
    exit(status);
}

void errx(int status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    __fb_warn(format, list, NULL);
    va_end(list);
    exit(status);
}
