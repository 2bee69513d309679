/* wc [file...]: counts lines, words and bytes. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct counts {
    unsigned long lines, words, bytes;
};

static struct counts count(FILE *file)
{
    struct counts counts = {0, 0, 0};
    static char block[16384];
    int in_word = 0;
    size_t length, i;

    while ((length = fread(block, 1, sizeof block, file)) > 0) {
        counts.bytes += length;
        for (i = 0; i < length; i++) {
            int space = isspace((unsigned char)block[i]);
            counts.lines += block[i] == '\n';
            counts.words += in_word == 0 && !space;
            in_word = !space;
        }
    }
    return counts;
}

static void print(const struct counts *counts, const char *name)
{
    printf("%7lu %7lu %7lu%s%s\n", counts->lines, counts->words, counts->bytes, name ? " " : "", name ? name : "");
}

int main(int argc, char **argv)
{
    struct counts total = {0, 0, 0}, counts;
    int i, status = EXIT_SUCCESS;

    if (argc == 1) {
        counts = count(stdin);
        print(&counts, NULL);
        return EXIT_SUCCESS;
    }
    for (i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (file == NULL) {
            fprintf(stderr, "wc: %s: %s\n", argv[i], strerror(errno));
            status = EXIT_FAILURE;
            continue;
        }
        counts = count(file);
        fclose(file);
        print(&counts, argv[i]);
        total.lines += counts.lines;
        total.words += counts.words;
        total.bytes += counts.bytes;
    }
    if (argc > 2)
        print(&total, "total");
    return status;
}
