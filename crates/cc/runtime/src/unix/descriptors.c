#include "../internal.h"
#include <fcntl.h>
#include <unistd.h>

int dup(int descriptor)
{
    return (int)__fb_return(syscall1(SYS_dup, descriptor));
}

/* dup3 refuses equal descriptors; dup2 returns them if they are open. */
int dup2(int from, int to)
{
    if (from == to)
        return fcntl(from, F_GETFD) < 0 ? -1 : to;
    return (int)__fb_return(syscall3(SYS_dup3, from, to, 0));
}

int pipe2(int ends[2], int flags)
{
    return (int)__fb_return(syscall2(SYS_pipe2, ends, flags));
}

int pipe(int ends[2])
{
    return pipe2(ends, 0);
}
