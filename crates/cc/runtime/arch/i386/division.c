/* 64-bit division, for which gcc and clang call a library on i386 (manual of libgcc, "Integer library routines"). With
 * this file no 32-bit libgcc is needed. */
#ifdef __i386__
#include "../../src/internal.h"

uint64_t __udivmoddi4(uint64_t, uint64_t, uint64_t *);
uint64_t __udivdi3(uint64_t, uint64_t);
uint64_t __umoddi3(uint64_t, uint64_t);
int64_t __divdi3(int64_t, int64_t);
int64_t __moddi3(int64_t, int64_t);
int64_t __divmoddi4(int64_t, int64_t, int64_t *);

/* high:low / divisor, where high < divisor */
static uint32_t divide(uint32_t high, uint32_t low, uint32_t divisor, uint32_t *remainder)
{
    uint32_t quotient;
    __asm__("divl %4" : "=a"(quotient), "=d"(*remainder) : "0"(low), "1"(high), "r"(divisor));
    return quotient;
}

static uint64_t divide_by_word(uint64_t dividend, uint32_t divisor, uint64_t *remainder)
{
    uint32_t high = (uint32_t)(dividend >> 32), rest;
    uint32_t upper = high / divisor;
    uint32_t lower = divide(high % divisor, (uint32_t)dividend, divisor, &rest);
    *remainder = rest;
    return (uint64_t)upper << 32 | lower;
}

/* For a divisor of more than 32 bits. The quotient has at most 32 bits and is computed bit by bit. */
static uint64_t divide_long(uint64_t dividend, uint64_t divisor, uint64_t *remainder)
{
    uint32_t quotient = 0;
    for (int shift = __builtin_clzll(divisor); shift >= 0; shift--) {
        uint64_t part = divisor << shift;
        if (part <= dividend) {
            dividend -= part;
            quotient |= 1U << shift;
        }
    }
    *remainder = dividend;
    return quotient;
}

uint64_t __udivmoddi4(uint64_t dividend, uint64_t divisor, uint64_t *remainder)
{
    uint64_t rest, quotient;
    if (divisor >> 32)
        quotient = divide_long(dividend, divisor, &rest);
    else
        quotient = divide_by_word(dividend, (uint32_t)divisor, &rest);
    if (remainder)
        *remainder = rest;
    return quotient;
}

uint64_t __udivdi3(uint64_t dividend, uint64_t divisor)
{
    return __udivmoddi4(dividend, divisor, NULL);
}

uint64_t __umoddi3(uint64_t dividend, uint64_t divisor)
{
    uint64_t remainder;
    __udivmoddi4(dividend, divisor, &remainder);
    return remainder;
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

int64_t __divmoddi4(int64_t dividend, int64_t divisor, int64_t *remainder)
{
    uint64_t rest, quotient = __udivmoddi4(magnitude(dividend), magnitude(divisor), &rest);
    *remainder = (int64_t)(dividend < 0 ? 0 - rest : rest);
    return (int64_t)((dividend < 0) != (divisor < 0) ? 0 - quotient : quotient);
}

int64_t __divdi3(int64_t dividend, int64_t divisor)
{
    int64_t remainder;
    return __divmoddi4(dividend, divisor, &remainder);
}

int64_t __moddi3(int64_t dividend, int64_t divisor)
{
    int64_t remainder;
    __divmoddi4(dividend, divisor, &remainder);
    return remainder;
}
#else
typedef int __fb_no_division; /* ISO C requires a declaration */
#endif
