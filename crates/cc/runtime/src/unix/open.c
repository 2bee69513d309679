#include "../internal.h"
#include <fcntl.h>
#include <stdarg.h>

#ifdef __LP64__
#define O_LARGEFILE 0
#elif defined __i386__
#define O_LARGEFILE 0100000 /* files beyond 2 GiB on i386 */
#endif

static mode_t mode_argument(int flags, va_list *arguments)
{
    return flags & O_CREAT ? va_arg(*arguments, mode_t) : 0;
}

static int open_at(int folder, const char *path, int flags, mode_t mode)
{
    return (int)__fb_return(syscall4(SYS_openat, folder, path, flags | O_LARGEFILE, mode));
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_argument(flags, &arguments);
    va_end(arguments);
    return open_at(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_argument(flags, &arguments);
    va_end(arguments);
    return open_at(folder, path, flags, mode);
}

int creat(const char *path, mode_t mode)
{
    return open_at(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}
