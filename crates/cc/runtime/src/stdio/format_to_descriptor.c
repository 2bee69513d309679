/* One write for each call, as on stderr: what other processes append to the same file stands between calls. The stack's page
 * is there already and serves most; only longer text, formatted a second time, costs pages of its own. */
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
