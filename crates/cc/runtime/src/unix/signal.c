#include "../internal.h"
#include <signal.h>
#include <unistd.h>

/* The kernel's struct (kernel: include/linux/signal_types.h). Only x86-64 requires a restorer. */
struct kernel_sigaction {
    __fb_handler handler;
    unsigned long flags;
#ifndef __riscv
    void (*restorer)(void);
#endif
    sigset_t mask;
#ifdef __riscv
    unsigned long slack; /* qemu-user 7.2 expects a restorer in the struct, and writes one word beyond it */
#endif
};

#ifdef __x86_64__
enum { SA_RESTORER = 0x04000000 };
void __fb_restore(void);
__asm__(".pushsection .text.__fb_restore,\"ax\",@progbits\n"
        ".type __fb_restore,@function\n"
        "__fb_restore:\n"
        "    movl $15, %eax\n" /* SYS_rt_sigreturn */
        "    syscall\n"
        ".popsection\n");
#endif

int sigaction(int number, const struct sigaction *restrict action, struct sigaction *restrict before)
{
    struct kernel_sigaction new, old;
    if (action) {
        new = (struct kernel_sigaction){.handler = action->sa_handler,
                                        .flags = (unsigned)action->sa_flags,
                                        .mask = action->sa_mask};
#ifdef __x86_64__
        new.flags |= SA_RESTORER;
        new.restorer = __fb_restore;
#endif
    }
    long error = syscall4(SYS_rt_sigaction, number, action ? &new : NULL, before ? &old : NULL, sizeof(sigset_t));
    if (__fb_return(error))
        return -1;
    if (before)
        *before = (struct sigaction){old.handler, old.mask, (int)old.flags};
    return 0;
}

/* As in BSD and glibc: the handler stays, and system calls are restarted. */
__fb_handler signal(int number, __fb_handler handler)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, before;
    return sigaction(number, &action, &before) ? SIG_ERR : before.sa_handler;
}

int kill(pid_t pid, int number)
{
    return (int)__fb_return(syscall2(SYS_kill, pid, number));
}

int raise(int number)
{
    return (int)__fb_return(syscall2(SYS_tkill, syscall0(SYS_gettid), number));
}

int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict before)
{
    return (int)__fb_return(syscall4(SYS_rt_sigprocmask, how, set, before, sizeof(sigset_t)));
}

int sigemptyset(sigset_t *set)
{
    *set = (sigset_t){{0}};
    return 0;
}

int sigaddset(sigset_t *set, int number)
{
    enum { BITS = 8 * sizeof(long) };
    if (number < 1 || number > 64) {
        errno = EINVAL;
        return -1;
    }
    set->__bits[(unsigned)(number - 1) / BITS] |= 1UL << (unsigned)(number - 1) % BITS;
    return 0;
}
