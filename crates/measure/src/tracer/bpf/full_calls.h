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

TWICE("tp_btf/sys_enter", sys_enter)
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

/*
 * The top of the stack, which tells for whom the C library made the call; 0 if the program made it itself. A read of the
 * user's memory costs 130 ns, a third of what a call costs.
 */
INLINE u64 stack_of_callers(struct pt_regs *regs)
{
	struct task_struct *task = current_task();
	struct mm_struct *mm = READ(task->mm);
	u64 ip = saved_ip(regs);
	return mm && ip >= READ(mm->start_code) && ip < READ(mm->end_code) ? 0 : regs->sp;
}

INLINE void fill_call(struct record_syscall *r, u64 now, u64 pid_tid, u32 kind, u32 call, s64 result, u64 entered,
		      struct pt_regs *regs, u64 callers)
{
	fill_head(&r->record, now, pid_tid, kind, call, result);
	r->entered = entered;
	r->ip = saved_ip(regs);
	SAVED_ARGUMENTS(r->arguments, regs, call & CALL_COMPAT);
	if (!callers || bpf_probe_read_user(r->stack, sizeof r->stack, (void *)callers))
		__builtin_memset(r->stack, 0, sizeof r->stack);
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

INLINE u32 read_beginning(u8 *to, u64 from)
{
	if (!bpf_probe_read_user(to, USUAL_ROOM, (void *)from))
		return USUAL_ROOM;
	return bpf_probe_read_user(to, USUAL_ROOM / 2, (void *)from) ? 0 : USUAL_ROOM / 2;
}

/* The mode of a file in the first half, in the second its size, or the number of a device. */
INLINE u32 read_status(u8 *to, u32 extended, u64 from)
{
	u64 mode = from + (extended ? STATX_MODE : STAT_MODE);
	u64 size = from + (extended ? STATX_SIZE : STAT_SIZE);
	u64 device = from + (extended ? STATX_RDEV : STAT_RDEV);
	*(u64 *)to = 0;
	if (bpf_probe_read_user(to, extended ? 2 : 4, (void *)mode))
		return 0;
	u64 second = IS_DEVICE(*(u64 *)to) ? device : size;
	return bpf_probe_read_user(to + USUAL_ROOM / 2, 8, (void *)second) ? 0 : USUAL_ROOM;
}

INLINE void fill_structure(struct record_structure *r, u64 now, u64 pid_tid, u32 layout, u64 from)
{
	u32 length = layout == LAYOUT_USUAL ? read_beginning(r->bytes, from)
					    : read_status(r->bytes, layout == LAYOUT_EXTENDED_STATUS, from);
	fill_head(&r->record, now, pid_tid, FULL_STRUCTURE, length, 0);
}

/* As much of it as can be read: it may be at the end of what is mapped. */
INLINE void fill_large_structure(struct record_large_structure *r, u64 now, u64 pid_tid, u64 from)
{
	u32 length = LARGE_ROOM;
	if (bpf_probe_read_user(r->bytes, LARGE_ROOM, (void *)from))
		length = read_beginning(r->bytes, from);
	fill_head(&r->record, now, pid_tid, FULL_LARGE_STRUCTURE, length, 0);
}

INLINE void emit_structure(struct full_session *s, u64 now, u64 pid_tid, u32 layout, u64 from, s64 result)
{
	/* the kernel has written nothing */
	if (!from || (layout >= LAYOUT_STATUS && result))
		return;
	if (unlikely(layout == LAYOUT_LARGE))
		WRITE_RECORD(s, struct record_large_structure, fill_large_structure(r, now, pid_tid, from));
	else
		WRITE_RECORD(s, struct record_structure, fill_structure(r, now, pid_tid, layout, from));
}

/* How much of a buffer is read. The compared value must be the one that is passed on: see fill_image. */
INLINE u64 part_of(u64 length, u64 room)
{
	if (length > room)
		length = room;
	asm volatile("" : "+r"(length));
	return length;
}

/* Returns the number of bytes: all that are wanted, or none, and then their address is stored. */
INLINE u32 read_content(u8 *to, u64 from, u64 length)
{
	if (length && !bpf_probe_read_user(to, length, (void *)from))
		return length;
	*(u64 *)to = from;
	return 0;
}

INLINE void fill_content(struct record_content *r, u64 now, u64 pid_tid, u64 from, u64 wanted, u64 length)
{
	u32 read = read_content(r->bytes, from, part_of(wanted, CONTENT_ROOM));
	fill_head(&r->record, now, pid_tid, FULL_CONTENT, read, length);
}

INLINE void fill_large_content(struct record_large_content *r, u64 now, u64 pid_tid, u64 from, u64 wanted, u64 length)
{
	u32 read = read_content(r->bytes, from, part_of(wanted, LARGE_CONTENT_ROOM));
	fill_head(&r->record, now, pid_tid, FULL_LARGE_CONTENT, read, length);
}

INLINE void emit_content(struct full_session *s, u64 now, u64 pid_tid, u64 from, u64 length)
{
	u64 wanted = length < s->content_bytes ? length : s->content_bytes;
	if (likely(wanted <= CONTENT_ROOM))
		WRITE_RECORD(s, struct record_content, fill_content(r, now, pid_tid, from, wanted, length));
	else
		WRITE_RECORD(s, struct record_large_content,
			     fill_large_content(r, now, pid_tid, from, wanted, length));
}

/* The first buffers of an array: as much of them as there are bytes. */
INLINE void emit_vector(struct full_session *s, u64 now, u64 pid_tid, u64 from, u32 count, u64 bytes, u32 compat)
{
	for (u32 n = 0; n < MOST_BUFFERS && n < count; n++) {
		u64 buffer[2] = { 0, 0 }; /* struct iovec */
		u32 narrow[2];
		if (compat) {
			if (bpf_probe_read_user(narrow, sizeof narrow, (void *)(from + n * sizeof narrow)))
				return;
			buffer[0] = narrow[0];
			buffer[1] = narrow[1];
		} else if (bpf_probe_read_user(buffer, sizeof buffer, (void *)(from + n * sizeof buffer))) {
			return;
		}
		u64 length = buffer[1] < bytes ? buffer[1] : bytes;
		emit_content(s, now, pid_tid, buffer[0], length);
		bytes -= length;
	}
}

/* Where the array of a `struct msghdr` is, and the number of its elements. */
INLINE u32 read_message(u64 array[2], u64 from, u32 compat)
{
	u32 narrow[2];
	if (!compat)
		return !bpf_probe_read_user(array, 2 * sizeof *array, (void *)(from + 2 * sizeof *array));
	if (bpf_probe_read_user(narrow, sizeof narrow, (void *)(from + sizeof narrow)))
		return 0;
	array[0] = narrow[0];
	array[1] = narrow[1];
	return 1;
}

/* `argument`: what follows the buffer among the arguments. */
INLINE void emit_contents(struct full_session *s, u64 now, u64 pid_tid, u32 kind, u64 from, u64 argument, s64 result,
			  u32 compat)
{
	/* the kernel has stored nothing */
	if (kind >= BUFFER_READ && result < 0)
		return;
	u64 length = kind == BUFFER_WRITTEN ? argument : kind < BUFFER_READ ? ~0ULL : (u64)result;
	if (kind == BUFFER_WRITTEN || kind == BUFFER_READ || kind == BUFFER_PATH) {
		emit_content(s, now, pid_tid, from, length);
		return;
	}
	u64 array[2] = { from, argument };
	u32 is_message = kind == BUFFER_WRITTEN_MESSAGE || kind == BUFFER_READ_MESSAGE;
	if (is_message && !read_message(array, from, compat))
		return;
	emit_vector(s, now, pid_tid, array[0], array[1], length, compat);
}

INLINE void emit_path_call(struct full_session *s, u64 now, u64 pid_tid, u32 call, s64 result, u64 entered,
			   struct pt_regs *regs, u64 callers, u64 path)
{
	u32 longer = 0;
	WRITE_RECORD(s, struct record_syscall_path, {
		fill_call(&r->call, now, pid_tid, FULL_SYSCALL_PATH, call, result, entered, regs, callers);
		longer = fill_path(r->path, path);
	});
	if (unlikely(longer))
		emit_rest(s, now, pid_tid, 0, path);
}

INLINE void emit_paths_call(struct full_session *s, u64 now, u64 pid_tid, u32 call, s64 result, u64 entered,
			    struct pt_regs *regs, u64 callers, u64 first, u64 second)
{
	u32 longer = 0;
	WRITE_RECORD(s, struct record_syscall_paths, {
		fill_call(&r->call, now, pid_tid, FULL_SYSCALL_PATHS, call, result, entered, regs, callers);
		longer = fill_path(r->path, first);
		longer |= fill_path(r->second, second) << 1;
	});
	if (unlikely(longer & 1))
		emit_rest(s, now, pid_tid, 0, first);
	if (unlikely(longer & 2))
		emit_rest(s, now, pid_tid, 1, second);
}

/*
 * Whether seccomp has answered this call, with an error or a signal: then `sys_enter` was not called, and all that is seen of
 * the call is its end. A new thread returns 0 from a call that it did not make.
 */
INLINE int was_refused(struct thread_slot *slot, struct raw_tracepoint *ctx, u64 seen)
{
	struct pt_regs *regs = (struct pt_regs *)ctx->args[0];
	if (!ctx->args[1])
		return 0;
	u32 compat = task_in_compat_call(current_task()) ? CALL_COMPAT : 0;
	slot->call = ((u32)saved_number(regs) & CALL_NUMBER) | compat;
	slot->entered = seen;
	return 1;
}

TWICE("tp_btf/sys_exit", sys_exit)
{
	u64 pid_tid;
	struct full_session *s = session_of_task(&pid_tid);
	if (!s)
		return 0;
	u64 now = bpf_ktime_get_ns();
	struct thread_slot *slot = slot_of(s, (u32)pid_tid, 0);
	if (!slot)
		return 0;
	if (unlikely(!slot->entered)) {
		if (!was_refused(slot, ctx, now))
			return 0;
		now = bpf_ktime_get_ns();
	}
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
	u32 takes = number < CALLS ? (compat ? s->compat_takes[number] : s->takes[number]) : 0;
	u64 callers = stack_of_callers(regs);
	u32 first = takes & 7, second = takes >> 4 & 7, structure = takes >> 8 & 7;
	if (likely(!first))
		WRITE_RECORD(s, struct record_syscall,
			     fill_call(r, now, pid_tid, FULL_SYSCALL, call, result, entered, regs, callers));
	else if (likely(!second))
		emit_path_call(s, now, pid_tid, call, result, entered, regs, callers,
			       argument_of(regs, first, compat));
	else
		emit_paths_call(s, now, pid_tid, call, result, entered, regs, callers,
				argument_of(regs, first, compat), argument_of(regs, second, compat));
	if (structure)
		emit_structure(s, now, pid_tid, takes >> 12 & 3, argument_of(regs, structure, compat), result);
	u32 buffer = takes >> 16 & 7;
	if (unlikely(buffer))
		emit_contents(s, now, pid_tid, takes >> 20, argument_of(regs, buffer, compat),
			      argument_of(regs, buffer + 1, compat), result, compat);
	return 0;
}
