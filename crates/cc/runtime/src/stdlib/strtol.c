/* One conversion for all integer types (C11 7.22.1.4). The magnitude is collected in the widest type and compared with
 * the limits of the requested type. */
#include "../internal.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

static unsigned digit_of(char c)
{
    if (isdigit((unsigned char)c))
        return (unsigned)(c - '0');
    return isalpha((unsigned char)c) ? (unsigned)((c | 32) - 'a') + 10 : 36;
}

/* "0x" is a prefix only before a digit. In "0xg" the number is 0. */
static int skip_prefix(const char **text, int base)
{
    const char *s = *text;
    if ((base == 0 || base == 16) && s[0] == '0' && (s[1] | 32) == 'x' && digit_of(s[2]) < 16) {
        *text += 2;
        return 16;
    }
    return base ? base : *s == '0' ? 8 : 10;
}

struct magnitude {
    uintmax_t value;
    bool too_large, any;
};

static struct magnitude gather(const char **text, unsigned base, uintmax_t limit)
{
    struct magnitude result = {0, false, false};
    for (unsigned digit; (digit = digit_of(**text)) < base; ++*text) {
        result.any = true;
        if (__builtin_mul_overflow(result.value, (uintmax_t)base, &result.value) ||
            __builtin_add_overflow(result.value, (uintmax_t)digit, &result.value) || result.value > limit)
            result.too_large = true;
    }
    return result;
}

/* `positive` and `negative` are the largest magnitudes of the type. They are equal for an unsigned type, and "-1" is its
 * largest value. */
static uintmax_t convert(const char *restrict text, char **restrict end, int base, uintmax_t positive,
                         uintmax_t negative)
{
    const char *next = text;
    bool is_unsigned = positive == negative;
    if (base == 1 || base < 0 || base > 36) {
        errno = EINVAL; /* *end stays unchanged, as in glibc */
        return 0;
    }
    while (isspace((unsigned char)*next))
        next++;
    bool minus = *next == '-';
    next += minus || *next == '+';
    base = skip_prefix(&next, base);
    struct magnitude found = gather(&next, (unsigned)base, minus ? negative : positive);
    if (end)
        *end = (char *)(found.any ? next : text);
    if (found.too_large) {
        errno = ERANGE;
        return is_unsigned || !minus ? positive : 0 - negative;
    }
    return minus ? 0 - found.value : found.value;
}

long strtol(const char *restrict text, char **restrict end, int base)
{
    return (long)convert(text, end, base, LONG_MAX, (uintmax_t)LONG_MAX + 1);
}

long long strtoll(const char *restrict text, char **restrict end, int base)
{
    return (long long)convert(text, end, base, LLONG_MAX, (uintmax_t)LLONG_MAX + 1);
}

unsigned long strtoul(const char *restrict text, char **restrict end, int base)
{
    return (unsigned long)convert(text, end, base, ULONG_MAX, ULONG_MAX);
}

unsigned long long strtoull(const char *restrict text, char **restrict end, int base)
{
    return convert(text, end, base, ULLONG_MAX, ULLONG_MAX);
}

intmax_t strtoimax(const char *restrict text, char **restrict end, int base)
{
    return strtoll(text, end, base);
}

uintmax_t strtoumax(const char *restrict text, char **restrict end, int base)
{
    return strtoull(text, end, base);
}

int atoi(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

long atol(const char *text)
{
    return strtol(text, NULL, 10);
}

long long atoll(const char *text)
{
    return strtoll(text, NULL, 10);
}
