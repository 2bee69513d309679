#include "stream.h"

/* Linked only with fopen, and only with functions that read. */
WEAK int __fb_drain_opened(void);
WEAK void __fb_forget_input(FILE *);

static int flush_all(void)
{
    int result = __fb_drain(stdout) | __fb_drain(stderr);
    if (__fb_drain_opened)
        result |= __fb_drain_opened();
    return result ? EOF : 0;
}

int fflush(FILE *stream)
{
    if (!stream)
        return flush_all();
    if (__fb_forget_input && unread(stream))
        __fb_forget_input(stream);
    return __fb_drain(stream);
}
