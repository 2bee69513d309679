#include "../internal.h"
#include <stdlib.h>
#include <unistd.h>

WEAK void __fb_run_atexit(void);
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

/* A program whose output was lost did not succeed: 0 becomes EXIT_FAILURE. glibc would keep the 0. */
void exit(int status)
{
    if (__fb_run_atexit)
        __fb_run_atexit();
    if (__fb_close_streams && __fb_close_streams() && status == 0)
        status = EXIT_FAILURE;
    _exit(status);
}
