/*
 * The minimum cost of creating a process, executing a program, reading its output and reaping it: vfork, execve and
 * wait4 in a loop, with a pipe as the program's stdout. Prints the nanoseconds of each run, from before the vfork to
 * after the wait4, one per line.
 *
 *     bare_loop RUNS PROGRAM [ARGUMENT…]
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static long now(void)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * 1000000000L + at.tv_nsec;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	int runs = atoi(argv[1]);
	long *times = malloc(runs * sizeof *times);
	for (int run = 0; run < runs; run++) {
		int ends[2], status;
		char output[64];
		if (pipe2(ends, O_CLOEXEC))
			return 1;
		long before = now();
		pid_t child = vfork();
		if (child == 0) {
			dup2(ends[1], 1);
			execve(argv[2], argv + 2, environ);
			_exit(127);
		}
		if (wait4(child, &status, 0, NULL) != child || status != 0)
			return 1;
		times[run] = now() - before;
		close(ends[1]);
		if (read(ends[0], output, sizeof output) <= 0)
			return 1;
		close(ends[0]);
	}
	for (int run = 0; run < runs; run++)
		printf("%ld\n", times[run]);
	return 0;
}
