#include <string.h>

/* clang calls this instead of memcmp if the result is only compared with 0. */
int bcmp(const void *left, const void *right, size_t length)
{
    return memcmp(left, right, length);
}
