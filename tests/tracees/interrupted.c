/*
 * interrupted CHILDREN: waits in one read(2) while that many children end, then prints. Each child costs exactly four
 * system calls: clone, wait4, and its own nanosleep and exit_group. It uses raw calls because the C library makes more.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void sleep_for(long milliseconds)
{
	struct timespec pause = { milliseconds / 1000, milliseconds % 1000 * 1000000 };
	syscall(SYS_nanosleep, &pause, 0);
}

static long child(void)
{
	return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

int main(int count, char **arguments)
{
	int ends[2], children = count > 1 ? atoi(arguments[1]) : 0;
	char byte;
	if (pipe(ends))
		return 9;
	for (int i = 0; i < children; i++)
		if (!child()) {
			sleep_for(2 * (i + 1));
			syscall(SYS_exit_group, 0);
		}
	if (!child()) {
		sleep_for(2 * (children + 5));
		syscall(SYS_write, ends[1], "z", 1);
		syscall(SYS_exit_group, 0);
	}
	if (read(ends[0], &byte, 1) != 1)
		return 8;
	for (int i = 0; i <= children; i++)
		if (syscall(SYS_wait4, -1, 0, 0, 0) <= 0)
			return 7;
	return write(1, "hello world\n", 12) != 12;
}
