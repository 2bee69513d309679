/*
 * A program whose counts are known: counted OPENS FAILED_OPENS READ_BYTES THREADS FORKS VFORKS SPAWNS.
 * The same code sets everything up first, so the counts of two runs differ exactly as their arguments do.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void *nothing(void *unused)
{
	return unused;
}

static void reap(pid_t child)
{
	if (child < 0 || waitpid(child, 0, 0) != child)
		exit(9);
}

static void child_by(int how, char *self)
{
	char *arguments[] = { self, 0 };
	pid_t child;
	if (how == 2) {
		if (posix_spawn(&child, self, 0, 0, arguments, environ))
			exit(8);
	} else {
		child = how == 1 ? vfork() : fork();
		if (!child)
			_exit(0);
	}
	reap(child);
}

int main(int count, char **arguments)
{
	long wanted[7] = { 0 };
	static char bytes[1 << 16];
	for (int i = 1; i < count && i <= 7; i++)
		wanted[i - 1] = atol(arguments[i]);
	for (long i = 0; i < wanted[0]; i++)
		if (close(open("/dev/null", O_RDONLY)))
			exit(6);
	for (long i = 0; i < wanted[1]; i++)
		if (open("/proc/nonexistent", O_RDONLY) >= 0)
			exit(6);
	int zero = open("/dev/zero", O_RDONLY);
	bytes[0] = 1;
	if (read(zero, bytes, wanted[2]) != wanted[2])
		exit(5);
	for (long i = 0; i < wanted[3]; i++) {
		pthread_t thread;
		if (pthread_create(&thread, 0, nothing, 0))
			exit(4);
		pthread_join(thread, 0);
	}
	for (int how = 0; how < 3; how++)
		for (long i = 0; i < wanted[4 + how]; i++)
			child_by(how, arguments[0]);
	return write(1, "hello world\n", 12) != 12;
}
