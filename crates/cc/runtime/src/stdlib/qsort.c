/* Heapsort in place: O(n log n) comparisons for every order of the elements, without memory and recursion. It first looks
 * for the leaf and then climbs (I. Wegener, "Bottom-up-heapsort", 1993). This takes about n log2 n comparisons, as few as
 * quicksort on average. Equal elements may change places, as ISO C allows. */
#include "../internal.h"
#include <stdlib.h>
#include <string.h>

typedef int comparison(const void *, const void *);

struct heap {
    char *elements;
    size_t count, size;
    comparison *compare;
};

static char *element(const struct heap *heap, size_t index)
{
    return heap->elements + index * heap->size;
}

static void swap(char *a, char *b, size_t size)
{
    char part[64];
    for (size_t done = 0; done < size; done += sizeof part) {
        size_t length = size - done < sizeof part ? size - done : sizeof part;
        memcpy(part, a + done, length);
        memcpy(a + done, b + done, length);
        memcpy(b + done, part, length);
    }
}

static size_t larger_child(const struct heap *heap, size_t parent)
{
    size_t child = 2 * parent + 1;
    return child + 1 < heap->count && heap->compare(element(heap, child), element(heap, child + 1)) < 0 ? child + 1
                                                                                                       : child;
}

static size_t leaf_below(const struct heap *heap, size_t root)
{
    while (2 * root + 1 < heap->count)
        root = larger_child(heap, root);
    return root;
}

/* Moves each element on the path from the root to `place` one up, and the root to `place`. */
static void rotate(const struct heap *heap, size_t root, size_t place)
{
    for (; place != root; place = (place - 1) / 2)
        swap(element(heap, root), element(heap, place), heap->size);
}

static void sift(const struct heap *heap, size_t root)
{
    size_t place = leaf_below(heap, root);
    while (place != root && heap->compare(element(heap, place), element(heap, root)) < 0)
        place = (place - 1) / 2;
    rotate(heap, root, place);
}

void qsort(void *elements, size_t count, size_t size, comparison *compare)
{
    struct heap heap = {elements, count, size, compare};
    if (count < 2 || !size)
        return;
    for (size_t root = count / 2; root-- > 0;)
        sift(&heap, root);
    while (--heap.count) {
        swap(element(&heap, 0), element(&heap, heap.count), size);
        sift(&heap, 0);
    }
}
