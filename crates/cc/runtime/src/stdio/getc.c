#include "stream.h"

#undef getc
#undef getchar

int fgetc(FILE *stream)
{
    return __fb_getc(stream);
}

int getc(FILE *stream)
{
    return __fb_getc(stream);
}

int getchar(void)
{
    return __fb_getc(stdin);
}
