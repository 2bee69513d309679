/* memcpy and memmove for processors on which unaligned access may be slow or trap (RISC-V leaves it to the
 * implementation). They copy words where both sides can be aligned, and bytes elsewhere. */
#include "word.h"

#ifdef __riscv

static bool can_be_aligned(const unsigned char *to, const unsigned char *from)
{
    return (((uintptr_t)to ^ (uintptr_t)from) & (sizeof(word) - 1)) == 0;
}

static void copy_forwards(unsigned char *to, const unsigned char *from, size_t length)
{
    if (can_be_aligned(to, from)) {
        for (; length && !aligned(to); length--)
            *to++ = *from++;
        for (; length >= sizeof(word); length -= sizeof(word), to += sizeof(word), from += sizeof(word))
            *(word *)to = *(const word *)from;
    }
    while (length--)
        *to++ = *from++;
}

static void copy_backwards(unsigned char *to, const unsigned char *from, size_t length)
{
    if (can_be_aligned(to, from)) {
        for (; length && !aligned(to + length); length--)
            to[length - 1] = from[length - 1];
        for (; length >= sizeof(word); length -= sizeof(word))
            *(word *)(to + length - sizeof(word)) = *(const word *)(from + length - sizeof(word));
    }
    while (length--)
        to[length] = from[length];
}

void *memcpy(void *restrict to, const void *restrict from, size_t length)
{
    copy_forwards(to, from, length);
    return to;
}

void *memmove(void *to, const void *from, size_t length)
{
    if ((uintptr_t)to - (uintptr_t)from < length)
        copy_backwards(to, from, length);
    else
        copy_forwards(to, from, length);
    return to;
}

#else
typedef int __fb_unaligned_access_is_fast; /* ISO C requires a declaration */
#endif
