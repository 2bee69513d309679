/* Compares our string functions (renamed with objcopy --prefix-symbols=fb_) with glibc's, in one process: the same random
 * arguments must give the same results. The strings end directly before an inaccessible page or start directly after one,
 * so reading one byte too many crashes. Prints the number of comparisons. */
#define _GNU_SOURCE
#include "oracle/random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

#define EACH_FUNCTION(X) \
    X(void *, memchr, (const void *, int, size_t)) \
    X(void *, memrchr, (const void *, int, size_t)) \
    X(int, memcmp, (const void *, const void *, size_t)) \
    X(void *, memcpy, (void *, const void *, size_t)) \
    X(void *, memmove, (void *, const void *, size_t)) \
    X(void *, mempcpy, (void *, const void *, size_t)) \
    X(void *, memccpy, (void *, const void *, int, size_t)) \
    X(void *, memset, (void *, int, size_t)) \
    X(void *, memmem, (const void *, size_t, const void *, size_t)) \
    X(size_t, strlen, (const char *)) \
    X(size_t, strnlen, (const char *, size_t)) \
    X(char *, strchr, (const char *, int)) \
    X(char *, strrchr, (const char *, int)) \
    X(char *, strchrnul, (const char *, int)) \
    X(char *, strstr, (const char *, const char *)) \
    X(char *, strpbrk, (const char *, const char *)) \
    X(size_t, strspn, (const char *, const char *)) \
    X(size_t, strcspn, (const char *, const char *)) \
    X(int, strcmp, (const char *, const char *)) \
    X(int, strncmp, (const char *, const char *, size_t)) \
    X(int, strcasecmp, (const char *, const char *)) \
    X(int, strncasecmp, (const char *, const char *, size_t)) \
    X(char *, stpcpy, (char *, const char *)) \
    X(char *, stpncpy, (char *, const char *, size_t)) \
    X(char *, strcat, (char *, const char *)) \
    X(char *, strncat, (char *, const char *, size_t))
#define DECLARE(result, name, arguments) result fb_##name arguments;
EACH_FUNCTION(DECLARE)

enum { PAGE = 4096, AREA = 4 * PAGE, ROUNDS = 400000 };

static unsigned long comparisons;

static void check(int same, const char *function)
{
    comparisons++;
    if (same)
        return;
    fprintf(stderr, "%s differs from glibc's in comparison %lu\n", function, comparisons);
    exit(1);
}

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

/* AREA bytes between two inaccessible pages. */
static char *guarded(void)
{
    char *memory = mmap(NULL, AREA + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(memory, PAGE, PROT_NONE);
    mprotect(memory + PAGE + AREA, PAGE, PROT_NONE);
    return memory + PAGE;
}

/* `length` bytes at one edge of the area or near it. */
static char *place(char *area, size_t length)
{
    size_t gap = below(3) ? 0 : below(40);
    return below(2) ? area + gap : area + AREA - length - gap;
}

static size_t random_length(void)
{
    return below(20) ? below(below(4) ? 40 : 300) : below(6000);
}

static void fill(char *bytes, size_t length, unsigned letters)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = (char)(letters > 200 ? below(256) : 'a' + below(letters));
}

static char *string(char *area, unsigned letters)
{
    size_t length = random_length();
    char *text = place(area, length + 1);
    fill(text, length, letters > 200 ? 25 : letters);
    for (size_t i = 0; letters > 200 && i < length; i++)
        text[i] = (char)(1 + below(255));
    text[length] = '\0';
    return text;
}

static void compare_searches(const char *a, const char *b, int c, size_t limit)
{
    size_t length = strlen(a) + 1, part = limit < length ? limit : length;
    check(fb_strlen(a) == strlen(a), "strlen");
    check(fb_strnlen(a, part) == strnlen(a, part) && fb_strnlen(a, SIZE_MAX) == strlen(a), "strnlen");
    check(fb_strchr(a, c) == strchr(a, c) && fb_strchr(a, 0) == strchr(a, 0), "strchr");
    check(fb_strrchr(a, c) == strrchr(a, c), "strrchr");
    check(fb_strchrnul(a, c) == strchrnul(a, c), "strchrnul");
    check(fb_memchr(a, c, part) == memchr(a, c, part), "memchr");
    check(fb_memrchr(a, c, part) == memrchr(a, c, part), "memrchr");
    check(fb_strstr(a, b) == strstr(a, b), "strstr");
    check(fb_memmem(a, part, b, strlen(b)) == memmem(a, part, b, strlen(b)), "memmem");
    check(fb_strpbrk(a, b) == strpbrk(a, b), "strpbrk");
    check(fb_strspn(a, b) == strspn(a, b), "strspn");
    check(fb_strcspn(a, b) == strcspn(a, b), "strcspn");
}

static void compare_orders(const char *a, const char *b, size_t limit)
{
    size_t shorter = strlen(a) < strlen(b) ? strlen(a) : strlen(b), part = limit < shorter ? limit : shorter;
    check(sign(fb_strcmp(a, b)) == sign(strcmp(a, b)), "strcmp");
    check(sign(fb_strncmp(a, b, limit)) == sign(strncmp(a, b, limit)), "strncmp");
    check(sign(fb_strcasecmp(a, b)) == sign(strcasecmp(a, b)), "strcasecmp");
    check(sign(fb_strncasecmp(a, b, limit)) == sign(strncasecmp(a, b, limit)), "strncasecmp");
    check(sign(fb_memcmp(a, b, part)) == sign(memcmp(a, b, part)), "memcmp");
    check(fb_memcmp(a, a, strlen(a) + 1) == 0 && fb_strcmp(a, a) == 0, "equality");
}

/* Both destinations are equal before, and every byte of their areas must be equal after. */
static void compare_copies(const char *from, char *ours, char *theirs, size_t limit, int c)
{
    size_t length = strlen(from) + 1, part = limit < length ? limit : length, at = below(64);
    char *o = ours + at, *t = theirs + at;
#define SAME(name, call_ours, call_theirs) \
    check((char *)(call_ours) - ours == (char *)(call_theirs) - theirs && !memcmp(ours, theirs, AREA), name)
    SAME("memcpy", fb_memcpy(o, from, part), memcpy(t, from, part));
    SAME("mempcpy", fb_mempcpy(o, from, part), mempcpy(t, from, part));
    SAME("memset", fb_memset(o, c, limit), memset(t, c, limit));
    SAME("stpcpy", fb_stpcpy(o, from), stpcpy(t, from));
    SAME("strcat", fb_strcat(o, from), strcat(t, from));
    SAME("strncat", fb_strncat(o, from, limit), strncat(t, from, limit));
    SAME("stpncpy", fb_stpncpy(o, from, limit), stpncpy(t, from, limit));
    SAME("memmove", fb_memmove(o + below(1), o + part / 2, limit), memmove(t, t + part / 2, limit));
    SAME("memmove", fb_memmove(o + part / 3, o, limit), memmove(t + part / 3, t, limit));
    char *found = fb_memccpy(o, from, c, part), *expected = memccpy(t, from, c, part);
    check(!found == !expected && (!found || found - ours == expected - theirs) && !memcmp(ours, theirs, AREA), "memccpy");
}

int main(void)
{
    char *a = guarded(), *b = guarded();
    static char ours[AREA + 8192], theirs[AREA + 8192];

    for (int i = 0; i < ROUNDS; i++) {
        unsigned letters = i % 4 == 0 ? 2 : i % 4 == 1 ? 4 : i % 4 == 2 ? 26 : 255;
        const char *first = string(a, letters), *second;
        size_t limit = random_length();
        if (below(2)) {
            char *copy = place(b, strlen(first) + 1);
            strcpy(copy, first);
            copy[below((uint32_t)strlen(first) + 1)] = below(3) ? 'a' : '\0';
            copy[strlen(first)] = '\0';
            second = copy;
        } else {
            second = string(b, letters);
        }
        compare_searches(first, second, first[below(8) < strlen(first) ? below(1) : 0], limit);
        compare_orders(first, second, limit);
        if (i % 8 == 0)
            compare_copies(first, ours, theirs, limit, 'a' + (int)below(30));
    }
    printf("%lu comparisons\n", comparisons);
    return 0;
}
