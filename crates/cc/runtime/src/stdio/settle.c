#include "stream.h"

/* Linked only with setvbuf, because no stream is line-buffered without it. */
WEAK int __fb_settle_line(FILE *);

int __fb_settle(FILE *stream)
{
    if (stream->flags & UNBUFFERED)
        return __fb_drain(stream);
    return __fb_settle_line && stream->flags & LINE_BUFFERED ? __fb_settle_line(stream) : 0;
}
