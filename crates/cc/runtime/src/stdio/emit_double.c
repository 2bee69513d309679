/* Exact conversion of floating point to text. Every double is a sum of powers of two, so it has a finite decimal
 * expansion: at most 309 digits before the point and 1074 after it. All of them are computed, and the only rounding (to
 * nearest, ties to even) then looks at digits. This is slower than the shortcuts of the large libraries, and it is
 * obviously correct.
 *
 * The expansion is in base 10^9. The word before the point has a fixed place:
 *
 *     word[0] ... word[POINT]  .  word[POINT + 1] ... word[WORDS - 1]
 */
#include "format.h"
#include <float.h>
#include <string.h>

enum {
    BASE = 1000000000,
    POINT = 34,                       /* 309 digits: 35 words */
    WORDS = POINT + 1 + 120,          /* 1074 digits: 120 words */
    DIGITS = WORDS * 9,
    BEFORE_POINT = (POINT + 1) * 9,
};

struct expansion {
    char digits[1 + DIGITS]; /* digits[0] takes a carry out of the first digit */
    int point;               /* index of the first digit after the point */
    int first;               /* index of the first digit that is not 0; for zero, of the digit before the point */
    int end;                 /* index after the last digit that is not 0; for zero, `first` */
};

static void multiply(uint32_t *word, unsigned bits)
{
    uint64_t carry = 0;
    for (int i = POINT; i >= 0; i--) {
        uint64_t value = ((uint64_t)word[i] << bits) + carry;
        carry = value / BASE;
        word[i] = (uint32_t)(value % BASE);
    }
}

/* 10^9 is divisible by 2^9, so shifting by up to nine bits leaves no remainder below a word. */
static void divide(uint32_t *word, unsigned bits)
{
    uint32_t carry = 0;
    for (int i = 0; i < WORDS; i++) {
        uint32_t remainder = word[i] & ((1U << bits) - 1);
        word[i] = (word[i] >> bits) + carry;
        carry = (BASE >> bits) * remainder;
    }
}

/* mantissa * 2^exponent */
static void expand_words(uint32_t *word, uint64_t mantissa, int exponent)
{
    memset(word, 0, WORDS * sizeof *word);
    word[POINT] = (uint32_t)(mantissa % BASE);
    word[POINT - 1] = (uint32_t)(mantissa / BASE); /* below 2^53 / 10^9 */
    for (int left = exponent; left > 0; left -= 29)
        multiply(word, left < 29 ? (unsigned)left : 29);
    for (int left = -exponent; left > 0; left -= 9)
        divide(word, left < 9 ? (unsigned)left : 9);
}

static void words_to_digits(char *digits, const uint32_t *word)
{
    for (int i = 0; i < WORDS; i++) {
        uint32_t value = word[i];
        for (int place = 8; place >= 0; place--, value /= 10)
            digits[9 * i + place] = (char)('0' + value % 10);
    }
}

static void find_ends(struct expansion *number)
{
    int first = 0, end = 1 + DIGITS;
    while (first < end && number->digits[first] == '0')
        first++;
    while (end > first && number->digits[end - 1] == '0')
        end--;
    bool zero = first == end;
    number->first = zero ? number->point - 1 : first;
    number->end = zero ? number->point - 1 : end;
}

static void expand(struct expansion *number, uint64_t mantissa, int exponent)
{
    uint32_t word[WORDS];
    expand_words(word, mantissa, exponent);
    number->digits[0] = '0';
    words_to_digits(number->digits + 1, word);
    number->point = 1 + BEFORE_POINT;
    find_ends(number);
}

static bool rounds_up(const struct expansion *number, int at)
{
    char digit = number->digits[at];
    bool more = number->end > at + 1;
    bool odd = (number->digits[at - 1] - '0') & 1;
    return digit > '5' || (digit == '5' && (more || odd));
}

/* Rounds to the digits before index `at`, which is at least 1. */
static void round_at(struct expansion *number, int at)
{
    if (at >= number->end)
        return;
    bool up = rounds_up(number, at);
    memset(number->digits + at, '0', (size_t)(number->end - at));
    for (int i = at - 1; up && i >= 0; i--) {
        up = number->digits[i] == '9';
        number->digits[i] = up ? '0' : (char)(number->digits[i] + 1);
    }
    find_ends(number);
}

/* `count` digits from index `from`, with zeros after the end of the expansion. */
static void emit_digits(struct sink *sink, const struct expansion *number, int from, long long count)
{
    long long there = 1 + DIGITS - from;
    if (there > count)
        there = count;
    if (there > 0)
        __fb_emit(sink, number->digits + from, (size_t)there);
    __fb_pad(sink, '0', count - (there > 0 ? there : 0));
}

/* Writes the sign and the padding before the body. Returns how many blanks must follow the body. */
static long long open_field(struct sink *sink, const struct conversion *spec, const char *sign, long long length)
{
    long long padding = spec->width - length - (long long)strlen(sign);
    bool zeros = (spec->flags & (ZERO | LEFT)) == ZERO;
    if (!zeros && !(spec->flags & LEFT))
        __fb_pad(sink, ' ', padding);
    __fb_emit(sink, sign, strlen(sign));
    if (zeros)
        __fb_pad(sink, '0', padding);
    return spec->flags & LEFT ? padding : 0;
}

static void emit_point(struct sink *sink, const struct conversion *spec, long long places)
{
    if (places > 0 || spec->flags & ALTERNATE)
        __fb_emit(sink, ".", 1);
}

static void emit_fixed(struct sink *sink, const struct conversion *spec, const char *sign, const struct expansion *number,
                       long long places)
{
    int start = number->first < number->point ? number->first : number->point - 1;
    long long whole = number->point - start;
    bool has_point = places > 0 || spec->flags & ALTERNATE;
    long long after = open_field(sink, spec, sign, whole + has_point + places);
    emit_digits(sink, number, start, whole);
    emit_point(sink, spec, places);
    emit_digits(sink, number, number->point, places);
    __fb_pad(sink, ' ', after);
}

/* At least `minimum` digits; there are never more than four. */
static int exponent_text(char *text, char letter, int exponent, int minimum)
{
    char reversed[8];
    int length = 0, count = 0;
    unsigned rest = (unsigned)(exponent < 0 ? -exponent : exponent);
    text[length++] = letter;
    text[length++] = exponent < 0 ? '-' : '+';
    for (; rest || count < minimum; rest /= 10)
        reversed[count++] = (char)('0' + rest % 10);
    while (count)
        text[length++] = reversed[--count];
    return length;
}

static int decimal_exponent(const struct expansion *number)
{
    return number->point - 1 - number->first;
}

static void emit_scientific(struct sink *sink, const struct conversion *spec, const char *sign,
                            const struct expansion *number, long long places)
{
    char exponent[8];
    int length = exponent_text(exponent, (char)('E' | (spec->kind & ' ')), decimal_exponent(number), 2);
    bool has_point = places > 0 || spec->flags & ALTERNATE;
    long long after = open_field(sink, spec, sign, 1 + has_point + places + length);
    emit_digits(sink, number, number->first, 1);
    emit_point(sink, spec, places);
    emit_digits(sink, number, number->first + 1, places);
    __fb_emit(sink, exponent, (size_t)length);
    __fb_pad(sink, ' ', after);
}

/* %g: the precision is the number of significant digits; the shorter style, without trailing zeros (C11 7.21.6.1, 8). */
static void emit_general(struct sink *sink, const struct conversion *spec, const char *sign, struct expansion *number)
{
    long long significant = spec->precision < 0 ? 6 : spec->precision ? spec->precision : 1;
    if (significant < DIGITS)
        round_at(number, number->first + (int)significant);
    int exponent = decimal_exponent(number);
    bool fixed = exponent >= -4 && exponent < significant;
    long long places = fixed ? significant - 1 - exponent : significant - 1;
    if (!(spec->flags & ALTERNATE)) {
        long long there = number->end - (fixed ? number->point : number->first + 1);
        places = there < places ? there : places;
        places = places < 0 ? 0 : places;
    }
    if (fixed)
        emit_fixed(sink, spec, sign, number, places);
    else
        emit_scientific(sink, spec, sign, number, places);
}

static void emit_decimal(struct sink *sink, const struct conversion *spec, const char *sign, uint64_t mantissa,
                         int exponent)
{
    struct expansion number;
    long long places = spec->precision < 0 ? 6 : spec->precision;
    expand(&number, mantissa, exponent);
    switch (spec->kind | ' ') {
    case 'g':
        emit_general(sink, spec, sign, &number);
        break;
    case 'f':
        if (places < DIGITS)
            round_at(&number, number.point + (int)places);
        emit_fixed(sink, spec, sign, &number, places);
        break;
    default:
        if (places < DIGITS)
            round_at(&number, number.first + 1 + (int)places);
        emit_scientific(sink, spec, sign, &number, places);
    }
}

/* %a: the leading digit is 1, or 0 for zero and subnormal numbers, as in glibc. */
static void emit_hexadecimal(struct sink *sink, const struct conversion *spec, const char *sign, uint64_t bits)
{
    const char *digit = spec->kind == 'a' ? "0123456789abcdef" : "0123456789ABCDEF";
    char text[16], exponent_part[8], prefix[4];
    int stored = (int)(bits >> 52 & 0x7ff);
    uint64_t mantissa = (bits & 0xfffffffffffff) | (uint64_t)(stored != 0) << 52;
    int exponent = stored ? stored - 1023 : mantissa ? -1022 : 0;
    int places = 13;
    if (spec->precision >= 0 && spec->precision < 13) {
        int dropped = 4 * (13 - spec->precision);
        uint64_t half = 1ULL << (dropped - 1), rest = mantissa & (2 * half - 1);
        mantissa >>= dropped;
        mantissa += rest > half || (rest == half && mantissa & 1);
        mantissa <<= dropped;
        places = spec->precision;
    }
    while (spec->precision < 0 && places && !(mantissa >> (4 * (13 - places)) & 15))
        places--;
    for (int i = 0; i <= places; i++)
        text[i] = digit[mantissa >> (4 * (13 - i)) & 15];
    int length = exponent_text(exponent_part, spec->kind == 'a' ? 'p' : 'P', exponent, 1);
    strcpy(stpcpy(prefix, sign), spec->kind == 'a' ? "0x" : "0X");
    long long zeros = spec->precision > places ? spec->precision - places : 0;
    bool has_point = places || zeros || spec->flags & ALTERNATE;
    long long after = open_field(sink, spec, prefix, 1 + has_point + places + zeros + length);
    __fb_emit(sink, text, 1);
    if (has_point)
        __fb_emit(sink, ".", 1);
    __fb_emit(sink, text + 1, (size_t)places);
    __fb_pad(sink, '0', zeros);
    __fb_emit(sink, exponent_part, (size_t)length);
    __fb_pad(sink, ' ', after);
}

static void emit_not_finite(struct sink *sink, struct conversion *spec, const char *sign, bool nan)
{
    bool small = spec->kind & ' ';
    spec->flags &= (unsigned char)~ZERO;
    __fb_emit_field(sink, spec, sign, 0, nan ? (small ? "nan" : "NAN") : (small ? "inf" : "INF"), 3);
}

void __fb_emit_double(struct sink *sink, struct conversion *spec, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int stored = (int)(bits >> 52 & 0x7ff);
    uint64_t fraction = bits & 0xfffffffffffff;
    const char *sign = bits >> 63 ? "-" : spec->flags & PLUS ? "+" : spec->flags & SPACE ? " " : "";
    if (stored == 0x7ff)
        emit_not_finite(sink, spec, sign, fraction != 0);
    else if ((spec->kind | ' ') == 'a')
        emit_hexadecimal(sink, spec, sign, bits);
    else
        emit_decimal(sink, spec, sign, fraction | (uint64_t)(stored != 0) << 52, (stored ? stored : 1) - 1075);
}

/* Programs that print floating point call this, so that this file is linked. */
void __fb_link_floating_point(void)
{
}
