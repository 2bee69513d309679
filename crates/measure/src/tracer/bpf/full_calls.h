/* System calls, including execve. */
#pragma once
#include "full_starts.h"

INLINE void exec_begins(struct full_session *s, struct task_struct *task, u64 pid_tid, u32 call)
{
	if (!s->run.exec_begun)
		first_exec_begins(&s->run, task);
	struct thread_slot *slot = slot_of(s, (u32)pid_tid, 1);
	u64 now = bpf_ktime_get_ns();
	emit(s, now, pid_tid, FULL_EXEC_ENTER, call, 0);
	if (!slot)
		return;
	slot->call = call | CALL_EXEC;
	slot->entered = now;
}

SEC("tp_btf/sys_enter")
int sys_enter(struct raw_tracepoint *ctx)
{
	struct full_session *s = current_session();
	if (!s)
		return 0;
	if (likely(!s->run.root) && (likely(!s->starts.wanted) || !start_begins(s, ctx)))
		return 0;
	u64 pid_tid = bpf_get_current_pid_tgid();
	if (!in_tree(&s->run, pid_tid >> 32))
		return 0;
	struct task_struct *task = current_task();
	u32 compat = task_in_compat_call(task) != 0;
	u64 number = ctx->args[1];
	u32 means = number < CALLS ? s->meaning[number] : 0;
	means = compat ? means >> MEANS_COMPAT_SHIFT : means & 15;
	u32 call = ((u32)number & CALL_NUMBER) | (compat ? CALL_COMPAT : 0);
	if (unlikely(means == MEANS_EXEC)) {
		exec_begins(s, task, pid_tid, call);
		return 0;
	}
	if (unlikely(!s->run.exec_begun))
		return 0;
	if (means && is_our_stdout(&s->run, file_of(task, output_descriptor(ctx->args[0], means, compat))))
		call |= CALL_OUTPUT;
	struct thread_slot *slot = slot_of(s, (u32)pid_tid, 1);
	if (!slot)
		return 0;
	slot->call = call;
	slot->entered = bpf_ktime_get_ns();
	return 0;
}

INLINE void fill_call(struct record_syscall *r, u64 now, u64 pid_tid, u32 kind, u32 call, s64 result, u64 entered,
		      struct pt_regs *regs)
{
	fill_head(&r->record, now, pid_tid, kind, call, result);
	r->entered = entered;
	r->ip = saved_ip(regs);
	SAVED_ARGUMENTS(r->arguments, regs, call & CALL_COMPAT);
	if (bpf_probe_read_user(r->stack, sizeof r->stack, (void *)regs->sp))
		r->stack[0] = 0;
}

/* Reads as much of a string as there is room for, and returns its length; negative if it cannot be read. */
INLINE long fill_string(char *to, u32 room, u64 from)
{
	long length = bpf_probe_read_user_str(to, room, (void *)from);
	if (length < 0)
		to[0] = 0;
	/* the last byte is the string's NUL, or has been replaced by one: restore it, so that the room has no NUL */
	if (unlikely(length == room))
		bpf_probe_read_user(to + room - 1, 1, (void *)(from + room - 1));
	return length;
}

/* Whether the path is longer than its room. */
INLINE u32 fill_path(char *to, u64 from)
{
	return unlikely(fill_string(to, PATH_ROOM, from) == PATH_ROOM) && to[PATH_ROOM - 1];
}

INLINE long fill_rest(struct record_path_rest *r, u64 now, u64 pid_tid, u32 which, u64 from)
{
	long length = fill_string(r->rest, REST_ROOM, from);
	fill_head(&r->record, now, pid_tid, FULL_PATH_REST, which, length);
	return length;
}

INLINE void emit_rest(struct full_session *s, u64 now, u64 pid_tid, u32 which, u64 path)
{
	u64 from = path + PATH_ROOM;
	long length = 0;
	WRITE_RECORD(s, struct record_path_rest, length = fill_rest(r, now, pid_tid, which, from));
	if (length == REST_ROOM)
		WRITE_RECORD(s, struct record_path_rest, fill_rest(r, now, pid_tid, which, from + REST_ROOM));
}

/* As much of a structure as can be read: it may be at the end of what is mapped. */
INLINE void fill_structure(struct record_structure *r, u64 now, u64 pid_tid, u32 large, u64 from)
{
	u32 length = 0;
	if (large && !bpf_probe_read_user(r->bytes, STRUCTURE_ROOM, (void *)from))
		length = STRUCTURE_ROOM;
	else if (!bpf_probe_read_user(r->bytes, STRUCTURE_USUAL, (void *)from))
		length = STRUCTURE_USUAL;
	else if (!bpf_probe_read_user(r->bytes, STRUCTURE_USUAL / 2, (void *)from))
		length = STRUCTURE_USUAL / 2;
	fill_head(&r->record, now, pid_tid, FULL_STRUCTURE, length, 0);
}

SEC("tp_btf/sys_exit")
int sys_exit(struct raw_tracepoint *ctx)
{
	u64 pid_tid;
	struct full_session *s = session_of_task(&pid_tid);
	if (!s)
		return 0;
	u64 now = bpf_ktime_get_ns();
	struct thread_slot *slot = slot_of(s, (u32)pid_tid, 0);
	if (!slot || !slot->entered)
		return 0;
	u64 entered = slot->entered;
	u32 call = slot->call;
	s64 result = (s64)ctx->args[1];
	slot->entered = 0;
	if (unlikely(call & CALL_EXEC)) {
		if (result != 0 && start_failed(s, pid_tid))
			return 0;
		if (result == 0)
			s->run.exec_done = 1;
		emit(s, now, pid_tid, FULL_EXEC_EXIT, call & ~CALL_EXEC, result);
		if (result == 0)
			return 0;
	}
	struct pt_regs *regs = (struct pt_regs *)ctx->args[0];
	u32 number = call & CALL_NUMBER, compat = call & CALL_COMPAT;
	u32 paths = number < CALLS ? (compat ? s->compat_paths[number] : s->paths[number]) : 0;
	if (likely(!paths)) {
		WRITE_RECORD(s, struct record_syscall,
			     fill_call(r, now, pid_tid, FULL_SYSCALL, call, result, entered, regs));
		return 0;
	}
	u64 first = argument_of(regs, paths & 7, compat);
	if (unlikely(paths & TAKES_STRUCTURE)) {
		WRITE_RECORD(s, struct record_syscall,
			     fill_call(r, now, pid_tid, FULL_SYSCALL, call, result, entered, regs));
		if (first)
			WRITE_RECORD(s, struct record_structure, fill_structure(r, now, pid_tid, paths >> 4, first));
		return 0;
	}
	u32 longer = 0;
	if (likely(!(paths >> 4))) {
		WRITE_RECORD(s, struct record_syscall_path, {
			fill_call(&r->call, now, pid_tid, FULL_SYSCALL_PATH, call, result, entered, regs);
			longer = fill_path(r->path, first);
		});
		if (unlikely(longer))
			emit_rest(s, now, pid_tid, 0, first);
		return 0;
	}
	u64 second = argument_of(regs, paths >> 4, compat);
	WRITE_RECORD(s, struct record_syscall_paths, {
		fill_call(&r->call, now, pid_tid, FULL_SYSCALL_PATHS, call, result, entered, regs);
		longer = fill_path(r->path, first);
		longer |= fill_path(r->second, second) << 1;
	});
	if (unlikely(longer & 1))
		emit_rest(s, now, pid_tid, 0, first);
	if (unlikely(longer & 2))
		emit_rest(s, now, pid_tid, 1, second);
	return 0;
}

