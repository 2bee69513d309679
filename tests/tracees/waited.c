/* waited THREADS COUNT: computes in so many turns, each with a call, while so many threads wait
 * for the end of the program, and prints. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *wait_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

int main(int count, char **arguments)
{
	pthread_t thread;
	for (int i = count > 1 ? atoi(arguments[1]) : 0; i > 0; i--)
		if (pthread_create(&thread, 0, wait_for_ever, 0))
			return 4;
	for (long turns = count > 2 ? atol(arguments[2]) : 0; turns > 0; turns--) {
		for (volatile int i = 20000; i > 0; i--)
			;
		close(-1);
	}
	return write(1, "hello world\n", 12) != 12;
}
