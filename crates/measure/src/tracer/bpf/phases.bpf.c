/*
 * The phases of one run (startup, setup, write, teardown): records only the events that bound them.
 *
 * Raw tracepoints see every task of the machine. So each program first does the cheapest test that lets it return:
 * whether the system call means something, or whether any call is in flight. Only then does it look at the task.
 * It uses raw `sys_enter` because `syscalls:sys_enter_write` does not fire for 32-bit calls of x86-64.
 */
#include "phases_session.h"
#include "marks.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define STATE struct session
#include "twice.h"

struct {
	__uint(type, MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} EVENTS SEC(".maps");

/* Calls in flight whose slot in the page was taken. */
struct {
	__uint(type, MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, u32);
	__type(value, struct flight);
} OVERFLOW SEC(".maps");

#include "uring.h"

INLINE void emit(struct session *s, u64 at, u64 pid_tid, u32 kind, u32 code, s64 value)
{
	struct record r = { at, pid_tid >> 32, (u32)pid_tid, kind, code, value };
#ifdef BEFORE_5_12
	u64 place = LOG;
#else
	u64 place = __sync_fetch_and_add(&s->logged, 1);
#endif
	if (likely(place < LOG))
		s->log[place] = r;
	else if (bpf_ringbuf_output(&EVENTS, &r, sizeof r, RINGBUF_NO_WAKEUP))
		count_lost(&s->run);
}

/* Remembers that this thread is inside a call whose return matters. */
INLINE void take_off(struct session *s, u32 tid, u32 call, u64 now)
{
#ifndef BEFORE_5_12
	struct flight *slot = &s->flights[tid % FLIGHTS];
	/* a thread is in one call at a time: a second flight would count its output twice */
	if (unlikely(slot->tid == tid)) {
		slot->call = call;
		slot->entered = now;
		return;
	}
#endif
	ADD(&s->in_flight, 1);
#ifndef BEFORE_5_12
	if (likely(__sync_val_compare_and_swap(&slot->tid, 0, tid) == 0)) {
		slot->call = call;
		slot->entered = now;
		return;
	}
#endif
	struct flight f = { tid, call, now };
	ADD(&s->run.overflown, 1);
	if (bpf_map_update_elem(&OVERFLOW, &tid, &f, 0))
		count_lost(&s->run);
}

/* Removes this thread's call in flight, if it has one. */
INLINE int land(struct session *s, u32 tid, struct flight *landed)
{
	struct flight *f = &s->flights[tid % FLIGHTS];
	if (likely(f->tid == tid)) {
		*landed = *f;
		f->tid = 0;
	} else {
		if (s->run.overflown <= 0)
			return 0;
		f = bpf_map_lookup_elem(&OVERFLOW, &tid);
		if (!f)
			return 0;
		*landed = *f;
		bpf_map_delete_elem(&OVERFLOW, &tid);
		ADD(&s->run.overflown, -1);
	}
	ADD(&s->in_flight, -1);
	return 1;
}

INLINE void exec_begins(struct session *s, struct task_struct *task, u64 pid_tid, u32 call)
{
	u64 now = bpf_ktime_get_ns();
	if (!s->run.exec_begun) {
		first_exec_begins(&s->run, task);
		/* everything before is our own bookkeeping, so the tracee's clock starts here */
		now = bpf_ktime_get_ns();
	}
	emit(s, now, pid_tid, RECORD_EXEC_ENTER, call, 0);
	take_off(s, (u32)pid_tid, call | CALL_EXEC, now);
}

TWICE("raw_tp/sys_enter", sys_enter)
{
	u64 number = ctx->args[1];
	struct session *s = current_session();
	if (!s || number >= CALLS)
		return 0;
	u32 means = s->meaning[number];
	if (likely(!means) || !s->run.root)
		return 0;
	u64 pid_tid = bpf_get_current_pid_tgid();
	if (!in_tree(&s->run, pid_tid >> 32))
		return 0;
	struct task_struct *task = current_task();
	u32 compat = task_in_compat_call(task) != 0;
	means = compat ? means >> MEANS_COMPAT_SHIFT : means & 15;
	if (!means)
		return 0;
	u32 call = (u32)number | (compat ? CALL_COMPAT : 0);
	if (means == MEANS_EXEC) {
		exec_begins(s, task, pid_tid, call);
		return 0;
	}
	if (!s->run.exec_done)
		return 0;
	if (unlikely(means >= MEANS_LOOKUP)) {
		/* only a mark costs a reading of the clock */
		if (may_be_mark(looked_up(ctx->args[0], means, compat)))
			take_off(s, (u32)pid_tid, call | means << MEANS_SHIFT, bpf_ktime_get_ns());
		return 0;
	}
	u32 fd = output_descriptor(ctx->args[0], means, compat);
	if (is_our_stdout(&s->run, file_of(task, fd)))
		take_off(s, (u32)pid_tid, call, bpf_ktime_get_ns());
	return 0;
}

INLINE void output_returned(struct session *s, struct flight *f, u64 pid_tid, s64 result, u64 now)
{
	if (result <= 0)
		return;
	if (!s->first_byte) {
		s->first_byte = 1;
		emit(s, f->entered, pid_tid, RECORD_OUTPUT_ENTER, f->call, 0);
		emit(s, now, pid_tid, RECORD_OUTPUT_EXIT, f->call, result);
	}
	s->last_output = now;
	ADD(&s->output_writes, 1);
	ADD(&s->output_bytes, result);
}

INLINE void lookup_returned(struct session *s, struct flight *f, u64 pid_tid, s64 result, u64 saved_registers)
{
	if (result >= 0 || !is_own(&s->run))
		return;
	struct record_with_path r = { { f->entered, pid_tid >> 32, (u32)pid_tid, RECORD_MARK } };
	u64 path = looked_up(saved_registers, f->call >> MEANS_SHIFT & 15, f->call & CALL_COMPAT);
	long length = bpf_probe_read_user_str(r.path, sizeof r.path, (void *)path);
	u64 start = 0;
	__builtin_memcpy(&start, r.path, sizeof start);
	if (length <= 0 || length > PATH_ROOM || !begins_as_mark(start))
		return;
	r.record.code = length;
	/* only what was read, so that more of them fit the ring */
	if (bpf_ringbuf_output(&EVENTS, &r, sizeof r.record + length, RINGBUF_NO_WAKEUP))
		count_lost(&s->run);
}

TWICE("raw_tp/sys_exit", sys_exit)
{
	struct session *s = current_session();
	if (!s || likely(s->in_flight <= 0))
		return 0;
	u64 now = bpf_ktime_get_ns();
	u64 pid_tid = bpf_get_current_pid_tgid();
	struct flight f;
	if (!land(s, (u32)pid_tid, &f))
		return 0;
	s64 result = (s64)ctx->args[1];
	if (unlikely(f.call >> MEANS_SHIFT & 15)) {
		lookup_returned(s, &f, pid_tid, result, ctx->args[0]);
		return 0;
	}
	if (!(f.call & CALL_EXEC)) {
		output_returned(s, &f, pid_tid, result, now);
		return 0;
	}
	if (result == 0)
		s->run.exec_done = 1;
	emit(s, now, pid_tid, RECORD_EXEC_EXIT, f.call & ~CALL_EXEC, result);
	return 0;
}

SEC("raw_tp/sched_prepare_exec")
int sched_prepare_exec(struct raw_tracepoint *ctx)
{
	struct session *s = current_session();
	if (!s || !s->run.root)
		return 0;
	u64 pid_tid = bpf_get_current_pid_tgid();
	if (in_tree(&s->run, pid_tid >> 32))
		emit(s, bpf_ktime_get_ns(), pid_tid, RECORD_EXEC_PREPARE, 0, 0);
	return 0;
}

TWICE("raw_tp/sched_process_exec", sched_process_exec)
{
	struct session *s = current_session();
	if (!s || !s->run.root)
		return 0;
	u64 pid_tid = bpf_get_current_pid_tgid();
	if (!in_tree(&s->run, pid_tid >> 32))
		return 0;
	u64 now = bpf_ktime_get_ns();
	u32 old_tid = (u32)ctx->args[1];
	struct flight f;
	/* a thread other than the leader may have called execve and taken over the leader's id */
	if (unlikely(old_tid != (u32)pid_tid) && land(s, old_tid, &f))
		take_off(s, (u32)pid_tid, f.call, f.entered);
	if (likely(!s->run.exec_done)) {
		emit(s, now, pid_tid, RECORD_EXEC_COMMIT, 0, 0);
		return 0;
	}
	struct record_with_path r = { { now, pid_tid >> 32, (u32)pid_tid, RECORD_EXEC_COMMIT, 0, old_tid } };
	struct linux_binprm *bprm = (struct linux_binprm *)ctx->args[2];
	const char *filename = 0;
	bpf_probe_read_kernel(&filename, sizeof filename, &bprm->filename);
	long length = 0;
	if (likely(is_own(&s->run)))
		length = bpf_probe_read_kernel_str(r.path, sizeof r.path, filename);
	r.record.code = length > 0 ? length : 0;
	if (bpf_ringbuf_output(&EVENTS, &r, sizeof r, RINGBUF_NO_WAKEUP))
		count_lost(&s->run);
	return 0;
}

TWICE("raw_tp/sched_process_fork", sched_process_fork)
{
	struct session *s = current_session();
	if (!s)
		return 0;
	u64 pid_tid = bpf_get_current_pid_tgid();
	if (likely(!s->run.root)) {
		if (!is_armed(&s->run))
			return 0;
		s32 root = 0;
		struct task_struct *child = (struct task_struct *)ctx->args[1];
		bpf_probe_read_kernel(&root, sizeof root, &child->tgid);
		/* a thread of our own process */
		if (root == (s32)(pid_tid >> 32))
			return 0;
		s->run.armed_by = 0;
		s->run.root = root;
		return 0;
	}
	if (!in_tree(&s->run, pid_tid >> 32))
		return 0;
	u64 now = bpf_ktime_get_ns();
	struct task_struct *child = (struct task_struct *)ctx->args[1];
	s32 pid = 0, tid = 0;
	bpf_probe_read_kernel(&pid, sizeof pid, &child->tgid);
	bpf_probe_read_kernel(&tid, sizeof tid, &child->pid);
	u32 id = id_here(&s->run, child, tid);
	if (pid != (s32)(pid_tid >> 32))
		add_to_tree(&s->run, pid, id);
	emit(s, now, pid_tid, RECORD_FORK, pid, fork_value(tid, id));
	return 0;
}

TWICE("raw_tp/sched_process_exit", sched_process_exit)
{
	struct session *s = current_session();
	if (!s || !s->run.root)
		return 0;
	u64 pid_tid = bpf_get_current_pid_tgid();
	u32 pid = pid_tid >> 32;
	if (!in_tree(&s->run, pid))
		return 0;
	u64 now = bpf_ktime_get_ns();
	struct flight f;
	if (s->in_flight > 0)
		land(s, (u32)pid_tid, &f); /* killed inside a call */
	struct task_struct *task = current_task();
	struct signal_struct *signal = READ(task->signal);
	u32 group_dead = READ(signal->live.counter) == 0;
	emit(s, now, pid_tid, RECORD_EXIT, group_dead, READ(task->exit_code));
	if (group_dead)
		remove_from_tree(&s->run, pid);
	return 0;
}

/*
 * `exit_notify` sends SIGCHLD to the parent once the process has released its memory and closed its files. That is the
 * exit: since Linux 6.16 `sched_process_exit` comes before the memory is released, which for a large program is most of
 * its teardown. At that moment the process may also pass on zombies that it adopted, so the last signal counts.
 */
SEC("raw_tp/signal_generate")
int signal_generate(struct raw_tracepoint *ctx)
{
	struct session *s = current_session();
	if (!s || !s->run.root || (u32)ctx->args[0] != SIGCHLD)
		return 0;
	if (bpf_get_current_pid_tgid() >> 32 != s->run.root)
		return 0;
	if (READ(current_task()->flags) & PF_EXITING)
		s->parent_told = bpf_ktime_get_ns();
	return 0;
}

SEC("raw_tp/io_uring_submit_req")
int io_uring_submit_req(struct raw_tracepoint *ctx)
{
	struct session *s = current_session();
	if (!s || !s->run.exec_done)
		return 0;
	u64 pid_tid = bpf_get_current_pid_tgid();
	if (!in_tree(&s->run, pid_tid >> 32))
		return 0;
	if (uring_takes_off(&s->run, pid_tid, ctx->args[0]))
		ADD(&s->uring, 1);
	return 0;
}

/* Since 5.19 the second argument is the request. */
SEC("raw_tp/io_uring_complete")
int io_uring_complete(struct raw_tracepoint *ctx)
{
	struct session *s = current_session();
	if (!s || s->uring <= 0)
		return 0;
	u64 now = bpf_ktime_get_ns();
	struct uring_flight landed;
	s32 result = 0;
	if (!uring_lands(&s->run, ctx->args[1], &landed, &result))
		return 0;
	ADD(&s->uring, -1);
	/* the thread that submitted it, even if another one completes it: this pairs the two records */
	struct flight of_thread = { (u32)landed.pid_tid, (u32)landed.call, landed.entered };
	output_returned(s, &of_thread, landed.pid_tid, result, now);
	return 0;
}
