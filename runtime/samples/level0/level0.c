/* Level 0 of Stripe's third Capture the Flag (2014): copies standard input to standard output and puts every word that is
 * not in the dictionary between angle brackets. A word is a run of bytes other than space and newline; it is looked up
 * with A-Z made small.
 *
 * Compiled with a table by the generator: -DTABLE='"exact.h"' (no errors, by construction) or -DTABLE='"bloom.h"' -DBLOOM.
 *
 * Input and output share one buffer, so that a small text touches one page of it:
 *
 *     text[0]            out           in               end              text[ROOM + BLOCK]
 *        | output waiting | free (gap)  | input to come  | free
 *
 * The output never overtakes the input: before it would, it is written. */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include TABLE

enum { ROOM = 2048, BLOCK = 65536 };

static unsigned char text[ROOM + BLOCK];

#ifdef BLOOM
enum { LONGEST_WORD = 256 };

static int is_known(const unsigned char *word, const unsigned char *end)
{
    uint64_t hash = 0xcbf29ce484222325, first, step, i;

    for (; word < end; word++)
        hash = (hash ^ (*word >= 'A' && *word <= 'Z' ? *word | 32u : *word)) * 0x100000001b3;
    hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15;
    first = hash & 0xffffffff;
    step = hash >> 32 | 1;
    for (i = 0; i < HASHES; i++) {
        uint64_t bit = (first + i * step) % (8 * BLOOM_BYTES);
        if (!(filter[bit / 8] >> bit % 8 & 1))
            return 0;
    }
    return 1;
}
#else
enum { LONGEST_WORD = LONGEST, OTHER = 31 };
enum kind { LEADS_ON = 0, LAST_LEADS_ON = 2, NEXT_FOLLOWS = 4, ENDS = 6, LAST_ENDS = 7 };

static const unsigned char *follow(const unsigned char *pointer)
{
    unsigned p = pointer[0];

    if (p < HOT)
        return edges + hot[p];
    if (p < NEAR)
        return pointer + 1 + (p - HOT);
    if (p < FAR)
        return pointer + 2 + ((p - NEAR) << 8 | pointer[1]);
    if (p < LOW)
        return edges + ((p - FAR) << 8 | pointer[1]);
    return edges + ((p - LOW) << 16 | (unsigned)pointer[1] << 8 | pointer[2]);
}

static unsigned pointer_length(unsigned first)
{
    return 1 + (first >= NEAR) + (first >= LOW);
}

static unsigned char small(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c | 32) : c;
}

/* The edge of a state that this letter takes: its place behind code and letter, or null. Sets its first byte. */
static const unsigned char *find_edge(const unsigned char *edge, unsigned char letter, unsigned *found)
{
    unsigned code = codes[letter];

    for (;;) {
        unsigned byte = *edge++, kind = byte >> 5;
        int same = (byte & 31) == code;
        if ((byte & 31) == OTHER)
            same &= *edge++ == small(letter);
        *found = byte;
        if (same)
            return edge;
        if (kind >= LAST_LEADS_ON && kind != ENDS)
            return NULL;
        if (kind < NEXT_FOLLOWS)
            edge += pointer_length(*edge);
    }
}

static int is_known(const unsigned char *word, const unsigned char *end)
{
    const unsigned char *edge = edges + ROOT;
    unsigned byte = 0, kind = 0;

    while (word < end) {
        edge = find_edge(edge, *word++, &byte);
        if (edge == NULL)
            return 0;
        kind = byte >> 5;
        if (kind >= ENDS)
            return word == end;
        if (kind < NEXT_FOLLOWS)
            edge = follow(edge);
    }
    return kind & 1;
}
#endif

static int write_all(const unsigned char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(1, bytes, length);
        if (written <= 0)
            return -1;
        bytes += written;
        length -= (size_t)written;
    }
    return 0;
}

/* Reads until the end of the input or of the buffer; how many bytes, -1 for an error. */
static ssize_t read_block(unsigned char *into, size_t size)
{
    size_t length = 0;

    while (length < size) {
        ssize_t part = read(0, into + length, size - length);
        if (part < 0)
            return -1;
        if (part == 0)
            break;
        length += (size_t)part;
    }
    return (ssize_t)length;
}

static int is_separator(unsigned char c)
{
    return c == ' ' || c == '\n';
}

static const unsigned char *word_end(const unsigned char *word, const unsigned char *end)
{
    while (word < end && !is_separator(*word))
        word++;
    return word;
}

struct state {
    unsigned char *out;
    int in_long_word; /* a word that began in an earlier block, is longer than any in the dictionary, and has its '<' */
    int failed;
};

/* Moves input to the output; `before` and `after` are a bracket or nothing. */
static void put(struct state *state, const char *before, const unsigned char *from, size_t length, const char *after)
{
    size_t brackets = (*before != '\0') + (size_t)(*after != '\0');

    if (state->out + brackets > from) {
        state->failed |= write_all(text, (size_t)(state->out - text));
        state->out = text;
    }
    if (*before != '\0')
        *state->out++ = (unsigned char)*before;
    memmove(state->out, from, length);
    state->out += length;
    if (*after != '\0')
        *state->out++ = (unsigned char)*after;
}

static void put_word(struct state *state, const unsigned char *word, const unsigned char *end)
{
    int known = end - word <= LONGEST_WORD && is_known(word, end);

    put(state, known ? "" : "<", word, (size_t)(end - word), known ? "" : ">");
}

/* A word cut by the block's end is left for the next block, unless it is too long to be known. */
static const unsigned char *put_words(struct state *state, const unsigned char *in, const unsigned char *end, int at_end)
{
    while (in < end) {
        const unsigned char *next = word_end(in, end);
        int cut = next == end && !at_end;
        if (state->in_long_word) {
            put(state, "", in, (size_t)(next - in), cut ? "" : ">");
            state->in_long_word = cut;
        } else if (cut && next - in <= LONGEST_WORD) {
            return in;
        } else if (cut) {
            put(state, "<", in, (size_t)(next - in), "");
            state->in_long_word = 1;
        } else if (next > in) {
            put_word(state, in, next);
        }
        in = next;
        while (in < end && is_separator(*in))
            put(state, "", in++, 1, "");
    }
    return in;
}

int main(void)
{
    struct state state = {text, 0, 0};
    size_t kept = 0;
    int at_end;

    do {
        ssize_t length = read_block(text + ROOM + kept, BLOCK - kept);
        const unsigned char *rest, *end = text + ROOM + kept + length;
        if (length < 0)
            return 1;
        at_end = (size_t)length < BLOCK - kept;
        rest = put_words(&state, text + ROOM, end, at_end);
        if (at_end && state.in_long_word)
            put(&state, "", end, 0, ">");
        state.failed |= write_all(text, (size_t)(state.out - text));
        state.out = text;
        kept = (size_t)(end - rest);
        memmove(text + ROOM, rest, kept);
    } while (!at_end);
    return state.failed != 0;
}
