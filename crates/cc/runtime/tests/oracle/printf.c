/* Every combination of flags, widths, precisions and lengths, with extreme values: text and result. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *const flags[] = {"",  "-",  "+",  " ",  "#",  "0",  "-+", "- ", "-#", "-0", "+ ", "+#",
                                    "+0", " #", " 0", "#0", "-+ #0", "+ 0", "+#0", "-#0"};
static const char *const widths[] = {"", "1", "5", "12", "40"};
static const char *const precisions[] = {"", ".", ".0", ".1", ".5", ".20", ".30"};

static void show(const char *format, int length, const char *text)
{
    printf("%s -> [%s] %d\n", format, text, length);
}

/* The arguments have different types, so the calls cannot share one function. */
#define EACH(conversions, value) \
    do { \
        static const char *const kinds[] = conversions; \
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) \
            for (size_t f = 0; f < sizeof flags / sizeof *flags; f++) \
                for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) \
                    for (size_t p = 0; p < sizeof precisions / sizeof *precisions; p++) { \
                        char format[64], text[256]; \
                        snprintf(format, sizeof format, "%%%s%s%s%s", flags[f], widths[w], precisions[p], kinds[k]); \
                        int length = snprintf(text, sizeof text, format, value); \
                        show(format, length, text); \
                    } \
    } while (0)
#define LIST(...) {__VA_ARGS__}

static void integers(void)
{
    static const int values[] = {0, 1, -1, 7, 8, 255, INT_MAX, INT_MIN};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        EACH(LIST("d", "i", "u", "o", "x", "X", "hd", "hu", "hhd", "hhx"), values[i]);
}

static void long_integers(void)
{
    static const long long values[] = {0, -1, 10000000000, LLONG_MAX, LLONG_MIN};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        EACH(LIST("lld", "llu", "llo", "llx", "llX"), values[i]);
        EACH(LIST("jd", "jx"), (intmax_t)values[i]);
        EACH(LIST("ld", "lu", "lx"), (long)values[i]);
        EACH(LIST("zu", "zx"), (size_t)values[i]);
        EACH(LIST("td"), (ptrdiff_t)values[i]);
    }
}

/* The 0 flag has no meaning for strings and characters, so it is left out. */
static void strings(void)
{
    static const char *const string_flags[] = {"", "-"};
    static const char *const values[] = {"", "a", "hello, world", "a string that is longer than the widths", NULL};
    for (size_t v = 0; v < sizeof values / sizeof *values; v++)
        for (size_t f = 0; f < 2; f++)
            for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
                for (size_t p = 0; p < sizeof precisions / sizeof *precisions; p++) {
                    char format[64], text[256];
                    snprintf(format, sizeof format, "%%%s%s%ss", string_flags[f], widths[w], precisions[p]);
                    show(format, snprintf(text, sizeof text, format, values[v]), text);
                }
}

static void characters_and_pointers(void)
{
    char text[64];
    for (int c = 1; c < 256; c++)
        show("%c", snprintf(text, sizeof text, "%c|%3c|%-3c", c, c, c), text);
    show("%p", snprintf(text, sizeof text, "%p %20p %-20p|", (void *)0x1234, (void *)0x1234, (void *)0x1234), text);
    show("%p", snprintf(text, sizeof text, "%p %20p %-20p|", NULL, NULL, NULL), text);
    show("%c", snprintf(text, sizeof text, "%c", 0), "a zero byte");
    show("%%", snprintf(text, sizeof text, "100%% %d%%", 5), text);
}

static void star_arguments(void)
{
    char text[256];
    for (int width = -12; width <= 12; width += 3)
        for (int precision = -2; precision <= 8; precision += 2) {
            show("%*.*d", snprintf(text, sizeof text, "%*.*d|", width, precision, 4711), text);
            show("%*.*s", snprintf(text, sizeof text, "%*.*s|", width, precision, "strings"), text);
        }
}

static void stored_lengths(void)
{
    signed char c = 0;
    short s = 0;
    int i = 0;
    long l = 0;
    long long q = 0;
    printf("12%hhn345%hn6%n7%ln89%lln\n", &c, &s, &i, &l, &q);
    printf("%d %d %d %ld %lld\n", c, s, i, l, q);
}

/* For every size, the result is the full length, the text is cut, and no byte after it is written. */
static void cut_texts(void)
{
    for (size_t size = 0; size < 40; size++) {
        char text[64];
        memset(text, '#', sizeof text);
        int length = snprintf(text, size, "%s %d %5.3d %x", "some text", 42, 7, 0xbeef);
        text[sizeof text - 1] = '\0';
        printf("%zu: %d [", size, length);
        for (size_t i = 0; i + 1 < sizeof text; i++)
            putchar(text[i] ? text[i] : '.');
        printf("]\n");
    }
}

static void refusals(void)
{
    char text[8];
    errno = 0;
    int length = snprintf(text, sizeof text, "%2147483648d", 1);
    printf("width beyond int: %d %s\n", length, strerror(errno));
#if defined __x86_64__ || defined __i386__ /* others run under qemu-user, where glibc takes minutes for this */
    errno = 0;
    length = snprintf(text, sizeof text, "%2147483647d%2147483647d", 1, 1);
    printf("result beyond int: %d %s\n", length, strerror(errno));
    printf("exactly int: %d\n", snprintf(NULL, 0, "%2147483647d", 1));
#endif
}

static void wide_fields_to_a_stream(void)
{
    for (int width = 1; width < 200000; width = width * 3 + 1)
        printf("%*d %-*s|\n", width, width, width, "left");
}

/* Pieces as long as a buffer. snprintf never writes to a descriptor, whatever the length. */
static void long_pieces_to_memory(void)
{
    static char piece[200001], text[70000];
    for (size_t length = 60000; length < sizeof piece; length += 5536) {
        memset(piece, 'x', length);
        piece[length] = '\0';
        printf("%d ", snprintf(NULL, 0, "%s", piece));
        int result = snprintf(text, sizeof text, "<%s>", piece);
        printf("%d %zu\n", result, strlen(text));
    }
}

static void macros_of_inttypes(void)
{
    printf("%" PRId8 " %" PRIu16 " %" PRIx32 " %" PRId64 " %" PRIuMAX " %" PRIoPTR "\n", (int8_t)-8, (uint16_t)16,
           (uint32_t)32, (int64_t)-64, (uintmax_t)99, (uintptr_t)8);
    printf("%" PRIdFAST16 " %" PRIuLEAST32 " %" PRIXFAST64 "\n", (int_fast16_t)-16, (uint_least32_t)32,
           (uint_fast64_t)0xabc);
}

int main(void)
{
    integers();
    long_integers();
    strings();
    characters_and_pointers();
    star_arguments();
    stored_lengths();
    cut_texts();
    refusals();
    wide_fields_to_a_stream();
    long_pieces_to_memory();
    macros_of_inttypes();
    return 0;
}
