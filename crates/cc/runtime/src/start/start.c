/* From the kernel's entry to main and out again.
 *
 * The stack at the entry point (kernel: create_elf_tables in fs/binfmt_elf.c), addresses growing downwards:
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
 * What a program does not use is not linked: who needs the environment (environ.c) or the auxiliary vector (auxv.c) has a
 * constructor of its own, which runs before the program's. */
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

/* The streams (stdio/standard.c), as what start-up needs to know of them: where they begin. */
extern int __fb_standard WEAK;
extern constructor *const __init_array_start[], *const __init_array_end[];

int main(int, char **, char **);
void __fb_start(long *stack) __attribute__((used, noreturn));

void __fb_start(long *stack)
{
    int argc = (int)*stack;
    char **argv = (char **)(stack + 1);
    char **envp = argv + argc + 1;

    /* The first touch of the streams' page should be a store: a load would map the shared page of zeros, and the store that
     * follows it would be a second page fault. A program without streams may never touch the page. */
    if (&__fb_standard)
        __fb_standard = 0;
    for (constructor *const *each = __init_array_start; each != __init_array_end; each++)
        (*each)(argc, argv, envp);
    exit(main(argc, argv, envp));
}
