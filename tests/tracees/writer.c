/* Writes its output in the way that its first argument names. See tests/integration/tracees.rs. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static const char TEXT[] = "hello world\n";
#define LENGTH (sizeof TEXT - 1)
static char *self;
extern char **environ;

static void say(int fd)
{
	if (write(fd, TEXT, LENGTH) != (ssize_t)LENGTH)
		exit(9);
}

static void *thread_says(void *unused)
{
	say(1);
	return unused;
}

static void *thread_waits(void *barrier)
{
	pthread_barrier_wait(barrier);
	return 0;
}

static void *thread_executes(void *unused)
{
	execl(self, self, "write", (char *)0);
	exit(8);
}

static void in_thread(void *(*what)(void *))
{
	pthread_t thread;
	if (pthread_create(&thread, 0, what, 0))
		exit(7);
	pthread_join(thread, 0);
}

static void many_threads(int count)
{
	pthread_t threads[256];
	pthread_barrier_t barrier;
	pthread_barrier_init(&barrier, 0, count + 1);
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], 0, thread_waits, &barrier))
			exit(7);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], 0);
	say(1);
}

static void *thread_naps(void *unused)
{
	usleep(200);
	return unused;
}

/* Some exit while others are created. */
static void fleeting_threads(int count)
{
	pthread_t threads[256];
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], 0, thread_naps, 0))
			exit(7);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], 0);
	say(1);
}

static void *thread_creates(void *unused)
{
	pthread_attr_t detached;
	pthread_t thread;
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	for (;;)
		pthread_create(&thread, &detached, thread_naps, 0);
	return unused;
}

/* Exits, or is killed, while one of its threads creates another. */
static void exit_amid_threads(int killed)
{
	pthread_t thread;
	say(1);
	if (pthread_create(&thread, 0, thread_creates, 0))
		exit(7);
	usleep(5000);
	if (killed)
		raise(SIGKILL);
	exit(0);
}

static void fleeting_children(int count)
{
	for (int i = 0; i < count; i++)
		if (!fork())
			_exit(0);
	while (wait(0) > 0)
		;
	say(1);
}

static int fleeting;

static void *thread_forks(void *unused)
{
	for (int i = 0; i < fleeting; i++) {
		pid_t child = fork();
		if (!child)
			_exit(0);
		waitpid(child, 0, 0);
	}
	return unused;
}

/* Four concurrent threads. Each creates children, one after another. */
static void forking_threads(int count)
{
	pthread_t threads[4];
	fleeting = count;
	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], 0, thread_forks, 0))
			exit(7);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], 0);
	say(1);
}

static void reap(pid_t child)
{
	int status;
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		exit(6);
}

static void vfork_child(void)
{
	pid_t child = vfork();
	if (!child) {
		execl(self, self, "write", (char *)0);
		_exit(8);
	}
	reap(child);
}

static void spawned_child(void)
{
	pid_t child;
	char *arguments[] = { self, "write", 0 };
	if (posix_spawn(&child, self, 0, 0, arguments, environ))
		exit(8);
	reap(child);
}

static int source(void)
{
	int fd = memfd_create("source", 0);
	say(fd);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static void spliced(void)
{
	int ends[2];
	if (pipe(ends))
		exit(5);
	say(ends[1]);
	if (splice(ends[0], 0, 1, 0, LENGTH, 0) != (ssize_t)LENGTH)
		exit(5);
}

static void gathered(void)
{
	struct iovec parts[2] = { { (void *)TEXT, 5 }, { (void *)(TEXT + 5), LENGTH - 5 } };
	if (writev(1, parts, 2) != (ssize_t)LENGTH)
		exit(5);
}

static void in_bulk(size_t left)
{
	static char block[1 << 16];
	memset(block, 'x', sizeof block);
	while (left) {
		ssize_t wrote = write(1, block, left < sizeof block ? left : sizeof block);
		if (wrote <= 0)
			exit(5);
		left -= wrote;
	}
}

static void on_signal(int number)
{
	say(1);
}

static void by_handler(void)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
}

/* Keeps running in its own session, with our stdout. */
static void daemonise(void)
{
	int ready[2];
	char byte;
	if (pipe(ready))
		exit(5);
	if (!fork()) {
		setsid();
		if (write(ready[1], "", 1) != 1)
			exit(5);
		for (;;)
			pause();
	}
	if (read(ready[0], &byte, 1) != 1)
		exit(5);
	say(1);
}

/* Like a shell's job control: the child stops itself, and the parent notices and continues it. */
static void continued(void)
{
	int status;
	pid_t child = fork();
	if (!child) {
		raise(SIGSTOP);
		say(1);
		_exit(0);
	}
	if (waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status))
		exit(4);
	kill(child, SIGCONT);
	reap(child);
}

/* Stops itself again and again. A child continues it each time, long before anybody could lose patience. */
static void often_continued(int count)
{
	pid_t self = getpid();
	pid_t child = fork();
	if (!child)
		for (;;) {
			usleep(20000);
			kill(self, SIGCONT);
		}
	for (int i = 0; i < count; i++)
		raise(SIGSTOP);
	kill(child, SIGKILL);
	wait(0);
	say(1);
}

/* Another open null device is not our stdout, even if our stdout is a null device. */
static void elsewhere_first(void)
{
	int other = open("/dev/null", O_WRONLY);
	say(other);
	say(2);
	say(1);
}

static void reopened(void)
{
	int again = open("/proc/self/fd/1", O_WRONLY);
	if (again < 0)
		exit(5);
	say(again);
}

/* The kernel often places the next open file where the last closed one was. */
static void replaced(void)
{
	close(1);
	if (open("/dev/null", O_WRONLY) != 1)
		exit(5);
	say(1);
}

static void forked_child(void)
{
	pid_t child = fork();
	if (!child) {
		say(1);
		_exit(0);
	}
	reap(child);
}

static void one_by_one(void)
{
	for (size_t i = 0; i < LENGTH; i++)
		if (write(1, TEXT + i, 1) != 1)
			exit(5);
}

int main(int count, char **arguments)
{
	const char *how = count > 1 ? arguments[1] : "write";
	int number = count > 2 ? atoi(arguments[2]) : 0;
	self = arguments[0];
#define WAY(name) else if (!strcmp(how, name))
	if (!strcmp(how, "write"))
		say(1);
	WAY("thread") in_thread(thread_says);
	WAY("fork") forked_child();
	WAY("vfork") vfork_child();
	WAY("spawn") spawned_child();
	WAY("dup7") say(dup2(1, 7));
	WAY("moved") { dup2(1, 7); close(1); say(7); }
	WAY("reopened") reopened();
	WAY("replaced") replaced();
	WAY("writev") gathered();
	WAY("sendfile") { if (sendfile(1, source(), 0, LENGTH) != (ssize_t)LENGTH) exit(5); }
	WAY("splice") spliced();
	WAY("bytes") one_by_one();
	WAY("exec") execl(self, self, "write", (char *)0);
	WAY("exec-thread") in_thread(thread_executes);
	WAY("exec-fails") { execl("/nonexistent", "x", (char *)0); say(1); }
	WAY("failing-first") { if (write(1, (void *)8, 1) >= 0) exit(3); say(1); }
	WAY("elsewhere") elsewhere_first();
	WAY("handler") by_handler();
	WAY("silent") {}
	WAY("closed") { close(1); if (write(1, TEXT, 1) >= 0) exit(3); }
	WAY("status") { say(1); exit(number); }
	WAY("crash") { say(1); raise(SIGSEGV); }
	WAY("stop") raise(SIGSTOP);
	WAY("continued") continued();
	WAY("often-continued") often_continued(number);
	WAY("hang") for (;;) pause();
	WAY("hang-elsewhere") { setpgid(0, getpgid(getppid())); for (;;) pause(); }
	WAY("hang-tree") { if (!fork()) setsid(); for (;;) pause(); }
	WAY("daemon") daemonise();
	WAY("threads") many_threads(number);
	WAY("fleeting-threads") fleeting_threads(number);
	WAY("exit-amid-threads") exit_amid_threads(number);
	WAY("fleeting-children") fleeting_children(number);
	WAY("forking-threads") forking_threads(number);
	WAY("bulk") in_bulk((size_t)number << 20);
	WAY("traceme") { if (ptrace(PTRACE_TRACEME, 0, 0, 0) == 0) exit(2); say(1); }
	else exit(1);
	return 0;
}
