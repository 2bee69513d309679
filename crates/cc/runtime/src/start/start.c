/* From the entry point to main, and to exit.
 *
 * The stack at the entry point (kernel: create_elf_tables in fs/binfmt_elf.c), with addresses growing downwards:
 *
 *     stack ->  argc
 *               argv[0] ... argv[argc - 1]
 *               NULL
 *               environ[0] ... environ[n - 1]
 *               NULL
 *               auxv[0].type, auxv[0].value, ...     see src/start/auxv.c
 *               AT_NULL, 0
 *               the strings
 *
 * Parts that a program does not use are not linked. The environment (environ.c) and the auxiliary vector (auxv.c) each
 * have a constructor, which runs before those of the program. */
#include "../internal.h"
#include <stdlib.h>

#if defined __x86_64__
#include "../../arch/x86_64/start.h"
#elif defined __i386__
#include "../../arch/i386/start.h"
#elif defined __aarch64__
#include "../../arch/aarch64/start.h"
#else
#include "../../arch/riscv64/start.h"
#endif

/* The streams (stdio/standard.c). Only their address matters here. */
extern int __fb_standard WEAK;
extern constructor *const __init_array_start[], *const __init_array_end[];

int main(int, char **, char **);
void __fb_start(long *stack) __attribute__((used, noreturn));

void __fb_start(long *stack)
{
    int argc = (int)*stack;
    char **argv = (char **)(stack + 1);
    char **envp = argv + argc + 1;

    /* The first access to the page of the streams should be a store. A load would map the shared page of zeros, and the
     * store after it would be a second page fault. A program without streams may never touch the page. */
    if (&__fb_standard)
        __fb_standard = 0;
    for (constructor *const *each = __init_array_start; each != __init_array_end; each++)
        (*each)(argc, argv, envp);
    exit(main(argc, argv, envp));
}
