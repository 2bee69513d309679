/* Up to 32 bytes are copied with two overlapping moves, more with 16-byte blocks of which the last one overlaps. A short
 * copy makes all its loads before its stores, so memmove can use it, too. memcpy_aligned.c is for processors on which
 * unaligned access may be slow or trap. */
#include "../internal.h"
#include <string.h>

#ifndef __riscv

#define COPY_TWO(type, to, from, length) \
    do { \
        type first, last; \
        __builtin_memcpy(&first, from, sizeof(type)); \
        __builtin_memcpy(&last, (from) + (length) - sizeof(type), sizeof(type)); \
        __builtin_memcpy(to, &first, sizeof(type)); \
        __builtin_memcpy((to) + (length) - sizeof(type), &last, sizeof(type)); \
    } while (0)

typedef struct {
    uint64_t low, high;
} block;

static void copy_short(unsigned char *to, const unsigned char *from, size_t length)
{
    if (length >= 16)
        COPY_TWO(block, to, from, length);
    else if (length >= 8)
        COPY_TWO(uint64_t, to, from, length);
    else if (length >= 4)
        COPY_TWO(uint32_t, to, from, length);
    else if (length >= 2)
        COPY_TWO(uint16_t, to, from, length);
    else if (length)
        *to = *from;
}

static void copy_forwards(unsigned char *to, const unsigned char *from, size_t length)
{
    block last, each;
    __builtin_memcpy(&last, from + length - 16, 16);
    for (size_t i = 0; i + 16 < length; i += 16) {
        __builtin_memcpy(&each, from + i, 16);
        __builtin_memcpy(to + i, &each, 16);
    }
    __builtin_memcpy(to + length - 16, &last, 16);
}

static void copy_backwards(unsigned char *to, const unsigned char *from, size_t length)
{
    block first, each;
    __builtin_memcpy(&first, from, 16);
    for (size_t i = length; i > 16; i -= 16) {
        __builtin_memcpy(&each, from + i - 16, 16);
        __builtin_memcpy(to + i - 16, &each, 16);
    }
    __builtin_memcpy(to, &first, 16);
}

void *memcpy(void *restrict to, const void *restrict from, size_t length)
{
    if (length <= 32)
        copy_short(to, from, length);
    else
        copy_forwards(to, from, length);
    return to;
}

void *memmove(void *to, const void *from, size_t length)
{
    if (length <= 32)
        copy_short(to, from, length);
    else if ((uintptr_t)to - (uintptr_t)from < length)
        copy_backwards(to, from, length);
    else
        copy_forwards(to, from, length);
    return to;
}

#endif
