/*
 * Programs that see every event, although the kernel skips a program if another task was preempted in it on the same processor
 * (`bpf_prog_get_recursion_context` in include/linux/bpf.h). Since Linux 7.0 tracepoints let their programs be preempted, and
 * a thread that was preempted makes the kernel skip the events of all others until it runs again. So each program is
 * attached twice there. The second one does the work for an event that the first one has not seen.
 */
#pragma once
#include "shared_page.h"

#define SEEN_BY 32768

/*
 * The thread for whose event the first program has run, by the remainder of its id. Two threads with the same remainder would
 * have to be at work between the two programs at the same time for an event to be recorded twice.
 */
struct {
	__uint(type, MAP_TYPE_ARRAY);
	__uint(max_entries, SEEN_BY);
	__type(key, u32);
	__type(value, u32);
} SEEN SEC(".maps");

INLINE void event_is_seen(void)
{
	STATE *s = current_session();
	if (!s || likely(!s->run.twice) || !s->run.root)
		return;
	u32 tid = (u32)bpf_get_current_pid_tgid(), place = tid % SEEN_BY;
	u32 *seen = bpf_map_lookup_elem(&SEEN, &place);
	if (seen)
		*seen = tid;
}

/* Asked once for each event. */
INLINE int was_seen(void)
{
	STATE *s = current_session();
	if (!s || !s->run.twice)
		return 1;
	u32 tid = (u32)bpf_get_current_pid_tgid(), place = tid % SEEN_BY;
	u32 *seen = bpf_map_lookup_elem(&SEEN, &place);
	if (!seen || *seen != tid)
		return 0;
	*seen = 0;
	return 1;
}

/* Two programs, NAME and NAME_again, for a tracepoint where a task can be preempted. */
#ifdef BEFORE_5_12
#define TWICE(section, name) SEC(section) int name(struct raw_tracepoint *ctx)
#else
#define TWICE(section, name)                                                                                 \
	INLINE int once_##name(struct raw_tracepoint *ctx);                                                  \
	SEC(section) int name(struct raw_tracepoint *ctx)                                                    \
	{                                                                                                    \
		once_##name(ctx);                                                                            \
		event_is_seen();                                                                             \
		return 0;                                                                                    \
	}                                                                                                    \
	SEC(section) int name##_again(struct raw_tracepoint *ctx)                                            \
	{                                                                                                    \
		if (!was_seen())                                                                             \
			once_##name(ctx);                                                                    \
		return 0;                                                                                    \
	}                                                                                                    \
	INLINE int once_##name(struct raw_tracepoint *ctx)
#endif
