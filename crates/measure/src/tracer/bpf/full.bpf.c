/*
 * Records everything that a tracee's processes do: every system call (one record, at its return), page fault (one
 * record, when it has been handled), exec, fork, exit, and every time that a thread was off the processor.
 *
 * Records go to a log that both sides map. Every run starts at the beginning of the log, so its pages are warm. Records
 * that do not fit go to a ring buffer. Each program starts with the cheapest test that lets it return. In `tp_btf`
 * programs the verifier knows the types of a tracepoint's arguments, so plain loads read their fields, without a helper.
 */
#include "full_maps.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#include "full_calls.h"
#include "full_faults.h"
#include "full_uring.h"

INLINE void fill_off_cpu(struct record_off_cpu *r, u64 now, u64 pid_tid, struct thread_slot *slot)
{
	fill_head(&r->record, now, pid_tid, FULL_OFF_CPU, slot->left_state, slot->waker);
	r->left = slot->left;
	r->woken = slot->woken;
}

/* A thread leaves the processor for good. A parent that ignores SIGCHLD has not been told. */
INLINE void root_may_be_gone(struct full_session *s, struct task_struct *task)
{
	struct signal_struct *signal = READ(task->signal);
	if ((u32)READ(task->tgid) == s->run.root && (state_of(task) & TASK_DEAD) && !READ(signal->live.counter))
		s->starts.over = 1;
}

/* Since 5.18 the state of the leaving thread is the last argument. */
INLINE int switched(struct raw_tracepoint *ctx, int with_state)
{
	struct full_session *s = current_session();
	if (!s || likely(!s->run.exec_begun))
		return 0;
	u64 now = bpf_ktime_get_ns();
	u64 leaving = bpf_get_current_pid_tgid();
	struct task_struct *previous = (struct task_struct *)ctx->args[1];
	if (in_tree(&s->run, leaving >> 32)) {
		struct thread_slot *slot = slot_of(s, (u32)leaving, !(previous->flags & PF_EXITING));
		if (slot) {
			slot->left_state = ctx->args[0] ? OFF_PREEMPTED : with_state ? (u32)ctx->args[3] : state_of(previous);
			slot->woken = 0;
			slot->waker = 0;
			slot->left = now;
		}
		if (unlikely(previous->flags & PF_EXITING) && s->starts.active)
			root_may_be_gone(s, previous);
	}
	struct task_struct *next = (struct task_struct *)ctx->args[2];
	u32 pid = next->tgid, tid = next->pid;
	if (!pid || !in_tree(&s->run, pid))
		return 0;
	struct thread_slot *slot = slot_of(s, tid, !(next->flags & PF_EXITING));
	if (!slot)
		return 0;
	u64 entering = (u64)pid << 32 | tid;
	WRITE_RECORD(s, struct record_off_cpu, fill_off_cpu(r, now, entering, slot));
	slot->left = 0;
	return 0;
}

SEC("tp_btf/sched_switch")
int sched_switch(struct raw_tracepoint *ctx)
{
	return switched(ctx, 1);
}

SEC("tp_btf/sched_switch")
int sched_switch_5_17(struct raw_tracepoint *ctx)
{
	return switched(ctx, 0);
}

/* Unlike `sched_wakeup`, it is called by the waker, also when the woken thread will run on another processor. */
SEC("tp_btf/sched_waking")
int sched_waking(struct raw_tracepoint *ctx)
{
	struct full_session *s = current_session();
	if (!s || likely(!s->run.exec_begun))
		return 0;
	struct task_struct *woken = (struct task_struct *)ctx->args[0];
	u32 pid = woken->tgid, tid = woken->pid;
	if (!pid || !in_tree(&s->run, pid))
		return 0;
	struct thread_slot *slot = slot_of(s, tid, 0);
	if (slot && slot->left) {
		slot->woken = bpf_ktime_get_ns();
		slot->waker = bpf_get_current_pid_tgid();
	}
	return 0;
}

SEC("tp_btf/sched_prepare_exec")
int sched_prepare_exec(struct raw_tracepoint *ctx)
{
	u64 pid_tid;
	struct full_session *s = session_of_task(&pid_tid);
	if (s)
		emit(s, bpf_ktime_get_ns(), pid_tid, FULL_EXEC_PREPARE, 0, 0);
	return 0;
}

INLINE void fill_kernel_string(char *to, const char *from)
{
	long length = bpf_probe_read_kernel_str(to, PATH_ROOM, from);
	if (length < 0)
		to[0] = 0;
	/* as in fill_string: a longer string leaves no NUL */
	if (unlikely(length == PATH_ROOM))
		bpf_probe_read_kernel(to + PATH_ROOM - 1, 1, from + PATH_ROOM - 1);
}

INLINE void fill_image(struct record_image *r, u64 now, u64 pid_tid, u32 old_tid, struct linux_binprm *bprm,
		       struct mm_struct *mm)
{
	u64 from = mm->arg_start;
	u64 length = mm->arg_end - from;
	if (length > ARGV_ROOM)
		length = ARGV_ROOM;
	/* the verifier of 6.1 tracks only this register: the compared value must be the one that is passed on */
	asm volatile("" : "+r"(length));
	fill_head(&r->record, now, pid_tid, FULL_IMAGE, (u32)length, old_tid);
	r->start_code = mm->start_code;
	r->end_code = mm->end_code;
	r->start_data = mm->start_data;
	r->end_data = mm->end_data;
	r->start_brk = mm->start_brk;
	r->start_stack = mm->start_stack;
	bpf_probe_read_kernel(r->auxv, sizeof r->auxv, mm->saved_auxv);
	fill_kernel_string(r->path, bprm->filename);
	fill_kernel_string(r->interpreter, bprm->interp);
	if (bpf_probe_read_user(r->argv, length, (void *)from))
		r->argv[0] = 0;
}

TWICE("tp_btf/sched_process_exec", sched_process_exec)
{
	struct full_session *s = current_session();
	if (!s)
		return 0;
	u64 pid_tid = bpf_get_current_pid_tgid();
	if (unlikely(s->starts.active))
		start_commits(s, pid_tid, (struct linux_binprm *)ctx->args[2]);
	if (!s->run.exec_begun || !in_tree(&s->run, pid_tid >> 32))
		return 0;
	u64 now = bpf_ktime_get_ns();
	u32 old_tid = (u32)ctx->args[1];
	if (unlikely(old_tid != (u32)pid_tid)) {
		/* a thread other than the leader has called execve and has taken over the leader's id */
		struct thread_slot *old = slot_of(s, old_tid, 0);
		struct thread_slot *taken = slot_of(s, (u32)pid_tid, 1);
		if (old && taken) {
			taken->call = old->call;
			taken->entered = old->entered;
			taken->left = 0;
		}
		free_slot(s, old_tid);
	}
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	struct mm_struct *mm = task->mm;
	struct linux_binprm *bprm = (struct linux_binprm *)ctx->args[2];
	if (!mm || !is_shown(&s->run))
		return 0;
	WRITE_RECORD(s, struct record_image, fill_image(r, now, pid_tid, old_tid, bprm, mm));
	return 0;
}

TWICE("tp_btf/sched_process_fork", sched_process_fork)
{
	struct full_session *s = current_session();
	if (!s)
		return 0;
	u64 pid_tid = bpf_get_current_pid_tgid();
	struct task_struct *child = (struct task_struct *)ctx->args[1];
	s32 pid = child->tgid, tid = child->pid;
	if (unlikely(s->starts.active)) {
		watch_child(s, pid_tid >> 32, pid);
		if (!s->run.root)
			return 0;
	}
	if (likely(!s->run.root)) {
		/* not a thread of our own process */
		if (!is_armed(&s->run) || pid == (s32)(pid_tid >> 32))
			return 0;
		s->run.armed_by = 0;
		s->run.root = pid;
		return 0;
	}
	if (!in_tree(&s->run, pid_tid >> 32))
		return 0;
	u64 now = bpf_ktime_get_ns();
	u32 id = id_here(&s->run, child, tid);
	if (pid != (s32)(pid_tid >> 32))
		add_to_tree(&s->run, pid, id);
	emit(s, now, pid_tid, FULL_FORK, pid, fork_value(tid, id));
	return 0;
}

TWICE("tp_btf/sched_process_exit", sched_process_exit)
{
	struct full_session *s = current_session();
	if (!s || (!s->run.root && likely(!s->starts.active)))
		return 0;
	u64 pid_tid = bpf_get_current_pid_tgid();
	u32 pid = pid_tid >> 32;
	struct task_struct *task = current_task();
	struct signal_struct *signal = READ(task->signal);
	u32 group_dead = READ(signal->live.counter) == 0;
	if (unlikely(s->starts.active) && group_dead)
		forget_child(s, pid);
	if (!s->run.root || !in_tree(&s->run, pid))
		return 0;
	u64 now = bpf_ktime_get_ns();
	struct thread_slot *slot = slot_of(s, (u32)pid_tid, 0);
	if (slot && slot->entered)
		emit(s, slot->entered, pid_tid, FULL_UNFINISHED, slot->call, 0);
	emit(s, now, pid_tid, FULL_EXIT, group_dead, READ(task->exit_code));
	/* the tracee itself is observed until its parent has the signal; no other thread gets its slot again */
	if ((u32)pid_tid != s->run.root)
		free_slot(s, (u32)pid_tid);
	if (group_dead)
		remove_from_tree(&s->run, pid);
	return 0;
}

/*
 * A signal for a thread of the tree: if it dies of it, this is when its death began. If the thread's own access to memory
 * is the reason, it began with the fault that could not be handled.
 */
INLINE void signalled(struct full_session *s, u32 signal, struct task_struct *task)
{
	s32 pid = task->tgid, tid = task->pid;
	if (!in_tree(&s->run, pid) && pid != (s32)s->run.root)
		return;
	u64 began = bpf_ktime_get_ns();
	struct thread_slot *slot = slot_of(s, tid, 0);
	int by_fault = signal == SIGSEGV || signal == SIGBUS;
	if (by_fault && slot && slot->fault_entered && (u32)bpf_get_current_pid_tgid() == (u32)tid) {
		began = slot->fault_entered;
		slot->fault_entered = 0;
	}
	emit(s, began, (u64)pid << 32 | (u32)tid, FULL_SIGNALLED, signal, 0);
}

/* As in phases.bpf.c: `exit_notify` signals the parent. Memory and files have been released by then. */
SEC("tp_btf/signal_generate")
int signal_generate(struct raw_tracepoint *ctx)
{
	struct full_session *s = current_session();
	if (!s || !s->run.root)
		return 0;
	u32 signal = (u32)ctx->args[0];
	if (signal != SIGCHLD) {
		signalled(s, signal, (struct task_struct *)ctx->args[2]);
		return 0;
	}
	u64 pid_tid = bpf_get_current_pid_tgid();
	if (!in_tree(&s->run, pid_tid >> 32) && pid_tid >> 32 != s->run.root)
		return 0;
	if (!(READ(current_task()->flags) & PF_EXITING))
		return 0;
	emit(s, bpf_ktime_get_ns(), pid_tid, FULL_PARENT_TOLD, 0, 0);
	if (s->starts.active && pid_tid >> 32 == s->run.root)
		s->starts.over = 1;
	return 0;
}
