/* System calls of architectures whose argument registers are numbered: the first one is also that of the result, and no other
 * register is destroyed. __FB_TRAP is the instruction, __FB_NUMBER the register of the number. */
#include "number.h"

static inline long __fb_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
    register long nr __asm__(__FB_NUMBER) = number;
    register long r0 __asm__(__FB_ARGUMENT(0)) = a;
    register long r1 __asm__(__FB_ARGUMENT(1)) = b;
    register long r2 __asm__(__FB_ARGUMENT(2)) = c;
    register long r3 __asm__(__FB_ARGUMENT(3)) = d;
    register long r4 __asm__(__FB_ARGUMENT(4)) = e;
    register long r5 __asm__(__FB_ARGUMENT(5)) = f;
    __asm__ volatile(__FB_TRAP
                     : "+r"(r0)
                     : "r"(nr), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5)
                     : "memory");
    return r0;
}

static inline long __fb_syscall4(long number, long a, long b, long c, long d)
{
    register long nr __asm__(__FB_NUMBER) = number;
    register long r0 __asm__(__FB_ARGUMENT(0)) = a;
    register long r1 __asm__(__FB_ARGUMENT(1)) = b;
    register long r2 __asm__(__FB_ARGUMENT(2)) = c;
    register long r3 __asm__(__FB_ARGUMENT(3)) = d;
    __asm__ volatile(__FB_TRAP : "+r"(r0) : "r"(nr), "r"(r1), "r"(r2), "r"(r3) : "memory");
    return r0;
}

static inline long __fb_syscall3(long number, long a, long b, long c)
{
    register long nr __asm__(__FB_NUMBER) = number;
    register long r0 __asm__(__FB_ARGUMENT(0)) = a;
    register long r1 __asm__(__FB_ARGUMENT(1)) = b;
    register long r2 __asm__(__FB_ARGUMENT(2)) = c;
    __asm__ volatile(__FB_TRAP : "+r"(r0) : "r"(nr), "r"(r1), "r"(r2) : "memory");
    return r0;
}
