/* Arithmetic that detects overflow: clang's 64-bit __builtin_mul_overflow, and the functions that gcc calls with
 * -ftrapv, which abort (manual of libgcc, "Trapping arithmetic functions"). */
#ifdef __i386__
#include "../../src/internal.h"
#include <stdlib.h>

int64_t __mulodi4(int64_t, int64_t, int *);
int32_t __mulosi4(int32_t, int32_t, int *);
int32_t __addvsi3(int32_t, int32_t);
int32_t __subvsi3(int32_t, int32_t);
int32_t __mulvsi3(int32_t, int32_t);
int32_t __negvsi2(int32_t);
int32_t __absvsi2(int32_t);
int64_t __addvdi3(int64_t, int64_t);
int64_t __subvdi3(int64_t, int64_t);
int64_t __mulvdi3(int64_t, int64_t);
int64_t __negvdi2(int64_t);
int64_t __absvdi2(int64_t);

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

/* This cannot use __builtin_mul_overflow, which would call this very function. */
int64_t __mulodi4(int64_t left, int64_t right, int *overflow)
{
    uint64_t largest = ((uint64_t)1 << 63) - ((left < 0) == (right < 0));
    *overflow = right != 0 && magnitude(left) > largest / magnitude(right);
    return (int64_t)((uint64_t)left * (uint64_t)right);
}

int32_t __mulosi4(int32_t left, int32_t right, int *overflow)
{
    int64_t product = (int64_t)left * right;
    *overflow = product != (int32_t)product;
    return (int32_t)product;
}

static int32_t narrowed(int64_t value)
{
    if (value != (int32_t)value)
        abort();
    return (int32_t)value;
}

int32_t __addvsi3(int32_t left, int32_t right)
{
    return narrowed((int64_t)left + right);
}

int32_t __subvsi3(int32_t left, int32_t right)
{
    return narrowed((int64_t)left - right);
}

int32_t __mulvsi3(int32_t left, int32_t right)
{
    return narrowed((int64_t)left * right);
}

int32_t __negvsi2(int32_t value)
{
    return narrowed(-(int64_t)value);
}

int32_t __absvsi2(int32_t value)
{
    return value < 0 ? __negvsi2(value) : value;
}

int64_t __addvdi3(int64_t left, int64_t right)
{
    int64_t sum;
    if (__builtin_add_overflow(left, right, &sum))
        abort();
    return sum;
}

int64_t __subvdi3(int64_t left, int64_t right)
{
    int64_t difference;
    if (__builtin_sub_overflow(left, right, &difference))
        abort();
    return difference;
}

int64_t __mulvdi3(int64_t left, int64_t right)
{
    int overflow;
    int64_t product = __mulodi4(left, right, &overflow);
    if (overflow)
        abort();
    return product;
}

int64_t __negvdi2(int64_t value)
{
    return __subvdi3(0, value);
}

int64_t __absvdi2(int64_t value)
{
    return value < 0 ? __negvdi2(value) : value;
}
#else
typedef int __fb_no_overflow; /* ISO C requires a declaration */
#endif
