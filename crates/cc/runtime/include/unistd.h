#ifndef _UNISTD_H
#define _UNISTD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define STDIN_FILENO 0
#define STDOUT_FILENO 1
#define STDERR_FILENO 2
#ifndef SEEK_SET
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
#endif
#define F_OK 0
#define X_OK 1
#define W_OK 2
#define R_OK 4

extern char **environ;
extern char *optarg;
extern int optind, opterr, optopt;

void _exit(int) __FB_NORETURN;
int access(const char *, int);
int chdir(const char *);
int close(int);
int dup(int);
int dup2(int, int);
int execv(const char *, char *const[]);
int execve(const char *, char *const[], char *const[]);
pid_t fork(void);
char *getcwd(char *, size_t);
int getopt(int, char *const[], const char *);
pid_t getpid(void);
pid_t getppid(void);
uid_t getuid(void);
int isatty(int);
off_t lseek(int, off_t, int);
int pipe(int[2]);
int pipe2(int[2], int);
ssize_t read(int, void *, size_t);
int rmdir(const char *);
unsigned sleep(unsigned);
int unlink(const char *);
int usleep(unsigned);
ssize_t write(int, const void *, size_t);

int execvp(const char *, char *const[]) __FB_MISSING("no search along PATH: use execve with the full path");
int execlp(const char *, const char *, ...) __FB_MISSING("no search along PATH: use execve with the full path");
long sysconf(int) __FB_MISSING("no sysconf: getauxval(AT_PAGESZ) returns the page size");

#endif
