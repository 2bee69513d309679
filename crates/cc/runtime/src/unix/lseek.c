#include "../internal.h"
#include <unistd.h>

off_t lseek(int descriptor, off_t offset, int whence)
{
#ifdef SYS_llseek
    off_t result;
    long error = syscall5(SYS_llseek, descriptor, (long)(offset >> 32), (long)offset, &result, whence);
    return __fb_return(error) ? -1 : result;
#else
    return __fb_return(syscall3(SYS_lseek, descriptor, offset, whence));
#endif
}
