/* The same work of 50 ms, done in five ways. Post: C Runtime Overhead. cc -O2 scores.c -o scores */
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long used(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void work(void)
{
	for (long from = used(); used() - from < 50000000;)
		for (volatile int i = 0; i < 100000; i++)
			;
	write(1, "done\n", 5);
}

static int child(void (*does)(void))
{
	if (fork())
		return 1;
	does();
	_exit(0);
}

static void leave_worker(void)
{
	setsid();
	child(work);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "alone";
	int out[2];
	char text[5];

	if (!strcmp(how, "alone")) {
		work();
	} else if (!strcmp(how, "waits")) {
		child(work);
		wait(NULL);
	} else if (!strcmp(how, "sleeps")) {
		usleep(50000);
		write(1, "done\n", 5);
	} else if (!strcmp(how, "outlived")) {
		child(work);
	} else if (!strcmp(how, "daemon") && !pipe(out)) {
		/* the worker's parent exits at once; its output is awaited, the worker is not */
		int stdout_copy = dup(1);
		dup2(out[1], 1);
		close(out[1]);
		child(leave_worker);
		wait(NULL);
		close(1);
		read(out[0], text, 5);
		write(stdout_copy, text, 5);
	}
	return 0;
}
