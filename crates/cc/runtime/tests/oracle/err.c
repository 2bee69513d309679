/* <err.h>: the messages, errno after them, and the exit status, with other headers that small programs include. stderr is
 * the same as stdout, so the order of the messages is visible, too. */
#include <alloca.h>
#include <err.h>
#include <errno.h>
#include <malloc.h>
#include <memory.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <sys/wait.h>
#include <unistd.h>

static void by_list(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vwarn(format, list);
    va_end(list);
    va_start(list, format);
    vwarnx(format, list);
    va_end(list);
}

static void end(int how)
{
    errno = EACCES;
    if (how == 0)
        err(EX_NOINPUT, "%s %d", "file", 3);
    if (how == 1)
        errx(EX_USAGE, "%5.2f", 1.5);
    if (how == 2)
        err(1, NULL);
    errx(2, NULL);
}

int main(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    dup2(1, 2);
    errno = ENOENT;
    warn("%s", "missing");
    printf("%d\n", errno);
    warnx("plain %c%%", 'x');
    warn(NULL);
    warnx(NULL);
    errno = 0;
    warn("zero");
    errno = ERANGE;
    by_list("%d %g", 7, 0.25);
    for (int how = 0; how < 4; how++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0)
            end(how);
        waitpid(child, &status, 0);
        printf("%d %d\n", WIFEXITED(status), WEXITSTATUS(status));
    }
    char *room = alloca(10);
    memset(room, 'r', 9);
    room[9] = 0;
    puts(room);
    return EX_DATAERR;
}
