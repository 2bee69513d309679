/*
 * The maps of `watch.bpf.c`: the session, the records, the processes and their calls; and who is in them.
 */
#pragma once
#include "watch_session.h"

#define STATE struct watch_session
#include "shared_page.h"

struct {
	__uint(type, MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} EVENTS SEC(".maps");

/* The processes that are watched, by their ids. */
struct {
	__uint(type, MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, u32);
	__type(value, struct watched);
} PROCESSES SEC(".maps");

/* The calls in flight, by thread id. */
struct {
	__uint(type, MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, u32);
	__type(value, struct watch_flight);
} FLIGHTS SEC(".maps");

INLINE struct watched *watched_process(u32 pid)
{
	return bpf_map_lookup_elem(&PROCESSES, &pid);
}

/* The program that the process executes, or is a copy of. */
INLINE u32 program_pid(struct watched *w, u32 pid)
{
	return w->entered ? pid : w->by_pid;
}

INLINE u64 program_entered(struct watched *w)
{
	return w->entered ? w->entered : w->by_entered;
}

INLINE void take_off(struct watch_session *s, u32 tid, struct watch_flight *flight)
{
	if (bpf_map_update_elem(&FLIGHTS, &tid, flight, 0))
		count_lost(&s->run);
	else
		ADD(&s->in_flight, 1);
}

INLINE int land(struct watch_session *s, u32 tid, struct watch_flight *landed)
{
	struct watch_flight *flight = bpf_map_lookup_elem(&FLIGHTS, &tid);
	if (!flight)
		return 0;
	*landed = *flight;
	if (!bpf_map_delete_elem(&FLIGHTS, &tid))
		ADD(&s->in_flight, -1);
	return 1;
}

/* Begins to watch the running process, which was there before the watch. */
INLINE int adopt(struct watch_session *s, struct task_struct *task, u32 pid)
{
	if (!in_scope(&s->run, &s->scope))
		return 0;
	struct signal_struct *signal = FETCH(task->signal);
	struct watched w = { .threads = FETCH(signal->nr_threads) };
	if (!bpf_map_update_elem(&PROCESSES, &pid, &w, 0))
		return 1;
	count_lost(&s->run);
	return 0;
}
