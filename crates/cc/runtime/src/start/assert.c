#include "../internal.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* The text of glibc ("PROGRAM: FILE:LINE: FUNCTION: Assertion `EXPRESSION' failed.") without the program's name. */
void __fb_assert_failed(const char *expression, const char *file, int line, const char *function)
{
    fflush(stdout);
    fprintf(stderr, "%s:%d: %s: Assertion `%s' failed.\n", file, line, function, expression);
    abort();
}
