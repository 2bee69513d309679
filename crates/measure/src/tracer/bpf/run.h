/*
 * The state of a run, as in `shared_run.rs`, and what the programs read of tasks: their ids and their open files.
 */
#pragma once
#include "kernel.h"

/*
 * The beginning of each mode's session. The ids here, and in all maps and records, are the machine's, which cost the least.
 */
struct run {
	/*
	 * thread that will create the tracee, by its id in the process-id namespace `namespace`; 0 when idle. Set by user
	 * space, cleared at the fork.
	 */
	u32 armed_by;
	/* the tracee's process id, 0 before the fork and when idle */
	u32 root;
	/* live processes of the tree besides the root */
	s32 others;
	/* entries of the map OVERFLOW */
	s32 overflown;
	/* the tracee has begun its first execve / has returned from it */
	u32 exec_begun;
	u32 exec_done;
	/* also count writes that reach the inode through another open file (a reopened pipe or file) as output */
	u32 match_inode;
	/* inode number of our process-id namespace, and at the fork how deep it lies below the machine's */
	u32 namespace;
	u32 level;
	/* each program of TWICE is attached twice */
	u32 twice;
	/* the open file and the inode of the tracee's descriptor 1 when it called execve */
	u64 stdout_file;
	u64 stdout_inode;
	/* events that could not be recorded */
	u64 lost;
	/* only processes of this user without other capabilities than these are observed: see `is_own` */
	u64 capabilities;
	u32 user;
	u32 restricted;
	/* a process of the tree has other rights, so what it does was not recorded */
	u32 hidden;
	u32 padding;
};

/* One event. The meaning of `code` and `value` depends on the kind. */
struct record {
	u64 at;
	u32 pid;
	u32 tid;
	u32 kind;
	u32 code;
	s64 value;
};

INLINE void fill_head(struct record *r, u64 at, u64 pid_tid, u32 kind, u32 code, s64 value)
{
	r->at = at;
	r->pid = pid_tid >> 32;
	r->tid = (u32)pid_tid;
	r->kind = kind;
	r->code = code;
	r->value = value;
}

#define PATH_ROOM 256

#define CALLS 512 /* system-call numbers below this can have a meaning */
/*
 * The meaning of a system call, by number: 0 for none, MEANS_EXEC, or 1 + the position of the descriptor argument that
 * it writes to. The low half is for the native table, the high half for the 32-bit one. User space fills the tables.
 */
#define MEANS_EXEC 4
#define MEANS_COMPAT_SHIFT 4

/* In the code of a record: the call used the 32-bit table, or is an execve. */
#define CALL_COMPAT 0x80000000u
#define CALL_EXEC 0x40000000u

INLINE void count_lost(struct run *run)
{
	ADD(&run->lost, 1);
}

/*
 * Whether we may observe the running process. With file capabilities, the rule is that of ptrace(2) (`__ptrace_may_access`
 * in kernel/ptrace.c): its real, effective and saved ids are the caller's, and it has no more capabilities than we have. So a
 * set-user-ID program is not observed from its exec on.
 */
INLINE int is_own(struct run *run)
{
	if (likely(!run->restricted))
		return 1;
	struct task_struct *task = current_task();
	struct cred *cred = FETCH(task->cred);
	u64 permitted = ~0ULL;
	bpf_probe_read_kernel(&permitted, sizeof permitted, &cred->cap_permitted);
	u32 user = run->user, group = FETCH(cred->gid.val);
	int same_user = FETCH(cred->uid.val) == user && FETCH(cred->suid.val) == user && FETCH(cred->euid.val) == user;
	int same_group = FETCH(cred->sgid.val) == group && FETCH(cred->egid.val) == group;
	return same_user && same_group && !(permitted & ~run->capabilities);
}

INLINE struct pid *ids_of(struct task_struct *task)
{
	struct pid *ids = 0;
	bpf_probe_read_kernel(&ids, sizeof ids, &task->thread_pid);
	return ids;
}

INLINE void read_id(struct upid *id, struct pid *ids, u32 level)
{
	bpf_probe_read_kernel(id, sizeof *id, (void *)ids + field_offset(ids->numbers) + level * sizeof *id);
}

/* Whether the running thread will create the tracee. Threads in other namespaces may have the same id. */
INLINE int is_armed(struct run *run)
{
	struct upid own = { 0 };
	u32 level = 0, namespace = 0;
	if (likely(!run->armed_by))
		return 0;
	struct pid *ids = ids_of(current_task());
	bpf_probe_read_kernel(&level, sizeof level, &ids->level);
	read_id(&own, ids, level);
	if ((u32)own.nr != run->armed_by)
		return 0;
	bpf_probe_read_kernel(&namespace, sizeof namespace, &own.ns->ns.inum);
	if (namespace != run->namespace)
		return 0;
	run->level = level;
	return 1;
}

/* The id of a new task in our namespace. */
INLINE u32 id_here(struct run *run, struct task_struct *task, u32 tid)
{
	struct upid id = { 0 };
	if (likely(!run->level))
		return tid;
	read_id(&id, ids_of(task), run->level);
	return id.nr;
}

INLINE s64 fork_value(u32 tid, u32 id)
{
	return (s64)((u64)id << 32 | tid);
}

/* The open file behind a descriptor of the running task; 0 if there is none. */
INLINE u64 file_of(struct task_struct *task, u32 fd)
{
	struct files_struct *files = READ(task->files);
	u64 file = 0;
	if (!files)
		return 0;
	struct fdtable *table = READ(files->fdt);
	if (fd >= READ(table->max_fds))
		return 0;
	bpf_probe_read_kernel(&file, sizeof file, &READ(table->fd)[fd]);
	return file;
}

INLINE u64 inode_of(u64 file)
{
	u64 inode = 0;
	bpf_probe_read_kernel(&inode, sizeof inode, &((struct file *)file)->f_inode);
	return inode;
}

INLINE int is_our_stdout(struct run *run, u64 file)
{
	if (!file)
		return 0;
	if (likely(file == run->stdout_file))
		return 1;
	return run->match_inode && inode_of(file) == run->stdout_inode;
}

/* The tracee enters its first execve. Its descriptor 1 is still the stdout that we gave it. */
INLINE void first_exec_begins(struct run *run, struct task_struct *task)
{
	run->exec_begun = 1;
	run->stdout_file = file_of(task, 1);
	if (run->stdout_file)
		run->stdout_inode = inode_of(run->stdout_file);
}

/* The file descriptor that an output call writes to. */
INLINE u32 output_descriptor(u64 saved_registers, u32 means, u32 compat)
{
	struct pt_regs *regs = (struct pt_regs *)saved_registers;
	unsigned long fd = ~0UL;
	const void *from = means == 1 ? argument_address(regs, 0, compat) :
			   means == 2 ? argument_address(regs, 1, compat) : argument_address(regs, 2, compat);
	bpf_probe_read_kernel(&fd, sizeof fd, from);
	return (u32)fd;
}
