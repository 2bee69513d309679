#include "../internal.h"
#include <stdarg.h>
#include <sys/mman.h>

static long map(void *at, size_t length, int protection, int flags, int descriptor, off_t offset)
{
#ifdef SYS_mmap2
    if (offset & 4095)
        return -EINVAL;
    return syscall6(SYS_mmap2, at, length, protection, flags, descriptor, (unsigned long)(offset >> 12));
#else
    return syscall6(SYS_mmap, at, length, protection, flags, descriptor, offset);
#endif
}

void *mmap(void *at, size_t length, int protection, int flags, int descriptor, off_t offset)
{
    return (void *)__fb_return(map(at, length, protection, flags, descriptor, offset));
}

int munmap(void *at, size_t length)
{
    return (int)__fb_return(syscall2(SYS_munmap, at, length));
}

int mprotect(void *at, size_t length, int protection)
{
    return (int)__fb_return(syscall3(SYS_mprotect, at, length, protection));
}

int madvise(void *at, size_t length, int advice)
{
    return (int)__fb_return(syscall3(SYS_madvise, at, length, advice));
}

void *mremap(void *at, size_t old_length, size_t new_length, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    void *to = va_arg(arguments, void *);
    va_end(arguments);
    return (void *)__fb_return(syscall5(SYS_mremap, at, old_length, new_length, flags, to));
}
