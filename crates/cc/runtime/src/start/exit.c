#include "../internal.h"
#include <stdlib.h>
#include <unistd.h>

extern destructor *const __fini_array_start[], *const __fini_array_end[];
WEAK int __fb_close_streams(void);

void _exit(int status)
{
    for (;;)
        syscall1(SYS_exit_group, status);
}

void _Exit(int status)
{
    _exit(status);
}

/* First the functions that atexit registered, then the destructors (the list of firstbyte.ld from its end), then the
 * streams. A program whose output was lost did not succeed, so 0 becomes EXIT_FAILURE. glibc keeps the 0. */
void exit(int status)
{
    for (destructor *const *each = __fini_array_end; each != __fini_array_start;)
        (*--each)();
    if (__fb_close_streams && __fb_close_streams() && status == 0)
        status = EXIT_FAILURE;
    _exit(status);
}
