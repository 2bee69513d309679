/* Square roots: every processor has an instruction for them, which rounds correctly. */
#include "../internal.h"
#include <math.h>

static double root(double value)
{
#if defined __x86_64__
    __asm__("sqrtsd %1, %0" : "=x"(value) : "x"(value));
#elif defined __i386__
    /* fsqrt rounds to the precision in the control word (bits 8 and 9): 53 bits, instead of 64 and then again to 53. */
    uint16_t before, narrow;
    __asm__ volatile("fnstcw %0" : "=m"(before));
    narrow = (uint16_t)((before & ~0x300) | 0x200);
    __asm__ volatile("fldcw %2\n\tfsqrt\n\tfldcw %3" : "=t"(value) : "0"(value), "m"(narrow), "m"(before));
#elif defined __aarch64__
    __asm__("fsqrt %d0, %d1" : "=w"(value) : "w"(value));
#else
    __asm__("fsqrt.d %0, %1" : "=f"(value) : "f"(value));
#endif
    return value;
}

double sqrt(double value)
{
    if (value < 0)
        errno = EDOM;
    return root(value);
}

/* Rounding to 53 bits and then to 24 is correct, too (Figueroa 1995: 53 >= 2 * 24 + 2). */
float sqrtf(float value)
{
    volatile float narrow = (float)sqrt((double)value);
    return narrow;
}
