/* Unsigned 64-bit integers from and to floating point, which gcc and clang leave to a library on i386 (libgcc's manual,
 * "Soft float library routines"). The processor converts signed ones alone (fild, fistp), by way of long double, whose 64
 * bits hold every integer exactly: so one rounding is left, that to the narrower type. */
#ifdef __i386__
#include "../../src/internal.h"

uint64_t __fixunsxfdi(long double);
uint64_t __fixunsdfdi(double);
uint64_t __fixunssfdi(float);
long double __floatundixf(uint64_t);
double __floatundidf(uint64_t);
float __floatundisf(uint64_t);

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
#else
typedef int __fb_no_floating; /* ISO C wants a declaration */
#endif
