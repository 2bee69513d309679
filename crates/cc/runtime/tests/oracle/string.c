/* String functions on random and hostile inputs: results as offsets and signs. */
#include "random.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static char text[256], other[256];

static size_t random_string(char *into, size_t limit, unsigned letters)
{
    size_t length = below((uint32_t)limit);
    for (size_t i = 0; i < length; i++)
        into[i] = (char)(letters > 100 ? 1 + below(255) : 'a' + below(letters));
    into[length] = '\0';
    return length;
}

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

static int offset(const char *found, const char *from)
{
    return found ? (int)(found - from) : -1;
}

static void search(void)
{
    int c = text[0] ? text[below(8)] : 'a';
    printf("%d %d %d %d", offset(strchr(text, c), text), offset(strrchr(text, c), text), offset(memchr(text, c, 20), text),
           offset(strchr(text, '\0'), text));
    printf(" %d %zu %zu %d", offset(strstr(text, other), text), strspn(text, other), strcspn(text, other),
           offset(strpbrk(text, other), text));
    printf(" %zu %zu\n", strlen(text), strnlen(text, 10));
}

static void compare(void)
{
    size_t limit = below(40);
    printf("%d %d %d %d %d %d\n", sign(strcmp(text, other)), sign(strncmp(text, other, limit)),
           sign(memcmp(text, other, limit)), sign(strcasecmp(text, other)), sign(strncasecmp(text, other, limit)),
           sign(strcoll(text, other)));
}

static void copy(void)
{
    static char into[600];
    size_t limit = below(60);
    memset(into, '#', sizeof into);
    strcpy(into, text);
    strcat(into, other);
    strncat(into, text, limit);
    printf("%s|", into);
    memset(into, '#', 100);
    strncpy(into, other, limit);
    for (size_t i = 0; i < 70; i++)
        putchar(into[i] ? into[i] : '.');
    printf("|%d\n", (int)((char *)stpcpy(into, text) - into));
}

static void cut(void)
{
    char copy_of_text[256], *next = NULL;
    strcpy(copy_of_text, text);
    for (char *token = strtok_r(copy_of_text, "ab", &next); token; token = strtok_r(NULL, "ab", &next))
        printf("<%s>", token);
    strcpy(copy_of_text, text);
    for (char *token = strtok(copy_of_text, "c"); token; token = strtok(NULL, "c"))
        printf("(%s)", token);
    char *rest = strcpy(copy_of_text, text), *token;
    while ((token = strsep(&rest, "bd")))
        printf("{%s}", token);
    printf("\n");
}

/* Needles that are slow for naive searches, and periodic ones. */
static void hostile_needles(void)
{
    static char hay[5000], needle[600];
    for (int n = 1; n < 500; n += 7) {
        memset(hay, 'a', sizeof hay - 1);
        memset(needle, 'a', (size_t)n);
        needle[n] = '\0';
        needle[n / 2] = 'b';
        printf("%d ", offset(strstr(hay, needle), hay));
        memcpy(hay + 4000, needle, (size_t)n);
        printf("%d ", offset(strstr(hay, needle), hay));
        for (int i = 0; i < 4999; i++)
            hay[i] = "abaab"[i % (1 + n % 5)];
        memcpy(needle, hay + 17, (size_t)n);
        printf("%d\n", offset(strstr(hay, needle), hay));
    }
}

static void messages(void)
{
    for (int number = -1; number < 140; number++)
        printf("%d %s\n", number, strerror(number));
    printf("%s %s\n", strerror(INT_MAX), strerror(ENOTRECOVERABLE));
    printf("%s\n", strerror(INT_MIN));
}

int main(void)
{
    messages();
    for (int i = 0; i < 20000; i++) {
        unsigned letters = i % 3 == 0 ? 2 : i % 3 == 1 ? 5 : 255;
        random_string(text, 80, letters);
        if (i % 2) {
            strcpy(other, text);
            other[below((uint32_t)strlen(text) + 1)] = (char)('a' + below(3));
        } else {
            random_string(other, letters == 255 ? 80 : 6, letters);
        }
        search();
        compare();
        copy();
        cut();
    }
    hostile_needles();
    return 0;
}
