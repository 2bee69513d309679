/* Definitions that the runtime's own sources share. Names that users see are those of ISO C and POSIX. All other names
 * begin with __fb_, which ISO C reserves for the implementation. */
#ifndef FIRSTBYTE_INTERNAL_H
#define FIRSTBYTE_INTERNAL_H

#define __FB_RUNTIME 1

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#if defined __x86_64__
#include "../arch/x86_64/syscall.h"
#elif defined __i386__
#include "../arch/i386/syscall.h"
#elif defined __aarch64__
#include "../arch/aarch64/syscall.h"
#elif defined __riscv && __riscv_xlen == 64
#include "../arch/riscv64/syscall.h"
#else
#error "firstbyte's runtime supports x86-64, i386, aarch64 and riscv64"
#endif

/* There are three levels, as in the kernel's nolibc. __fb_syscallN in arch/ is the instruction. syscallN takes arguments
 * of any type. The library function uses __fb_return, which turns a result of -errno into errno and -1. */
#define syscall6(n, a, b, c, d, e, f) __fb_syscall6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define syscall4(n, a, b, c, d) __fb_syscall4(n, (long)(a), (long)(b), (long)(c), (long)(d))
#define syscall3(n, a, b, c) __fb_syscall3(n, (long)(a), (long)(b), (long)(c))
#define syscall2(n, a, b) syscall3(n, a, b, 0)
#define syscall1(n, a) syscall3(n, a, 0, 0)
#define syscall0(n) syscall3(n, 0, 0, 0)
/* On i386 five arguments fit into registers, and six do not. */
#ifdef __i386__
#define syscall5(n, a, b, c, d, e) __fb_syscall5(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))
#else
#define syscall5(n, a, b, c, d, e) syscall6(n, a, b, c, d, e, 0)
#endif

long __fb_return(long result);

/* Small objects that a program writes share the page in which its streams begin, because one page less is one page
 * fault less. firstbyte.ld puts .bss.firstbyte.first before the rest. */
#define FIRST_PAGE __attribute__((section(".bss.firstbyte.first")))

/* Functions that __fb_start calls before the program's constructors, with main's arguments. firstbyte.ld sorts them. */
typedef void constructor(int, char **, char **);
#define FIRST_CONSTRUCTOR __attribute__((section(".init_array.00000"), used))

/* Functions that exit calls, from the last to the first. */
typedef void destructor(void);

/* A weak reference links no file of the archive: the function is null unless something else links it. */
#define WEAK __attribute__((weak))

/* Links the file that defines a function, for others that refer to it weakly. firstbyte.ld discards the section, so this
 * takes no byte of the program. */
#define LINK_ALSO(function) \
    static void (*const function##_also)(FILE *) __attribute__((section(".firstbyte.also"), used)) = function

#define lengthof(array) (sizeof(array) / sizeof *(array))

#endif
