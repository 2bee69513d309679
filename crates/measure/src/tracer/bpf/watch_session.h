/*
 * What `watch.bpf.c` shares with `watch_session.rs` and `watch_records.rs`: the state of a watch, the state of each
 * process, and the records. Tests compare the files.
 */
#pragma once
#include "run.h"
#include "scope.h"

enum watch_record_kind {
	WATCH_START = 1,
	WATCH_END = 2,
	WATCH_FAILED = 3,
	WATCH_LATE_WAIT = 4,
	WATCH_MARK = 5,
};

/* In the table `meaning`, besides those of run.h: `execveat`, whose path is its second argument. */
#define MEANS_EXEC_AT 5

/*
 * A process. The program that it executes is known by the process id and the time at which the execve was entered. A
 * process that was forked and has not executed a program yet is a copy of the program that forked it.
 */
struct watched {
	/* entry of the execve, 0: no program yet; its return in the new program; the return of its first write of output */
	u64 entered;
	u64 returned;
	u64 output;
	/* CPU time of the threads that have ended, and of the whole process before this program */
	u64 cpu;
	u64 cpu_before;
	/* when it was forked, 0: before the watch; when its parent was sent SIGCHLD for its end */
	u64 born;
	u64 told;
	/* the program that started this one, or of which the process is a copy; 0: none that is watched */
	u64 by_entered;
	/* when it began to exit, if its parent slept or had not waited yet; in a record: not if the parent slept on. Otherwise 0 */
	u64 awaited;
	/* that parent: its task, how often it had gone to sleep, when it was forked */
	u64 parent_task;
	u64 parent_sleeps;
	u64 parent_born;
	u32 parent;
	u32 by_pid;
	/* threads that have not left the processor for good */
	s32 threads;
	/* it has begun to exit; as wait(2) reports it */
	u32 exiting;
	u32 status;
	/* its parent did not sleep when it began to exit: only if a WATCH_LATE_WAIT says so, it waited */
	u32 parent_awake;
};

enum flight_kind { FLIGHT_OUTPUT = 0, FLIGHT_EXEC = 1, FLIGHT_LOOKUP = 2 };

/* A system call in flight, whose return matters: a write, or an exec or a lookup with its path. */
struct watch_flight {
	u64 entered;
	u64 path;
	u32 kind;
	u32 padding;
};

/*
 * WATCH_END: a program has ended: `code` is 1 if the process has replaced it by another one, `value` its CPU time. Also for
 * a process that has ended without having executed one.
 */
struct watch_end {
	struct record record;
	struct watched watched;
};

#define SHORT_ARGV 256
#define LONG_ARGV 4096

/* WATCH_START: a program is executed: `code` is the length of what was read of its arguments, `value` when it was entered. */
struct watch_start {
	struct record record;
	u64 by_entered;
	u32 by_pid;
	/* the length of all arguments, each with its NUL */
	u32 arguments;
	char path[PATH_ROOM];
};

struct watch_short_start {
	struct watch_start start;
	char argv[SHORT_ARGV];
};

struct watch_long_start {
	struct watch_start start;
	char argv[LONG_ARGV];
};

/*
 * WATCH_FAILED: an exec has failed: `code` is the error number, `value` when it was entered. WATCH_MARK: a lookup of a path that
 * begins as a mark does has failed: `code` is the length of the path, with its NUL, `value` is 0, `at` when it was entered.
 */
struct watch_failed {
	struct record record;
	u64 by_entered;
	u32 by_pid;
	u32 padding;
	char path[PATH_ROOM];
};

/*
 * WATCH_LATE_WAIT: a thread calls wait4, for the first time since it forked, and children began to exit meanwhile, from `value`
 * on. `born`: when its process was forked; `worked`: how long the thread had a processor since its fork.
 */
struct watch_late_wait {
	struct record record;
	u64 born;
	u64 worked;
};

struct watch_session {
	struct run run;
	/* system calls in flight, over all threads */
	s32 in_flight;
	/* a process is watched, or all are */
	u32 active;
	/* threads that have forked and not called wait4 since */
	s32 forked;
	u32 padding;
	/* who is watched from the next exec or fork on */
	struct scope scope;
	u8 meaning[CALLS]; /* see run.h */
};
