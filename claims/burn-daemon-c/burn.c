#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* 20 ms of user code. It looks at the clock, which is a system call, once in a million turns. */
static void work(void) {
  while (clock() < CLOCKS_PER_SEC / 50)
    for (volatile int i = 0; i < 1000000; i++)
      ;
}

/* The child of a child that has ended: nobody waits for it, so its time is added to nobody's. */
static void become_daemon(void) {
  setsid();
  if (fork() != 0)
    _exit(0);
}

/* Sleeps until the daemon has ended, which closes its end of the pipe. */
int main(void) {
  int ends[2];
  char byte;

  if (pipe(ends) != 0)
    return 1;
  pid_t child = fork();
  if (child == 0) {
    become_daemon();
    work();
    puts("hello world");
    return 0;
  }
  close(ends[1]);
  waitpid(child, NULL, 0);
  return child < 0 || read(ends[0], &byte, 1) != 0;
}
