/* Calls each function that compilers use on i386 for what the processor lacks, by name, with chosen and random operands.
 * Other architectures do the same with the operators of C. Both programs must print the same. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __i386__
#define UNARY(result, name, type, expression) result name(type);
#define BINARY(result, name, type, other, expression) result name(type, other);
#else
#define UNARY(result, name, type, expression) \
    static result name(type a) { return expression; }
#define BINARY(result, name, type, other, expression) \
    static result name(type a, other b) { return expression; }
#endif


static int clrsb(int64_t a, int bits)
{
    int copies = 0;
    for (int i = bits - 2; i >= 0 && (a >> i & 1) == (a >> (bits - 1) & 1); i--)
        copies++;
    return copies;
}

#define FUNCTIONS \
    UNARY(int, __popcountsi2, uint32_t, __builtin_popcount(a)) \
    UNARY(int, __popcountdi2, uint64_t, __builtin_popcountll(a)) \
    UNARY(int, __paritysi2, uint32_t, __builtin_parity(a)) \
    UNARY(int, __paritydi2, uint64_t, __builtin_parityll(a)) \
    UNARY(int, __ffssi2, uint32_t, __builtin_ffs((int)a)) \
    UNARY(int, __ffsdi2, uint64_t, __builtin_ffsll((long long)a)) \
    UNARY(int, __clrsbsi2, int32_t, clrsb(a, 32)) \
    UNARY(int, __clrsbdi2, int64_t, clrsb(a, 64)) \
    UNARY(uint32_t, __bswapsi2, uint32_t, __builtin_bswap32(a)) \
    UNARY(uint64_t, __bswapdi2, uint64_t, __builtin_bswap64(a)) \
    UNARY(uint64_t, __negdi2, uint64_t, 0 - a) \
    UNARY(float, __floatdisf, int64_t, (float)a) \
    UNARY(double, __floatdidf, int64_t, (double)a) \
    UNARY(long double, __floatdixf, int64_t, (long double)a) \
    UNARY(float, __floatundisf, uint64_t, (float)a) \
    UNARY(double, __floatundidf, uint64_t, (double)a) \
    UNARY(long double, __floatundixf, uint64_t, (long double)a) \
    BINARY(uint64_t, __muldi3, uint64_t, uint64_t, a * b) \
    BINARY(int, __cmpdi2, int64_t, int64_t, (a > b) - (a < b) + 1) \
    BINARY(int, __ucmpdi2, uint64_t, uint64_t, (a > b) - (a < b) + 1)

/* Functions whose operands are limited. */
#define LIMITED \
    UNARY(int, __clzsi2, uint32_t, __builtin_clz(a)) \
    UNARY(int, __clzdi2, uint64_t, __builtin_clzll(a)) \
    UNARY(int, __ctzsi2, uint32_t, __builtin_ctz(a)) \
    UNARY(int, __ctzdi2, uint64_t, __builtin_ctzll(a)) \
    BINARY(uint64_t, __udivdi3, uint64_t, uint64_t, a / b) \
    BINARY(uint64_t, __umoddi3, uint64_t, uint64_t, a % b) \
    BINARY(int64_t, __divdi3, int64_t, int64_t, a / b) \
    BINARY(int64_t, __moddi3, int64_t, int64_t, a % b) \
    BINARY(uint64_t, __ashldi3, uint64_t, int, a << b) \
    BINARY(uint64_t, __lshrdi3, uint64_t, int, a >> b) \
    BINARY(int64_t, __ashrdi3, int64_t, int, a >> b) \
    UNARY(int64_t, __fixsfdi, float, (int64_t)a) \
    UNARY(int64_t, __fixdfdi, double, (int64_t)a) \
    UNARY(int64_t, __fixxfdi, long double, (int64_t)a) \
    UNARY(uint64_t, __fixunssfdi, float, (uint64_t)a) \
    UNARY(uint64_t, __fixunsdfdi, double, (uint64_t)a) \
    UNARY(uint64_t, __fixunsxfdi, long double, (uint64_t)a)

FUNCTIONS
LIMITED

#ifdef __i386__
int64_t __mulodi4(int64_t, int64_t, int *);
int32_t __mulosi4(int32_t, int32_t, int *);
int64_t __divmoddi4(int64_t, int64_t, int64_t *);
uint64_t __udivmoddi4(uint64_t, uint64_t, uint64_t *);
int32_t __addvsi3(int32_t, int32_t);
int32_t __subvsi3(int32_t, int32_t);
int32_t __mulvsi3(int32_t, int32_t);
int64_t __addvdi3(int64_t, int64_t);
int64_t __subvdi3(int64_t, int64_t);
int64_t __mulvdi3(int64_t, int64_t);
int32_t __negvsi2(int32_t);
int64_t __negvdi2(int64_t);
int32_t __absvsi2(int32_t);
int64_t __absvdi2(int64_t);
float __powisf2(float, int);
double __powidf2(double, int);
long double __powixf2(long double, int);
#else
#define OVERFLOWING(type, name) \
    static type name(type a, type b, int *overflow) { type c; *overflow = __builtin_mul_overflow(a, b, &c); return c; }
OVERFLOWING(int64_t, __mulodi4)
OVERFLOWING(int32_t, __mulosi4)
#define __divmoddi4(a, b, rest) (*(rest) = (a) % (b), (a) / (b))
#define __udivmoddi4(a, b, rest) (*(rest) = (a) % (b), (a) / (b))
#define __addvsi3(a, b) ((a) + (b))
#define __subvsi3(a, b) ((a) - (b))
#define __mulvsi3(a, b) ((a) * (b))
#define __addvdi3(a, b) ((a) + (b))
#define __subvdi3(a, b) ((a) - (b))
#define __mulvdi3(a, b) ((a) * (b))
#define __negvsi2(a) (-(a))
#define __negvdi2(a) (-(a))
#define __absvsi2(a) ((a) < 0 ? -(a) : (a))
#define __absvdi2(a) ((a) < 0 ? -(a) : (a))
static double power(double a, int b) { double p = 1; for (; b > 0; b--) p *= a; for (; b < 0; b++) p /= a; return p; }
#define __powisf2 power
#define __powidf2 power
#define __powixf2 power
#endif

#define SHOW(value) printf("%s %llx\n", #value, (unsigned long long)(value))
#define SHOW_REAL(value) printf("%s %.17g\n", #value, (double)(value))

static void bits(uint64_t a)
{
    SHOW(__popcountsi2((uint32_t)a));
    SHOW(__popcountdi2(a));
    SHOW(__paritysi2((uint32_t)a));
    SHOW(__paritydi2(a));
    SHOW(__ffssi2((uint32_t)a));
    SHOW(__ffsdi2(a));
    SHOW(__clrsbsi2((int32_t)a));
    SHOW(__clrsbdi2((int64_t)a));
    SHOW(__bswapsi2((uint32_t)a));
    SHOW(__bswapdi2(a));
    SHOW(__negdi2(a));
    if ((uint32_t)a != 0) {
        SHOW(__clzsi2((uint32_t)a));
        SHOW(__ctzsi2((uint32_t)a));
    }
    if (a != 0) {
        SHOW(__clzdi2(a));
        SHOW(__ctzdi2(a));
    }
}

static void reals(uint64_t a)
{
    SHOW_REAL(__floatdisf((int64_t)a));
    SHOW_REAL(__floatdidf((int64_t)a));
    SHOW_REAL(__floatundisf(a));
    SHOW_REAL(__floatundidf(a));
    SHOW(__fixxfdi(__floatdixf((int64_t)a)));
    SHOW(__fixunsxfdi(__floatundixf(a)));
    /* half of the range, so that values that round up to a power of two stay within it */
    SHOW(__fixsfdi((float)((int64_t)a / 2) / 2));
    SHOW(__fixdfdi((double)((int64_t)a / 2)));
    SHOW(__fixunssfdi((float)(a / 2)));
    SHOW(__fixunsdfdi((double)(a >> 11) * 2048));
}

static void divisions(uint64_t a, uint64_t b)
{
    uint64_t rest;
    int64_t signed_rest;
    if (b == 0)
        return;
    SHOW(__udivdi3(a, b));
    SHOW(__umoddi3(a, b));
    SHOW(__udivmoddi4(a, b, &rest));
    SHOW(rest);
    if ((int64_t)a == INT64_MIN && (int64_t)b == -1)
        return;
    SHOW(__divdi3((int64_t)a, (int64_t)b));
    SHOW(__moddi3((int64_t)a, (int64_t)b));
    SHOW(__divmoddi4((int64_t)a, (int64_t)b, &signed_rest));
    SHOW(signed_rest);
}

static void products(uint64_t a, uint64_t b)
{
    int overflow;
    int count = (int)(b & 63);
    SHOW(__muldi3(a, b));
    SHOW(__mulodi4((int64_t)a, (int64_t)b, &overflow));
    SHOW(overflow);
    SHOW((uint32_t)__mulosi4((int32_t)a, (int32_t)b, &overflow));
    SHOW(overflow);
    SHOW(__ashldi3(a, count));
    SHOW(__lshrdi3(a, count));
    SHOW(__ashrdi3((int64_t)a, count));
    SHOW(__cmpdi2((int64_t)a, (int64_t)b));
    SHOW(__ucmpdi2(a, b));
}

/* With operands that do not overflow. */
static void trapping(int64_t a, int64_t b)
{
    int32_t narrow = (int32_t)(a >> 49), other = (int32_t)(b >> 49);
    int64_t wide = a >> 2, factor = b >> 33;
    SHOW((uint32_t)__addvsi3(narrow, other));
    SHOW((uint32_t)__subvsi3(narrow, other));
    SHOW((uint32_t)__mulvsi3(narrow, other));
    SHOW((uint32_t)__negvsi2(narrow));
    SHOW((uint32_t)__absvsi2(narrow));
    SHOW(__addvdi3(wide, factor));
    SHOW(__subvdi3(wide, factor));
    SHOW(__mulvdi3(a >> 34, factor));
    SHOW(__negvdi2(wide));
    SHOW(__absvdi2(wide));
}

/* Operations that the compiler itself turns into calls. */
static void operators(volatile uint64_t a, volatile uint64_t b)
{
    int64_t product;
    int overflow = __builtin_mul_overflow((int64_t)a, (int64_t)b, &product);
    SHOW(product);
    SHOW(overflow);
    SHOW(a * b);
    SHOW(b ? a / b : 0);
    SHOW(b ? a % b : 0);
    SHOW(a << (b & 63));
    SHOW((int64_t)a >> (b & 63));
    SHOW(__builtin_popcountll(a));
    SHOW(a ? __builtin_clzll(a) : 0);
    SHOW(__builtin_clrsbll((int64_t)a));
    SHOW_REAL(a);
}

static uint64_t state = 1;

/* splitmix64, cut to a random width. */
static uint64_t random_bits(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    z ^= z >> 31;
    return z >> (z & 63);
}

static void all(uint64_t a, uint64_t b)
{
    bits(a);
    reals(a);
    divisions(a, b);
    products(a, b);
    trapping((int64_t)a, (int64_t)b);
    operators(a, b);
}

int main(int argc, char **argv)
{
    static const uint64_t edges[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x100000001,
        0x7fffffffffffffff, 0x8000000000000000, 0x8000000000000001, 0xffffffff00000000, 0xffffffffffffffff};
    enum { EDGES = sizeof edges / sizeof *edges };
    if (argc > 1 && argv[1][0] == 't') /* this overflows and must abort */
        return (int)__mulvdi3(INT64_MAX, argc) + (int)__addvsi3(INT32_MAX, argc);
    for (int i = 0; i < EDGES; i++)
        for (int j = 0; j < EDGES; j++)
            all(edges[i], edges[j]);
    for (int i = 0; i < 2000; i++) {
        uint64_t a = random_bits();
        all(a, random_bits());
    }
    for (int exponent = -4; exponent <= 9; exponent++) {
        SHOW_REAL(__powisf2(4.0F, exponent));
        SHOW_REAL(__powidf2(-2.0, exponent));
        SHOW_REAL(__powixf2(0.5L, exponent));
    }
    return 0;
}
