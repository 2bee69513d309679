/* A tree of processes that is known exactly: the first argument says what it does. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char **rest;

static void pause_ms(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };
	while (nanosleep(&time, &time))
		;
}

/* Uses the processor until this thread has used it for so long. */
static void *spin(void *ms)
{
	struct timespec used;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < (long)ms);
	return 0;
}

static void *execute(void *unused)
{
	execv(rest[0], rest);
	_exit(9);
}

static void *fail_to_execute(void *unused)
{
	for (;;)
		execve("/nonexistent", rest, environ);
	return unused;
}

static void *sleep_often(void *unused)
{
	for (;;)
		usleep(50);
	return unused;
}

static void *exit_later(void *status)
{
	pause_ms(20);
	syscall(SYS_exit_group, (int)(long)status);
	return 0;
}

static int run(int count, int with_exec)
{
	for (int i = 0; i < count; i++) {
		pid_t child = with_exec ? vfork() : fork();
		if (child == 0) {
			if (with_exec)
				execv(rest[0], rest);
			_exit(with_exec ? 9 : 0);
		}
		int status;
		if (waitpid(child, &status, 0) != child || status)
			return 8;
	}
	return 0;
}

static int is_zombie(pid_t child)
{
	char path[64], text[512] = "";
	snprintf(path, sizeof path, "/proc/%d/stat", child);
	FILE *file = fopen(path, "r");
	if (!file)
		return 0;
	fread(text, 1, sizeof text - 1, file);
	fclose(file);
	char *name_ends = strrchr(text, ')');
	return name_ends && name_ends[2] == 'Z';
}

/*
 * Executes programs one after the other, on one processor, which each of them takes from this process until it has ended. If
 * `work` is not 0, this process then uses the processor for so many milliseconds before it calls waitpid.
 */
static int give_way(int count, long work)
{
	struct sched_param first = { .sched_priority = 1 };
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof one, &one) || sched_setscheduler(0, SCHED_FIFO, &first))
		return 77;
	for (int i = 1; i <= count; i++) {
		pid_t child = fork();
		if (child == 0) {
			execv(rest[0], rest);
			_exit(9);
		}
		int status;
		do
			sched_yield();
		while (work && !is_zombie(child));
		if (work)
			spin((void *)(work * i));
		if (waitpid(child, &status, 0) != child || status)
			return 8;
	}
	return 0;
}

/* As execvp does: two folders that do not have it, then the one that has. */
static void search(void)
{
	char path[4096];
	const char *name = strrchr(rest[0], '/') + 1;
	for (int folder = 1; folder <= 2; folder++) {
		snprintf(path, sizeof path, "/no/such/folder%d/%s", folder, name);
		execv(path, rest);
	}
	execv(rest[0], rest);
}

int main(int argc, char **argv)
{
	pthread_t thread[8];
	const char *how = argv[1];
	long number = argc > 2 ? atol(argv[2]) : 0;
	rest = argv + 3;

	if (!strcmp(how, "vfork"))
		return run(number, 1);
	if (!strcmp(how, "ignoring")) {
		signal(SIGCHLD, SIG_IGN);
		return run(number, 1);
	}
	if (!strcmp(how, "fork"))
		return run(number, 0);
	if (!strcmp(how, "give-way"))
		return give_way(number, 0);
	if (!strcmp(how, "give-way-and-work"))
		return give_way(number, 300);
	if (!strcmp(how, "late")) {
		pause_ms(number);
		return write(1, "late\n", 5) != 5;
	}
	if (!strcmp(how, "spin")) {
		/* `number` threads, or 0: this one, each as many milliseconds as the next argument */
		if (!number)
			spin((void *)atol(rest[0]));
		for (long i = 0; i < number; i++)
			pthread_create(&thread[i], 0, spin, (void *)atol(rest[0]));
		for (long i = 0; i < number; i++)
			pthread_join(thread[i], 0);
		return 0;
	}
	if (!strcmp(how, "exec-from-thread")) {
		rest = argv + 2;
		pthread_create(&thread[0], 0, execute, 0);
		for (;;)
			pause();
	}
	if (!strcmp(how, "exec-beside-failing")) {
		/* while the kernel copies a megabyte of arguments, the execs of the other thread fail */
		static char argument[1001], *many[1001];
		memset(argument, 'x', sizeof(argument) - 1);
		for (int i = 0; i < 1000; i++)
			many[i] = argument;
		pthread_create(&thread[0], 0, fail_to_execute, 0);
		usleep(10000);
		execve(argv[2], many, environ);
	}
	if (!strcmp(how, "exec-after-failing")) {
		/* three megabytes of arguments are too many, which the kernel finds out when it has copied most of them */
		static char argument[1001], *many[3001];
		memset(argument, 'x', sizeof(argument) - 1);
		for (int i = 0; i < 3000; i++)
			many[i] = argument;
		for (int i = 0; i < 50; i++)
			pthread_create(&thread[0], 0, sleep_often, 0);
		for (int i = 0; i < 10; i++)
			execve(argv[2], many, environ);
		pause_ms(20);
		rest = argv + 2;
		execv(rest[0], rest);
	}
	if (!strcmp(how, "leader-exits")) {
		pthread_create(&thread[0], 0, exit_later, (void *)number);
		pthread_exit(0);
	}
	if (!strcmp(how, "search")) {
		rest = argv + 2;
		search();
	}
	if (!strcmp(how, "exec-unread")) {
		/* the path is in a page that nobody has touched: only the kernel's own read brings it in */
		int file = open(argv[2], O_RDONLY);
		char *path = mmap(0, 4096, PROT_READ, MAP_PRIVATE, file, 0);
		execve(path, rest - 1, environ);
	}
	if (!strcmp(how, "die"))
		kill(getpid(), SIGKILL);
	return 7;
}
