/* Level 0 of Stripe's third Capture the Flag (2014). It copies standard input to standard output and puts every word that
 * is not in the dictionary between angle brackets. A word is a run of bytes other than space and newline. It is looked up
 * in lower case (A-Z).
 *
 * Compile it with a table from the generator: -DTABLE='"exact.h"' (no errors, by construction), -DTABLE='"bloom.h"' -DBLOOM,
 * or -DTABLE='"perfect.h"' -DPERFECT.
 *
 * Input and output share one buffer, so a small text touches one page of it:
 *
 *     text[0]            out           in               end              text[ROOM + BLOCK]
 *        | output waiting | free (gap)  | input to come  | free
 *
 * The output never overtakes the input, because it is written before it would. Text without changes is not moved word by
 * word: it stays where it was read until a bracket must be inserted, and is written from there if there is none. */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include TABLE

enum { ROOM = 2048, BLOCK = 65536 };

static unsigned char text[ROOM + BLOCK];

#if defined BLOOM || defined PERFECT
enum { LONGEST_WORD = 256 };

static uint64_t hash_of(const unsigned char *word, const unsigned char *end)
{
    uint64_t hash = 0xcbf29ce484222325;

    for (; word < end; word++)
        hash = (hash ^ (*word >= 'A' && *word <= 'Z' ? *word | 32u : *word)) * 0x100000001b3;
    return (hash ^ hash >> 32) * 0x9e3779b97f4a7c15;
}
#endif

#ifdef BLOOM
static int is_known(const unsigned char *word, const unsigned char *end, int is_long_text)
{
    uint64_t hash = hash_of(word, end), first, step, i;

    (void)is_long_text;
    first = hash & 0xffffffff;
    step = hash >> 32 | 1;
    for (i = 0; i < HASHES; i++) {
        uint64_t bit = (first + i * step) % (8 * BLOOM_BYTES);
        if (!(filter[bit / 8] >> bit % 8 & 1))
            return 0;
    }
    return 1;
}
#elif defined PERFECT
static int is_known(const unsigned char *word, const unsigned char *end, int is_long_text)
{
    uint64_t hash = hash_of(word, end);
    uint32_t low = (uint32_t)hash;

    (void)is_long_text;
    return slots[(low ^ (uint32_t)(hash >> 32) ^ pilots[hash >> 48] * 0x9e3779b9u) * 0x85ebca6bu >> 14] == low;
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

/* Finds the edge of a state for this letter. Returns the address after the edge's code and letter, or null. Stores the
 * first byte of the edge in `found`. */
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

/* The position of a walk through the automaton: the next state, or null if it has ended, and the kind of the last edge. */
struct walk {
    const unsigned char *state;
    unsigned kind;
};

/* Follows the letters. False if there is no edge for one, or if letters are left after the end. */
static int walk(struct walk *walk, const unsigned char *word, const unsigned char *end)
{
    const unsigned char *edge = walk->state;
    unsigned byte;

    while (word < end) {
        if (edge == NULL || (edge = find_edge(edge, *word++, &byte)) == NULL)
            return 0;
        walk->kind = byte >> 5;
        if (walk->kind >= ENDS)
            edge = NULL;
        else if (walk->kind < NEXT_FOLLOWS)
            edge = follow(edge);
    }
    walk->state = edge;
    return 1;
}

/* States near the root have many edges, and every word goes through three of them. The table contains where two letters
 * lead. In a long text, the way through three letters is remembered as (place + 1) << 3 | kind. It is DEAD if the way ends,
 * and 0 if it is not yet known. A short text does not use this, because each page of it would be a page fault. */
enum { FIRST_LETTERS = 3, DEAD = 1 };

static uint32_t remembered[1 << 5 * FIRST_LETTERS];

/* Follows a known way. False if there is none. */
static int go(struct walk *walk, uint32_t way)
{
    if (way <= DEAD)
        return 0;
    walk->state = edges + (way >> 3) - 1;
    walk->kind = way & 7;
    return 1;
}

static uint32_t way_of_three(unsigned way_of_two, const unsigned char *third)
{
    struct walk after_two;

    if (!go(&after_two, ways[way_of_two]) || !walk(&after_two, third, third + 1) || after_two.state == NULL)
        return DEAD;
    return (uint32_t)(after_two.state - edges + 1) << 3 | after_two.kind;
}

static int is_known(const unsigned char *word, const unsigned char *end, int is_long_text)
{
    struct walk on = {edges + ROOT, 0};
    long length = end - word;

    if (length > 2 && codes[word[0]] != OTHER && codes[word[1]] != OTHER) {
        unsigned two = codes[word[0]] * 32u + codes[word[1]], third = codes[word[2]];
        if (is_long_text && length > FIRST_LETTERS && third != OTHER) {
            uint32_t *way = &remembered[two * 32 + third];
            if (*way == 0)
                *way = way_of_three(two, word + 2);
            word += go(&on, *way) ? FIRST_LETTERS : length + 1;
        } else {
            word += go(&on, ways[two]) ? 2 : length + 1;
        }
    }
    return word <= end && walk(&on, word, end) && (on.kind & 1 || on.kind == ENDS);
}
#endif

/* How many bytes one system call is asked for: all that are wanted, or one with -DUNBUFFERED, which shows what the
 * buffers save. */
#ifdef UNBUFFERED
static size_t at_once(size_t length) { return length > 0; }
#else
static size_t at_once(size_t length) { return length; }
#endif

static int write_all(const unsigned char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(1, bytes, at_once(length));
        if (written <= 0)
            return -1;
        bytes += written;
        length -= (size_t)written;
    }
    return 0;
}

/* Reads until the end of the input or of the buffer. Returns the number of bytes, or -1 for an error. */
static ssize_t read_block(unsigned char *into, size_t size)
{
    size_t length = 0;

    while (length < size) {
        ssize_t part = read(0, into + length, at_once(size - length));
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
    unsigned char *out;           /* after the output that waits at the start of the text */
    const unsigned char *unmoved; /* input that has been checked and stays unchanged */
    int in_long_word; /* in a word from an earlier block that is longer than any in the dictionary; its '<' is out */
    int is_long_text;
    int failed;
};

static void write_out(struct state *state, const unsigned char *from, const unsigned char *to)
{
    state->failed |= write_all(from, (size_t)(to - from));
    state->out = text;
}

/* Moves input to the output, up to this address. */
static void move(struct state *state, const unsigned char *to)
{
    size_t length = (size_t)(to - state->unmoved);

    memmove(state->out, state->unmoved, length);
    state->out += length;
    state->unmoved = to;
}

static void put_bracket(struct state *state, const unsigned char *at, char bracket)
{
    move(state, at);
    if (state->out == at)
        write_out(state, text, state->out);
    *state->out++ = (unsigned char)bracket;
}

/* Writes the rest at the end of a block. */
static void put_rest(struct state *state, const unsigned char *end)
{
    if (state->out == text) {
        write_out(state, state->unmoved, end);
    } else {
        move(state, end);
        write_out(state, text, state->out);
    }
}

static void put_word(struct state *state, const unsigned char *word, const unsigned char *end)
{
    if (end - word > LONGEST_WORD || !is_known(word, end, state->is_long_text)) {
        put_bracket(state, word, '<');
        put_bracket(state, end, '>');
    }
}

static const unsigned char *end_long_word(struct state *state, const unsigned char *in, const unsigned char *end, int at_end)
{
    const unsigned char *next = word_end(in, end);

    state->in_long_word = next == end && !at_end;
    if (!state->in_long_word)
        put_bracket(state, next, '>');
    return next;
}

/* A word that the end of the block cuts is left for the next block, unless it is too long for the dictionary. */
static const unsigned char *put_words(struct state *state, const unsigned char *in, const unsigned char *end, int at_end)
{
    if (state->in_long_word)
        in = end_long_word(state, in, end, at_end);
    while (in < end) {
        const unsigned char *next = word_end(in, end);
        int cut = next == end && !at_end;
        if (cut && next - in <= LONGEST_WORD)
            break;
        if (cut) {
            put_bracket(state, in, '<');
            state->in_long_word = 1;
        } else if (next > in) {
            put_word(state, in, next);
        }
        for (in = next; in < end && is_separator(*in); in++)
            ;
    }
    return in;
}

int main(void)
{
    struct state state = {text, NULL, 0, 0, 0};
    size_t kept = 0;
    int at_end;

    do {
        ssize_t length = read_block(text + ROOM + kept, BLOCK - kept);
        const unsigned char *rest, *end = text + ROOM + kept + length;
        if (length < 0)
            return 1;
        at_end = (size_t)length < BLOCK - kept;
        state.is_long_text |= !at_end;
        state.unmoved = text + ROOM;
        rest = put_words(&state, text + ROOM, end, at_end);
        put_rest(&state, rest);
        kept = (size_t)(end - rest);
        memmove(text + ROOM, rest, kept);
    } while (!at_end);
    return state.failed != 0;
}
