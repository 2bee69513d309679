#include "stream.h"
#include <unistd.h>

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

/* Whoever reads the same file next (the shell's next command) finds what this program did not read: POSIX asks it of
 * exit, fflush and fclose. A pipe has no offset; its error means nothing. In this file, because where nothing is read
 * nothing is left over: exit links it only with this. */
void __fb_forget_input(FILE *stream)
{
    int before = errno;
    off_t surplus = (off_t)unread(stream);
    if (!surplus)
        return;
    stream->read_cursor = stream->read_end = NULL;
    stream->flags &= ~(unsigned)READ_WHOLE_BLOCK;
    lseek(stream->descriptor, -surplus, SEEK_CUR);
    errno = before;
}
