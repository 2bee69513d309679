/* The loops that the floor's figures are compared with. Each is only a loop between two readings of the clock.
   loops null|write N       batches of N calls; prints the median batch, in nanoseconds per call
   loops fork-exit N        N times fork, _exit and waitpid; prints the median
   loops spawn N CMD...     N times vfork, execve and waitpid; prints the median */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BATCHES 300
extern char **environ;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, int n) {
  qsort(values, n, sizeof *values, ascending);
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

#if defined(__x86_64__)
static inline long call3(long number, long a, long b, long c) {
  long answer;
  __asm__ volatile("syscall" : "=a"(answer) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return answer;
}
#elif defined(__aarch64__)
static inline long call3(long number, long a, long b, long c) {
  register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
}
#else
#define call3(number, a, b, c) syscall(number, a, b, c)
#endif

static double calls(int write_it, int n) {
  static double batches[BATCHES];
  int null = open("/dev/null", O_WRONLY);
  for (int batch = -1; batch < BATCHES; batch++) {
    double start = now();
    if (write_it)
      for (int i = 0; i < n; i++) call3(SYS_write, null, (long)"Hello, World!\n", 14);
    else
      for (int i = 0; i < n; i++) call3(SYS_getppid, 0, 0, 0);
    double end = now();
    if (batch >= 0) batches[batch] = (end - start) / n;
  }
  return median(batches, BATCHES);
}

static double processes(int n, char **argv) {
  double *runs = malloc(n * sizeof *runs);
  for (int run = -1; run < n; run++) {
    int status;
    double start = now();
    pid_t child = argv ? vfork() : fork();
    if (child == 0) {
      if (argv) execve(argv[0], argv, environ);
      _exit(argv ? 126 : 0);
    }
    if (waitpid(child, &status, 0) != child || status != 0) {
      fprintf(stderr, "loops: a child ended with wait status %d\n", status);
      exit(1);
    }
    double end = now();
    if (run >= 0) runs[run] = end - start;
  }
  return median(runs, n);
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  int n = atoi(argv[2]);
  /* the started programs write there, and our own output goes to the former stdout */
  int out = dup(1), null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 2; fd++) dup2(null, fd);
  double ns = 0;
  if (!strcmp(argv[1], "null")) ns = calls(0, n);
  else if (!strcmp(argv[1], "write")) ns = calls(1, n);
  else if (!strcmp(argv[1], "fork-exit")) ns = processes(n, NULL);
  else if (!strcmp(argv[1], "spawn") && argc > 3) ns = processes(n, argv + 3);
  else return 2;
  dprintf(out, "%.2f\n", ns);
  return 0;
}
