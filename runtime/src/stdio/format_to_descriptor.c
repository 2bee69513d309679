#include "format.h"

int __fb_format_to_descriptor(int descriptor, const char *format, va_list list)
{
    unsigned char buffer[512];
    FILE stream = {
        .buffer = buffer,
        .size = sizeof buffer,
        .descriptor = descriptor,
        .flags = STREAM_OPEN | WRITE_ONLY | UNBUFFERED,
    };
    return __fb_format(&stream, format, list);
}
