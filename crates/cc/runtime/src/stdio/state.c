#include "stream.h"

/* A program that clears an error has seen it, so exit does not need to report it. */
void clearerr(FILE *stream)
{
    stream->flags &= ~(unsigned)(AT_END | FAILED | LOST);
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
