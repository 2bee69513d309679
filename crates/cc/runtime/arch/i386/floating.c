/* Conversion between unsigned 64-bit integers and floating point, for which gcc and clang call a library on i386 (manual
 * of libgcc, "Soft float library routines"). The processor converts only signed integers (fild, fistp). The conversion
 * goes through long double, whose 64 bits represent every integer exactly. So the only rounding is that to the narrower
 * type. */
#ifdef __i386__
#include "../../src/internal.h"

uint64_t __fixunsxfdi(long double);
uint64_t __fixunsdfdi(double);
uint64_t __fixunssfdi(float);
long double __floatundixf(uint64_t);
double __floatundidf(uint64_t);
float __floatundisf(uint64_t);
int64_t __fixxfdi(long double);
int64_t __fixdfdi(double);
int64_t __fixsfdi(float);
long double __floatdixf(int64_t);
double __floatdidf(int64_t);
float __floatdisf(int64_t);
long double __powixf2(long double, int);
double __powidf2(double, int);
float __powisf2(float, int);

static const long double two_to_63 = 0x1p63L, two_to_64 = 0x1p64L;

uint64_t __fixunsxfdi(long double value)
{
    if (value < two_to_63)
        return (uint64_t)(int64_t)value;
    return (uint64_t)(int64_t)(value - two_to_63) + (1ULL << 63);
}

uint64_t __fixunsdfdi(double value)
{
    return __fixunsxfdi(value);
}

uint64_t __fixunssfdi(float value)
{
    return __fixunsxfdi(value);
}

long double __floatundixf(uint64_t value)
{
    long double as_signed = (long double)(int64_t)value;
    return as_signed < 0 ? as_signed + two_to_64 : as_signed;
}

double __floatundidf(uint64_t value)
{
    return (double)__floatundixf(value);
}

float __floatundisf(uint64_t value)
{
    return (float)__floatundixf(value);
}
/* The processor converts signed integers. Only the rounding to the narrower type needs a store, because the result is
 * returned in a register with 64 bits of precision, which clang does not round. Other objects may call these by name. */
int64_t __fixxfdi(long double value)
{
    return (int64_t)value;
}

int64_t __fixdfdi(double value)
{
    return (int64_t)value;
}

int64_t __fixsfdi(float value)
{
    return (int64_t)value;
}

long double __floatdixf(int64_t value)
{
    return (long double)value;
}

double __floatdidf(int64_t value)
{
    volatile double rounded = (double)value;
    return rounded;
}

float __floatdisf(int64_t value)
{
    volatile float rounded = (float)value;
    return rounded;
}

/* Powers by squaring. Compilers call these with -ffast-math. */
long double __powixf2(long double base, int exponent)
{
    unsigned left = exponent < 0 ? 0 - (unsigned)exponent : (unsigned)exponent;
    long double power = 1;
    for (; left; left >>= 1) {
        if (left & 1)
            power *= base;
        base *= base;
    }
    return exponent < 0 ? 1 / power : power;
}

double __powidf2(double base, int exponent)
{
    return (double)__powixf2(base, exponent);
}

float __powisf2(float base, int exponent)
{
    return (float)__powixf2(base, exponent);
}
#else
typedef int __fb_no_floating; /* ISO C requires a declaration */
#endif
