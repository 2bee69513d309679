/* The auxiliary vector (man 3 getauxval) follows the environment that the kernel set up. A program may point environ
 * elsewhere, so the address is saved at the start. */
#include "../internal.h"
#include <sys/auxv.h>

FIRST_PAGE static char **environment;

static void set(int argc, char **argv, char **envp)
{
    (void)argc, (void)argv;
    environment = envp;
}

static constructor *const first FIRST_CONSTRUCTOR = set;

unsigned long getauxval(unsigned long type)
{
    char **end = environment;
    while (*end)
        end++;
    const unsigned long *entry = (const unsigned long *)(end + 1);
    for (; entry[0] != AT_NULL; entry += 2)
        if (entry[0] == type)
            return entry[1];
    errno = ENOENT;
    return 0;
}
