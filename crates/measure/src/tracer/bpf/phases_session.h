/*
 * What the kernel side shares with `phases_session.rs` and `record.rs`: one page that both sides map, and the records.
 * Tests compare the files.
 */
#pragma once
#include "tree.h"

enum record_kind {
	RECORD_EXEC_ENTER = 1,
	RECORD_EXEC_PREPARE = 2,
	RECORD_EXEC_COMMIT = 3,
	RECORD_EXEC_EXIT = 4,
	RECORD_OUTPUT_ENTER = 5,
	RECORD_OUTPUT_EXIT = 6,
	RECORD_FORK = 7,
	RECORD_EXIT = 8,
	RECORD_MARK = 10,
};

/*
 * RECORD_EXEC_COMMIT of every exec except the first, and RECORD_MARK, a lookup that failed: the path has `code` bytes,
 * including the NUL.
 */
struct record_with_path {
	struct record record;
	char path[PATH_ROOM];
};

/* A flight of a call that looks up a path has its meaning (marks.h) in its `call`, from this bit on. */
#define MEANS_SHIFT 16

#define FLIGHTS 32 /* slots for calls in flight; the thread id chooses the slot */
#define LOG 88     /* records that fit the page */

/* A system call in flight, whose return matters. */
struct flight {
	u32 tid;  /* 0: free */
	u32 call; /* number, with CALL_COMPAT, and CALL_EXEC or the meaning of a lookup */
	u64 entered;
};

/*
 * The state of one run. User space clears and arms it before the launch, and reads it after it has reaped the tracee.
 *
 * All of it is in one page, including the first records, so the programs touch no other page besides their code. Each
 * further page would cost a TLB miss after every switch of address space. With nested paging that is more expensive
 * than all computations of the programs. Only what does not fit goes to the maps EVENTS and OVERFLOW.
 */
struct session {
	struct run run;
	/* tracked system calls in flight, over all threads of the tree */
	s32 in_flight;
	/* a write of output has succeeded */
	u32 first_byte;
	/* records in `log` (may exceed LOG: the rest went to the ring) */
	u32 logged;
	/* io_uring writes in flight */
	s32 uring;
	/* successful writes of output: when the last one returned, their number and their bytes */
	u64 last_output;
	u64 output_writes;
	u64 output_bytes;
	/* when the tracee's parent was sent SIGCHLD for its end */
	u64 parent_told;
	u8 meaning[CALLS]; /* see run.h */
	struct flight flights[FLIGHTS];
	struct record log[LOG];
};
