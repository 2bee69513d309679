#include "../internal.h"
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int remove(const char *path)
{
    int before = errno;
    if (unlink(path) == 0)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -1;
    errno = before;
    return rmdir(path);
}

int rename(const char *from, const char *to)
{
    return (int)__fb_return(syscall5(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
