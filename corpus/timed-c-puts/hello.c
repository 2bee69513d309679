/* timed_hello of Hello World Overdone: times the first and the hundredth print, and two readings of the clock itself.
 * The marker bypasses stdio, which must not have used stdout before the first print. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(void) {
  static const char marker[] = ">>>> before print >>>>>\n";
  long long first = 0, hundredth = 0, clock = 1000000000;
  for (int i = 0; i < 100; i++) {
    long long start = now();
    long long end = now();
    if (end - start < clock) clock = end - start;
  }
  if (write(1, marker, sizeof marker - 1) < 0) return 1;
  for (int i = 1; i <= 100; i++) {
    long long start = now();
    puts("hello world");
    long long end = now();
    if (i == 1) first = end - start;
    hundredth = end - start;
  }
  fprintf(stderr, "first %lld ns, hundredth %lld ns, clock %lld ns\n", first, hundredth, clock);
  return 0;
}
