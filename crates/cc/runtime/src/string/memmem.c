/* Two-Way string matching (Crochemore and Perrin, "Two-way string-matching", JACM 38, 1991). It takes linear time and
 * constant space for every needle, so no input makes a search slow. */
#include "../internal.h"
#include <string.h>

struct factorisation {
    size_t suffix; /* where the maximal suffix starts */
    size_t period;
};

/* The maximal suffix of the needle in the order of bytes, or in the opposite order if reversed. */
static struct factorisation maximal_suffix(const unsigned char *needle, size_t length, bool reversed)
{
    size_t suffix = 0, candidate = 1, offset = 0, period = 1;
    while (candidate + offset < length) {
        unsigned char a = needle[suffix + offset], b = needle[candidate + offset];
        if (a == b) {
            if (++offset == period) {
                candidate += period;
                offset = 0;
            }
        } else if ((a > b) != reversed) {
            candidate += offset + 1;
            offset = 0;
            period = candidate - suffix;
        } else {
            suffix = candidate++;
            offset = 0;
            period = 1;
        }
    }
    return (struct factorisation){suffix, period};
}

static struct factorisation critical_factorisation(const unsigned char *needle, size_t length)
{
    struct factorisation a = maximal_suffix(needle, length, false), b = maximal_suffix(needle, length, true);
    return a.suffix > b.suffix ? a : b;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void *two_way(const unsigned char *text, size_t text_length, const unsigned char *needle, size_t length)
{
    struct factorisation cut = critical_factorisation(needle, length);
    bool periodic = cut.suffix + cut.period <= length && memcmp(needle, needle + cut.period, cut.suffix) == 0;
    size_t shift = periodic ? cut.period : larger(cut.suffix, length - cut.suffix) + 1;
    size_t remembered = 0; /* number of bytes at the needle's start that are known to match */
    for (size_t at = 0; at + length <= text_length;) {
        size_t right = larger(cut.suffix, remembered), left = cut.suffix;
        while (right < length && needle[right] == text[at + right])
            right++;
        if (right < length) {
            at += right - cut.suffix + 1;
            remembered = 0;
            continue;
        }
        while (left > remembered && needle[left - 1] == text[at + left - 1])
            left--;
        if (left <= remembered)
            return (void *)(text + at);
        at += shift;
        remembered = periodic ? length - cut.period : 0;
    }
    return NULL;
}

void *memmem(const void *text, size_t text_length, const void *needle, size_t length)
{
    if (!length)
        return (void *)text;
    const unsigned char *start = memchr(text, *(const unsigned char *)needle, text_length);
    if (!start || length == 1)
        return (void *)start;
    return two_way(start, text_length - (size_t)(start - (const unsigned char *)text), needle, length);
}
