/*
 * pages COUNT [FILE]: touches COUNT fresh pages of anonymous memory, and prints. With a FILE, evicts it and reads one byte
 * at its beginning, its middle and its end through a mapping.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile char sum;

static void read_of(const char *path)
{
	struct stat found;
	int file = open(path, O_RDONLY);
	if (file < 0 || fstat(file, &found) || posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED))
		exit(8);
	const char *bytes = mmap(0, found.st_size, PROT_READ, MAP_PRIVATE, file, 0);
	if (bytes == MAP_FAILED || madvise((void *)bytes, found.st_size, MADV_RANDOM))
		exit(7);
	sum = bytes[0] + bytes[found.st_size / 2] + bytes[found.st_size - 1];
}

int main(int count, char **arguments)
{
	long pages = count > 1 ? atol(arguments[1]) : 0, size = sysconf(_SC_PAGESIZE);
	/* Mapped for every count, so that the page tables are the same. A huge page would be one fault for many pages. */
	char *memory = mmap(0, 1024 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(memory, 1024 * size, MADV_NOHUGEPAGE);
	if (memory == MAP_FAILED || pages > 1024)
		return 9;
	for (long n = 0; n < pages; n++)
		memory[n * size] = 1;
	if (count > 2)
		read_of(arguments[2]);
	return write(1, "hello world\n", 12) != 12;
}
