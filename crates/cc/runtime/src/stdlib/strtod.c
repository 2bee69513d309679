/* Text to floating point, correctly rounded (to nearest, ties to even), for text of any length.
 *
 * The decimal number is exact, in base 10^9 with the point at a fixed place, as in stdio/emit_double.c. It is multiplied
 * or divided by powers of two until its whole part has exactly as many bits as the mantissa. The digits after the point
 * then decide the rounding. 800 significant digits are kept: 767 are enough to tell any double from the middle between
 * it and its neighbour, and a digit 1 at the end stands for all digits that were cut off. */
#include "../internal.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    BASE = 1000000000,
    POINT = 36,       /* 10^309 needs 35 words before the point, and one more is for carries */
    WORDS = 36 + 256, /* 10^-343 with 800 digits after it: 128 words; dividing by 2^1024 adds 114 */
    KEPT = 800,
};

struct decimal {
    char digits[KEPT];
    int count;
    long exponent; /* value = 0.d1d2d3... * 10^exponent */
    bool cut;
};

/* How double and float differ: the bits of the mantissa, and the lowest and highest exponent if the mantissa is an
 * integer. */
struct format {
    int bits, lowest, highest;
};

static const struct format double_format = {53, -1074, 971}, float_format = {24, -149, 104};

struct binary {
    uint64_t mantissa;
    int exponent;
};

static uint64_t whole(const uint32_t *word)
{
    return (uint64_t)word[POINT - 1] * BASE + word[POINT];
}

static bool whole_exceeds_two_words(const uint32_t *word)
{
    for (int i = 0; i < POINT - 1; i++)
        if (word[i])
            return true;
    return false;
}

static void multiply(uint32_t *word, unsigned bits)
{
    uint64_t carry = 0;
    for (int i = WORDS - 1; i >= 0; i--) {
        uint64_t value = ((uint64_t)word[i] << bits) + carry;
        carry = value / BASE;
        word[i] = (uint32_t)(value % BASE);
    }
}

/* At most nine bits. If bits fall off the last word, it is made non-zero. */
static void divide(uint32_t *word, unsigned bits)
{
    uint32_t carry = 0;
    for (int i = 0; i < WORDS; i++) {
        uint32_t remainder = word[i] & ((1U << bits) - 1);
        word[i] = (word[i] >> bits) + carry;
        carry = (BASE >> bits) * remainder;
    }
    if (carry)
        word[WORDS - 1] |= 1;
}

static void place_digits(uint32_t *word, const struct decimal *number)
{
    static const uint32_t power[9] = {100000000, 10000000, 1000000, 100000, 10000, 1000, 100, 10, 1};
    memset(word, 0, WORDS * sizeof *word);
    long at = (POINT + 1) * 9L - number->exponent;
    for (int i = 0; i < number->count; i++, at++)
        word[at / 9] += (uint32_t)(number->digits[i] - '0') * power[at % 9];
}

/* Scales until the whole part has `bits` bits. The exponent never goes below the format's lowest. */
static int scale(uint32_t *word, const struct format *format)
{
    int exponent = 0;
    while (whole_exceeds_two_words(word) || whole(word) >> (format->bits + 9)) {
        divide(word, 9);
        exponent += 9;
    }
    while (whole(word) >> format->bits || exponent < format->lowest) {
        divide(word, 1);
        exponent++;
    }
    while (!(whole(word) >> (format->bits - 10)) && exponent - 9 >= format->lowest) {
        multiply(word, 9);
        exponent -= 9;
    }
    while (!(whole(word) >> (format->bits - 1)) && exponent > format->lowest) {
        multiply(word, 1);
        exponent--;
    }
    return exponent;
}

/* Compares the fraction with one half: negative, zero or positive. */
static int fraction_against_half(const uint32_t *word)
{
    if (word[POINT + 1] != BASE / 2)
        return word[POINT + 1] < BASE / 2 ? -1 : 1;
    for (int i = POINT + 2; i < WORDS; i++)
        if (word[i])
            return 1;
    return 0;
}

static bool fraction_is_zero(const uint32_t *word)
{
    for (int i = POINT + 1; i < WORDS; i++)
        if (word[i])
            return false;
    return true;
}

static struct binary overflow(const struct format *format)
{
    errno = ERANGE;
    return (struct binary){0, format->highest + 1};
}

static struct binary to_binary(const struct decimal *number, const struct format *format)
{
    uint32_t word[WORDS];
    if (number->exponent > 310)
        return overflow(format);
    if (number->exponent < -343) {
        errno = ERANGE;
        return (struct binary){0, format->lowest};
    }
    place_digits(word, number);
    int exponent = scale(word, format), half = fraction_against_half(word);
    uint64_t mantissa = whole(word);
    bool subnormal = !(mantissa >> (format->bits - 1));
    if (subnormal && !fraction_is_zero(word))
        errno = ERANGE; /* as in glibc: tiny and inexact */
    mantissa += half > 0 || (half == 0 && mantissa & 1);
    if (mantissa >> format->bits) {
        mantissa >>= 1;
        exponent++;
    }
    return exponent > format->highest ? overflow(format) : (struct binary){mantissa, exponent};
}

/* mantissa * 2^exponent, which must be representable. */
static uint64_t pack(struct binary value, const struct format *format)
{
    int fraction_bits = format->bits - 1;
    int largest = format->highest - format->lowest + 1;
    if (value.exponent > format->highest)
        return (uint64_t)(largest + 1) << fraction_bits;
    if (!(value.mantissa >> fraction_bits))
        return value.mantissa;
    uint64_t fraction = value.mantissa & ((1ULL << fraction_bits) - 1);
    return (uint64_t)(value.exponent - format->lowest + 1) << fraction_bits | fraction;
}

static void add_digit(struct decimal *number, char digit)
{
    if (number->count < KEPT)
        number->digits[number->count++] = digit;
    else if (digit != '0')
        number->cut = true;
}

/* e[+-]digits. Takes nothing if no digit follows. Saturates far beyond any representable exponent. */
static long parse_exponent(const char **text, char letter)
{
    const char *next = *text;
    long value = 0;
    if ((*next | 32) != letter)
        return 0;
    next++;
    bool minus = *next == '-';
    next += minus || *next == '+';
    if (!isdigit((unsigned char)*next))
        return 0;
    for (; isdigit((unsigned char)*next); next++)
        if (value < 100000000)
            value = 10 * value + (*next - '0');
    *text = next;
    return minus ? -value : value;
}

/* Digits with an optional point. False if there is no digit. */
static bool parse_decimal(const char **text, struct decimal *number)
{
    const char *next = *text;
    bool any = false, behind_point = false;
    number->count = 0;
    number->exponent = 0;
    number->cut = false;
    for (;; next++) {
        if (*next == '.' && !behind_point) {
            behind_point = true;
            continue;
        }
        if (!isdigit((unsigned char)*next))
            break;
        any = true;
        if (number->count || *next != '0')
            add_digit(number, *next);
        number->exponent += number->count && !behind_point;
        number->exponent -= !number->count && behind_point;
    }
    if (!any)
        return false;
    number->exponent += parse_exponent(&next, 'e');
    if (number->cut)
        number->digits[KEPT - 1] |= 1; /* '0' becomes '1': it only matters that it is not zero */
    *text = next;
    return true;
}

static unsigned hexadecimal_digit(char c)
{
    if (isdigit((unsigned char)c))
        return (unsigned)(c - '0');
    return isxdigit((unsigned char)c) ? (unsigned)((c | 32) - 'a') + 10 : 16;
}

/* Up to 64 bits. The last one says whether anything followed them. */
static bool parse_hexadecimal(const char **text, struct binary *number)
{
    const char *next = *text;
    bool any = false, behind_point = false;
    long exponent = 0;
    uint64_t mantissa = 0;
    for (;; next++) {
        unsigned digit = hexadecimal_digit(*next);
        if (*next == '.' && !behind_point) {
            behind_point = true;
            continue;
        }
        if (digit == 16)
            break;
        any = true;
        bool full = mantissa >> 60;
        mantissa = full ? mantissa | (digit != 0) : mantissa << 4 | digit;
        exponent += 4 * (full - behind_point);
    }
    if (!any)
        return false;
    exponent += parse_exponent(&next, 'p');
    *number = (struct binary){mantissa, (int)exponent};
    *text = next;
    return true;
}

/* Drops `shift` bits, with rounding. More than 64 leave nothing. */
static uint64_t shift_right(uint64_t mantissa, int shift)
{
    if (shift > 64)
        return 0;
    uint64_t kept = shift == 64 ? 0 : mantissa >> shift;
    uint64_t half = 1ULL << (shift - 1), rest = mantissa & (half | (half - 1));
    return kept + (rest > half || (rest == half && kept & 1));
}

static struct binary round_hexadecimal(struct binary number, const struct format *format)
{
    if (!number.mantissa)
        return (struct binary){0, format->lowest};
    int shift = 64 - __builtin_clzll(number.mantissa) - format->bits;
    if (number.exponent + shift < format->lowest)
        shift = format->lowest - number.exponent;
    struct binary result = {0, number.exponent + shift};
    result.mantissa = shift > 0 ? shift_right(number.mantissa, shift) : number.mantissa << -shift;
    bool exact = shift <= 0 || (shift < 64 && result.mantissa << shift == number.mantissa);
    if (!exact && !(result.mantissa >> (format->bits - 1)))
        errno = ERANGE;
    if (result.mantissa >> format->bits) {
        result.mantissa >>= 1;
        result.exponent++;
    }
    return result.exponent > format->highest ? overflow(format) : result;
}

/* Both factors are exact doubles, so the one operation rounds once (W. D. Clinger, "How to read floating point numbers
 * accurately", 1990). This does not work on processors that compute with more bits than a double has. */
static bool quick(const struct decimal *number, const struct format *format, uint64_t *bits)
{
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    long scale_by = number->exponent - number->count;
    uint64_t value = 0;
    if (__FLT_EVAL_METHOD__ != 0 || format != &double_format || number->count > 15 || scale_by < -22 || scale_by > 22)
        return false;
    for (int i = 0; i < number->count; i++)
        value = 10 * value + (uint64_t)(number->digits[i] - '0');
    double result = scale_by < 0 ? (double)value / power[-scale_by] : (double)value * power[scale_by];
    memcpy(bits, &result, sizeof *bits);
    return true;
}

static uint64_t decimal_bits(const struct decimal *number, const struct format *format)
{
    uint64_t bits;
    if (!number->count)
        return 0;
    return quick(number, format, &bits) ? bits : pack(to_binary(number, format), format);
}

static bool parse_word(const char **text, const char *word)
{
    size_t length = strlen(word);
    if (strncasecmp(*text, word, length))
        return false;
    *text += length;
    return true;
}

/* "nan", "nan(...)", "inf", "infinity" in any case. */
static bool parse_not_finite(const char **text, const struct format *format, uint64_t *bits)
{
    uint64_t infinite = pack((struct binary){0, format->highest + 1}, format);
    *bits = infinite;
    if (parse_word(text, "infinity") || parse_word(text, "inf"))
        return true;
    if (!parse_word(text, "nan"))
        return false;
    *bits = infinite | 1ULL << (format->bits - 2);
    size_t inside = **text == '(' ? strspn(*text + 1, "0123456789_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") : 0;
    if (**text == '(' && (*text)[1 + inside] == ')')
        *text += inside + 2;
    return true;
}

static bool parse_magnitude(const char **text, const struct format *format, uint64_t *bits)
{
    struct decimal decimal;
    struct binary binary;
    const char *behind_prefix = *text + 2;
    if (parse_not_finite(text, format, bits))
        return true;
    if ((*text)[0] == '0' && ((*text)[1] | 32) == 'x' && parse_hexadecimal(&behind_prefix, &binary)) {
        *text = behind_prefix;
        *bits = pack(round_hexadecimal(binary, format), format);
        return true;
    }
    if (!parse_decimal(text, &decimal))
        return false;
    *bits = decimal_bits(&decimal, format);
    return true;
}

/* Stores the bits of the result without its sign, and returns whether it is negative. */
static bool parse(const char *text, char **end, const struct format *format, uint64_t *bits)
{
    const char *next = text;
    while (isspace((unsigned char)*next))
        next++;
    bool minus = *next == '-';
    next += minus || *next == '+';
    bool found = parse_magnitude(&next, format, bits);
    if (!found)
        *bits = 0;
    if (end)
        *end = (char *)(found ? next : text);
    return minus && found;
}

double strtod(const char *restrict text, char **restrict end)
{
    uint64_t bits;
    double result;
    bool minus = parse(text, end, &double_format, &bits);
    bits |= (uint64_t)minus << 63;
    memcpy(&result, &bits, sizeof result);
    return result;
}

float strtof(const char *restrict text, char **restrict end)
{
    uint64_t wide;
    float result;
    bool minus = parse(text, end, &float_format, &wide);
    uint32_t bits = (uint32_t)wide | (uint32_t)minus << 31;
    memcpy(&result, &bits, sizeof result);
    return result;
}

double atof(const char *text)
{
    return strtod(text, NULL);
}
