/* One conversion of a format, parsed: %[flags][width][.precision][length]conversion (C11 7.21.6.1). */
#ifndef FIRSTBYTE_FORMAT_H
#define FIRSTBYTE_FORMAT_H

#include "stream.h"

enum { LEFT = 1, PLUS = 2, SPACE = 4, ALTERNATE = 8, ZERO = 16 };

struct conversion {
    unsigned char flags;
    char length; /* 'H' for hh, 'h', 'l', 'q' for ll, 'j', 'z', 't', 'L' or 0 */
    char kind;
    int width;
    int precision; /* -1 if none was given */
};

/* Where the bytes go, and how many there would be if all of them fitted. */
struct sink {
    FILE *stream;
    size_t length;
    bool failed;
};

void __fb_emit(struct sink *, const char *, size_t);
void __fb_pad(struct sink *, char fill, long long count); /* nothing unless count is positive */

/* One field, padded to its width as the flags say: the prefix (sign or radix), the zeros of a precision, the body. */
void __fb_emit_field(struct sink *, const struct conversion *, const char *prefix, long long zeros, const char *body,
                     size_t length);

/* Linked only into programs that print floating point (include/printf_arguments.h). */
void __fb_emit_double(struct sink *, struct conversion *, double);

void __fb_link_floating_point(void);

int __fb_format(FILE *, const char *, va_list);
int __fb_format_to_string(char *, size_t, const char *, va_list);
int __fb_format_to_descriptor(int, const char *, va_list);

#endif
