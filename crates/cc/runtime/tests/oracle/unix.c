/* System calls under their C names: results and errno. argv[1] is the folder to write in. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void say(const char *what, long result)
{
    printf("%s %ld %s\n", what, result, result < 0 ? strerror(errno) : "-");
    errno = 0;
}

static void files(void)
{
    char text[16] = {0};
    int file = open("file", O_RDWR | O_CREAT | O_TRUNC, 0640);
    say("open", file >= 3);
    say("write", write(file, "0123456789", 10));
    say("lseek", (long)lseek(file, -4, SEEK_END));
    say("read", read(file, text, 3));
    say(text, 0);
    say("lseek far", lseek(file, 5000000000, SEEK_SET) == 5000000000);
    say("lseek before", (long)lseek(file, -1, SEEK_SET));
    say("dup2", dup2(file, 77));
    say("dup2 same", dup2(77, 77));
    say("dup2 closed", dup2(78, 78));
    say("fcntl", fcntl(77, F_GETFL) & (O_ACCMODE | O_APPEND));
    say("close", close(77));
    say("close again", close(77));
    say("read closed", read(77, text, 1));
    say("write closed", write(77, text, 1));
    say("open absent", open("absent", O_RDONLY));
    say("open exclusive", open("file", O_RDWR | O_CREAT | O_EXCL, 0600));
    say("open folder", open("file", O_RDONLY | O_DIRECTORY));
    say("open to write", open(".", O_WRONLY));
    close(file);
    say("access", access("file", R_OK | W_OK));
    say("access absent", access("absent", F_OK));
    say("unlink", unlink("file"));
    say("unlink again", unlink("file"));
    say("mkdir", mkdir("folder", 0700));
    say("mkdir again", mkdir("folder", 0700));
    say("unlink folder", unlink("folder"));
    say("rmdir", rmdir("folder"));
    say("chdir absent", chdir("absent"));
    say("isatty", isatty(file));
}

static void status(void)
{
    struct stat found;
    int file = open("status", O_WRONLY | O_CREAT | O_TRUNC, 0604);
    say("write", write(file, "twelve bytes", 12));
    say("fstat", fstat(file, &found));
    printf("%o %ld %d %d\n", (unsigned)found.st_mode, (long)found.st_size, (int)found.st_nlink, (int)(found.st_mtime > 1000000000));
    close(file);
    say("stat", stat(".", &found));
    printf("%d %d\n", S_ISDIR(found.st_mode), S_ISREG(found.st_mode));
    say("stat absent", stat("absent", &found));
    say("stat null", stat("/dev/null", &found));
    printf("%d %llx\n", S_ISCHR(found.st_mode), (unsigned long long)found.st_rdev);
    say("lstat", lstat("/proc/self", &found));
    printf("%d\n", S_ISLNK(found.st_mode));
}

static void memory(void)
{
    char *page = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    say("mmap", page != MAP_FAILED);
    page[65535] = 1;
    say("mprotect", mprotect(page, 65536, PROT_READ));
    say("munmap", munmap(page, 65536));
    say("mmap nothing", mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    printf("%s\n", strerror(errno));
    int file = open("status", O_RDONLY);
    page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
    printf("%.12s\n", page);
    say("munmap", munmap(page, 4096));
    say("munmap odd", munmap((void *)1, 4096));
    close(file);
}

static volatile sig_atomic_t caught;

static void handler(int number)
{
    caught = number;
}

static void signals(void)
{
    say("signal", signal(SIGUSR1, handler) == SIG_DFL);
    say("raise", raise(SIGUSR1));
    printf("%d\n", (int)caught);
    say("signal kill", signal(SIGKILL, handler) == SIG_ERR);
    printf("%s\n", strerror(errno));
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    signal(SIGUSR2, handler);
    caught = 0;
    say("block", sigprocmask(SIG_BLOCK, &set, &before));
    raise(SIGUSR2);
    printf("blocked %d\n", (int)caught);
    say("restore", sigprocmask(SIG_SETMASK, &before, NULL));
    printf("delivered %d\n", (int)caught);
    say("kill nobody", kill(-999999, 0));
}

static void processes(void)
{
    int ends[2], state = 0;
    char text[32] = {0};
    say("pipe", pipe(ends));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        write(ends[1], getppid() > 1 ? "child" : "orphan", 5);
        _exit(42);
    }
    say("waitpid", waitpid(child, &state, 0) == child);
    printf("%d %d %ld %s\n", WIFEXITED(state), WEXITSTATUS(state), (long)read(ends[0], text, sizeof text), text);
    say("wait for nobody", wait(&state));
    fflush(stdout);
    child = fork();
    if (child == 0)
        abort();
    waitpid(child, &state, 0);
    printf("%d %d\n", WIFSIGNALED(state), WTERMSIG(state));
    struct pollfd polled = {.fd = ends[0], .events = POLLIN};
    say("poll", poll(&polled, 1, 0));
    write(ends[1], "x", 1);
    say("poll", poll(&polled, 1, 1000));
    printf("%d\n", polled.revents);
    char *argv[] = {"absent", NULL};
    say("execve", execve("./absent", argv, argv));
}

static void clocks(void)
{
    struct timespec before, after;
    int backwards = 0;
    say("clock_gettime", clock_gettime(CLOCK_MONOTONIC, &before));
    for (int i = 0; i < 100; i++) {
        clock_gettime(CLOCK_MONOTONIC, &after);
        backwards += after.tv_sec < before.tv_sec || (after.tv_sec == before.tv_sec && after.tv_nsec < before.tv_nsec);
        before = after;
    }
    printf("%d %d %d\n", backwards, after.tv_nsec < 1000000000, time(NULL) > 1600000000);
    say("no such clock", clock_gettime(99, &after));
    struct timespec wrong = {.tv_sec = 0, .tv_nsec = 1000000000};
    say("nanosleep", nanosleep(&wrong, NULL));
    say("sleep", sleep(0));
}

/* optind = 0 starts again, also in the middle of a word. */
static void options_of(const char *letters)
{
    static char *const words[] = {"program", "-b", "value", NULL};
    static char *const joined[] = {"program", "-bvalue", "-dc", "-c", "-b", "-dcd", "-c", NULL};
    int letter;
    optind = 0;
    while ((letter = getopt(7, joined, letters)) != -1)
        printf("%c %s %d\n", letter, optarg ? optarg : "-", optind);
    optind = 0;
    letter = getopt(2, (char *const[]){"program", "-ddd", NULL}, letters);
    printf("%s: %c %d\n", letters, letter, optind);
    optind = 0;
    letter = getopt(3, words, letters);
    printf("%c %s %d\n", letter, optarg ? optarg : "-", optind);
}

static void options(void)
{
    static char *const words[] = {"program", "-a", "-bvalue", "-c", "next", "-ad", "--", "-a", "rest", NULL};
    static char *const wrong[] = {"program", "-x", "-b", NULL};
    int letter;
    while ((letter = getopt(9, words, "ab:c:d")) != -1)
        printf("%c %s %d\n", letter, letter == 'b' || letter == 'c' ? optarg : "-", optind);
    printf("%d %s\n", optind, words[optind]);
    optind = 1;
    opterr = 0;
    while ((letter = getopt(3, wrong, ":ab:")) != -1)
        printf("%c %c\n", letter, optopt);
    options_of("b:c::d");
    options_of("+b::c:d");
    options_of(":b::c");
}

int main(int argc, char **argv)
{
    if (argc < 2 || chdir(argv[1]))
        return 2;
    files();
    status();
    memory();
    signals();
    processes();
    clocks();
    options();
    return 0;
}
