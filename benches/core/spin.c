/*
 * Ground truth for `setup`: before its first write it spins for a known time by the time-stamp counter, or sleeps.
 * A sleep lasts longer than requested. The program prints how long it really lasted, in nanoseconds.
 *
 *     spin spin NANOSECONDS TICKS_PER_MICROSECOND
 *     spin sleep NANOSECONDS -
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	unsigned long long ns = strtoull(argv[2], 0, 10);
	double ticks = strtod(argv[3], 0) * ns / 1000;
	if (strcmp(argv[1], "spin") == 0) {
		unsigned long long until = __rdtsc() + (unsigned long long)ticks;
		while (__rdtsc() < until)
			;
	} else {
		char text[32];
		struct timespec pause = { ns / 1000000000, ns % 1000000000 }, from, to;
		clock_gettime(CLOCK_MONOTONIC, &from);
		if (ns)
			nanosleep(&pause, 0);
		clock_gettime(CLOCK_MONOTONIC, &to);
		long long slept = (to.tv_sec - from.tv_sec) * 1000000000LL + (to.tv_nsec - from.tv_nsec);
		int length = snprintf(text, sizeof text, "%lld\n", slept);
		return write(1, text, length) != length;
	}
	return write(1, "hello world\n", 12) != 12;
}
