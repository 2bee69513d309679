/* Level 0 with a hash table that is filled from the dictionary (-DWORDS='"FILE"') at every start. The entries of the
 * contest did this before they had a table made at build time. See level0.c for the rule. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1 << 19 };

struct text {
    char *bytes;
    size_t length;
};

static struct text slots[SLOTS];

static char small(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 32) : c;
}

static size_t slot_of(const char *word, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)small(word[i])) * 0x100000001b3;
    return (size_t)(hash ^ hash >> 32) % SLOTS;
}

static int same(const char *small_one, const char *any, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (small_one[i] != small(any[i]))
            return 0;
    return 1;
}

/* The slot of the word, or the free slot where it belongs. */
static struct text *find(const char *word, size_t length)
{
    size_t slot = slot_of(word, length);

    while (slots[slot].bytes && !(slots[slot].length == length && same(slots[slot].bytes, word, length)))
        slot = (slot + 1) % SLOTS;
    return &slots[slot];
}

static struct text read_all(FILE *file)
{
    struct text text = {NULL, 0};
    size_t room = 1 << 16, part;

    do {
        text.bytes = realloc(text.bytes, room *= 2);
        if (text.bytes == NULL)
            exit(1);
        part = fread(text.bytes + text.length, 1, room - text.length, file);
        text.length += part;
    } while (text.length == room);
    return text;
}

static void fill(struct text list)
{
    char *line = list.bytes, *end = list.bytes + list.length;

    while (line < end) {
        char *next = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((next ? next : end) - line);
        struct text *slot = find(line, length);
        int has_capitals = 0;
        for (size_t i = 0; i < length; i++)
            has_capitals |= line[i] != small(line[i]);
        if (!has_capitals && length > 0)
            *slot = (struct text){line, length};
        line += length + 1;
    }
}

int main(void)
{
    FILE *list = fopen(WORDS, "r");
    struct text input;

    if (list == NULL) {
        perror(WORDS);
        return 1;
    }
    fill(read_all(list));
    input = read_all(stdin);
    for (size_t i = 0; i < input.length;) {
        size_t length = 0;
        while (i + length < input.length && input.bytes[i + length] != ' ' && input.bytes[i + length] != '\n')
            length++;
        if (length == 0) {
            putchar(input.bytes[i++]);
            continue;
        }
        int known = find(input.bytes + i, length)->bytes != NULL;
        if (!known)
            putchar('<');
        fwrite(input.bytes + i, 1, length, stdout);
        if (!known)
            putchar('>');
        i += length;
    }
    return fflush(stdout) != 0;
}
