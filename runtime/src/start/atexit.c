#include "../internal.h"
#include <stdlib.h>

FIRST_PAGE static unsigned registered;
static void (*functions[ATEXIT_MAX])(void);

int atexit(void (*function)(void))
{
    if (registered == ATEXIT_MAX)
        return -1;
    functions[registered++] = function;
    return 0;
}

/* Last in, first out; a function may register others, which run next. */
void __fb_run_atexit(void);
void __fb_run_atexit(void)
{
    while (registered)
        functions[--registered]();
}
