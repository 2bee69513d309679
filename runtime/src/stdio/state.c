#include "stream.h"

void clearerr(FILE *stream)
{
    stream->flags &= ~(unsigned)(AT_END | FAILED);
}

int feof(FILE *stream)
{
    return (stream->flags & AT_END) != 0;
}

int ferror(FILE *stream)
{
    return (stream->flags & FAILED) != 0;
}

int fileno(FILE *stream)
{
    __fb_attach(stream);
    return stream->descriptor;
}
