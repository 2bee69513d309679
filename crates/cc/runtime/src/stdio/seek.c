#include "stream.h"
#include <unistd.h>

int fseeko(FILE *stream, off_t offset, int whence)
{
    __fb_attach(stream);
    if (__fb_drain(stream))
        return -1;
    if (whence == SEEK_CUR && unread(stream))
        offset -= (off_t)unread(stream);
    if (lseek(stream->descriptor, offset, whence) < 0)
        return -1;
    stream->read_cursor = stream->read_end = NULL;
    end_writing(stream);
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
    off_t ahead = stream->write_cursor ? (off_t)waiting(stream) : -(off_t)unread(stream);
    off_t offset = lseek(stream->descriptor, 0, ahead > 0 && stream->flags & APPENDING ? SEEK_END : SEEK_CUR);
    return offset < 0 ? -1 : offset + ahead;
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
