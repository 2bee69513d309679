/*
 * Who waits for the end of a process, for the critical path of a command.
 *
 * A parent that sleeps when its child begins to exit, and is awake when the child is gone, has waited for it: woken by wait4,
 * by SIGCHLD, or by the end of a pipe. On a busy machine, a parent may not get a processor before its child ends, and so never
 * sleeps. It has waited, too, if it then calls wait4 before it forks again, and has worked less since its last fork than the
 * child. So the work of a thread is measured from each fork to its next call of wait4.
 */
#pragma once
#include "watch_maps.h"

/* The threads that have forked and not called wait4 since, by their ids. `forked` of the session is their number. */
struct watch_turn {
	/* when it got the processor that it has */
	u64 running;
	/* how long it had a processor before that */
	u64 worked;
	/* when the first child began to exit while this thread did not sleep; 0: none has */
	u64 first_exit;
};

struct {
	__uint(type, MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, u32);
	__type(value, struct watch_turn);
} TURNS SEC(".maps");

/* The running thread has forked. The paths of a whole machine are not known. */
INLINE void turn_begins(struct watch_session *s)
{
	u32 tid = bpf_get_current_pid_tgid();
	struct watch_turn turn = { .running = bpf_ktime_get_ns() };
	struct watch_turn *before = bpf_map_lookup_elem(&TURNS, &tid);
	if (before)
		*before = turn;
	else if (bpf_map_update_elem(&TURNS, &tid, &turn, 0))
		count_lost(&s->run);
	else
		ADD(&s->forked, 1);
}

INLINE void turn_ends(struct watch_session *s, u32 tid)
{
	if (!bpf_map_delete_elem(&TURNS, &tid))
		ADD(&s->forked, -1);
}

/* The running thread gives its processor to another one. */
INLINE void switch_turns(struct task_struct *next)
{
	u64 now = bpf_ktime_get_ns();
	u32 leaving = bpf_get_current_pid_tgid(), entering = 0;
	struct watch_turn *turn = bpf_map_lookup_elem(&TURNS, &leaving);
	if (turn)
		turn->worked += now - turn->running;
	bpf_probe_read_kernel(&entering, sizeof entering, &next->pid);
	turn = bpf_map_lookup_elem(&TURNS, &entering);
	if (turn)
		turn->running = now;
}

INLINE u64 sleeps_of(u64 task)
{
	unsigned long sleeps = 0;
	bpf_probe_read_kernel(&sleeps, sizeof sleeps, &((struct task_struct *)task)->nvcsw);
	return sleeps;
}

/* A task that is still on a processor has not gone to sleep yet, whatever its state is. */
INLINE int is_asleep(u64 address)
{
	struct task_struct *task = (struct task_struct *)address;
	u32 state = 0;
	int on_cpu = 0;
	if (field_exists(task->__state))
		bpf_probe_read_kernel(&state, sizeof state, &task->__state);
	else
		bpf_probe_read_kernel(&state, sizeof state, &((struct task_struct___5_13 *)task)->state);
	if (field_exists(task->on_cpu))
		bpf_probe_read_kernel(&on_cpu, sizeof on_cpu, &task->on_cpu);
	return (state & TASK_ASLEEP) && !on_cpu;
}

/* The last thread of this process begins to exit. Of a parent with several threads, the one counts that created it. */
INLINE void note_parent(struct watch_session *s, struct watched *w, struct task_struct *task)
{
	u64 parent = 0;
	u32 pid = 0, tid = 0;
	bpf_probe_read_kernel(&parent, sizeof parent, &task->real_parent);
	bpf_probe_read_kernel(&pid, sizeof pid, &((struct task_struct *)parent)->tgid);
	struct watched *p = watched_process(pid);
	if (!p)
		return;
	u64 now = bpf_ktime_get_ns();
	w->parent = pid;
	w->parent_born = p->born;
	if (is_asleep(parent)) {
		w->parent_task = parent;
		w->parent_sleeps = sleeps_of(parent);
		w->awaited = now;
		return;
	}
	if (s->forked <= 0)
		return;
	bpf_probe_read_kernel(&tid, sizeof tid, &((struct task_struct *)parent)->pid);
	struct watch_turn *turn = bpf_map_lookup_elem(&TURNS, &tid);
	if (!turn)
		return;
	if (!turn->first_exit)
		turn->first_exit = now;
	w->parent_awake = 1;
	w->awaited = now;
}

/* If the parent has ended meanwhile, this reads what has become of its task. It was awake then, too. */
INLINE int parent_sleeps_on(struct watched *w)
{
	return !w->parent_awake && sleeps_of(w->parent_task) == w->parent_sleeps && is_asleep(w->parent_task);
}

SEC("raw_tp/sched_process_wait")
int sched_process_wait(struct raw_tracepoint *ctx)
{
	struct watch_session *s = current_session();
	if (!s || likely(s->forked <= 0))
		return 0;
	u64 now = bpf_ktime_get_ns(), pid_tid = bpf_get_current_pid_tgid();
	u32 tid = (u32)pid_tid;
	struct watch_turn *turn = bpf_map_lookup_elem(&TURNS, &tid);
	if (!turn)
		return 0;
	struct watch_turn last = *turn;
	turn_ends(s, tid);
	struct watched *w = watched_process(pid_tid >> 32);
	if (!w || !last.first_exit)
		return 0;
	struct watch_late_wait r = { .born = w->born, .worked = last.worked + (now - last.running) };
	fill_head(&r.record, now, pid_tid, WATCH_LATE_WAIT, 0, last.first_exit);
	if (bpf_ringbuf_output(&EVENTS, &r, sizeof r, RINGBUF_NO_WAKEUP))
		count_lost(&s->run);
	return 0;
}
