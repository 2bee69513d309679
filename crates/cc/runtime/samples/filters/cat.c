/* cat [file...]: copies files, or standard input, to standard output. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int copy(FILE *from)
{
    int c;

    while ((c = getc(from)) != EOF)
        if (putchar(c) == EOF)
            return 1;
    return ferror(from);
}

static int copy_named(const char *name)
{
    FILE *file = strcmp(name, "-") == 0 ? stdin : fopen(name, "r");
    int failed;

    if (file == NULL) {
        fprintf(stderr, "cat: %s: %s\n", name, strerror(errno));
        return 1;
    }
    failed = copy(file);
    if (file != stdin)
        fclose(file);
    return failed;
}

int main(int argc, char **argv)
{
    int i, failed = 0;

    if (argc == 1)
        failed = copy(stdin);
    for (i = 1; i < argc; i++)
        failed |= copy_named(argv[i]);
    if (fflush(stdout) == EOF) {
        perror("cat: standard output");
        failed = 1;
    }
    return failed;
}
