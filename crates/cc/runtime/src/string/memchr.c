#include "word.h"

/* The length may be SIZE_MAX: nothing is read after the word that contains the byte. */
void *memchr(const void *bytes, int c, size_t length)
{
    const unsigned char *next = bytes;
    for (; length && !aligned(next); next++, length--)
        if (*next == (unsigned char)c)
            return (void *)next;
    while (length >= sizeof(word) && !HAS_ZERO(*(const word *)next ^ EACH_BYTE(c))) {
        next += sizeof(word);
        length -= sizeof(word);
    }
    for (; length; next++, length--)
        if (*next == (unsigned char)c)
            return (void *)next;
    return NULL;
}
