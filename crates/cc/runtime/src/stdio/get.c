#include "stream.h"

int __fb_get(FILE *stream)
{
    if (!unread(stream) && __fb_fill(stream))
        return EOF;
    return *stream->read_cursor++;
}
