#include "stream.h"

WEAK void __fb_forget_input(FILE *); /* linked only with functions that read */

int __fb_begin_write(FILE *stream)
{
    __fb_attach(stream);
    if (stream->flags & READ_ONLY) {
        stream->flags |= FAILED;
        errno = EBADF;
        return EOF;
    }
    if (stream->write_cursor)
        return 0;
    if (__fb_forget_input)
        __fb_forget_input(stream);
    stream->write_cursor = stream->buffer;
    set_write_end(stream);
    return 0;
}
