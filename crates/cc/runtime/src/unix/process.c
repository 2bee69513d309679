#include "../internal.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t getpid(void)
{
    return (pid_t)syscall0(SYS_getpid);
}

pid_t getppid(void)
{
    return (pid_t)syscall0(SYS_getppid);
}

uid_t getuid(void)
{
    return (uid_t)syscall0(SYS_getuid);
}

/* The newer architectures have no fork. clone with SIGCHLD that shares nothing does the same. */
pid_t fork(void)
{
    return (pid_t)__fb_return(syscall5(SYS_clone, SIGCHLD, 0, 0, 0, 0));
}

int execve(const char *path, char *const argv[], char *const envp[])
{
    return (int)__fb_return(syscall3(SYS_execve, path, argv, envp));
}

pid_t waitpid(pid_t pid, int *status, int options)
{
    return (pid_t)__fb_return(syscall4(SYS_wait4, pid, status, options, NULL));
}

pid_t wait(int *status)
{
    return waitpid(-1, status, 0);
}
