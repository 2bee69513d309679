/* System calls on riscv64 (man 2 syscall; kernel: arch/riscv/kernel/entry.S).
 *
 *   number    arguments               result   destroyed
 *   a7        a0 a1 a2 a3 a4 a5       a0       nothing
 */
#ifndef FIRSTBYTE_ARCH_SYSCALL_H
#define FIRSTBYTE_ARCH_SYSCALL_H

#define __FB_TRAP "ecall"
#define __FB_NUMBER "a7"
#define __FB_ARGUMENT(n) "a" #n
#include "../generic/syscall.h"

#endif
