#include "word.h"

static int compare_bytes(const unsigned char *a, const unsigned char *b, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (a[i] != b[i])
            return a[i] - b[i];
    return 0;
}

int memcmp(const void *left, const void *right, size_t length)
{
    const unsigned char *a = left, *b = right;
    while (length >= sizeof(word) && ((const unaligned_word *)a)->value == ((const unaligned_word *)b)->value) {
        a += sizeof(word);
        b += sizeof(word);
        length -= sizeof(word);
    }
    return compare_bytes(a, b, length);
}
