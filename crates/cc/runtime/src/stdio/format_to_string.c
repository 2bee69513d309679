/* snprintf: a stream whose buffer is the caller's array. It drops bytes that do not fit. */
#include "format.h"

/* sprintf has no size, but no array reaches beyond the last address. */
static size_t clamped(const char *string, size_t size)
{
    size_t below_the_top = UINTPTR_MAX - (uintptr_t)string;
    return size - 1 < below_the_top ? size - 1 : below_the_top;
}

int __fb_format_to_string(char *string, size_t size, const char *format, va_list list)
{
    FILE stream = {
        .buffer = (unsigned char *)string,
        .write_cursor = (unsigned char *)string,
        .size = size ? clamped(string, size) : 0,
        .flags = STREAM_OPEN | WRITE_ONLY | IN_MEMORY,
    };
    unsigned char nothing;
    if (!size)
        stream.buffer = stream.write_cursor = &nothing;
    int length = __fb_format(&stream, format, list);
    if (size)
        *stream.write_cursor = '\0';
    return length;
}
