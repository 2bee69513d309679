/* many threads N: so many threads, all alive together.
 * many processes N: so many children, all alive together, and waiting at the same pipe.
 * many turns N: so many children, one after another.
 * many daemons N: so many children in sessions of their own, which outlive the program. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_barrier_t all;

static void *wait_for_all(void *argument)
{
	pthread_barrier_wait(&all);
	return argument;
}

static void threads(int count)
{
	pthread_t *created = malloc(count * sizeof *created);
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	pthread_barrier_init(&all, 0, count + 1);
	for (int i = 0; i < count; i++)
		if (pthread_create(&created[i], &small, wait_for_all, 0))
			exit(11);
	pthread_barrier_wait(&all);
	for (int i = 0; i < count; i++)
		pthread_join(created[i], 0);
}

static int forked(void)
{
	pid_t child = fork();
	if (child < 0)
		exit(11);
	return child == 0;
}

static void processes(int count)
{
	int ends[2];
	char byte;
	if (pipe(ends))
		exit(12);
	for (int i = 0; i < count; i++)
		if (forked()) {
			close(ends[1]);
			_exit(read(ends[0], &byte, 1) != 0);
		}
	close(ends[1]);
	while (wait(0) > 0)
		;
}

int main(int words, char **word)
{
	int count = words > 2 ? atoi(word[2]) : 0;
	const char *what = words > 1 ? word[1] : "";
	if (!strcmp(what, "threads"))
		threads(count);
	else if (!strcmp(what, "processes"))
		processes(count);
	else
		for (int i = 0; i < count; i++)
			if (forked()) {
				if (!strcmp(what, "daemons")) {
					setsid();
					pause();
				}
				_exit(0);
			} else if (!strcmp(what, "turns"))
				wait(0);
	puts("hello");
	return 0;
}
