#include "stream.h"
#include <string.h>

enum { MODES = LINE_BUFFERED | UNBUFFERED | FULLY_BUFFERED };

/* The buffer needs room for the bytes of ungetc and at least one more. A smaller one is not used, as ISO C allows. */
static void use_buffer(FILE *stream, char *buffer, size_t size)
{
    if (!buffer || size <= UNREAD_ROOM || unread(stream))
        return;
    stream->buffer = (unsigned char *)buffer + UNREAD_ROOM;
    stream->size = size - UNREAD_ROOM;
    stream->read_cursor = stream->read_end = NULL;
}

int setvbuf(FILE *restrict stream, char *restrict buffer, int mode, size_t size)
{
    if (mode != _IOFBF && mode != _IOLBF && mode != _IONBF)
        return -1;
    __fb_attach(stream);
    if (__fb_drain(stream))
        return -1;
    end_writing(stream);
    stream->flags &= ~(unsigned)MODES;
    stream->flags |= mode == _IOLBF ? LINE_BUFFERED : mode == _IONBF ? UNBUFFERED : FULLY_BUFFERED;
    if (mode != _IONBF)
        use_buffer(stream, buffer, size);
    return 0;
}

void setbuf(FILE *restrict stream, char *restrict buffer)
{
    setvbuf(stream, buffer, buffer ? _IOFBF : _IONBF, BUFSIZ);
}

/* All waiting bytes are written with the line, including those after its end: earlier than necessary, but in one write.
 * There is no cursor before the first byte and after __fb_begin_write has failed. */
int __fb_settle_line(FILE *);
int __fb_settle_line(FILE *stream)
{
    return stream->write_cursor && memchr(stream->buffer, '\n', waiting(stream)) ? __fb_drain(stream) : 0;
}
