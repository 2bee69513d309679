/* Streams on descriptors that misbehave. The test builds this twice, and every case must end alike unless it says otherwise:
 *
 *   lines        numbered lines to stdout, flushed at exit; the reader checks what arrives
 *   interrupted  the same, with signals that interrupt system calls
 *   blocked      the same, after the test has made stdout non-blocking: ours waits, glibc drops output
 *   broken       to a pipe that nobody reads, with SIGPIPE ignored: what the calls return
 *   closed       a stream that loses its output is closed, and another takes its place
 *   complaint    a line to stderr, which waits only after setvbuf
 *   waiting      the same, buffered
 *   copy         stdin to stdout with getchar and putchar */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void tick(int number)
{
    (void)number;
}

static void lines(void)
{
    for (int i = 0; i < 100000; i++)
        printf("line %d\n", i);
}

/* A child sends the signals, because the runtime has no timers. */
static void interrupted(void)
{
    struct sigaction action = {0};
    pid_t parent = getpid(), child;
    action.sa_handler = tick;
    sigaction(SIGUSR1, &action, NULL);
    child = fork();
    if (child == 0) {
        for (int i = 0; i < 300 && getppid() == parent; i++) {
            kill(parent, SIGUSR1);
            usleep(300);
        }
        _exit(0);
    }
    lines();
    fflush(stdout);
    kill(child, SIGKILL);
}

static void broken(void)
{
    signal(SIGPIPE, SIG_IGN);
    int put = printf("into the void\n");
    errno = 0;
    int flushed = fflush(stdout), reason = errno;
    fprintf(stderr, "%d %d %s %d\n", put, flushed, strerror(reason), !!ferror(stdout));
    clearerr(stdout);
}

static void closed(void)
{
    FILE *file = fopen("/dev/full", "w");
    fputs("lost", file);
    fclose(file);
    fclose(fopen("/dev/null", "w"));
}

static void complaint(void)
{
    fputs("a complaint\n", stderr);
}

static void copy(void)
{
    int c;
    while ((c = getchar()) != EOF)
        putchar(c);
    fprintf(stderr, "%d %d\n", !!feof(stdin), !!ferror(stdin));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "lines"))
        lines();
    else if (!strcmp(what, "interrupted"))
        interrupted();
    else if (!strcmp(what, "blocked"))
        lines();
    else if (!strcmp(what, "broken"))
        broken();
    else if (!strcmp(what, "closed"))
        closed();
    else if (!strcmp(what, "complaint"))
        complaint();
    else if (!strcmp(what, "waiting") && !setvbuf(stderr, NULL, _IOFBF, 0))
        complaint();
    else if (!strcmp(what, "copy"))
        copy();
    else
        return 2;
    return 0;
}
