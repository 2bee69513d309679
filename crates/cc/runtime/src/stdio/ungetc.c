#include "stream.h"

int ungetc(int c, FILE *stream)
{
    if (c == EOF || __fb_begin_read(stream) || stream->read_cursor == stream->buffer - UNREAD_ROOM)
        return EOF;
    *--stream->read_cursor = (unsigned char)c;
    stream->flags &= ~(unsigned)AT_END;
    return (unsigned char)c;
}
