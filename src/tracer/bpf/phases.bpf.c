/*
 * The phases of one run: only the events that bound them (DESIGN: startup, setup, write, teardown).
 *
 * Raw tracepoints see every task of the machine, so each program first does the cheapest test that can tell it to
 * leave: the system-call number against a bit set, or "is anything in flight", before it asks who is running.
 * Raw `sys_enter`, not `syscalls:sys_enter_write`: the latter does not fire for 32-bit calls of x86-64.
 */
#include "session.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct {
	__uint(type, MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, MAP_FLAG_MMAPABLE);
	__type(key, u32);
	__type(value, struct session);
} SESSION SEC(".maps");

struct {
	__uint(type, MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} EVENTS SEC(".maps");

/* Processes of the tree besides the root. */
struct {
	__uint(type, MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, u32);
} TREE SEC(".maps");

/* Calls in flight whose slot in the page was taken. */
struct {
	__uint(type, MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct flight);
} OVERFLOW SEC(".maps");

/* io_uring writes to our stdout in flight, by their request. */
struct {
	__uint(type, MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, struct flight);
} URING SEC(".maps");

INLINE struct session *current_session(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&SESSION, &zero);
}

INLINE int in_tree(struct session *s, u32 pid)
{
	if (likely(pid == s->root))
		return 1;
	if (s->others <= 0)
		return 0;
	/* the value is the run's root: an entry that an earlier run left behind is none */
	u32 *root = bpf_map_lookup_elem(&TREE, &pid);
	return root && *root == s->root;
}

INLINE void emit(struct session *s, u64 at, u64 pid_tid, u32 kind, u32 code, s64 value)
{
	struct record r = { at, pid_tid >> 32, (u32)pid_tid, kind, code, value };
	u64 place = __sync_fetch_and_add(&s->logged, 1);
	if (likely(place < LOG))
		s->log[place] = r;
	else if (bpf_ringbuf_output(&EVENTS, &r, sizeof r, RINGBUF_NO_WAKEUP))
		__sync_fetch_and_add(&s->lost, 1);
}

/* The open file behind a descriptor of the running task; 0 if there is none. */
INLINE u64 file_of(struct task_struct *task, u32 fd)
{
	struct files_struct *files = task->files;
	u64 file = 0;
	if (!files)
		return 0;
	struct fdtable *table = files->fdt;
	if (fd >= table->max_fds)
		return 0;
	bpf_probe_read_kernel(&file, sizeof file, &table->fd[fd]);
	return file;
}

INLINE u64 inode_of(u64 file)
{
	u64 inode = 0;
	bpf_probe_read_kernel(&inode, sizeof inode, &((struct file *)file)->f_inode);
	return inode;
}

INLINE int is_our_stdout(struct session *s, u64 file)
{
	if (!file)
		return 0;
	if (likely(file == s->stdout_file))
		return 1;
	return s->match_inode && inode_of(file) == s->stdout_inode;
}

/* Remembers that this thread is inside a call whose return matters. */
INLINE void take_off(struct session *s, u32 tid, u32 call, u64 now)
{
	struct flight *slot = &s->flights[tid % FLIGHTS];
	__sync_fetch_and_add(&s->in_flight, 1);
	if (likely(__sync_val_compare_and_swap(&slot->tid, 0, tid) == 0)) {
		slot->call = call;
		slot->entered = now;
		return;
	}
	struct flight f = { tid, call, now };
	__sync_fetch_and_add(&s->overflown, 1);
	if (bpf_map_update_elem(&OVERFLOW, &tid, &f, 0))
		__sync_fetch_and_add(&s->lost, 1);
}

/* Ends this thread's flight, if it is in one. */
INLINE int land(struct session *s, u32 tid, struct flight *landed)
{
	struct flight *f = &s->flights[tid % FLIGHTS];
	if (likely(f->tid == tid)) {
		*landed = *f;
		f->tid = 0;
	} else {
		if (s->overflown <= 0)
			return 0;
		f = bpf_map_lookup_elem(&OVERFLOW, &tid);
		if (!f)
			return 0;
		*landed = *f;
		bpf_map_delete_elem(&OVERFLOW, &tid);
		__sync_fetch_and_add(&s->overflown, -1);
	}
	__sync_fetch_and_add(&s->in_flight, -1);
	return 1;
}

INLINE void exec_begins(struct session *s, struct task_struct *task, u64 pid_tid, u32 call)
{
	u64 now = bpf_ktime_get_ns();
	if (!s->exec_begun) {
		s->exec_begun = 1;
		s->stdout_file = file_of(task, 1);
		if (s->stdout_file)
			s->stdout_inode = inode_of(s->stdout_file);
		/* what precedes is our own bookkeeping before the tracee's clock starts */
		now = bpf_ktime_get_ns();
	}
	emit(s, now, pid_tid, RECORD_EXEC_ENTER, call, 0);
	take_off(s, (u32)pid_tid, call | CALL_EXEC, now);
}

SEC("raw_tp/sys_enter")
int sys_enter(struct raw_tracepoint *ctx)
{
	u64 number = ctx->args[1];
	struct session *s = current_session();
	if (!s || number >= CALLS)
		return 0;
	u32 means = s->meaning[number];
	if (likely(!means) || !s->root)
		return 0;
	u64 pid_tid = bpf_get_current_pid_tgid();
	if (!in_tree(s, pid_tid >> 32))
		return 0;
	struct task_struct *task = bpf_get_current_task_btf();
	u32 compat = task_in_compat_call(task) != 0;
	means = compat ? means >> MEANS_COMPAT_SHIFT : means & 15;
	if (!means)
		return 0;
	u32 call = (u32)number | (compat ? CALL_COMPAT : 0);
	if (means == MEANS_EXEC) {
		exec_begins(s, task, pid_tid, call);
		return 0;
	}
	if (!s->exec_done)
		return 0;
	struct pt_regs *regs = (struct pt_regs *)ctx->args[0];
	unsigned long fd = ~0UL;
	const void *from = means == 1 ? argument_address(regs, 0, compat) :
			   means == 2 ? argument_address(regs, 1, compat) : argument_address(regs, 2, compat);
	bpf_probe_read_kernel(&fd, sizeof fd, from);
	if (is_our_stdout(s, file_of(task, (u32)fd)))
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
	__sync_fetch_and_add(&s->output_writes, 1);
	__sync_fetch_and_add(&s->output_bytes, result);
}

SEC("raw_tp/sys_exit")
int sys_exit(struct raw_tracepoint *ctx)
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
	if (!(f.call & CALL_EXEC)) {
		output_returned(s, &f, pid_tid, result, now);
		return 0;
	}
	if (result == 0)
		s->exec_done = 1;
	emit(s, now, pid_tid, RECORD_EXEC_EXIT, f.call & ~CALL_EXEC, result);
	return 0;
}

SEC("raw_tp/sched_prepare_exec")
int sched_prepare_exec(struct raw_tracepoint *ctx)
{
	struct session *s = current_session();
	if (!s || !s->root)
		return 0;
	u64 pid_tid = bpf_get_current_pid_tgid();
	if (in_tree(s, pid_tid >> 32))
		emit(s, bpf_ktime_get_ns(), pid_tid, RECORD_EXEC_PREPARE, 0, 0);
	return 0;
}

SEC("raw_tp/sched_process_exec")
int sched_process_exec(struct raw_tracepoint *ctx)
{
	struct session *s = current_session();
	if (!s || !s->root)
		return 0;
	u64 pid_tid = bpf_get_current_pid_tgid();
	if (!in_tree(s, pid_tid >> 32))
		return 0;
	u64 now = bpf_ktime_get_ns();
	u32 old_tid = (u32)ctx->args[1];
	struct flight f;
	/* a thread other than the leader may have called execve: it has taken the leader's id over */
	if (unlikely(old_tid != (u32)pid_tid) && land(s, old_tid, &f))
		take_off(s, (u32)pid_tid, f.call, f.entered);
	if (likely(!s->exec_done)) {
		emit(s, now, pid_tid, RECORD_EXEC_COMMIT, 0, 0);
		return 0;
	}
	struct record_with_path r = { { now, pid_tid >> 32, (u32)pid_tid, RECORD_EXEC_COMMIT, 0, old_tid } };
	struct linux_binprm *bprm = (struct linux_binprm *)ctx->args[2];
	const char *filename = 0;
	bpf_probe_read_kernel(&filename, sizeof filename, &bprm->filename);
	long length = bpf_probe_read_kernel_str(r.path, sizeof r.path, filename);
	r.record.code = length > 0 ? length : 0;
	if (bpf_ringbuf_output(&EVENTS, &r, sizeof r, RINGBUF_NO_WAKEUP))
		__sync_fetch_and_add(&s->lost, 1);
	return 0;
}

SEC("raw_tp/sched_process_fork")
int sched_process_fork(struct raw_tracepoint *ctx)
{
	struct session *s = current_session();
	if (!s)
		return 0;
	u64 pid_tid = bpf_get_current_pid_tgid();
	if (likely(!s->root)) {
		if (s->armed_by != (u32)pid_tid)
			return 0;
		s32 root = 0;
		struct task_struct *child = (struct task_struct *)ctx->args[1];
		bpf_probe_read_kernel(&root, sizeof root, &child->tgid);
		s->armed_by = 0;
		s->root = root;
		return 0;
	}
	if (!in_tree(s, pid_tid >> 32))
		return 0;
	u64 now = bpf_ktime_get_ns();
	struct task_struct *child = (struct task_struct *)ctx->args[1];
	s32 pid = 0, tid = 0;
	bpf_probe_read_kernel(&pid, sizeof pid, &child->tgid);
	bpf_probe_read_kernel(&tid, sizeof tid, &child->pid);
	if (pid != (s32)(pid_tid >> 32)) {
		u32 root = s->root, key = pid;
		if (bpf_map_update_elem(&TREE, &key, &root, 0))
			__sync_fetch_and_add(&s->lost, 1);
		else
			__sync_fetch_and_add(&s->others, 1);
	}
	emit(s, now, pid_tid, RECORD_FORK, pid, tid);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int sched_process_exit(struct raw_tracepoint *ctx)
{
	struct session *s = current_session();
	if (!s || !s->root)
		return 0;
	u64 pid_tid = bpf_get_current_pid_tgid();
	u32 pid = pid_tid >> 32;
	if (!in_tree(s, pid))
		return 0;
	u64 now = bpf_ktime_get_ns();
	struct flight f;
	if (s->in_flight > 0)
		land(s, (u32)pid_tid, &f); /* killed inside a call */
	struct task_struct *task = bpf_get_current_task_btf();
	struct signal_struct *signal = task->signal;
	u32 group_dead = signal->live.counter == 0;
	emit(s, now, pid_tid, RECORD_EXIT, group_dead, task->exit_code);
	/* two threads that exit at once both find the group dead: only one of them finds the entry */
	if (group_dead && pid != s->root && !bpf_map_delete_elem(&TREE, &pid))
		__sync_fetch_and_add(&s->others, -1);
	return 0;
}

/*
 * `exit_notify` tells the parent by SIGCHLD, once the process has given back its memory and closed its files. That is
 * the exit: since Linux 6.16 `sched_process_exit` comes before the memory is given back, which for a large program is
 * most of its teardown. The process may pass on zombies that it adopted at that moment, so the last signal counts.
 */
SEC("raw_tp/signal_generate")
int signal_generate(struct raw_tracepoint *ctx)
{
	struct session *s = current_session();
	if (!s || !s->root || (u32)ctx->args[0] != SIGCHLD)
		return 0;
	if (bpf_get_current_pid_tgid() >> 32 != s->root)
		return 0;
	if (bpf_get_current_task_btf()->flags & PF_EXITING)
		s->parent_told = bpf_ktime_get_ns();
	return 0;
}

/* include/uapi/linux/io_uring.h: WRITEV, WRITE_FIXED, SENDMSG, WRITE, SEND, SPLICE, TEE write to `fd` */
#define URING_WRITES (1ull << 2 | 1ull << 5 | 1ull << 9 | 1ull << 23 | 1ull << 26 | 1ull << 30 | 1ull << 33)
#define CALL_URING 0x10000

SEC("raw_tp/io_uring_submit_req")
int io_uring_submit_req(struct raw_tracepoint *ctx)
{
	struct session *s = current_session();
	if (!s || !s->exec_done)
		return 0;
	u64 pid_tid = bpf_get_current_pid_tgid();
	if (!in_tree(s, pid_tid >> 32))
		return 0;
	struct io_kiocb *req = (struct io_kiocb *)ctx->args[0];
	u8 opcode = 0;
	u32 flags = 0;
	s32 fd = -1;
	bpf_probe_read_kernel(&opcode, sizeof opcode, &req->opcode);
	bpf_probe_read_kernel(&flags, sizeof flags, &req->flags);
	if (opcode > 63 || !(URING_WRITES >> opcode & 1) || flags & REQ_F_FIXED_FILE)
		return 0;
	bpf_probe_read_kernel(&fd, sizeof fd, &req->cqe.fd);
	if (!is_our_stdout(s, file_of(bpf_get_current_task_btf(), fd)))
		return 0;
	u64 key = (u64)req;
	struct flight f = { (u32)pid_tid, CALL_URING + opcode, bpf_ktime_get_ns() };
	if (bpf_map_update_elem(&URING, &key, &f, 0))
		__sync_fetch_and_add(&s->lost, 1);
	else
		__sync_fetch_and_add(&s->uring, 1);
	return 0;
}

/* The second argument has been the request since 5.19; where the result lies has changed: the request has it, too. */
SEC("raw_tp/io_uring_complete")
int io_uring_complete(struct raw_tracepoint *ctx)
{
	struct session *s = current_session();
	if (!s || s->uring <= 0)
		return 0;
	u64 now = bpf_ktime_get_ns();
	u64 key = ctx->args[1];
	struct flight *f = bpf_map_lookup_elem(&URING, &key);
	if (!f)
		return 0;
	struct flight landed = *f;
	s32 result = 0;
	struct io_kiocb *req = (struct io_kiocb *)key;
	bpf_probe_read_kernel(&result, sizeof result, &req->cqe.res);
	bpf_map_delete_elem(&URING, &key);
	__sync_fetch_and_add(&s->uring, -1);
	/* the entry's thread, whoever completes it: its two records pair by that */
	u64 pid_tid = (bpf_get_current_pid_tgid() & 0xffffffff00000000ull) | landed.tid;
	output_returned(s, &landed, pid_tid, result, now);
	return 0;
}
