/*
 * Runs that nobody launches for us: while a watch waits for starts of a program, the process that executes it becomes the run,
 * from the entry of its execve on. One at a time. Everything that follows is as for a run that we launch.
 *
 * This needs the atomic operations of Linux 5.12.
 */
#pragma once
#include "full_maps.h"

/* The processes that descend from a watched command. */
struct {
	__uint(type, MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, u32);
	__type(value, u32);
} WATCHED SEC(".maps");

/* Whether a start by this process, which is running, counts. */
INLINE int is_watched(struct full_session *s, u32 pid)
{
	if (s->starts.scope.everyone)
		return in_scope(&s->run, &s->starts.scope);
	return bpf_map_lookup_elem(&WATCHED, &pid) != 0 && is_own(&s->run);
}

/* The command itself is the child of the armed thread. */
INLINE void watch_child(struct full_session *s, u32 own, u32 child)
{
	u32 none = 0;
	if (s->starts.scope.everyone || child == own)
		return;
	if (!bpf_map_lookup_elem(&WATCHED, &own)) {
		if (!is_armed(&s->run))
			return;
		s->run.armed_by = 0;
		s->run.level = 0; /* all ids are the machine's */
	}
	if (bpf_map_update_elem(&WATCHED, &child, &none, 0))
		count_lost(&s->run);
}

INLINE void forget_child(struct full_session *s, u32 pid)
{
	if (!s->starts.scope.everyone)
		bpf_map_delete_elem(&WATCHED, &pid);
}

#ifdef BEFORE_5_12

INLINE int start_begins(struct full_session *s, struct raw_tracepoint *ctx)
{
	return 0;
}

INLINE void start_commits(struct full_session *s, u64 pid_tid, struct linux_binprm *bprm)
{
}

INLINE int start_failed(struct full_session *s, u64 pid_tid)
{
	return 0;
}

#else

struct path_text {
	char text[PATH_ROOM];
};

struct {
	__uint(type, MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct path_text);
} PATH_TEXT SEC(".maps");

INLINE long read_string(char *to, u32 room, u64 from, int of_kernel)
{
	return of_kernel ? bpf_probe_read_kernel_str(to, room, (void *)from) :
			   bpf_probe_read_user_str(to, room, (void *)from);
}

INLINE int same_text(const char *a, const char *b)
{
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < PATH_ROOM; i++) {
		if (a[i] != b[i])
			return 0;
		if (!a[i])
			return 1;
	}
	return 0;
}

/*
 * Whether a path is that of the program: 1, or 0, or negative if it is in memory that is not present. `starts.program` begins
 * with a slash that its path does not have. A name is compared with the end of the path.
 */
INLINE int is_program(struct full_session *s, u64 path, int of_kernel)
{
	u32 zero = 0;
	struct path_text *read = bpf_map_lookup_elem(&PATH_TEXT, &zero);
	if (!read)
		return 0;
	read->text[0] = '/';
	long length = read_string(read->text + 1, PATH_ROOM - 1, path, of_kernel) - 1;
	if (length < 0)
		return -1;
	u32 wanted = s->starts.length;
	if (!s->starts.by_path && length >= wanted) {
		if (read_string(read->text, PATH_ROOM, path + (length - wanted), of_kernel) < 0)
			return -1;
	}
	return same_text(read->text, s->starts.program);
}

/*
 * A process enters a system call while there is no run. If this is the start that is wanted, the process becomes the run.
 * Returns whether it has.
 */
INLINE int start_begins(struct full_session *s, struct raw_tracepoint *ctx)
{
	u64 number = ctx->args[1];
	if (number >= CALLS)
		return 0;
	u32 means = s->meaning[number];
	if (likely(!means) || s->starts.seen + 1 < s->starts.due)
		return 0;
	struct task_struct *task = current_task();
	u32 compat = task_in_compat_call(task) != 0;
	means = compat ? means >> MEANS_COMPAT_SHIFT : means & 15;
	u32 pid = bpf_get_current_pid_tgid() >> 32;
	if (likely(means != MEANS_EXEC) || !is_watched(s, pid))
		return 0;
	u32 takes = compat ? s->compat_takes[number] : s->takes[number];
	/* a path that cannot be read yet is compared when the kernel has read it */
	if (!is_program(s, argument_of((struct pt_regs *)ctx->args[0], takes & 7, compat), 0))
		return 0;
	if (__sync_val_compare_and_swap(&s->run.root, 0, pid))
		return 0;
	s->starts.thread = (u32)bpf_get_current_pid_tgid();
	/* a run that was given back has left the slots of threads that were in a call, and the number of its lost events */
	s->starts.turn++;
	s->run.lost = 0;
	s->run.hidden = 0;
#pragma clang loop unroll(full)
	for (u32 i = 0; i < SLOTS; i++)
		s->slots[i].tid = 0;
	return 1;
}

/* The process that became the run has not executed the program. The next exec may be the one. */
INLINE void give_back(struct full_session *s, u64 pid_tid)
{
	s->run.exec_begun = 0;
	free_slot(s, (u32)pid_tid);
	s->logged = 0;
	asm volatile("" : : : "memory");
	s->run.root = 0;
}

/* Whether this process is about to begin the run: its exec has not returned yet. */
INLINE int is_starting(struct full_session *s, u64 pid_tid)
{
	return s->run.root && pid_tid >> 32 == s->run.root && !s->run.exec_done;
}

INLINE void start_commits(struct full_session *s, u64 pid_tid, struct linux_binprm *bprm)
{
	int is_run = is_starting(s, pid_tid);
	if (is_watched(s, pid_tid >> 32) && is_program(s, (u64)bprm->filename, 1) == 1) {
		u64 number = __sync_fetch_and_add(&s->starts.seen, 1) + 1;
		if (!is_run)
			return;
		s->starts.number = number;
		s->starts.mounts = current_task()->nsproxy->mnt_ns->ns.inum;
	} else if (is_run) {
		give_back(s, pid_tid);
	}
}

/* An exec has failed. */
INLINE int start_failed(struct full_session *s, u64 pid_tid)
{
	if (!s->starts.active || !is_starting(s, pid_tid) || (u32)pid_tid != s->starts.thread)
		return 0;
	give_back(s, pid_tid);
	return 1;
}

#endif
