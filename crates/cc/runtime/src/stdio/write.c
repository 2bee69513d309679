#include "stream.h"
#include <string.h>

static size_t room(const FILE *stream)
{
    return stream->size - waiting(stream);
}

static void append(FILE *stream, const void *bytes, size_t length)
{
    memcpy(stream->write_cursor, bytes, length);
    stream->write_cursor += length;
}

/* For more bytes than fit. Text as long as the buffer bypasses it, because copying would save no call. snprintf has no
 * descriptor to write to, and drops the rest. */
static size_t write_long(FILE *stream, const unsigned char *bytes, size_t length)
{
    size_t left = length;
    if (stream->flags & IN_MEMORY) {
        append(stream, bytes, room(stream));
        return length;
    }
    while (left > room(stream)) {
        if (!waiting(stream) && left >= BUFSIZ)
            return __fb_write_all(stream, bytes, left) ? length - left : length;
        size_t part = room(stream);
        append(stream, bytes, part);
        bytes += part;
        left -= part;
        if (__fb_make_room(stream))
            return length - left;
    }
    append(stream, bytes, left);
    return length;
}

size_t __fb_write(FILE *stream, const void *bytes, size_t length)
{
    if (!length || __fb_begin_write(stream))
        return 0;
    if (length > room(stream))
        return write_long(stream, bytes, length);
    append(stream, bytes, length);
    return length;
}
