/* System calls on i386 (man 2 syscall; kernel: arch/x86/entry/entry_32.S).
 *
 *   number    arguments                     result
 *   eax       ebx ecx edx esi edi ebp       eax
 *
 * `int $0x80` works on every kernel. The faster call of the vDSO would need a walk through the auxiliary vector.
 * ebp may be the frame pointer and cannot be a constraint, so the sixth argument is passed through memory. */
#ifndef FIRSTBYTE_ARCH_SYSCALL_H
#define FIRSTBYTE_ARCH_SYSCALL_H

#include "number.h"

/* The number and the sixth argument come from an array: pushing them would change esp, through which the compiler may
 * address operands. */
static inline long __fb_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    long block[2] = {number, f};
    __asm__ volatile("pushl %%ebp\n\t"
                     "movl 4(%%eax), %%ebp\n\t"
                     "movl (%%eax), %%eax\n\t"
                     "int $0x80\n\t"
                     "popl %%ebp"
                     : "=a"(result)
                     : "a"(block), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
                     : "memory");
    return result;
}

static inline long __fb_syscall4(long number, long a, long b, long c, long d)
{
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d) : "memory");
    return result;
}

static inline long __fb_syscall5(long number, long a, long b, long c, long d, long e)
{
    long result;
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
                     : "memory");
    return result;
}

static inline long __fb_syscall3(long number, long a, long b, long c)
{
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
    return result;
}

#endif
