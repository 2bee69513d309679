/*
 * Spins for the given number of nanoseconds by CLOCK_MONOTONIC and then prints a line, so it is slower by a known time.
 * Both sides of a comparison use the same file, so that nothing else differs.
 *
 *     spin NANOSECONDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long long now(void)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * 1000000000LL + at.tv_nsec;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	long long until = now() + atoll(argv[1]);
	while (now() < until)
		;
	printf("hello world\n");
	return 0;
}
