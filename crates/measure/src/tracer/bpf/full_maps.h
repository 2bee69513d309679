/* The maps of the full mode: the session, the log of records, the state of each thread. */
#pragma once
#include "full_session.h"

#define STATE struct full_session
#include "twice.h"

struct log {
	u8 bytes[LOG_BYTES];
};

struct {
	__uint(type, MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, MAP_FLAG_MMAPABLE);
	__type(key, u32);
	__type(value, struct log);
} RECORDS SEC(".maps");

struct {
	__uint(type, MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} EVENTS SEC(".maps");

/* Threads whose slot in the page was taken. */
struct {
	__uint(type, MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, u32);
	__type(value, struct thread_slot);
} OVERFLOW SEC(".maps");

/* Whether what the running process does may be recorded. */
INLINE int is_shown(struct run *run)
{
	if (likely(is_own(run)))
		return 1;
	run->hidden = 1;
	return 0;
}

/*
 * The session, if the tracee's exec has begun and the running task belongs to its tree and may be looked at; else 0.
 */
INLINE struct full_session *session_of_task(u64 *pid_tid)
{
	struct full_session *s = current_session();
	if (!s || likely(!s->run.exec_begun))
		return 0;
	*pid_tid = bpf_get_current_pid_tgid();
	return in_tree(&s->run, *pid_tid >> 32) && is_shown(&s->run) ? s : 0;
}

/* Room for a record in the log; 0: it is full. */
INLINE void *log_room(struct full_session *s, u64 size)
{
#ifdef BEFORE_5_12
	return 0;
#else
	u32 zero = 0;
	u64 place = __sync_fetch_and_add(&s->logged, size);
	struct log *log = bpf_map_lookup_elem(&RECORDS, &zero);
	/* nothing may stand between this comparison and the sum: the verifier of 6.1 forgets the bounds of a spilled number */
	if (unlikely(!log || place > LOG_BYTES - LARGEST_RECORD))
		return 0;
	return log->bytes + place;
#endif
}

/*
 * Fills a record of TYPE with `fill`, in the log or else in the ring. `fill` is expanded twice, because the verifier
 * does not accept a pointer that may point to either.
 */
#define WRITE_RECORD(s, TYPE, fill)                                                                          \
	do {                                                                                                 \
		TYPE *r = log_room(s, sizeof(TYPE));                                                         \
		if (likely(r != 0)) {                                                                        \
			fill;                                                                                \
		} else {                                                                                     \
			r = bpf_ringbuf_reserve(&EVENTS, sizeof(TYPE), 0);                                   \
			if (r) {                                                                             \
				fill;                                                                        \
				bpf_ringbuf_submit(r, RINGBUF_NO_WAKEUP);                                    \
			} else {                                                                             \
				count_lost(&s->run);                                                               \
			}                                                                                    \
		}                                                                                            \
	} while (0)

INLINE void emit(struct full_session *s, u64 at, u64 pid_tid, u32 kind, u32 code, s64 value)
{
	WRITE_RECORD(s, struct record, fill_head(r, at, pid_tid, kind, code, value));
}

/* The slot of a thread. If it has none and `make` is set, one is made. A free one contains what another thread has left. */
INLINE struct thread_slot *slot_of(struct full_session *s, u32 tid, int make)
{
#ifndef BEFORE_5_12
	struct thread_slot *slot = &s->slots[tid % SLOTS];
	if (likely(slot->tid == tid))
		return slot;
#endif
	if (s->run.overflown > 0) {
		struct thread_slot *other = bpf_map_lookup_elem(&OVERFLOW, &tid);
		if (other && likely(other->turn == s->starts.turn))
			return other;
	}
	if (!make)
		return 0;
#ifndef BEFORE_5_12
	if (__sync_val_compare_and_swap(&slot->tid, 0, tid) == 0) {
		slot->entered = 0;
		slot->fault_entered = 0;
		slot->left = 0;
		slot->woken = 0;
		slot->waker = 0;
		return slot;
	}
#endif
	struct thread_slot fresh = { .tid = tid, .turn = s->starts.turn };
	if (bpf_map_update_elem(&OVERFLOW, &tid, &fresh, 0)) {
		count_lost(&s->run);
		return 0;
	}
	ADD(&s->run.overflown, 1);
	return bpf_map_lookup_elem(&OVERFLOW, &tid);
}

/* The running thread's slot and its session, if there is one. See session_of_task. */
INLINE struct thread_slot *slot_of_task(struct full_session **session, u64 *pid_tid, int make)
{
	*session = session_of_task(pid_tid);
	return *session ? slot_of(*session, (u32)*pid_tid, make) : 0;
}

INLINE void free_slot(struct full_session *s, u32 tid)
{
	struct thread_slot *slot = &s->slots[tid % SLOTS];
	if (likely(slot->tid == tid)) {
		slot->tid = 0;
	} else if (s->run.overflown > 0 && bpf_map_delete_elem(&OVERFLOW, &tid) == 0) {
		ADD(&s->run.overflown, -1);
	}
}

