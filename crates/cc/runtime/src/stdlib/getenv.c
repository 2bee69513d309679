#include "../internal.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *getenv(const char *name)
{
    size_t length = strlen(name);
    if (!length || strchr(name, '='))
        return NULL;
    for (char **each = environ; *each; each++)
        if (!strncmp(*each, name, length) && (*each)[length] == '=')
            return *each + length + 1;
    return NULL;
}
