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

/* Last in, first out. A function may register others, which run next. */
static void run_registered(void)
{
    while (registered)
        functions[--registered]();
}

/* After the destructors in the list of firstbyte.ld, so it runs before them. */
static destructor *const last __attribute__((section(".firstbyte.exit"), used)) = run_registered;
