#include "../internal.h"
#include <string.h>

static void set_short(unsigned char *to, uint64_t bytes, size_t length)
{
    if (length >= 8) {
        __builtin_memcpy(to, &bytes, 8);
        __builtin_memcpy(to + length - 8, &bytes, 8);
    } else if (length >= 4) {
        __builtin_memcpy(to, &bytes, 4);
        __builtin_memcpy(to + length - 4, &bytes, 4);
    } else {
        while (length)
            to[--length] = (unsigned char)bytes;
    }
}

void *memset(void *to, int c, size_t length)
{
    unsigned char *next = to;
    uint64_t bytes = UINT64_C(0x0101010101010101) * (unsigned char)c;
    for (; length > 16; length -= 16, next += 16) {
        __builtin_memcpy(next, &bytes, 8);
        __builtin_memcpy(next + 8, &bytes, 8);
    }
    set_short(next, bytes, length);
    return to;
}
