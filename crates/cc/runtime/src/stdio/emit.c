#include "format.h"
#include <string.h>

void __fb_emit(struct sink *sink, const char *bytes, size_t length)
{
    sink->length += length;
    if (length && __fb_write(sink->stream, bytes, length) != length)
        sink->failed = true;
}

void __fb_pad(struct sink *sink, char fill, long long count)
{
    static const char blanks[] = "                ", zeros[] = "0000000000000000";
    for (; count > 0 && !sink->failed; count -= 16)
        __fb_emit(sink, fill == '0' ? zeros : blanks, count < 16 ? (size_t)count : 16);
}

void __fb_emit_field(struct sink *sink, const struct conversion *spec, const char *prefix, long long zeros,
                     const char *body, size_t length)
{
    size_t prefixed = strlen(prefix);
    if (zeros < 0)
        zeros = 0;
    long long padding = spec->width - zeros - (long long)(prefixed + length);
    bool fill_zeros = (spec->flags & (ZERO | LEFT)) == ZERO;
    if (fill_zeros && padding > 0)
        zeros += padding;
    else if (!(spec->flags & LEFT))
        __fb_pad(sink, ' ', padding);
    __fb_emit(sink, prefix, prefixed);
    __fb_pad(sink, '0', zeros);
    __fb_emit(sink, body, length);
    if (spec->flags & LEFT)
        __fb_pad(sink, ' ', padding);
}
