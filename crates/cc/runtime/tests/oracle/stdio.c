/* Streams on files: modes, seeking, ungetc, lines, ends of files and errors. argv[1] is the folder to write in. */
#include "random.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *reason(void)
{
    return errno ? strerror(errno) : "-";
}

static void open_modes(void)
{
    static const char *const modes[] = {"r", "w", "a", "r+", "w+", "a+", "rb", "wx", "q", "", "rb+", "ab"};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        errno = 0;
        FILE *file = fopen("modes", modes[i]);
        printf("%s: %d %s", modes[i], file != NULL, reason());
        if (!file) {
            printf("\n");
            continue;
        }
        errno = 0;
        int put = fputc('A' + (int)i, file);
        printf(" put %d %s", put, put == EOF ? reason() : "-");
        errno = 0;
        fseek(file, 0, SEEK_SET);
        int got = fgetc(file);
        printf(" get %d %s", got, got == EOF ? reason() : "-");
        printf(" eof %d error %d", !!feof(file), !!ferror(file));
        printf(" close %d\n", fclose(file));
    }
}

static void seek_about(void)
{
    FILE *file = fopen("seek", "w+");
    char text[64];
    for (int i = 0; i < 1000; i++)
        fprintf(file, "%04d\n", i);
    printf("%ld ", ftell(file));
    printf("%d ", fseek(file, 50, SEEK_SET));
    printf("%s", fgets(text, sizeof text, file));
    printf("%ld ", ftell(file));
    printf("%d ", fgetc(file));
    printf("%ld ", ftell(file));
    printf("%d ", ungetc('x', file));
    printf("%ld ", ftell(file));
    printf("%d ", fgetc(file));
    printf("%d\n", fgetc(file));
    printf("%d ", fseek(file, -5, SEEK_END));
    printf("%s", fgets(text, sizeof text, file));
    printf("%d ", fgetc(file));
    printf("%d ", !!feof(file));
    printf("%d ", fseek(file, 10, SEEK_SET));
    printf("%d ", !!feof(file));
    fputs("HELLO", file);
    fseek(file, -3, SEEK_CUR);
    printf("%s", fgets(text, sizeof text, file));
    rewind(file);
    fseek(file, 8, SEEK_SET);
    printf("%s", fgets(text, sizeof text, file));
    printf("%s", fgets(text, sizeof text, file));
    errno = 0;
    printf("%d %s\n", fseek(file, -1, SEEK_SET), reason());
    fclose(file);
}

/* Lines of every length around the sizes of buffers. */
static void lines(void)
{
    static const size_t lengths[] = {0, 1, 7, 8, 9, 118, 119, 120, 127, 128, 129, 255, 256, 4095, 4096, 4097, 65527, 65528, 65535, 65536, 65537, 131073};
    FILE *file = fopen("lines", "w");
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (size_t j = 0; j < lengths[i]; j++)
            putc('a' + (int)(j % 26), file);
        putc('\n', file);
    }
    fputs("no newline", file);
    fclose(file);
    file = fopen("lines", "r");
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    while ((length = getline(&line, &size, file)) >= 0)
        printf("%ld %d %d\n", (long)length, line[length > 1 ? length - 2 : 0], strlen(line) == (size_t)length);
    printf("%d\n", !!feof(file));
    rewind(file);
    while ((length = getdelim(&line, &size, 'z', file)) >= 0)
        printf("%ld ", (long)length);
    free(line);
    for (int limit = 1; limit < 300; limit = limit * 2 + 1) {
        static char part[300];
        size_t total = 0, parts = 0;
        rewind(file);
        if (limit == 1) {
            printf("%d %d\n", fgets(part, 1, file) == part, part[0]);
            continue;
        }
        while (fgets(part, limit, file)) {
            total += strlen(part);
            parts++;
        }
        printf("%d: %zu %zu\n", limit, total, parts);
    }
    fclose(file);
}

static void blocks(void)
{
    static unsigned char out[200000], in[200000];
    for (size_t i = 0; i < sizeof out; i++)
        out[i] = (unsigned char)random64();
    for (size_t size = 1; size <= 200000; size = size * 3 + 1) {
        FILE *file = fopen("blocks", "w");
        size_t written = 0;
        while (written < sizeof out) {
            size_t part = sizeof out - written < size ? sizeof out - written : size;
            written += fwrite(out + written, 1, part, file);
        }
        fclose(file);
        memset(in, 0, sizeof in);
        file = fopen("blocks", "r");
        size_t read = 0, got;
        while ((got = fread(in + read, 1, size < sizeof in - read ? size : sizeof in - read, file)))
            read += got;
        printf("%zu: %zu %d %d\n", size, read, memcmp(in, out, sizeof in), fgetc(file));
        fclose(file);
    }
    FILE *file = fopen("blocks", "r");
    printf("%zu ", fread(in, 7, 30000, file));
    printf("%d ", !!feof(file));
    printf("%zu %zu\n", fread(in, 0, 5, file), fread(in, 5, 0, file));
    fclose(file);
}

static void push_back(void)
{
    FILE *file = fopen("modes", "w+");
    fputs("bc", file);
    rewind(file);
    printf("%d ", ungetc('a', file));
    for (int i = 0; i < 4; i++)
        printf("%d ", fgetc(file));
    printf("%d ", ungetc('d', file));
    for (int i = 0; i < 2; i++)
        printf("%d ", fgetc(file));
    printf("%d ", ungetc(EOF, file));
    printf("%d\n", !!feof(file));
    clearerr(file);
    printf("%d\n", !!feof(file));
    fclose(file);
}

static void errors(void)
{
    errno = 0;
    printf("%d %s ", fopen("nowhere/file", "w") == NULL, reason());
    errno = 0;
    printf("%d %s ", fopen(".", "w") == NULL, reason());
    errno = 0;
    FILE *folder = fopen(".", "r");
    int c = fgetc(folder);
    printf("%d %s %d\n", c, reason(), !!ferror(folder));
    fclose(folder);
    FILE *full = fopen("/dev/full", "w");
    fputs("lost", full);
    errno = 0;
    int result = fflush(full);
    printf("flush %d %s %d ", result, reason(), !!ferror(full));
    clearerr(full);
    setvbuf(full, NULL, _IONBF, 0);
    errno = 0;
    result = fputc('x', full);
    printf("put %d %s %d", result, reason(), !!ferror(full));
    printf(" close %d\n", fclose(full));
    errno = 0;
    result = rename("absent", "other");
    printf("rename %d %s ", result, reason());
    errno = 0;
    result = remove("absent");
    printf("remove %d %s %d\n", result, reason(), remove("lines"));
}

/* When output is written: a second descriptor reads the file's length. */
static void line_buffering(void)
{
    FILE *file = fopen("modes", "w"), *seen = fopen("modes", "r");
    printf("%d ", setvbuf(file, NULL, _IOLBF, 0));
    static const char *const pieces[] = {"", "part", "", " and end\n", "next", "\n"};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        int put = fputs(pieces[i], file) >= 0;
        fseek(seen, 0, SEEK_END);
        printf("%d %ld ", put, ftell(seen));
    }
    printf("%d\n", fprintf(file, "%s", ""));
    fclose(seen);
    fclose(file);
}

/* An unbuffered stream reads nothing ahead. A line that is cut because the descriptor is empty for now is not lost. */
static void reading_from_pipes(void)
{
    char text[16];
    int ends[2];
    if (pipe(ends) || dup2(ends[0], 0) < 0 || write(ends[1], "abcdef", 6) != 6)
        return;
    setvbuf(stdin, NULL, _IONBF, 0);
    int c = getchar();
    long left = (long)read(0, text, 3);
    printf("%c %ld %.3s %c\n", c, left, text, getchar());
    fcntl(0, F_SETFL, O_NONBLOCK);
    errno = 0;
    char *line = fgets(text, sizeof text, stdin);
    printf("%s", line ? line : "-");
    printf(" %s %d\n", reason(), !!ferror(stdin));
}

int main(int argc, char **argv)
{
    if (argc < 2 || chdir(argv[1]))
        return 2;
    open_modes();
    seek_about();
    lines();
    blocks();
    push_back();
    errors();
    line_buffering();
    reading_from_pipes();
    fflush(stdout);
    _exit(0); /* exit would report the output that /dev/full refused; glibc does not */
}
