#include "stream.h"
#include <stdlib.h>
#include <string.h>

/* Doubles the size until `needed` bytes fit, so that the cost of a line is proportional to its length. */
static int grow(char **line, size_t *size, size_t needed)
{
    size_t larger = *line && *size ? *size : 128;
    if (*line && needed <= *size)
        return 0;
    while (larger < needed)
        larger *= 2;
    char *moved = realloc(*line, larger);
    if (!moved)
        return EOF;
    *line = moved;
    *size = larger;
    return 0;
}

static size_t part_up_to(const FILE *stream, int delimiter)
{
    const unsigned char *end = memchr(stream->read_cursor, delimiter, unread(stream));
    return end ? (size_t)(end - stream->read_cursor) + 1 : unread(stream);
}

ssize_t getdelim(char **restrict line, size_t *restrict size, int delimiter, FILE *restrict stream)
{
    size_t length = 0;
    if (!line || !size) {
        errno = EINVAL;
        return -1;
    }
    do {
        if (!unread(stream) && __fb_fill(stream))
            break;
        size_t part = part_up_to(stream, delimiter);
        if (grow(line, size, length + part + 1))
            return -1;
        memcpy(*line + length, stream->read_cursor, part);
        stream->read_cursor += part;
        length += part;
    } while ((unsigned char)(*line)[length - 1] != (unsigned char)delimiter);
    if (!length)
        return -1;
    (*line)[length] = '\0';
    return (ssize_t)length;
}

ssize_t getline(char **restrict line, size_t *restrict size, FILE *restrict stream)
{
    return getdelim(line, size, '\n', stream);
}
