/* One write for each call, as on stderr, so that text of other processes in the same file lands between calls. The page of
 * the stack already exists and is enough for most texts. A longer text is formatted a second time and costs its own pages. */
#include "format.h"

static unsigned char long_text[BUFSIZ];

static int format_longer(int descriptor, const char *format, va_list list)
{
    FILE stream = {
        .buffer = long_text,
        .size = sizeof long_text,
        .descriptor = descriptor,
        .flags = STREAM_OPEN | WRITE_ONLY | UNBUFFERED,
    };
    return __fb_format(&stream, format, list);
}

int __fb_format_to_descriptor(int descriptor, const char *format, va_list list)
{
    unsigned char text[512];
    FILE stream = {
        .buffer = text,
        .size = sizeof text,
        .descriptor = descriptor,
        .flags = STREAM_OPEN | WRITE_ONLY | IN_MEMORY,
    };
    int length = __fb_format(&stream, format, list);
    if (length > (int)sizeof text)
        return format_longer(descriptor, format, list);
    return __fb_drain(&stream) ? -1 : length;
}
