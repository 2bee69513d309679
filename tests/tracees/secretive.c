/* secretive FILE: hides itself from other processes (PR_SET_DUMPABLE), reads a byte of the file, and prints. */
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int count, char **arguments)
{
	char byte;
	if (count < 2 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return 9;
	if (read(open(arguments[1], O_RDONLY), &byte, 1) != 1)
		return 8;
	return write(1, "hello world\n", 12) != 12;
}
