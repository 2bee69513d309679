/*
 * What `full.bpf.c` shares with `full_session.rs` and `record.rs`: the state of one run, and the records. Tests compare
 * the files.
 */
#pragma once
#include "scope.h"
#include "tree.h"

/* The first eight are those of phases_session.h, with the same meaning. */
enum full_record_kind {
	FULL_EXEC_ENTER = 1,
	FULL_EXEC_PREPARE = 2,
	FULL_EXEC_EXIT = 4,
	FULL_FORK = 7,
	FULL_EXIT = 8,
	FULL_PARENT_TOLD = 9,
	FULL_SYSCALL = 16,
	FULL_SYSCALL_PATH = 17,
	FULL_SYSCALL_PATHS = 18,
	FULL_UNFINISHED = 19,
	FULL_FAULT = 20,
	FULL_OFF_CPU = 21,
	FULL_IMAGE = 22,
	FULL_FAULT_WAS_MAJOR = 23,
	FULL_PATH_REST = 24,
	FULL_URING_OUTPUT = 25,
	FULL_STRUCTURE = 26,
	FULL_LARGE_STRUCTURE = 27,
	FULL_SIGNALLED = 28,
	FULL_CONTENT = 29,
	FULL_LARGE_CONTENT = 30,
};

#define CALLER_WORDS 8

/* A system call that returned: `code` is its number, `value` its result. */
struct record_syscall {
	struct record record;
	u64 entered;
	u64 ip;
	u64 arguments[6];
	/* the top of the user's stack; it contains the return addresses of the callers of the system call's wrapper */
	u64 stack[CALLER_WORDS];
};

/* A path without a NUL in its room continues in records of FULL_PATH_REST. */
struct record_syscall_path {
	struct record_syscall call;
	char path[PATH_ROOM];
};

struct record_syscall_paths {
	struct record_syscall call;
	char path[PATH_ROOM];
	char second[PATH_ROOM];
};

#define REST_ROOM 1920 /* PATH_MAX is PATH_ROOM and two of these */

/* More of a path of the thread's last call: `code` is the index of the path, `value` is negative if it cannot be read. */
struct record_path_rest {
	struct record record;
	char rest[REST_ROOM];
};

#define USUAL_ROOM 16
#define LARGE_ROOM 112

/* What a structure among the arguments of the thread's last call contains: `code` is how many bytes could be read. */
struct record_structure {
	struct record record;
	u8 bytes[USUAL_ROOM];
};

struct record_large_structure {
	struct record record;
	u8 bytes[LARGE_ROOM];
};

#define CONTENT_ROOM 32
#define LARGE_CONTENT_ROOM 1024
#define MOST_BUFFERS 4 /* of an array of struct iovec */

/*
 * What a buffer among the arguments of the thread's last call contains, of several in their order: `code` is how many bytes
 * could be read, `value` how many there are. If none of them could be read, `bytes` begins with their address.
 */
struct record_content {
	struct record record;
	u8 bytes[CONTENT_ROOM];
};

struct record_large_content {
	struct record record;
	u8 bytes[LARGE_CONTENT_ROOM];
};

/* The kinds of buffers: enum Buffer in crate::arch. */
enum buffer {
	BUFFER_WRITTEN = 0,
	BUFFER_WRITTEN_VECTOR = 1,
	BUFFER_WRITTEN_MESSAGE = 2,
	BUFFER_READ = 3,
	BUFFER_READ_VECTOR = 4,
	BUFFER_READ_MESSAGE = 5,
	BUFFER_PATH = 6,
};

/* What is read of a structure: its beginning, or the mode and the size in a `struct stat` or a `struct statx`. */
enum layout {
	LAYOUT_USUAL = 0,
	LAYOUT_LARGE = 1,
	LAYOUT_STATUS = 2,
	LAYOUT_EXTENDED_STATUS = 3,
};

/* A page fault that was handled: `code` is the processor's error code and FAULT_MAJOR, `value` the address. */
struct record_fault {
	struct record record;
	u64 entered;
	u64 ip;
};
/* Alternatively FULL_FAULT_WAS_MAJOR follows, a record without further fields. */
#define FAULT_MAJOR 0x80000000u
/* Seen by the software event, which does not say whether it was a write. */
#define FAULT_BY_EVENT 0x40000000u

/*
 * A thread runs again: `code` is the state in which it left the processor, or OFF_PREEMPTED; `value` the process and
 * thread id of its waker: the task that was running, which an interrupt may have interrupted.
 */
struct record_off_cpu {
	struct record record;
	u64 left;
	u64 woken;
};
#define OFF_PREEMPTED 0x80000000u

/* A write of output by io_uring has completed: `code` is its number, `value` its result. */
struct record_output {
	struct record record;
	u64 entered;
};

#define AUXV_WORDS 48
#define ARGV_ROOM 256

/* An exec has built its new image: `code` is the length of `argv`, `value` the thread id before the exec. */
struct record_image {
	struct record record;
	u64 start_code, end_code, start_data, end_data, start_brk, start_stack;
	u64 auxv[AUXV_WORDS];
	char path[PATH_ROOM];
	char interpreter[PATH_ROOM];
	char argv[ARGV_ROOM];
};

#define LARGEST_RECORD 2048
#define LOG_BYTES (1 << 20)

/* What one thread is doing. */
struct thread_slot {
	u32 tid; /* 0: free */
	u32 call;
	u64 entered; /* 0: not in a system call */
	u64 fault_entered; /* 0: not in a fault */
	u64 fault_address;
	u64 fault_ip;
	u64 left; /* 0: on a processor */
	u64 woken;
	u64 waker; /* process and thread id of the task that was running then */
	u32 fault_error;
	u32 left_state;
	u32 turn; /* in the map OVERFLOW: `starts.turn`; entries of an earlier turn do not count */
	u32 padding;
};
#define CALL_OUTPUT 0x20000000u
#define CALL_NUMBER 0x1fffffffu

#define SLOTS 32 /* a power of two: the verifier then knows the bounds */

/* The starts of one program, of which some become runs: see full_starts.h. */
struct starts {
	/* successful execs of the program so far */
	u64 seen;
	/* the next start that is wanted, or the first one after it */
	u64 due;
	/* which start the run is, 0: not known yet; its mount namespace, by inode number */
	u64 number;
	u32 mounts;
	/* a watch waits for starts of the program; the next one may become the run; the process of the run is gone */
	u32 active;
	u32 wanted;
	u32 over;
	/* `program` is a whole path, and not only the name at its end; its length */
	u32 by_path;
	u32 length;
	/* the thread whose exec the run begins with: another thread of its process may execute something else meanwhile */
	u32 thread;
	/* how many processes became the run, also those that were given back */
	u32 turn;
	struct scope scope;
	char program[PATH_ROOM];
};

struct full_session {
	struct run run;
	/* bytes of the log that are reserved (may exceed LOG_BYTES: the rest went to the ring) */
	u64 logged;
	struct starts starts;
	struct thread_slot slots[SLOTS];
	u8 meaning[CALLS]; /* see run.h */
	/*
	 * 1 + the position of the first path argument, the same for the second << 4, the same for a structure << 8, and
	 * its layout << 12, the same for a buffer whose content is wanted << 16, and its kind << 20; native and 32-bit table
	 */
	u32 takes[CALLS];
	u32 compat_takes[CALLS];
	/* how many bytes of a buffer are wanted */
	u32 content_bytes;
	u32 padding;
};
