# timed_hello of Hello World Overdone: times the first and the hundredth print, and two readings of the clock itself.
# The marker bypasses sys.stdout, which must not have been used before the first print.
import os
import sys
from time import perf_counter_ns as now


def main():
    clock = min(-now() + now() for _ in range(100))
    os.write(1, b">>>> before print >>>>>\n")
    first = 0
    for i in range(1, 101):
        start = now()
        print("hello world")
        taken = now() - start
        if i == 1:
            first = taken
    print(f"first {first} ns, hundredth {taken} ns, clock {clock} ns", file=sys.stderr)


main()
