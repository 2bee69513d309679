// timed_hello of Hello World Overdone: times the first and the hundredth print, and two readings of the clock itself.
// The marker bypasses iostream, which must not have used stdout before the first print.
#include <chrono>
#include <iostream>
#include <unistd.h>

static long long now() {
  auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

int main() {
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
    std::cout << "hello world\n";
    long long end = now();
    if (i == 1) first = end - start;
    hundredth = end - start;
  }
  std::cerr << "first " << first << " ns, hundredth " << hundredth << " ns, clock " << clock << " ns\n";
}
