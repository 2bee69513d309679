/* Bits of 64-bit integers, where gcc calls a library on i386 (libgcc's manual, "Integer library routines"). */
#ifdef __i386__
#include "../../src/internal.h"

int __popcountsi2(uint32_t);
int __popcountdi2(uint64_t);
int __paritydi2(uint64_t);
int __clzdi2(uint64_t);
int __ctzdi2(uint64_t);
int __ffsdi2(uint64_t);

/* Sums of neighbours: pairs, fours, bytes, and the four bytes by one multiplication. */
int __popcountsi2(uint32_t value)
{
    value -= value >> 1 & 0x55555555;
    value = (value & 0x33333333) + (value >> 2 & 0x33333333);
    value = (value + (value >> 4)) & 0x0f0f0f0f;
    return (int)(value * 0x01010101 >> 24);
}

int __popcountdi2(uint64_t value)
{
    return __popcountsi2((uint32_t)value) + __popcountsi2((uint32_t)(value >> 32));
}

int __paritydi2(uint64_t value)
{
    return __popcountdi2(value) & 1;
}

/* Of 0 the result is undefined, here as there. */
int __clzdi2(uint64_t value)
{
    uint32_t high = (uint32_t)(value >> 32);
    return high ? __builtin_clz(high) : 32 + __builtin_clz((uint32_t)value);
}

int __ctzdi2(uint64_t value)
{
    uint32_t low = (uint32_t)value;
    return low ? __builtin_ctz(low) : 32 + __builtin_ctz((uint32_t)(value >> 32));
}

int __ffsdi2(uint64_t value)
{
    return value ? __ctzdi2(value) + 1 : 0;
}
#else
typedef int __fb_no_integer; /* ISO C wants a declaration */
#endif
