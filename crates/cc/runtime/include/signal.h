#ifndef _SIGNAL_H
#define _SIGNAL_H

#include <sys/types.h>

typedef int sig_atomic_t;
typedef void (*__fb_handler)(int);

typedef struct {
    unsigned long __bits[64 / (8 * __SIZEOF_LONG__)]; /* the kernel's set of 64 signals */
} sigset_t;

struct sigaction {
    __fb_handler sa_handler;
    sigset_t sa_mask;
    int sa_flags;
};

#define SIG_DFL ((__fb_handler)0)
#define SIG_IGN ((__fb_handler)1)
#define SIG_ERR ((__fb_handler)-1)

#define SIGHUP 1
#define SIGINT 2
#define SIGQUIT 3
#define SIGILL 4
#define SIGTRAP 5
#define SIGABRT 6
#define SIGBUS 7
#define SIGFPE 8
#define SIGKILL 9
#define SIGUSR1 10
#define SIGSEGV 11
#define SIGUSR2 12
#define SIGPIPE 13
#define SIGALRM 14
#define SIGTERM 15
#define SIGCHLD 17
#define SIGCONT 18
#define SIGSTOP 19
#define SIGTSTP 20
#define SIGTTIN 21
#define SIGTTOU 22
#define SIGWINCH 28

#define SA_NOCLDSTOP 1
#define SA_NOCLDWAIT 2
#define SA_RESTART 0x10000000
#define SA_NODEFER 0x40000000
#define SA_RESETHAND (-0x7fffffff - 1)

#define SIG_BLOCK 0
#define SIG_UNBLOCK 1
#define SIG_SETMASK 2

int kill(pid_t, int);
int raise(int);
int sigaction(int, const struct sigaction *__restrict__, struct sigaction *__restrict__);
int sigaddset(sigset_t *, int);
int sigemptyset(sigset_t *);
__fb_handler signal(int, __fb_handler);
int sigprocmask(int, const sigset_t *__restrict__, sigset_t *__restrict__);

#endif
