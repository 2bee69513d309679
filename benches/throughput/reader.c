/* Times programs that print endlessly, or long enough, by the bytes that a reader takes from them:

     cc -O2 -o reader benches/throughput/reader.c
     ./reader RUNS BYTES splice|read CMD... , CMD...

   splice moves the bytes to /dev/null in pieces of 1 MiB, read copies them in pieces of 64 KiB. The runs of the commands
   alternate. The time is from before the process is created until BYTES have been read. Prints the median, the smallest
   time, and GB per second of the median. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMMANDS 16
#define RUNS 1000

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static long long take(int from, int null, long long bytes, int splicing) {
  static char buffer[65536];
  long long taken = 0;
  while (taken < bytes) {
    long long left = bytes - taken;
    ssize_t n = splicing ? splice(from, 0, null, 0, left < 1 << 20 ? left : 1 << 20, 0)
                         : read(from, buffer, sizeof buffer);
    if (n <= 0) break;
    taken += n;
  }
  return taken;
}

static double run(char **command, int null, long long bytes, int splicing) {
  int ends[2], status;
  if (pipe2(ends, O_CLOEXEC)) exit(1);
  double start = now();
  pid_t child = vfork();
  if (child == 0) {
    dup2(ends[1], 1);
    execvp(command[0], command);
    _exit(126);
  }
  close(ends[1]);
  long long taken = take(ends[0], null, bytes, splicing);
  double end = now();
  close(ends[0]);
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  if (taken < bytes) {
    fprintf(stderr, "reader: %s gave %lld of %lld bytes\n", command[0], taken, bytes);
    exit(1);
  }
  return end - start;
}

int main(int argc, char **argv) {
  static double times[COMMANDS][RUNS];
  if (argc < 5) return 2;
  int runs = atoi(argv[1]), splicing = !strcmp(argv[3], "splice"), count = 1;
  long long bytes = atoll(argv[2]);
  char **commands[COMMANDS] = {argv + 4};
  if (runs < 1 || runs > RUNS) return 2;
  for (int i = 4; i < argc; i++)
    if (!strcmp(argv[i], ",") && count < COMMANDS) {
      argv[i] = NULL;
      commands[count++] = argv + i + 1;
    }
  int null = open("/dev/null", O_WRONLY);
  for (int n = -1; n < runs; n++)
    for (int c = 0; c < count; c++) {
      double time = run(commands[c], null, bytes, splicing);
      if (n >= 0) times[c][n] = time;
    }
  for (int c = 0; c < count; c++) {
    qsort(times[c], runs, sizeof times[c][0], ascending);
    double median = times[c][runs / 2];
    printf("%-40s %-6s median %8.3f ms  min %8.3f  %6.2f GB/s\n", commands[c][0], argv[3], median, times[c][0],
           bytes / median / 1e6);
  }
  return 0;
}
