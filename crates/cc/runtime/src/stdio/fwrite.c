#include "stream.h"

size_t fwrite(const void *restrict bytes, size_t size, size_t count, FILE *restrict stream)
{
    size_t length;
    if (!size || !count)
        return 0;
    if (__builtin_mul_overflow(size, count, &length)) {
        stream->flags |= FAILED;
        errno = EOVERFLOW;
        return 0;
    }
    size_t done = __fb_write(stream, bytes, length);
    if (__fb_settle(stream))
        return 0;
    return done == length ? count : done / size;
}
