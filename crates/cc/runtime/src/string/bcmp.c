#include <string.h>

/* clang makes it of a memcmp whose result is only compared with 0. */
int bcmp(const void *left, const void *right, size_t length)
{
    return memcmp(left, right, length);
}
