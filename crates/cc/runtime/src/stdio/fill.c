/* Reading, and the moment to show what was written.
 *
 * A program must not sleep on stdin while it holds output back: a prompt would stay invisible, and two programs that talk
 * through pipes would wait for each other forever. Whether a read will sleep is not known without asking the kernel, but
 * a read that returned less than it was asked for has emptied its source: the next one finds the end, or sleeps. So
 * stdout is written before the first read and after every short one; a filter of a large file is not slowed, and that of
 * a small one writes before its last read instead of after it: the same number of calls, and its first byte is out
 * earlier. A stream without a buffer asks for no more than its caller wants, so that a whole block says nothing of what
 * remains: stdout is written before each of its reads. setvbuf(stdout, NULL, _IOFBF, 0) asks for full buffering and gets it. */
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

/* Without buffering nothing is read ahead: another process may want the rest. */
int __fb_fill(FILE *stream)
{
    if (__fb_begin_read(stream) || stream->flags & AT_END)
        return EOF;
    ssize_t length = __fb_read(stream, stream->buffer, stream->flags & UNBUFFERED ? 1 : stream->size);
    stream->read_cursor = stream->buffer;
    stream->read_end = stream->buffer + (length > 0 ? length : 0);
    return length > 0 ? 0 : EOF;
}
