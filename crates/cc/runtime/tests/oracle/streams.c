/* Streams that append, use given descriptors, change their buffering, push bytes back, and end with their process. argv[1]
 * is the folder to write in. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void holding(const char *text)
{
    FILE *file = fopen("file", "w");
    fputs(text, file);
    fclose(file);
}

static void show(void)
{
    char text[64];
    FILE *file = fopen("file", "r");
    int length = (int)fread(text, 1, sizeof text, file);
    printf(" = %.*s\n", length, text);
    fclose(file);
}

static void number(long value)
{
    printf(" %ld", value);
}

static void report(long value)
{
    number(value);
    printf(" %s", value < 0 ? strerror(errno) : "-");
    errno = 0;
}

/* fdopen with each mode: its result, the flags of the descriptor after it, and the offset. */
static void on_descriptor(const char *mode, int access)
{
    holding("content");
    int descriptor = open("file", access);
    FILE *stream = fdopen(descriptor, mode);
    printf("%s on %x:", mode, (unsigned)access);
    report(stream ? 0 : -1);
    number(fcntl(descriptor, F_GETFL) & (O_ACCMODE | O_APPEND));
    number((long)lseek(descriptor, 0, SEEK_CUR));
    if (stream) {
        number(ftell(stream));
        number(fputs("XY", stream) < 0 ? -1 : 0);
        number(fclose(stream));
    } else {
        close(descriptor);
    }
    show();
}

static void on_descriptors(void)
{
    static const char *const modes[] = {"r", "w", "a", "r+", "w+", "a+", "ab", "q", ""};
    static const int access[] = {O_RDONLY, O_WRONLY, O_RDWR, O_WRONLY | O_APPEND, O_RDWR | O_APPEND};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        for (size_t j = 0; j < sizeof access / sizeof *access; j++)
            on_descriptor(modes[i], access[j]);
    report(fdopen(99, "r") ? 0 : -1);
    report(fdopen(-1, "a") ? 0 : -1);
    printf("\n");
}

static void append(const char *mode)
{
    holding("content");
    FILE *file = fopen("file", mode);
    number((long)lseek(fileno(file), 0, SEEK_CUR));
    number(ftell(file));
    fputs("XYZ", file);
    number(ftell(file));
    fflush(file);
    number(ftell(file));
    fseek(file, 2, SEEK_SET);
    number(ftell(file));
    fputs("12", file);
    number(ftell(file));
    number(fseek(file, -1, SEEK_CUR));
    number(ftell(file));
    number(fgetc(file));
    fseek(file, 0, SEEK_END);
    number(ftell(file));
    setvbuf(file, NULL, _IONBF, 0);
    fputc('!', file);
    number(ftell(file));
    fclose(file);
    show();
}

static void append_without_offset(void)
{
    int ends[2];
    char text[8] = "";
    FILE *into = pipe(ends) ? NULL : fdopen(ends[1], "a");
    fputs("through", into);
    report(ftell(into));
    number(fclose(into));
    number((long)read(ends[0], text, 7));
    close(ends[0]);
    into = fopen("/dev/null", "a");
    number(into && fclose(into) == 0);
    printf(" %s\n", text);
}

/* What arrives from children that end while output waits in their streams. */
static void buffered_errors(int how)
{
    static char buffer[4096];
    setvbuf(stderr, buffer, how == 1 ? _IOLBF : _IOFBF, sizeof buffer);
    fputs("waits\nand ", stderr);
    fputs("a part", stderr);
    if (how == 2) {
        fflush(NULL);
        _exit(3);
    }
    if (how == 3)
        _exit(4);
    fprintf(stderr, " of %d", 7);
    exit(5);
}

static void puts_long(int mode)
{
    static char text[2001];
    memset(text, 'a', 2000);
    setvbuf(stdout, NULL, mode, 0);
    puts(text);
    putchar('D');
    putchar('E');
    if (mode == _IOLBF)
        putchar('\n');
    putchar('F');
    abort();
}

/* Alternating long calls and putc, also when the mode changes in between. */
static void change_modes(void)
{
    static char text[3001];
    memset(text, 'b', 3000);
    fputs(text, stdout);
    putchar('1');
    setvbuf(stdout, NULL, _IONBF, 0);
    putchar('2');
    fputs(text, stdout);
    putchar('3');
    putc('4', stdout);
    abort();
}

static void child(int how)
{
    if (how < 4)
        buffered_errors(how);
    if (how == 4)
        puts_long(_IONBF);
    if (how == 5)
        puts_long(_IOLBF);
    change_modes();
}

static int end_of_child(int how)
{
    int status = 0;
    pid_t started = fork();
    if (started == 0) {
        int file = open("file", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
        dup2(file, 1);
        dup2(file, 2);
        child(how);
    }
    waitpid(started, &status, 0);
    return status;
}

/* Runs first and prints after the last child, because the children's stdout must be unused. */
static void ends(void)
{
    static struct {
        int status, length;
        char text[8192];
    } end[7];
    for (int how = 0; how < 7; how++) {
        end[how].status = end_of_child(how);
        FILE *file = fopen("file", "r");
        end[how].length = (int)fread(end[how].text, 1, sizeof end[how].text, file);
        fclose(file);
    }
    for (int how = 0; how < 7; how++) {
        int status = end[how].status, length = end[how].length, tail = length < 21 ? length : 21;
        printf("%d: %d %d %d ", how, WIFSIGNALED(status), WIFEXITED(status) ? WEXITSTATUS(status) : 0, length);
        printf("%.*s\n", tail, end[how].text + length - tail);
    }
}

/* A pipe that keeps writes apart: how many writes a call makes, and their lengths. */
static void count_writes(void)
{
    static const int sizes[] = {1, 500, 510, 511, 512, 513, 602, 1023, 1024, 1025, 1502, 3000};
    static char text[4097], letters[3001];
    int ends[2], before = dup(2);
    long length;
    memset(letters, 'c', 3000);
    pipe2(ends, O_DIRECT | O_NONBLOCK);
    dup2(ends[1], 2);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        number(fprintf(stderr, "%d %.*s %s", sizes[i], sizes[i], letters, "end"));
        number(dprintf(2, "%.*s", sizes[i], letters));
        number(fwrite(letters, 1, (size_t)sizes[i], stderr));
        while ((length = (long)read(ends[0], text, sizeof text)) > 0)
            printf(" %ld%c%c", length, text[0], text[length - 1]);
        printf("\n");
    }
    dup2(before, 2);
    report(dprintf(99, "%d", 1));
    report(dprintf(99, "%s", letters));
    printf("\n");
}

/* Only what ISO C defines. At offset 0 the position after ungetc is indeterminate. */
static void push_back(void)
{
    char text[8] = "";
    holding("0123456789");
    FILE *file = fopen("file", "r+");
    while (fgetc(file) != EOF)
        ;
    number(!!feof(file));
    number(ungetc('x', file));
    number(!!feof(file));
    number(ftell(file));
    number(fgetc(file));
    number(ftell(file));
    number(fgetc(file));
    number(!!feof(file));
    number(ungetc('y', file));
    number(fseek(file, 5, SEEK_SET));
    number(fgetc(file));
    number(ungetc('z', file));
    number(ftell(file));
    number(fgetc(file));
    number(fgetc(file));
    number(ungetc('Z', file));
    number((long)fread(text, 1, 7, file));
    printf(" %s", text);
    number(!!feof(file));
    number(fputs("ab", file) < 0);
    number(ftell(file));
    fclose(file);
    show();
}

int main(int argc, char **argv)
{
    if (argc < 2 || chdir(argv[1]))
        return 2;
    ends();
    on_descriptors();
    append("a");
    append("a+");
    append_without_offset();
    count_writes();
    push_back();
    return 0;
}
