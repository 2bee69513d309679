/*
 * Records the programs that processes execute: one record when a program starts, with its command line, one when it has
 * ended, with its times, and one for each exec that failed.
 *
 * As in phases.bpf.c, raw tracepoints see every task of the machine, so each program first does the cheapest test that lets
 * it return. No atomic operation returns the old value, so kernels before 5.12 get the same programs.
 */
#include "watch_calls.h"
#include "watch_waits.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

INLINE void fill_start(struct watch_start *r, u64 at, u64 pid_tid, struct watched *w, u32 arguments,
		       struct linux_binprm *bprm)
{
	const char *filename = 0;
	fill_head(&r->record, at, pid_tid, WATCH_START, 0, w->entered);
	r->by_entered = w->by_entered;
	r->by_pid = w->by_pid;
	r->arguments = arguments;
	bpf_probe_read_kernel(&filename, sizeof filename, &bprm->filename);
	if (bpf_probe_read_kernel_str(r->path, PATH_ROOM, filename) < 0)
		r->path[0] = 0;
}

/*
 * Verifiers before 6.x forget the bounds of a number that is copied or kept on the stack, so it gets them again by a mask just
 * before it is used. The `asm` keeps clang from leaving the mask out. `room` is a power of two.
 */
#define WRITE_START(TYPE, room)                                                                              \
	do {                                                                                                 \
		TYPE *r = bpf_ringbuf_reserve(&EVENTS, sizeof(TYPE), 0);                                     \
		if (!r) {                                                                                    \
			count_lost(&s->run);                                                                 \
			break;                                                                               \
		}                                                                                            \
		fill_start(&r->start, at, pid_tid, w, (u32)all, bprm);                                       \
		u64 length = all < (room) ? all : (room)-1;                                                  \
		asm volatile("" : "+r"(length));                                                             \
		length &= (room)-1;                                                                          \
		if (!bpf_probe_read_user(r->argv, length, (void *)from))                                     \
			r->start.record.code = length;                                                       \
		bpf_ringbuf_submit(r, RINGBUF_NO_WAKEUP);                                                    \
	} while (0)

INLINE void emit_start(struct watch_session *s, struct task_struct *task, u64 at, u64 pid_tid, struct watched *w,
		       struct linux_binprm *bprm)
{
	struct mm_struct *mm = FETCH(task->mm);
	if (!mm)
		return;
	u64 from = FETCH(mm->arg_start);
	u64 all = FETCH(mm->arg_end) - from;
	if (likely(all < SHORT_ARGV))
		WRITE_START(struct watch_short_start, SHORT_ARGV);
	else
		WRITE_START(struct watch_long_start, LONG_ARGV);
}

INLINE void emit_end(struct watch_session *s, u64 at, u64 pid_tid, u32 replaced, u64 cpu, struct watched *w)
{
	struct watch_end r = { { at, pid_tid >> 32, (u32)pid_tid, WATCH_END, replaced, cpu }, *w };
	if (bpf_ringbuf_output(&EVENTS, &r, sizeof r, RINGBUF_NO_WAKEUP))
		count_lost(&s->run);
}

SEC("raw_tp/sched_process_exec")
int sched_process_exec(struct raw_tracepoint *ctx)
{
	struct watch_session *s = current_session();
	if (!s || !s->active)
		return 0;
	u64 pid_tid = bpf_get_current_pid_tgid();
	u32 pid = pid_tid >> 32, old_tid = (u32)ctx->args[1];
	struct watched *w = watched_process(pid);
	if (!w)
		return 0;
	u64 now = bpf_ktime_get_ns();
	struct watch_flight moved, *flight = bpf_map_lookup_elem(&FLIGHTS, &old_tid);
	u64 entered = flight ? flight->entered : now;
	/* a thread other than the leader may have called execve and taken over the leader's id */
	if (unlikely(old_tid != (u32)pid_tid) && land(s, old_tid, &moved))
		take_off(s, (u32)pid_tid, &moved);
	struct task_struct *task = current_task();
	u64 cpu = w->cpu + READ(task->se.sum_exec_runtime);
	if (w->entered) {
		emit_end(s, entered, pid_tid, 1, cpu - w->cpu_before, w);
		w->cpu_before = cpu;
		w->by_pid = pid;
		w->by_entered = w->entered;
	}
	if (unlikely(!is_own(&s->run))) {
		/* it has the rights of its file now: nothing more of it is seen */
		bpf_map_delete_elem(&PROCESSES, &pid);
		return 0;
	}
	w->entered = entered;
	w->returned = 0;
	w->output = 0;
	emit_start(s, task, now, pid_tid, w, (struct linux_binprm *)ctx->args[2]);
	return 0;
}

SEC("raw_tp/sched_process_fork")
int sched_process_fork(struct raw_tracepoint *ctx)
{
	struct watch_session *s = current_session();
	if (!s)
		return 0;
	u32 own = bpf_get_current_pid_tgid() >> 32, pid = 0;
	struct watched *w = watched_process(own);
	if (!w && !in_scope(&s->run, &s->scope) && !is_armed(&s->run))
		return 0;
	struct task_struct *child = (struct task_struct *)ctx->args[1];
	bpf_probe_read_kernel(&pid, sizeof pid, &child->tgid);
	if (pid == own) {
		if (w)
			ADD(&w->threads, 1);
		return 0;
	}
	struct watched born = { .born = bpf_ktime_get_ns(), .threads = 1 };
	if (w) {
		born.by_pid = program_pid(w, own);
		born.by_entered = program_entered(w);
		if (!s->scope.everyone)
			turn_begins(s);
	} else if (!s->scope.everyone) {
		s->run.armed_by = 0;
		s->run.root = pid;
		s->active = 1;
	}
	if (bpf_map_update_elem(&PROCESSES, &pid, &born, 0))
		count_lost(&s->run);
	return 0;
}

/* The status that wait(2) will report: of the whole process, or else of its first thread. */
INLINE u32 wait_status(struct task_struct *task, struct signal_struct *signal)
{
	if (FETCH(signal->flags) & SIGNAL_GROUP_EXIT)
		return FETCH(signal->group_exit_code);
	struct task_struct *leader = FETCH(task->group_leader);
	return FETCH(leader->exit_code);
}

SEC("raw_tp/sched_process_exit")
int sched_process_exit(struct raw_tracepoint *ctx)
{
	struct watch_session *s = current_session();
	if (!s || !s->active)
		return 0;
	struct watched *w = watched_process(bpf_get_current_pid_tgid() >> 32);
	if (!w)
		return 0;
	struct task_struct *task = current_task();
	struct signal_struct *signal = FETCH(task->signal);
	if (FETCH(signal->live.counter))
		return 0;
	w->status = wait_status(task, signal);
	w->exiting = 1;
	note_parent(s, w, task);
	return 0;
}

/* As in phases.bpf.c: `exit_notify` signals the parent. */
SEC("raw_tp/signal_generate")
int signal_generate(struct raw_tracepoint *ctx)
{
	struct watch_session *s = current_session();
	if (!s || !s->active || (u32)ctx->args[0] != SIGCHLD)
		return 0;
	if (!(READ(current_task()->flags) & PF_EXITING))
		return 0;
	struct watched *w = watched_process(bpf_get_current_pid_tgid() >> 32);
	if (w)
		w->told = bpf_ktime_get_ns();
	return 0;
}

INLINE int is_dead(struct task_struct *task)
{
	if (field_exists(task->__state))
		return (READ(task->__state) & TASK_DEAD) != 0;
	return (READ(((struct task_struct___5_13 *)task)->state) & TASK_DEAD) != 0;
}

/*
 * A thread leaves the processor for good. Only now is its CPU time complete: while it runs, the scheduler adds to it once in
 * a while. Its process has ended when its last thread has left. Two threads may both find that they were the last, but only
 * one of them finds the entry.
 */
SEC("raw_tp/sched_switch")
int sched_switch(struct raw_tracepoint *ctx)
{
	struct task_struct *task = current_task();
	struct watch_session *s = current_session();
	if (!s || !s->active)
		return 0;
	if (s->forked > 0)
		switch_turns((struct task_struct *)ctx->args[2]);
	if (likely(!is_dead(task)))
		return 0;
	u64 pid_tid = bpf_get_current_pid_tgid();
	u32 pid = pid_tid >> 32;
	struct watched *w = watched_process(pid);
	struct watch_flight flight;
	if (s->in_flight > 0)
		land(s, (u32)pid_tid, &flight); /* killed inside a call */
	if (s->forked > 0)
		turn_ends(s, (u32)pid_tid);
	if (!w)
		return 0;
	ADD(&w->cpu, READ(task->se.sum_exec_runtime));
	if (!is_announced(task))
		return 0;
	ADD(&w->threads, -1);
	if (w->threads > 0)
		return 0;
	struct watched last = *w;
	if (bpf_map_delete_elem(&PROCESSES, &pid))
		return 0;
	if (last.awaited && parent_sleeps_on(&last))
		last.awaited = 0;
	emit_end(s, bpf_ktime_get_ns(), pid_tid, 0, last.cpu - last.cpu_before, &last);
	return 0;
}
