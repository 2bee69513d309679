#include "word.h"

int strcmp(const char *left, const char *right)
{
    const unsigned char *a = (const unsigned char *)left, *b = (const unsigned char *)right;
    if (((uintptr_t)a ^ (uintptr_t)b) % sizeof(word) == 0) {
        for (; !aligned(a) && *a && *a == *b; a++)
            b++;
        for (; aligned(a) && *(const word *)a == *(const word *)b && !HAS_ZERO(*(const word *)a); a += sizeof(word))
            b += sizeof(word);
    }
    for (; *a && *a == *b; a++)
        b++;
    return *a - *b;
}

int strcoll(const char *left, const char *right)
{
    return strcmp(left, right);
}
