#include "stream.h"
#include <string.h>

static size_t take(FILE *stream, unsigned char *into, size_t limit)
{
    size_t length = unread(stream) < limit ? unread(stream) : limit;
    memcpy(into, stream->read_cursor, length);
    stream->read_cursor += length;
    return length;
}

/* Whole blocks and unbuffered reads go directly to the caller's memory. The buffer is for the rest. */
static size_t read_some(FILE *stream, unsigned char *into, size_t limit)
{
    if (unread(stream))
        return take(stream, into, limit);
    if (__fb_begin_read(stream) || stream->flags & AT_END)
        return 0;
    if (limit < stream->size && !(stream->flags & UNBUFFERED))
        return __fb_fill(stream) ? 0 : take(stream, into, limit);
    ssize_t length = __fb_read(stream, into, limit);
    return length > 0 ? (size_t)length : 0;
}

size_t fread(void *restrict into, size_t size, size_t count, FILE *restrict stream)
{
    size_t wanted, done = 0, part;
    if (!size || !count)
        return 0;
    if (__builtin_mul_overflow(size, count, &wanted)) {
        stream->flags |= FAILED;
        errno = EOVERFLOW;
        return 0;
    }
    while (done < wanted && (part = read_some(stream, (unsigned char *)into + done, wanted - done)))
        done += part;
    return done == wanted ? count : done / size;
}
