#include "stream.h"
#include <unistd.h>

int fseeko(FILE *stream, off_t offset, int whence)
{
    __fb_attach(stream);
    if (stream->write_cursor && __fb_drain(stream))
        return -1;
    if (whence == SEEK_CUR && unread(stream))
        offset -= (off_t)unread(stream);
    if (lseek(stream->descriptor, offset, whence) < 0)
        return -1;
    stream->read_cursor = stream->read_end = stream->write_cursor = stream->write_end = NULL;
    stream->flags &= ~(unsigned)(AT_END | READ_WHOLE_BLOCK);
    return 0;
}

int fseek(FILE *stream, long offset, int whence)
{
    return fseeko(stream, offset, whence);
}

off_t ftello(FILE *stream)
{
    __fb_attach(stream);
    off_t offset = lseek(stream->descriptor, 0, SEEK_CUR);
    if (offset < 0)
        return -1;
    return stream->write_cursor ? offset + (off_t)waiting(stream) : offset - (off_t)unread(stream);
}

long ftell(FILE *stream)
{
    off_t offset = ftello(stream);
    if (offset > LONG_MAX) {
        errno = EOVERFLOW;
        return -1;
    }
    return (long)offset;
}

void rewind(FILE *stream)
{
    fseeko(stream, 0, SEEK_SET);
    clearerr(stream);
}
