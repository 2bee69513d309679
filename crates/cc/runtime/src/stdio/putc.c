#include "stream.h"

#undef putc
#undef putchar

int fputc(int c, FILE *stream)
{
    return __fb_putc(c, stream);
}

int putc(int c, FILE *stream)
{
    return __fb_putc(c, stream);
}

int putchar(int c)
{
    return __fb_putc(c, stdout);
}
