/* Reading, and when to write the output that waits.
 *
 * A program must not sleep on stdin while output waits in its buffer. Otherwise a prompt would stay invisible, and two
 * programs that talk through pipes would wait for each other forever. Only the kernel knows whether a read will sleep.
 * But a read that returned less than was requested has emptied its source, and the next one finds the end, or sleeps.
 * Therefore stdout is written before the first read and after every short one. This does not slow down a filter of a
 * large file. A filter of a small file writes before its last read instead of after it: the number of calls is the same,
 * and its first byte is out earlier.
 *
 * An unbuffered stream requests no more than its caller wants, so a full block says nothing about what remains. stdout
 * is written before each of its reads. setvbuf(stdout, NULL, _IOFBF, 0) requests full buffering and gets it. */
#include "stream.h"

static void before_reading(const FILE *stream)
{
    if (stream == stdin && !(stream->flags & READ_WHOLE_BLOCK) && !(stdout->flags & FULLY_BUFFERED))
        __fb_drain(stdout);
}

ssize_t __fb_read(FILE *stream, void *into, size_t size)
{
    before_reading(stream);
    long length = syscall3(SYS_read, stream->descriptor, into, size);
    stream->flags &= ~(unsigned)READ_WHOLE_BLOCK;
    if (length == 0)
        stream->flags |= AT_END;
    else if (length < 0)
        stream->flags |= FAILED;
    else if ((size_t)length == size && !(stream->flags & UNBUFFERED))
        stream->flags |= READ_WHOLE_BLOCK;
    return __fb_return(length);
}

/* An unbuffered stream reads nothing ahead, because another process may want the rest. */
int __fb_fill(FILE *stream)
{
    if (__fb_begin_read(stream) || stream->flags & AT_END)
        return EOF;
    ssize_t length = __fb_read(stream, stream->buffer, stream->flags & UNBUFFERED ? 1 : stream->size);
    stream->read_cursor = stream->buffer;
    stream->read_end = stream->buffer + (length > 0 ? length : 0);
    return length > 0 ? 0 : EOF;
}
