#include "../internal.h"
#include <fcntl.h>
#include <unistd.h>

int access(const char *path, int mode)
{
    return (int)__fb_return(syscall3(SYS_faccessat, AT_FDCWD, path, mode));
}

int unlink(const char *path)
{
    return (int)__fb_return(syscall3(SYS_unlinkat, AT_FDCWD, path, 0));
}

int rmdir(const char *path)
{
    return (int)__fb_return(syscall3(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR));
}

int chdir(const char *path)
{
    return (int)__fb_return(syscall1(SYS_chdir, path));
}

/* The caller must pass an array. glibc allocates one for a null pointer. */
char *getcwd(char *into, size_t size)
{
    if (!into || !size) {
        errno = EINVAL;
        return NULL;
    }
    return __fb_return(syscall2(SYS_getcwd, into, size)) < 0 ? NULL : into;
}
