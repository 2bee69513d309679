/* putc when the buffer is full, or when a newline or any byte must be written at once. */
#include "stream.h"

int __fb_put(int c, FILE *stream)
{
    if (__fb_begin_write(stream))
        return EOF;
    if (waiting(stream) == stream->size && __fb_make_room(stream))
        return EOF;
    *stream->write_cursor++ = (unsigned char)c;
    if (stream->flags & UNBUFFERED || (stream->flags & LINE_BUFFERED && (unsigned char)c == '\n'))
        if (__fb_drain(stream))
            return EOF;
    return (unsigned char)c;
}
