/* Writing the bytes that wait. Short writes are continued, and interrupted ones are repeated. If another process made the
 * descriptor non-blocking (many may share a terminal), this waits until it can be written. Any other failure is reported
 * once, and the bytes are dropped, as in every stdio: writing them again at exit would only fail again. */
#include "stream.h"
#include <poll.h>

static bool can_be_repeated(long error, int descriptor)
{
    if (error == -EAGAIN) {
        struct pollfd wanted = {.fd = descriptor, .events = POLLOUT};
        error = syscall4(SYS_ppoll, &wanted, 1, NULL, NULL);
        return error >= 0 || error == -EINTR;
    }
    return error == -EINTR;
}

int __fb_write_all(FILE *stream, const void *bytes, size_t length)
{
    const unsigned char *next = bytes;
    while (length) {
        long written = syscall3(SYS_write, stream->descriptor, next, length);
        if (written > 0) {
            next += written;
            length -= (size_t)written;
        } else if (written == 0 || !can_be_repeated(written, stream->descriptor)) {
            stream->flags |= FAILED | LOST;
            errno = written ? (int)-written : EIO;
            return EOF;
        }
    }
    return 0;
}

int __fb_drain(FILE *stream)
{
    size_t length = stream->write_cursor ? waiting(stream) : 0;
    if (!length)
        return 0;
    stream->write_cursor = stream->buffer;
    return __fb_write_all(stream, stream->buffer, length);
}
