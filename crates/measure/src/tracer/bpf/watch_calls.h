/*
 * The system calls of `watch.bpf.c`: execve and execveat, the first write of output, and marks. A hook on every call slows down
 * the whole machine, so execs are seen by hooks on the kernel's functions for them, which nothing else runs. Hooks on every
 * call are attached only for the first output, for marks, or if this kernel cannot hook functions.
 */
#pragma once
#include "watch_maps.h"
#include "marks.h"

/* The running process enters an execve, whose argument at this address is the path. */
INLINE void exec_begins(struct watch_session *s, struct task_struct *task, struct watched *w, u64 pid_tid, const void *from)
{
	struct watch_flight flight = { bpf_ktime_get_ns(), 0, FLIGHT_EXEC, 0 };
	if (!w && !adopt(s, task, pid_tid >> 32))
		return;
	bpf_probe_read_kernel(&flight.path, sizeof flight.path, from);
	take_off(s, (u32)pid_tid, &flight);
}

/* include/linux/errno.h: the kernel repeats the call */
#define ERESTARTSYS 512

INLINE void exec_failed(struct watch_session *s, struct watched *w, u64 pid_tid, struct watch_flight *flight, s64 result)
{
	if (result <= -ERESTARTSYS)
		return;
	struct watch_failed *r = bpf_ringbuf_reserve(&EVENTS, sizeof *r, 0);
	if (!r) {
		count_lost(&s->run);
		return;
	}
	fill_head(&r->record, bpf_ktime_get_ns(), pid_tid, WATCH_FAILED, (u32)-result, flight->entered);
	r->by_entered = program_entered(w);
	r->by_pid = program_pid(w, pid_tid >> 32);
	r->padding = 0;
	if (bpf_probe_read_user_str(r->path, PATH_ROOM, (void *)flight->path) < 0)
		r->path[0] = 0;
	bpf_ringbuf_submit(r, RINGBUF_NO_WAKEUP);
}

INLINE void lookup_failed(struct watch_session *s, struct watched *w, u64 pid_tid, struct watch_flight *flight)
{
	struct watch_failed *r = bpf_ringbuf_reserve(&EVENTS, sizeof *r, 0);
	if (!r) {
		count_lost(&s->run);
		return;
	}
	long length = bpf_probe_read_user_str(r->path, PATH_ROOM, (void *)flight->path);
	u64 start = 0;
	__builtin_memcpy(&start, r->path, sizeof start);
	if (length <= 0 || !begins_as_mark(start)) {
		bpf_ringbuf_discard(r, RINGBUF_NO_WAKEUP);
		return;
	}
	fill_head(&r->record, flight->entered, pid_tid, WATCH_MARK, length, 0);
	r->by_entered = program_entered(w);
	r->by_pid = program_pid(w, pid_tid >> 32);
	r->padding = 0;
	bpf_ringbuf_submit(r, RINGBUF_NO_WAKEUP);
}

/* A call returns. */
INLINE int call_ends(s64 result)
{
	struct watch_session *s = current_session();
	if (!s || likely(s->in_flight <= 0))
		return 0;
	u64 now = bpf_ktime_get_ns();
	u64 pid_tid = bpf_get_current_pid_tgid();
	struct watch_flight flight;
	if (!land(s, (u32)pid_tid, &flight))
		return 0;
	struct watched *w = watched_process(pid_tid >> 32);
	if (!w)
		return 0;
	if (flight.kind == FLIGHT_LOOKUP) {
		if (result < 0)
			lookup_failed(s, w, pid_tid, &flight);
	} else if (flight.kind == FLIGHT_EXEC && result == 0)
		w->returned = now;
	else if (flight.kind == FLIGHT_EXEC)
		exec_failed(s, w, pid_tid, &flight, result);
	else if (result > 0 && !w->output)
		w->output = now;
	return 0;
}

/* A call of a kernel's function with one argument: of fentry, the result is not there yet. */
struct traced_call {
	u64 registers;
	s64 result;
};

INLINE int exec_begun(const void *from)
{
	struct watch_session *s = current_session();
	if (!s || !s->active)
		return 0;
	u64 pid_tid = bpf_get_current_pid_tgid();
	struct watched *w = watched_process(pid_tid >> 32);
	if (w || s->scope.everyone)
		exec_begins(s, current_task(), w, pid_tid, from);
	return 0;
}

/* `argument`: the place of the path. `compat`: the function of the 32-bit call. */
#define EXEC_HOOKS(name, argument, compat)                                                                   \
	SEC("fentry") int name##_begun(struct traced_call *call)                                           \
	{                                                                                                    \
		struct pt_regs *regs = (struct pt_regs *)call->registers;                                    \
		return exec_begun(argument_address(regs, argument, compat));                               \
	}                                                                                                    \
	SEC("fexit") int name##_ended(struct traced_call *call)                                              \
	{                                                                                                    \
		return call_ends(call->result);                                                              \
	}

EXEC_HOOKS(execve, 0, 0)
EXEC_HOOKS(execveat, 1, 0)
EXEC_HOOKS(compat_execve, 0, 1)
EXEC_HOOKS(compat_execveat, 1, 1)

/* include/uapi/linux/magic.h: eventfd, epoll and others, which only the process itself reads */
#define ANON_INODE_FS_MAGIC 0x09041934

INLINE int is_output(u64 file)
{
	u64 super = 0;
	unsigned long magic = 0;
	if (!file)
		return 0;
	bpf_probe_read_kernel(&super, sizeof super, &((struct inode *)inode_of(file))->i_sb);
	bpf_probe_read_kernel(&magic, sizeof magic, &((struct super_block *)super)->s_magic);
	return magic != ANON_INODE_FS_MAGIC;
}

SEC("raw_tp/sys_enter")
int sys_enter(struct raw_tracepoint *ctx)
{
	u64 number = ctx->args[1];
	struct watch_session *s = current_session();
	if (!s || number >= CALLS)
		return 0;
	u32 means = s->meaning[number];
	if (likely(!means) || !s->active)
		return 0;
	u64 pid_tid = bpf_get_current_pid_tgid();
	struct watched *w = watched_process(pid_tid >> 32);
	if (!w && !s->scope.everyone)
		return 0;
	struct task_struct *task = current_task();
	u32 compat = task_in_compat_call(task) != 0;
	means = compat ? means >> MEANS_COMPAT_SHIFT : means & 15;
	if (means >= MEANS_LOOKUP) {
		struct watch_flight lookup = { 0, looked_up(ctx->args[0], means, compat), FLIGHT_LOOKUP, 0 };
		if (w && program_entered(w) && may_be_mark(lookup.path)) {
			lookup.entered = bpf_ktime_get_ns();
			take_off(s, (u32)pid_tid, &lookup);
		}
		return 0;
	}
	if (means >= MEANS_EXEC) {
		struct pt_regs *regs = (struct pt_regs *)ctx->args[0];
		exec_begins(s, task, w, pid_tid, means == MEANS_EXEC ? argument_address(regs, 0, compat)
								     : argument_address(regs, 1, compat));
		return 0;
	}
	if (!means || !w || w->output || !w->returned)
		return 0;
	if (is_output(file_of(task, output_descriptor(ctx->args[0], means, compat)))) {
		struct watch_flight flight = { bpf_ktime_get_ns(), 0, FLIGHT_OUTPUT, 0 };
		take_off(s, (u32)pid_tid, &flight);
	}
	return 0;
}

SEC("raw_tp/sys_exit")
int sys_exit(struct raw_tracepoint *ctx)
{
	return call_ends((s64)ctx->args[1]);
}
