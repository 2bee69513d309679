/* The core of the printf family (C11 7.21.6.1). Text between conversions goes directly into the stream's buffer. Stack
 * frames are small on purpose, because the next page of the stack would be one more fault. */
#include "format.h"
#include <string.h>

WEAK void __fb_emit_double(struct sink *, struct conversion *, double);

/* va_list is an array type on x86-64 but not elsewhere. Inside a struct its address can be passed everywhere. */
struct arguments {
    va_list list;
};

static unsigned char flag_of(char c)
{
    static const char characters[] = "-+ #0";
    const char *found = c ? strchr(characters, c) : NULL;
    return found ? (unsigned char)(1 << (found - characters)) : 0;
}

/* A decimal number, or * for an argument. INT_MIN if it does not fit into an int (EOVERFLOW follows). */
static int number(const char **format, struct arguments *arguments)
{
    int value = 0;
    if (**format == '*') {
        ++*format;
        return va_arg(arguments->list, int);
    }
    for (; **format >= '0' && **format <= '9'; ++*format)
        if (value >= 0 && (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, **format - '0', &value)))
            value = INT_MIN;
    return value;
}

static void parse_width(const char **format, struct conversion *spec, struct arguments *arguments)
{
    bool given_as_argument = **format == '*';
    spec->width = number(format, arguments);
    if (given_as_argument && spec->width < 0 && spec->width != INT_MIN) {
        spec->flags |= LEFT;
        spec->width = -spec->width;
    }
}

/* A negative precision from an argument counts as none. */
static void parse_precision(const char **format, struct conversion *spec, struct arguments *arguments)
{
    spec->precision = -1;
    if (**format != '.')
        return;
    ++*format;
    bool given_as_argument = **format == '*';
    spec->precision = number(format, arguments);
    if (given_as_argument && spec->precision < 0)
        spec->precision = -1;
}

static char parse_length(const char **format)
{
    char c = **format;
    if (!c || !strchr("hljztL", c))
        return 0;
    ++*format;
    if ((c != 'h' && c != 'l') || **format != c)
        return c;
    ++*format;
    return c == 'h' ? 'H' : 'q';
}

static void parse(const char **format, struct conversion *spec, struct arguments *arguments)
{
    unsigned char flag;
    spec->flags = 0;
    while ((flag = flag_of(**format))) {
        spec->flags |= flag;
        ++*format;
    }
    parse_width(format, spec, arguments);
    parse_precision(format, spec, arguments);
    spec->length = parse_length(format);
    spec->kind = **format;
    if (spec->kind)
        ++*format;
}

/* The argument as the widest type: sign-extended, or zero-extended for conversions of unsigned integers. */
static uintmax_t integer(const struct conversion *spec, struct arguments *arguments, bool is_signed)
{
    switch (spec->length) {
    case 'q':
    case 'j':
    case 'L':
        return va_arg(arguments->list, uintmax_t);
    case 'l':
    case 'z':
    case 't':
        return is_signed ? (uintmax_t)va_arg(arguments->list, long) : va_arg(arguments->list, unsigned long);
    }
    int value = va_arg(arguments->list, int);
    if (spec->length == 'H')
        return is_signed ? (uintmax_t)(signed char)value : (unsigned char)value;
    if (spec->length == 'h')
        return is_signed ? (uintmax_t)(short)value : (unsigned short)value;
    return is_signed ? (uintmax_t)value : (unsigned)value;
}

/* Writes digits before `end`, none for 0. Returns the first. */
static char *digits_before(char *end, uintmax_t value, unsigned base, char letters)
{
#if UINTPTR_MAX < UINTMAX_MAX
    /* With registers of 32 bits, this long division avoids one from a library. */
    while (value >> 32) {
        uint32_t high = (uint32_t)(value >> 32), low = (uint32_t)value, remainder = high % base;
        uint32_t middle = remainder << 16 | low >> 16;
        uint32_t last = (middle % base) << 16 | (low & 0xffff);
        value = (uintmax_t)(high / base) << 32 | (uint32_t)(middle / base << 16) | last / base;
        *--end = "0123456789ABCDEF"[last % base] | letters;
    }
#endif
    for (uintptr_t rest = (uintptr_t)value; rest; rest /= base)
        *--end = "0123456789ABCDEF"[rest % base] | letters;
    return end;
}

static const char *prefix_of(const struct conversion *spec, bool is_signed, bool negative, bool zero)
{
    if (is_signed)
        return negative ? "-" : spec->flags & PLUS ? "+" : spec->flags & SPACE ? " " : "";
    if (!(spec->flags & ALTERNATE) || zero)
        return "";
    return spec->kind == 'x' ? "0x" : spec->kind == 'X' ? "0X" : "";
}

/* A precision is the minimum number of digits, and switches off the 0 flag. */
static void emit_integer(struct sink *sink, struct conversion *spec, uintmax_t value, bool is_signed)
{
    char buffer[24], *end = buffer + sizeof buffer;
    bool negative = is_signed && value > INTMAX_MAX;
    unsigned base = spec->kind == 'o' ? 8 : (spec->kind | ' ') == 'x' ? 16 : 10;
    const char *digits = digits_before(end, negative ? 0 - value : value, base, spec->kind == 'X' ? 0 : ' ');
    long long zeros = (spec->precision < 0 ? 1 : spec->precision) - (end - digits);
    if (spec->kind == 'o' && spec->flags & ALTERNATE && zeros <= 0)
        zeros = 1;
    if (spec->precision >= 0)
        spec->flags &= (unsigned char)~ZERO;
    __fb_emit_field(sink, spec, prefix_of(spec, is_signed, negative, !value), zeros, digits, (size_t)(end - digits));
}

/* "(nil)" and "(null)" as in glibc, so that a program prints the same with both. */
static void emit_string(struct sink *sink, struct conversion *spec, const char *string)
{
    size_t limit = spec->precision < 0 ? SIZE_MAX : (size_t)spec->precision;
    if (!string)
        string = limit >= 6 ? "(null)" : "";
    const char *end = memchr(string, '\0', limit);
    spec->flags &= (unsigned char)~ZERO;
    __fb_emit_field(sink, spec, "", 0, string, end ? (size_t)(end - string) : limit);
}

static void emit_pointer(struct sink *sink, struct conversion *spec, const void *pointer)
{
    if (!pointer) {
        spec->precision = -1;
        emit_string(sink, spec, "(nil)");
        return;
    }
    spec->kind = 'x';
    spec->flags |= ALTERNATE;
    emit_integer(sink, spec, (uintptr_t)pointer, false);
}

static void emit_character(struct sink *sink, struct conversion *spec, char c)
{
    spec->flags &= (unsigned char)~ZERO;
    __fb_emit_field(sink, spec, "", 0, &c, 1);
}

/* Reached only through a pointer to printf, in a program without any call of printf in which the compiler saw a
 * floating-point argument. Stopping is better than printing something wrong. */
static __attribute__((noreturn, cold)) void floating_point_is_not_linked(void)
{
    static const char message[] = "printf: no floating point is linked: add -Wl,-u,__fb_link_floating_point\n";
    syscall3(SYS_write, 2, message, sizeof message - 1);
    __builtin_trap();
}

static void emit_floating_point(struct sink *sink, struct conversion *spec, struct arguments *arguments)
{
    if (!__fb_emit_double)
        floating_point_is_not_linked();
    __fb_emit_double(sink, spec, va_arg(arguments->list, double));
}

static void store_length(struct sink *sink, const struct conversion *spec, void *into)
{
    switch (spec->length) {
    case 'H':
        *(signed char *)into = (signed char)sink->length;
        break;
    case 'h':
        *(short *)into = (short)sink->length;
        break;
    case 'j':
    case 'q':
        *(long long *)into = (long long)sink->length;
        break;
    case 0:
        *(int *)into = (int)sink->length;
        break;
    default:
        *(long *)into = (long)sink->length;
    }
}

static void convert(struct sink *sink, struct conversion *spec, struct arguments *arguments)
{
    switch (spec->kind) {
    case 'd':
    case 'i':
        emit_integer(sink, spec, integer(spec, arguments, true), true);
        break;
    case 'o':
    case 'u':
    case 'x':
    case 'X':
        emit_integer(sink, spec, integer(spec, arguments, false), false);
        break;
    case 's':
        emit_string(sink, spec, va_arg(arguments->list, const char *));
        break;
    case 'c':
        emit_character(sink, spec, (char)va_arg(arguments->list, int));
        break;
    case 'p':
        emit_pointer(sink, spec, va_arg(arguments->list, void *));
        break;
    case '%':
        __fb_emit(sink, "%", 1);
        break;
    case 'n':
        store_length(sink, spec, va_arg(arguments->list, void *));
        break;
    default:
        emit_floating_point(sink, spec, arguments);
    }
}

/* Wide characters and long double are not supported; anything else is not a conversion of ISO C. */
static bool supported(const struct conversion *spec)
{
    if (spec->kind == 'c' || spec->kind == 's')
        return spec->length == 0;
    if (spec->kind && strchr("aefgAEFG", spec->kind))
        return spec->length != 'L';
    return spec->kind && strchr("diouxXpn%", spec->kind);
}

static void format_all(struct sink *sink, const char *format, struct arguments *arguments)
{
    struct conversion spec;
    while (*format && !sink->failed) {
        const char *percent = strchrnul(format, '%');
        __fb_emit(sink, format, (size_t)(percent - format));
        format = percent;
        if (*format++ != '%')
            return;
        parse(&format, &spec, arguments);
        int error = spec.width == INT_MIN || spec.precision == INT_MIN ? EOVERFLOW : supported(&spec) ? 0 : EINVAL;
        if (error) {
            errno = error;
            sink->failed = true;
            return;
        }
        convert(sink, &spec, arguments);
    }
}

int __fb_format(FILE *stream, const char *format, va_list list)
{
    struct arguments arguments;
    struct sink sink = {.stream = stream};
    va_copy(arguments.list, list);
    format_all(&sink, format, &arguments);
    va_end(arguments.list);
    if (__fb_settle(stream) || sink.failed)
        return -1;
    if (sink.length > INT_MAX) {
        errno = EOVERFLOW;
        return -1;
    }
    return (int)sink.length;
}
