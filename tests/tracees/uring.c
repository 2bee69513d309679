/*
 * Writes "hello world\n" to stdout by io_uring, with raw system calls. With the argument `too`, it then writes "again\n"
 * with write(2). With `polled`, a thread of the kernel takes the request and another one handles it. Exit status 77: the
 * kernel refuses io_uring.
 */
#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int count, char **arguments)
{
	struct io_uring_params p;
	int polled = count > 1 && !strcmp(arguments[1], "polled");
	memset(&p, 0, sizeof p);
	p.flags = polled ? IORING_SETUP_SQPOLL : 0;
	int ring = syscall(SYS_io_uring_setup, 4, &p);
	if (ring < 0)
		return 77;
	size_t length = p.sq_off.array + p.sq_entries * sizeof(unsigned);
	char *sq = mmap(0, length, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	struct io_uring_sqe *sqe = mmap(0, p.sq_entries * sizeof *sqe, PROT_READ | PROT_WRITE, MAP_SHARED, ring,
					IORING_OFF_SQES);
	if (sq == MAP_FAILED || sqe == MAP_FAILED)
		return 1;
	static const char text[] = "hello world\n";
	memset(sqe, 0, sizeof *sqe);
	sqe->flags = polled ? IOSQE_ASYNC : 0;
	sqe->opcode = IORING_OP_WRITE;
	sqe->fd = 1;
	sqe->off = -1;
	sqe->addr = (unsigned long)text;
	sqe->len = 12;
	((unsigned *)(sq + p.sq_off.array))[0] = 0;
	__atomic_store_n((unsigned *)(sq + p.sq_off.tail), 1, __ATOMIC_RELEASE);
	unsigned flags = IORING_ENTER_GETEVENTS | (polled ? IORING_ENTER_SQ_WAKEUP : 0);
	if (syscall(SYS_io_uring_enter, ring, 1, 1, flags, 0, 0) != 1)
		return 1;
	return count > 1 && !polled && write(1, "again\n", 6) != 6;
}
