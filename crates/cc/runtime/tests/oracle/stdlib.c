/* Sorting, searching, memory, environment, error messages. */
#include "random.h"
#include <errno.h>
#include <stdio.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int compare_integers(const void *a, const void *b)
{
    int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

static int values[5000];

static void fill(size_t count, int pattern)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t random = below(1000000);
        values[i] = pattern == 0 ? (int)random : pattern == 1 ? (int)i : pattern == 2 ? (int)(count - i) : (int)(random % 3);
    }
}

static void sort_integers(void)
{
    for (size_t count = 0; count <= 5000; count = count * 2 + 1)
        for (int pattern = 0; pattern < 4; pattern++) {
            fill(count, pattern);
            qsort(values, count, sizeof *values, compare_integers);
            for (size_t i = 0; i < count; i++)
                printf("%d ", values[i]);
            int key = count ? values[count / 2] : 0, absent = -5;
            const int *found = bsearch(&key, values, count, sizeof *values, compare_integers);
            printf("\n%d %d\n", found ? *found : -1, bsearch(&absent, values, count, sizeof *values, compare_integers) == NULL);
        }
}

/* Elements of every size from 1 to 200 bytes; the key is the first. */
static int compare_first_bytes(const void *a, const void *b)
{
    return *(const unsigned char *)a - *(const unsigned char *)b;
}

static void sort_elements(void)
{
    static unsigned char elements[100 * 200];
    for (size_t size = 1; size <= 200; size++) {
        for (size_t i = 0; i < 100; i++)
            memset(elements + i * size, (int)(i * 37 % 100), size);
        qsort(elements, 100, size, compare_first_bytes);
        for (size_t i = 0; i < 100; i++)
            if (elements[i * size] != i || elements[i * size + size - 1] != i)
                printf("size %zu: element %zu is wrong\n", size, i);
    }
}

/* Many sizes at the same time. Each piece keeps its bytes, is aligned, and overlaps no other. */
static void allocate(void)
{
    enum { PIECES = 500 };
    static unsigned char *pieces[PIECES];
    static size_t sizes[PIECES];
    for (int round = 0; round < 20000; round++) {
        size_t i = below(PIECES), kept = sizes[i];
        size_t size = below(10) ? below(600) : below(20) ? below(20000) : below(3000000);
        for (size_t b = 0; b < kept; b += 1 + kept / 64)
            if (pieces[i][b] != (unsigned char)i)
                printf("piece %zu lost byte %zu\n", i, b);
        if (below(3) == 0) {
            free(pieces[i]);
            pieces[i] = NULL;
            sizes[i] = kept = 0;
        }
        unsigned char *moved = below(8) ? realloc(pieces[i], size + 1) : (free(pieces[i]), kept = 0, calloc(size + 1, 1));
        for (size_t b = 0; b < (kept < size ? kept : size); b += 1 + kept / 64)
            if (moved[b] != (unsigned char)i)
                printf("piece %zu lost byte %zu as it moved\n", i, b);
        if ((uintptr_t)moved % 16 && sizeof(long) == 8)
            printf("piece %zu is not aligned\n", i);
        memset(moved, (int)i, size + 1);
        pieces[i] = moved;
        sizes[i] = size + 1;
    }
    for (size_t i = 0; i < PIECES; i++)
        free(pieces[i]);
    printf("allocated\n");
}

/* Sizes around the limit of every class and above, each freed before small pieces are allocated. Those would crash in
 * memory that free had returned to the kernel. */
static void allocate_at_edges(void)
{
    for (size_t edge = 16; edge <= 1 << 20; edge += edge < 128 ? 16 : (size_t)1 << (sizeof(long) * 8 - 3 - (size_t)__builtin_clzl(edge)))
        for (size_t size = edge - 1; size <= edge + 1; size++) {
            unsigned char *piece = malloc(size);
            memset(piece, 1, size);
            free(piece);
            unsigned char *small = malloc(100);
            memset(small, 2, 100);
            unsigned char *zeros = calloc(1, size);
            for (size_t i = 0; i < size; i++)
                if (zeros[i])
                    printf("calloc(1, %zu): byte %zu is not zero\n", size, i);
            zeros = realloc(zeros, size + 1);
            zeros[size] = 3;
            free(zeros);
            free(small);
        }
    printf("edges\n");
}

/* The calls go through pointers. For calls by name, a compiler may assume that they succeed if nothing uses the memory, and
 * that they do not change errno. clang 14 assumes both, with glibc as well. */
static void *(*volatile call_malloc)(size_t) = malloc;
static void *(*volatile call_calloc)(size_t, size_t) = calloc;
static void *(*volatile call_realloc)(void *, size_t) = realloc;

static void refuse_memory(void)
{
    volatile size_t huge = SIZE_MAX / 2 + 5, half = SIZE_MAX / 2;
    errno = 0;
    printf("malloc %d %s\n", call_malloc(huge) == NULL, strerror(errno));
    errno = 0;
    printf("calloc %d %s\n", call_calloc(half, 3) == NULL, strerror(errno));
    errno = 0;
    printf("realloc %d %s\n", call_realloc(NULL, huge) == NULL, strerror(errno));
    errno = 0;
    printf("reallocarray %d %s\n", reallocarray(NULL, half, 3) == NULL, strerror(errno));
    void *nothing = malloc(0), *another = malloc(0);
    printf("malloc(0) %d\n", nothing != NULL && nothing != another);
    free(nothing);
    free(another);
    free(NULL);
}

static void align_memory(void)
{
    for (size_t alignment = 16; alignment <= 65536; alignment *= 2) {
        unsigned char *memory = aligned_alloc(alignment, alignment * 2);
        printf("%zu %d\n", alignment, (int)((uintptr_t)memory % alignment));
        memset(memory, 1, alignment * 2);
        memory = realloc(memory, alignment * 3);
        printf("%d\n", memory[0] == 1 && memory[alignment * 2 - 1] == 1);
        free(memory);
    }
    void *memory;
    printf("%d %d\n", posix_memalign(&memory, 3, 8), posix_memalign(&memory, 64, 100));
    printf("%d\n", (int)((uintptr_t)memory % 64));
    free(memory);
}

static void environment(void)
{
    const char *value = getenv("ORACLE");
    printf("%s %d %d %d\n", value ? value : "-", getenv("ORACL") == NULL, getenv("") == NULL, getenv("ORACLE=") == NULL);
}

static void error_texts(void)
{
    for (int number = -1; number <= 40; number++)
        printf("%d %s\n", number, strerror(number));
    printf("%s %s\n", strerror(75), strerror(9999));
}

/* A number of any length. */
static uint64_t shifted(void)
{
    uint32_t by = below(64);
    return random64() >> by;
}

static void divide(void)
{
    div_t a = div(-7, 2);
    ldiv_t b = ldiv(-7L, -2L);
    lldiv_t c = lldiv(-9000000000000000007LL, 1000000007LL);
    printf("%d %d %ld %ld %lld %lld %d %ld %lld\n", a.quot, a.rem, b.quot, b.rem, c.quot, c.rem, abs(-5), labs(-5L), llabs(-5LL));
    for (int i = 0; i < 2000; i++) {
        uint64_t x = shifted(), y = shifted() | 1;
        int64_t p = (int64_t)shifted(), q = -(int64_t)(shifted() >> 1);
        printf("%" PRIu64 " %" PRIu64, x / y, x % y);
        if (q && !(p == INT64_MIN && q == -1))
            printf(" %" PRId64 " %" PRId64, p / q, p % q);
        printf("\n");
    }
}

static void at_exit_one(void)
{
    printf("first registered, last run\n");
}

static void at_exit_two(void)
{
    printf("last registered, first run\n");
}

int main(void)
{
    atexit(at_exit_one);
    atexit(at_exit_two);
    sort_integers();
    sort_elements();
    allocate();
    allocate_at_edges();
    refuse_memory();
    align_memory();
    environment();
    error_texts();
    divide();
    exit(7);
}
