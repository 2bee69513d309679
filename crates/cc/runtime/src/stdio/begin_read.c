#include "stream.h"

/* What is read can be left over, so exit, fflush and a change to writing must be able to put it back. They refer to this
 * function weakly: in a program that reads nothing it does not exist. */
LINK_ALSO(__fb_forget_input);

int __fb_begin_read(FILE *stream)
{
    __fb_attach(stream);
    if (stream->flags & WRITE_ONLY) {
        stream->flags |= FAILED;
        errno = EBADF;
        return EOF;
    }
    if (__fb_drain(stream))
        return EOF;
    end_writing(stream);
    if (!stream->read_cursor)
        stream->read_cursor = stream->read_end = stream->buffer;
    return 0;
}
