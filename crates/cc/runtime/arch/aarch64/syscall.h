/* System calls on aarch64 (man 2 syscall; kernel: arch/arm64/kernel/entry.S).
 *
 *   number    arguments               result   destroyed
 *   x8        x0 x1 x2 x3 x4 x5       x0       nothing
 */
#ifndef FIRSTBYTE_ARCH_SYSCALL_H
#define FIRSTBYTE_ARCH_SYSCALL_H

#define __FB_TRAP "svc 0"
#define __FB_NUMBER "x8"
#define __FB_ARGUMENT(n) "x" #n
#include "../generic/syscall.h"

#endif
