#include <stdio.h>
#include <time.h>

/* 20 ms of user code. It looks at the clock, which is a system call, once in a million turns. */
static void work(void) {
  while (clock() < CLOCKS_PER_SEC / 50)
    for (volatile int i = 0; i < 1000000; i++)
      ;
}

int main(void) {
  work();
  puts("hello world");
  return 0;
}
