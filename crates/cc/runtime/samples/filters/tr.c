/* tr FROM TO, tr -d SET: translates or deletes characters. Sets may contain ranges (a-z) and \n, \t, \\. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int unescape(const char **text)
{
    int c = (unsigned char)*(*text)++;

    if (c != '\\' || **text == '\0')
        return c;
    c = (unsigned char)*(*text)++;
    return c == 'n' ? '\n' : c == 't' ? '\t' : c;
}

static size_t expand(const char *text, unsigned char *set, size_t limit)
{
    size_t length = 0;

    while (*text != '\0' && length < limit) {
        int first = unescape(&text), last = first;
        if (text[0] == '-' && text[1] != '\0') {
            text++;
            last = unescape(&text);
        }
        for (; first <= last && length < limit; first++)
            set[length++] = (unsigned char)first;
    }
    return length;
}

int main(int argc, char **argv)
{
    unsigned char from[1024], to[1024], map[UCHAR_MAX + 1];
    char dropped[UCHAR_MAX + 1] = {0};
    int c, deleting = argc == 3 && strcmp(argv[1], "-d") == 0;
    size_t i, from_length, to_length;

    if (argc != 3) {
        fputs("usage: tr FROM TO\n       tr -d SET\n", stderr);
        return EXIT_FAILURE;
    }
    for (i = 0; i <= UCHAR_MAX; i++)
        map[i] = (unsigned char)i;
    from_length = expand(argv[deleting ? 2 : 1], from, sizeof from);
    to_length = deleting ? 0 : expand(argv[2], to, sizeof to);
    for (i = 0; i < from_length; i++) {
        if (deleting)
            dropped[from[i]] = 1;
        else if (to_length > 0)
            map[from[i]] = to[i < to_length ? i : to_length - 1];
    }
    while ((c = getchar()) != EOF)
        if (!dropped[c])
            putchar(map[c]);
    return ferror(stdin) || fflush(stdout) == EOF ? EXIT_FAILURE : EXIT_SUCCESS;
}
