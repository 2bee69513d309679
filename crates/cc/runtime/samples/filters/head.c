/* head [-n LINES]: the first lines of standard input. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long parse(const char *text)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || errno != 0 || value < 0) {
        fprintf(stderr, "head: %s: not a number of lines\n", text);
        exit(EXIT_FAILURE);
    }
    return value;
}

int main(int argc, char **argv)
{
    long lines = 10;
    char part[512];

    if (argc == 3 && strcmp(argv[1], "-n") == 0)
        lines = parse(argv[2]);
    else if (argc != 1) {
        fprintf(stderr, "usage: head [-n LINES]\n");
        return EXIT_FAILURE;
    }
    while (lines > 0 && fgets(part, sizeof part, stdin) != NULL) {
        fputs(part, stdout);
        if (strchr(part, '\n') != NULL)
            lines--;
    }
    return EXIT_SUCCESS;
}
