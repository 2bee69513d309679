/* Reading strings one machine word at a time.
 *
 * An aligned word lies within one page. If its first byte can be read, the whole word can. Bytes after the end of the
 * string are read and ignored. may_alias makes this defined for the compiler. */
#ifndef FIRSTBYTE_WORD_H
#define FIRSTBYTE_WORD_H

#include "../internal.h"
#include <string.h>

typedef size_t __attribute__((may_alias)) word;
typedef struct {
    size_t value;
} __attribute__((packed, may_alias)) unaligned_word;

#define EACH_BYTE(c) ((size_t)-1 / 255 * (unsigned char)(c))
/* Non-zero if a byte of w is zero (Mycroft): the borrow sets a high bit that was clear. */
#define HAS_ZERO(w) (((w) - EACH_BYTE(1)) & ~(w) & EACH_BYTE(0x80))

static inline bool aligned(const void *pointer)
{
    return ((uintptr_t)pointer & (sizeof(word) - 1)) == 0;
}

#endif
