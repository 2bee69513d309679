/*
 * Spins for a known time by the time-stamp counter, or sleeps, before its first write: ground truth for `setup`.
 *
 *     spin spin NANOSECONDS TICKS_PER_MICROSECOND
 *     spin sleep NANOSECONDS -
 */
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
		struct timespec pause = { ns / 1000000000, ns % 1000000000 };
		nanosleep(&pause, 0);
	}
	return write(1, "hello world\n", 12) != 12;
}
