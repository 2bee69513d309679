/* Memory in size classes, cut from blocks of growing size.
 *
 * A piece is a header of 16 bytes and the bytes that malloc returns. Classes are multiples of 16 up to 128, then four
 * for each power of two, so at most a fifth of a piece is unused. Each class has a list of its freed pieces, last in,
 * first out. Freed pieces are never joined. So malloc and free take constant time, and memory freed in one class is
 * reused only in that class.
 *
 * The first block is in .bss, so a program that needs little memory makes no system call for it. Later blocks are
 * mapped, each twice as large as the one before. A piece of more than DIRECT bytes has its own mapping, which free
 * unmaps. DIRECT is the size of the largest class, so the size in the header tells which of the two a piece is. */
#include "../internal.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    HEADER = 16,
    FIRST_BLOCK = 64 << 10,
    LARGEST_BLOCK = 8 << 20,
    DIRECT = 256 << 10,
    CLASSES = 8 + 4 * 11, /* the last one has 2^18 bytes, which is DIRECT */
};

struct header {
    size_t size;  /* number of bytes after the header */
    size_t apart; /* for an aligned piece: how many bytes before this header its own header lies */
};

struct piece {
    struct header header __attribute__((aligned(HEADER)));
    struct piece *next __attribute__((aligned(HEADER))); /* of a freed piece; the bytes of a piece in use start here */
};

static unsigned char first_block[FIRST_BLOCK] __attribute__((aligned(16), section(".bss.firstbyte.output")));
FIRST_PAGE static unsigned char *block_next, *block_end;
FIRST_PAGE static size_t block_size;
static struct piece *freed[CLASSES];

static struct piece *piece_of(void *memory)
{
    struct piece *piece = (struct piece *)((char *)memory - HEADER);
    return (struct piece *)((char *)piece - piece->header.apart);
}

static unsigned class_of(size_t size)
{
    if (size <= 128)
        return (unsigned)(size - 1) / 16;
    unsigned log = 8 * sizeof(long) - 1 - (unsigned)__builtin_clzl(size - 1);
    return 8 + 4 * (log - 7) + (unsigned)((size - 1) >> (log - 2) & 3);
}

static size_t size_of_class(unsigned class)
{
    if (class < 8)
        return 16 * (class + 1);
    return (size_t)(5 + class % 4) << ((class - 8) / 4 + 5);
}

static void *map(size_t length)
{
    void *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* The rest of the current block is given up. It is smaller than the piece that did not fit. */
static bool new_block(size_t needed)
{
    bool first = !block_size && needed <= FIRST_BLOCK;
    size_t length = first ? FIRST_BLOCK : block_size < 2 * DIRECT ? 2 * DIRECT : block_size;
    unsigned char *block = first ? first_block : map(length);
    if (!block)
        return false;
    block_next = block;
    block_end = block + length;
    block_size = length < LARGEST_BLOCK ? 2 * length : length;
    return true;
}

static struct piece *cut(size_t size)
{
    size_t length = HEADER + size;
    if ((size_t)(block_end - block_next) < length && !new_block(length))
        return NULL;
    struct piece *piece = (struct piece *)block_next;
    block_next += length;
    return piece;
}

static struct piece *take(size_t size)
{
    unsigned class = class_of(size);
    struct piece *piece = freed[class];
    if (piece)
        freed[class] = piece->next;
    else
        piece = cut(size_of_class(class));
    if (piece)
        piece->header = (struct header){size_of_class(class), 0};
    return piece;
}

static struct piece *take_mapping(size_t size)
{
    if (size > PTRDIFF_MAX - HEADER)
        return NULL;
    struct piece *piece = map(HEADER + size);
    if (piece)
        piece->header = (struct header){size, 0};
    return piece;
}

void *malloc(size_t size)
{
    if (!size)
        size = 1;
    struct piece *piece = size <= DIRECT ? take(size) : take_mapping(size);
    if (!piece) {
        errno = ENOMEM;
        return NULL;
    }
    return (char *)piece + HEADER;
}

void free(void *memory)
{
    if (!memory)
        return;
    struct piece *piece = piece_of(memory);
    if (piece->header.size > DIRECT) {
        int before = errno;
        munmap(piece, HEADER + piece->header.size);
        errno = before;
        return;
    }
    unsigned class = class_of(piece->header.size);
    piece->next = freed[class];
    freed[class] = piece;
}

/* A new mapping is already zero. */
void *calloc(size_t count, size_t size)
{
    size_t length;
    if (__builtin_mul_overflow(count, size, &length)) {
        errno = ENOMEM;
        return NULL;
    }
    void *memory = malloc(length);
    if (memory && length <= DIRECT)
        memset(memory, 0, length);
    return memory;
}

static size_t usable(void *memory)
{
    struct piece *piece = piece_of(memory);
    return piece->header.size - (size_t)((char *)memory - (char *)piece - HEADER);
}

void *realloc(void *memory, size_t size)
{
    if (!memory)
        return malloc(size);
    if (!size) {
        free(memory); /* as in glibc; undefined in C23 */
        return NULL;
    }
    size_t old = usable(memory);
    if (size <= old && (old <= DIRECT || size > old / 2))
        return memory;
    void *moved = malloc(size);
    if (!moved)
        return NULL;
    memcpy(moved, memory, old < size ? old : size);
    free(memory);
    return moved;
}

void *reallocarray(void *memory, size_t count, size_t size)
{
    size_t length;
    if (__builtin_mul_overflow(count, size, &length)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(memory, length);
}

/* Above 16 bytes, this takes a larger piece. A second header before the aligned address leads back to the first. */
void *aligned_alloc(size_t alignment, size_t size)
{
    if (!alignment || alignment & (alignment - 1)) {
        errno = EINVAL;
        return NULL;
    }
    if (alignment <= HEADER || size > PTRDIFF_MAX - alignment)
        return malloc(size > PTRDIFF_MAX - alignment ? SIZE_MAX : size);
    char *memory = malloc(size + alignment);
    if (!memory)
        return NULL;
    size_t apart = -(uintptr_t)memory & (alignment - 1);
    if (apart)
        *(struct header *)(memory + apart - HEADER) = (struct header){size, apart};
    return memory + apart;
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    int before = errno;
    if (alignment % sizeof(void *) || !alignment || alignment & (alignment - 1))
        return EINVAL;
    void *found = aligned_alloc(alignment, size);
    errno = before;
    if (!found)
        return ENOMEM;
    *memory = found;
    return 0;
}
