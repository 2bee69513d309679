/* Sets of bytes as 256 bits. */
#include "../internal.h"
#include <string.h>

struct set {
    uint32_t bits[8];
};

static struct set set_of(const char *characters)
{
    struct set set = {{0}};
    for (; *characters; characters++)
        set.bits[(unsigned char)*characters / 32] |= 1U << (unsigned char)*characters % 32;
    return set;
}

static bool contains(const struct set *set, char c)
{
    return set->bits[(unsigned char)c / 32] >> (unsigned char)c % 32 & 1;
}

size_t strspn(const char *string, const char *accept)
{
    struct set set = set_of(accept);
    const char *end = string;
    while (*end && contains(&set, *end))
        end++;
    return (size_t)(end - string);
}

size_t strcspn(const char *string, const char *reject)
{
    struct set set = set_of(reject);
    const char *end = string;
    while (*end && !contains(&set, *end))
        end++;
    return (size_t)(end - string);
}

char *strpbrk(const char *string, const char *accept)
{
    string += strcspn(string, accept);
    return *string ? (char *)string : NULL;
}
