/*
 * What the kernel side and `session.rs` share: one page that both map, and the records of the ring buffer.
 * Keep the two files in step; `session.rs` asserts the sizes.
 */
#pragma once
#include "kernel.h"

enum record_kind {
	RECORD_EXEC_ENTER = 1,
	RECORD_EXEC_PREPARE = 2,
	RECORD_EXEC_COMMIT = 3,
	RECORD_EXEC_EXIT = 4,
	RECORD_OUTPUT_ENTER = 5,
	RECORD_OUTPUT_EXIT = 6,
	RECORD_FORK = 7,
	RECORD_EXIT = 8,
};

/* One event. `code` and `value` mean what the kind says (see `session.rs`). */
struct record {
	u64 at;
	u32 pid;
	u32 tid;
	u32 kind;
	u32 code;
	s64 value;
};

#define PATH_ROOM 256

/* RECORD_EXEC_COMMIT of every exec but the first: the path is `code` bytes long, NUL included. */
struct record_with_path {
	struct record record;
	char path[PATH_ROOM];
};

#define CALLS 512   /* system-call numbers that can mean something to us */
#define FLIGHTS 32  /* slots for calls in flight; the thread id chooses the slot */
#define LOG 88      /* records that fit the page */

/* A system call in flight, whose return matters. */
struct flight {
	u32 tid;  /* 0: free */
	u32 call; /* number, with CALL_COMPAT and CALL_EXEC */
	u64 entered;
};
#define CALL_COMPAT 0x80000000u
#define CALL_EXEC 0x40000000u

/*
 * The state of one run. User space clears and arms it before the launch, and reads it after the reaping.
 *
 * All of it lies in one page, the first records included: what a program touches beyond its own code is this page
 * alone. Each further page would cost a TLB miss after every switch of address space, which under nested paging is
 * dearer than all that the programs compute. Only what does not fit goes to the maps EVENTS and OVERFLOW.
 */
struct session {
	/* thread that will create the tracee; 0 when idle. Set by user space, cleared at the fork. */
	u32 armed_by;
	/* the tracee's process id, 0 before the fork and when idle */
	u32 root;
	/* live processes of the tree besides the root */
	s32 others;
	/* tracked system calls in flight, over all threads of the tree; of those, in OVERFLOW */
	s32 in_flight;
	s32 overflown;
	/* the tracee has begun its first execve / has returned from it */
	u32 exec_begun;
	u32 exec_done;
	/* a write of output has succeeded */
	u32 first_byte;
	/* also count as output what reaches the inode through another open file (a reopened pipe or file) */
	u32 match_inode;
	/* records in `log` (may exceed LOG: the rest went to the ring) */
	u32 logged;
	/* io_uring writes in flight */
	s32 uring;
	u32 unused;
	/* the open file, and its inode, that the tracee had as descriptor 1 when it called execve */
	u64 stdout_file;
	u64 stdout_inode;
	/* successful writes of output: when the last one returned, how many, how many bytes */
	u64 last_output;
	u64 output_writes;
	u64 output_bytes;
	/* when the tracee's parent was told of its end */
	u64 parent_told;
	/* events that could not be recorded */
	u64 lost;
	/*
	 * What a system call means to us, by number: 0 nothing, MEANS_EXEC, or 1 + the argument that is the descriptor
	 * written to; the low half for the native table, the high half for the 32-bit one. User space has the tables.
	 */
	u8 meaning[CALLS];
	struct flight flights[FLIGHTS];
	struct record log[LOG];
};
#define MEANS_EXEC 4
#define MEANS_COMPAT_SHIFT 4
