/* busy COUNT: spends nearly all of its time in `spin`, which `main` calls, and prints. */
#include <stdlib.h>
#include <unistd.h>

static volatile unsigned long turns;

__attribute__((noinline)) void spin(long count)
{
	while (count--)
		turns++;
}

int main(int count, char **arguments)
{
	spin(count > 1 ? atol(arguments[1]) : 0);
	return write(1, "hello world\n", 12) != 12;
}
