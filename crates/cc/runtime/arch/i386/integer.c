/* Bits and shifts of integers, for which compilers call a library on i386 (manual of libgcc, "Integer library routines").
 * gcc and clang mostly generate code for them in place. Other versions and other objects may call them by name. */
#ifdef __i386__
#include "../../src/internal.h"

int __popcountsi2(uint32_t);
int __popcountdi2(uint64_t);
int __paritydi2(uint64_t);
int __clzdi2(uint64_t);
int __ctzdi2(uint64_t);
int __ffsdi2(uint64_t);
int __paritysi2(uint32_t);
int __clzsi2(uint32_t);
int __ctzsi2(uint32_t);
int __ffssi2(uint32_t);
int __clrsbsi2(int32_t);
int __clrsbdi2(int64_t);
uint32_t __bswapsi2(uint32_t);
uint64_t __bswapdi2(uint64_t);
uint64_t __ashldi3(uint64_t, int);
uint64_t __lshrdi3(uint64_t, int);
int64_t __ashrdi3(int64_t, int);
uint64_t __muldi3(uint64_t, uint64_t);
uint64_t __negdi2(uint64_t);
int __cmpdi2(int64_t, int64_t);
int __ucmpdi2(uint64_t, uint64_t);

/* Adds neighbouring bits, pairs and groups of four, and then the four bytes by one multiplication. */
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

/* The result for 0 is undefined, as in libgcc. */
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
int __paritysi2(uint32_t value)
{
    return __popcountsi2(value) & 1;
}

int __clzsi2(uint32_t value)
{
    return __builtin_clz(value);
}

int __ctzsi2(uint32_t value)
{
    return __builtin_ctz(value);
}

int __ffssi2(uint32_t value)
{
    return value ? __builtin_ctz(value) + 1 : 0;
}

/* The number of copies of the sign bit that follow it. */
int __clrsbsi2(int32_t value)
{
    uint32_t differing = (uint32_t)(value < 0 ? ~value : value);
    return differing ? __builtin_clz(differing) - 1 : 31;
}

int __clrsbdi2(int64_t value)
{
    uint64_t differing = (uint64_t)(value < 0 ? ~value : value);
    return differing ? __clzdi2(differing) - 1 : 63;
}

uint32_t __bswapsi2(uint32_t value)
{
    return value << 24 | (value & 0xff00) << 8 | (value >> 8 & 0xff00) | value >> 24;
}

uint64_t __bswapdi2(uint64_t value)
{
    return (uint64_t)__bswapsi2((uint32_t)value) << 32 | __bswapsi2((uint32_t)(value >> 32));
}

/* With words, because a shift of 64 bits in C might become a call of these very functions. */
static uint64_t joined(uint32_t high, uint32_t low)
{
    union { uint32_t words[2]; uint64_t whole; } value = { .words = { low, high } };
    return value.whole;
}

static uint32_t high_of(uint64_t value)
{
    union { uint64_t whole; uint32_t words[2]; } parts = { .whole = value };
    return parts.words[1];
}

uint64_t __ashldi3(uint64_t value, int count)
{
    uint32_t high = high_of(value), low = (uint32_t)value;
    if (count >= 32)
        return joined(low << (count - 32), 0);
    return count ? joined(high << count | low >> (32 - count), low << count) : value;
}

uint64_t __lshrdi3(uint64_t value, int count)
{
    uint32_t high = high_of(value), low = (uint32_t)value;
    if (count >= 32)
        return joined(0, high >> (count - 32));
    return count ? joined(high >> count, low >> count | high << (32 - count)) : value;
}

int64_t __ashrdi3(int64_t value, int count)
{
    int32_t high = (int32_t)high_of((uint64_t)value);
    uint32_t low = (uint32_t)value;
    if (count >= 32)
        return (int64_t)joined((uint32_t)(high >> 31), (uint32_t)(high >> (count - 32)));
    return count ? (int64_t)joined((uint32_t)(high >> count), low >> count | (uint32_t)high << (32 - count)) : value;
}

uint64_t __muldi3(uint64_t left, uint64_t right)
{
    uint32_t low, high;
    __asm__("mull %3" : "=a"(low), "=d"(high) : "0"((uint32_t)left), "rm"((uint32_t)right) : "cc");
    return joined(high + (uint32_t)left * high_of(right) + high_of(left) * (uint32_t)right, low);
}

uint64_t __negdi2(uint64_t value)
{
    return 0 - value;
}

/* 0 for less, 1 for equal, 2 for greater. */
int __cmpdi2(int64_t left, int64_t right)
{
    return left < right ? 0 : left == right ? 1 : 2;
}

int __ucmpdi2(uint64_t left, uint64_t right)
{
    return left < right ? 0 : left == right ? 1 : 2;
}
#else
typedef int __fb_no_integer; /* ISO C requires a declaration */
#endif
