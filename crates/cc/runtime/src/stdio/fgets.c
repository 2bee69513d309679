#include "stream.h"
#include <string.h>

/* Moves bytes up to and including a newline. Returns how many. */
static size_t take_line(FILE *stream, char *into, size_t limit)
{
    size_t length = unread(stream) < limit ? unread(stream) : limit;
    const unsigned char *newline = memchr(stream->read_cursor, '\n', length);
    if (newline)
        length = (size_t)(newline - stream->read_cursor) + 1;
    memcpy(into, stream->read_cursor, length);
    stream->read_cursor += length;
    return length;
}

/* Whether an error in the middle of a line makes the result NULL, as in glibc. The end of the file does not, and neither
 * does a non-blocking descriptor that is empty for now: the bytes are out of the stream, and NULL would lose them. */
static bool failed(const FILE *stream)
{
    return !(stream->flags & AT_END) && errno != EAGAIN;
}

char *fgets(char *restrict line, int size, FILE *restrict stream)
{
    size_t length = 0, limit = size > 0 ? (size_t)size - 1 : 0;
    if (size <= 0)
        return NULL;
    while (length < limit && !(length && line[length - 1] == '\n')) {
        if (!unread(stream) && __fb_fill(stream))
            break;
        length += take_line(stream, line + length, limit - length);
    }
    if (limit && (!length || (length < limit && line[length - 1] != '\n' && failed(stream))))
        return NULL;
    line[length] = '\0';
    return line;
}
