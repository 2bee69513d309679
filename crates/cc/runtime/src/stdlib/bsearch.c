#include "../internal.h"
#include <stdlib.h>

void *bsearch(const void *key, const void *elements, size_t count, size_t size,
              int (*compare)(const void *, const void *))
{
    const char *low = elements;
    while (count) {
        const char *middle = low + count / 2 * size;
        int order = compare(key, middle);
        if (order == 0)
            return (void *)middle;
        if (order > 0)
            low = middle + size;
        count = order > 0 ? count - count / 2 - 1 : count / 2;
    }
    return NULL;
}
