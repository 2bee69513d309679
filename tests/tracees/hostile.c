/*
 * hostile WAY: prints `hello world`, and does something that a tracer could stumble over.
 *
 * The ways that begin with `leaves` leave a process behind that would run for ever.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void stay(void)
{
	setsid();
	for (int signal_number = 1; signal_number < 65; signal_number++)
		signal(signal_number, SIG_IGN);
	for (int descriptor = 0; descriptor < 64; descriptor++)
		close(descriptor);
	for (;;)
		pause();
}

static void clone_that_stays(long flags)
{
	if (syscall(SYS_clone, flags, 0, 0, 0, 0) == 0)
		stay();
}

static int pid_namespace(void)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWPID) && unshare(CLONE_NEWPID))
		return 0;
	if (fork() == 0) {
		for (int i = 0; i < 20; i++)
			clone_that_stays(SIGCHLD);
		stay();
	}
	return 0;
}

static int subreaper(void)
{
	if (fork() == 0) {
		prctl(PR_SET_CHILD_SUBREAPER, 1);
		if (fork() == 0) {
			clone_that_stays(SIGCHLD);
			_exit(0);
		}
		stay();
	}
	return 0;
}

static int chain(void)
{
	if (fork())
		return 0;
	for (int i = 0; i < 300; i++) {
		setsid();
		if (fork() > 0)
			_exit(0);
	}
	stay();
	return 0;
}

static int many(void)
{
	for (int i = 0; i < 8; i++)
		fork();
	stay();
	return 0;
}

static int no_resources(void)
{
	struct rlimit none = {0, 0};
	setrlimit(RLIMIT_NOFILE, &none);
	setrlimit(RLIMIT_NPROC, &none);
	setrlimit(RLIMIT_CORE, &none);
	return setrlimit(RLIMIT_FSIZE, &none);
}

/* way: `takes-NUMBER`, or `takes-all-NUMBER` to lower the hard limit, too */
static int takes_from_parent(const char *way)
{
	int all = !strncmp(way, "takes-all-", 10), number = atoi(way + (all ? 10 : 6));
	struct rlimit limit;
	if (prlimit(getppid(), number, 0, &limit))
		return 1;
	limit.rlim_cur = 0;
	if (all)
		limit.rlim_max = 0;
	return prlimit(getppid(), number, &limit, 0) != 0;
}

static int odd_names(void)
{
	prctl(PR_SET_NAME, "a) R 1\n\x1b[2J\xff");
	open("no\nsuch\xff\x1b[31mfile", O_RDONLY);
	if (fork() == 0)
		_exit(0);
	wait(0);
	char *words[] = {"a\nb\x1b[2J", "\xff\xfe", "", 0};
	return execv("/bin/true", words);
}

static int no_words(void)
{
	char *none[] = {0};
	return execv("/bin/true", none);
}

static int odd_stdout(void)
{
	fcntl(1, F_SETFL, O_NONBLOCK);
	fcntl(1, F_SETPIPE_SZ, 4096);
	return 0;
}

static int removed_folder(void)
{
	char folder[32];
	snprintf(folder, sizeof(folder), "../removed-%d", getpid());
	return mkdir(folder + 3, 0700) || chdir(folder + 3) || rmdir(folder);
}

static int new_root(void)
{
	return chroot("/proc/self/fdinfo") == 0 && chdir("/");
}

static int leaves(const char *way)
{
	if (!strcmp(way, "leaves-untraced"))
		clone_that_stays(CLONE_UNTRACED | SIGCHLD);
	else if (!strcmp(way, "leaves-sibling"))
		clone_that_stays(CLONE_PARENT | SIGCHLD);
	else if (!strcmp(way, "leaves-silent"))
		clone_that_stays(0);
	else if (!strcmp(way, "leaves-namespace"))
		return pid_namespace();
	else if (!strcmp(way, "leaves-reaper"))
		return subreaper();
	else if (!strcmp(way, "leaves-chain"))
		return chain();
	else
		return 9;
	return 0;
}

int main(int count, char **words)
{
	const char *way = count > 1 ? words[1] : "";
	int failed = write(1, "hello world\n", 12) != 12;
	if (failed || !strncmp(way, "leaves", 6))
		return failed ? 8 : leaves(way);
	if (!strcmp(way, "many"))
		return many();
	if (!strcmp(way, "stays"))
		stay();
	if (!strcmp(way, "no-resources"))
		return no_resources();
	if (!strncmp(way, "takes-", 6))
		return takes_from_parent(way);
	if (!strcmp(way, "odd-names"))
		return odd_names();
	if (!strcmp(way, "no-words"))
		return no_words();
	if (!strcmp(way, "odd-stdout"))
		return odd_stdout();
	if (!strcmp(way, "removed-folder"))
		return removed_folder();
	if (!strcmp(way, "new-root"))
		return new_root();
	if (!strcmp(way, "hangs-up"))
		return vhangup() && 0;
	if (!strcmp(way, "removes-itself"))
		return unlink(words[0]);
	if (!strcmp(way, "traces"))
		return ptrace(PTRACE_TRACEME, 0, 0, 0) && 0;
	if (!strcmp(way, "traces-and-stops"))
		return ptrace(PTRACE_TRACEME, 0, 0, 0), raise(SIGSTOP);
	if (!strcmp(way, "traces-parent"))
		return ptrace(PTRACE_SEIZE, getppid(), 0, 0) && 0;
	return 9;
}
