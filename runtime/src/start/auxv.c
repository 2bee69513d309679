/* The auxiliary vector (man 3 getauxval) begins behind the environment as the kernel laid it out. */
#include "../internal.h"
#include <sys/auxv.h>
#include <unistd.h>

unsigned long getauxval(unsigned long type)
{
    char **end = environ;
    while (*end)
        end++;
    const unsigned long *entry = (const unsigned long *)(end + 1);
    for (; entry[0] != AT_NULL; entry += 2)
        if (entry[0] == type)
            return entry[1];
    errno = ENOENT;
    return 0;
}
