/*
 * marks WAY: names its own phases, in ways that are known: see tests/integration/marks.rs.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void mark(const char *path)
{
	access(path, 0);
}

static void nap(void)
{
	struct timespec pause = { 0, 5000000 };
	nanosleep(&pause, 0);
}

static void *thread(void *unused)
{
	mark("MARK+: thread");
	mark("MARK: from a thread");
	nap();
	mark("MARK-: thread");
	return unused;
}

/* Before the first byte, in a thread, in a child, after the first byte. */
static void plain(void)
{
	pthread_t other;
	mark("MARK: config");
	nap();
	pthread_create(&other, 0, thread, 0);
	pthread_join(other, 0);
	if (!fork()) {
		mark("MARK: from a child");
		_exit(0);
	}
	wait(0);
	(void)!write(1, "hello\n", 6);
	nap();
	mark("MARK: after the output");
}

static void nested(void)
{
	mark("MARK+: all");
	mark("MARK+: part");
	nap();
	mark("MARK-: part");
	if (!fork()) {
		mark("MARK+: child");
		nap();
		raise(SIGKILL);
	}
	wait(0);
	mark("MARK-: all");
	mark("MARK-: never begun");
	mark("MARK+: open");
	(void)!write(1, "hello\n", 6);
}

/* Each of these fails or succeeds in another way, and only the first three are marks. */
static void lookups(void)
{
	close(open("MARK: open", O_RDONLY));
	faccessat(AT_FDCWD, "MARK: faccessat", 0, AT_EACCESS);
	char link[8];
	struct { unsigned long words[64]; } status;
	syscall(332 /* statx on x86-64; elsewhere it is another call that fails */, AT_FDCWD, "MARK: statx", 0, 0, &status);
	readlink("MARK: readlink", link, sizeof link);
	unlink("MARK: unlink");
	close(open("MARK: there", O_CREAT | O_RDWR, 0600));
	access("MARK: there", 0);
	unlink("MARK: there");
	access((char *)8, 0);
	access("MARK", 0);
	(void)!write(1, "hello\n", 6);
}

static void hostile(void)
{
	char path[8192] = "MARK: ";
	mark("MARK: \xff\xfe\x80");
	mark("MARK: two\nlines\x1b[31m");
	mark("MARK: \xe2\x80\xae<b>&amp;</b>");
	mark("MARK:     ");
	memset(path + 6, 'x', 4090);
	mark(path);
	for (int n = 6; n < 8000; n += 3)
		memcpy(path + n, "\xe2\x82\xac", 3);
	mark(path);
	(void)!write(1, "hello\n", 6);
}

/* Each keeps the processor busy for 30 ms of its own. */
static volatile unsigned long counted;

static void busy(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	long until = now.tv_sec * 1000 + now.tv_nsec / 1000000 + 30;
	do {
		for (int n = 0; n < 100000; n++)
			counted++;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < until);
}

__attribute__((noinline)) static void first_part(void)
{
	busy();
	counted++;
}

__attribute__((noinline)) static void second_part(void)
{
	busy();
	counted--;
}

static void parts(void)
{
	first_part();
	mark("MARK: first");
	second_part();
	mark("MARK: second");
	(void)!write(1, "hello\n", 6);
}

static void many(long count, long names)
{
	char path[64];
	for (long n = 0; n < count; n++) {
		snprintf(path, sizeof path, "MARK: %ld", n % names);
		mark(path);
	}
	(void)!write(1, "hello\n", 6);
}

int main(int count, char **arguments)
{
	const char *way = count > 1 ? arguments[1] : "plain";
	if (!strcmp(way, "plain"))
		plain();
	else if (!strcmp(way, "nested"))
		nested();
	else if (!strcmp(way, "lookups"))
		lookups();
	else if (!strcmp(way, "parts"))
		parts();
	else if (!strcmp(way, "hostile"))
		hostile();
	else if (!strcmp(way, "many"))
		many(atol(arguments[2]), atol(arguments[3]));
	else if (!strcmp(way, "all")) {
		plain();
		mark("MARK+: open");
		raise(SIGKILL);
	} else {
		nap();
		(void)!write(1, "hello\n", 6);
	}
	return 0;
}
