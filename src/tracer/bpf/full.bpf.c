/*
 * Everything that a tracee's processes do: every system call (one record, written at its return), page fault (one
 * record, when it has been handled), exec, fork, exit, and every time that a thread was off the processor.
 *
 * Records go to a log that both sides map, from its beginning in every run, so that its pages are warm; what does not
 * fit goes to a ring buffer. Each program leaves by the cheapest test that can tell it to.
 */
#include "full.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct {
	__uint(type, MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, MAP_FLAG_MMAPABLE);
	__type(key, u32);
	__type(value, struct full_session);
} SESSION SEC(".maps");

struct log {
	u8 bytes[LOG_BYTES];
};

struct {
	__uint(type, MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, MAP_FLAG_MMAPABLE);
	__type(key, u32);
	__type(value, struct log);
} RECORDS SEC(".maps");

struct {
	__uint(type, MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} EVENTS SEC(".maps");

/* Processes of the tree besides the root. */
struct {
	__uint(type, MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, u32);
} TREE SEC(".maps");

/* Threads whose slot in the page was taken. */
struct {
	__uint(type, MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, struct thread_slot);
} OVERFLOW SEC(".maps");

INLINE struct full_session *current_session(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&SESSION, &zero);
}

INLINE int in_tree(struct full_session *s, u32 pid)
{
	if (likely(pid == s->root))
		return 1;
	if (s->others <= 0)
		return 0;
	/* the value is the run's root: an entry that an earlier run left behind is none */
	u32 *root = bpf_map_lookup_elem(&TREE, &pid);
	return root && *root == s->root;
}

INLINE void count_lost(struct full_session *s)
{
	__sync_fetch_and_add(&s->lost, 1);
}

/* Room for a record in the log; 0: it is full. */
INLINE void *log_room(struct full_session *s, u64 size)
{
	u32 zero = 0;
	u64 place = __sync_fetch_and_add(&s->logged, size);
	if (unlikely(place > LOG_BYTES - LARGEST_RECORD))
		return 0;
	struct log *log = bpf_map_lookup_elem(&RECORDS, &zero);
	return log ? log->bytes + place : 0;
}

/*
 * Fills a record of TYPE in by `fill`, in the log or else in the ring. `fill` is expanded twice: the verifier does not
 * let one pointer be either.
 */
#define WRITE_RECORD(s, TYPE, fill)                                                                          \
	do {                                                                                                 \
		TYPE *r = log_room(s, sizeof(TYPE));                                                         \
		if (likely(r != 0)) {                                                                        \
			fill;                                                                                \
		} else {                                                                                     \
			r = bpf_ringbuf_reserve(&EVENTS, sizeof(TYPE), 0);                                   \
			if (r) {                                                                             \
				fill;                                                                        \
				bpf_ringbuf_submit(r, RINGBUF_NO_WAKEUP);                                    \
			} else {                                                                             \
				count_lost(s);                                                               \
			}                                                                                    \
		}                                                                                            \
	} while (0)

INLINE void fill_head(struct record *r, u64 at, u64 pid_tid, u32 kind, u32 code, s64 value)
{
	r->at = at;
	r->pid = pid_tid >> 32;
	r->tid = (u32)pid_tid;
	r->kind = kind;
	r->code = code;
	r->value = value;
}

INLINE void emit(struct full_session *s, u64 at, u64 pid_tid, u32 kind, u32 code, s64 value)
{
	WRITE_RECORD(s, struct record, fill_head(r, at, pid_tid, kind, code, value));
}

/* The slot of a thread; one is made if it has none and `make` is set. */
INLINE struct thread_slot *slot_of(struct full_session *s, u32 tid, int make)
{
	struct thread_slot *slot = &s->slots[tid % SLOTS];
	if (likely(slot->tid == tid))
		return slot;
	if (s->overflown > 0) {
		struct thread_slot *other = bpf_map_lookup_elem(&OVERFLOW, &tid);
		if (other)
			return other;
	}
	if (!make)
		return 0;
	if (__sync_val_compare_and_swap(&slot->tid, 0, tid) == 0)
		return slot;
	struct thread_slot fresh = { .tid = tid };
	if (bpf_map_update_elem(&OVERFLOW, &tid, &fresh, 0)) {
		count_lost(s);
		return 0;
	}
	__sync_fetch_and_add(&s->overflown, 1);
	return bpf_map_lookup_elem(&OVERFLOW, &tid);
}

INLINE void free_slot(struct full_session *s, u32 tid)
{
	struct thread_slot *slot = &s->slots[tid % SLOTS];
	if (likely(slot->tid == tid)) {
		slot->call = 0;
		slot->entered = 0;
		slot->fault_entered = 0;
		slot->left = 0;
		slot->woken = 0;
		slot->tid = 0;
	} else if (s->overflown > 0 && bpf_map_delete_elem(&OVERFLOW, &tid) == 0) {
		__sync_fetch_and_add(&s->overflown, -1);
	}
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

INLINE int is_our_stdout(struct full_session *s, u64 file)
{
	if (!file)
		return 0;
	if (likely(file == s->stdout_file))
		return 1;
	return s->match_inode && inode_of(file) == s->stdout_inode;
}

INLINE void exec_begins(struct full_session *s, struct task_struct *task, u64 pid_tid, u32 call)
{
	if (!s->exec_begun) {
		s->exec_begun = 1;
		s->stdout_file = file_of(task, 1);
		if (s->stdout_file)
			s->stdout_inode = inode_of(s->stdout_file);
	}
	struct thread_slot *slot = slot_of(s, (u32)pid_tid, 1);
	u64 now = bpf_ktime_get_ns();
	emit(s, now, pid_tid, FULL_EXEC_ENTER, call, 0);
	if (!slot)
		return;
	slot->call = call | CALL_EXEC;
	slot->entered = now;
}

SEC("raw_tp/sys_enter")
int sys_enter(struct raw_tracepoint *ctx)
{
	struct full_session *s = current_session();
	if (!s || likely(!s->root))
		return 0;
	u64 pid_tid = bpf_get_current_pid_tgid();
	if (!in_tree(s, pid_tid >> 32))
		return 0;
	struct task_struct *task = bpf_get_current_task_btf();
	u32 compat = task_in_compat_call(task) != 0;
	u64 number = ctx->args[1];
	u32 means = number < CALLS ? s->meaning[number] : 0;
	means = compat ? means >> MEANS_COMPAT_SHIFT : means & 15;
	u32 call = ((u32)number & CALL_NUMBER) | (compat ? CALL_COMPAT : 0);
	if (unlikely(means == MEANS_EXEC)) {
		exec_begins(s, task, pid_tid, call);
		return 0;
	}
	if (unlikely(!s->exec_begun))
		return 0;
	if (means) {
		struct pt_regs *regs = (struct pt_regs *)ctx->args[0];
		unsigned long fd = ~0UL;
		const void *from = means == 1 ? argument_address(regs, 0, compat) :
				   means == 2 ? argument_address(regs, 1, compat) : argument_address(regs, 2, compat);
		bpf_probe_read_kernel(&fd, sizeof fd, from);
		if (is_our_stdout(s, file_of(task, (u32)fd)))
			call |= CALL_OUTPUT;
	}
	struct thread_slot *slot = slot_of(s, (u32)pid_tid, 1);
	if (!slot)
		return 0;
	slot->call = call;
	slot->entered = bpf_ktime_get_ns();
	return 0;
}

/* The registers that the kernel saved at its entry, in the order in which they lie (asm/ptrace.h, ABI of the core dump). */
#if defined(__TARGET_ARCH_x86)
struct saved_registers {
	u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};
#define SP_AFTER_IP 3
#define saved_ip(regs) (regs).ip
#define saved_sp(regs) (regs).sp
#define SAVED_ARGUMENTS(to, regs, compat)                                                                    \
	do {                                                                                                 \
		(to)[0] = (compat) ? (regs).bx : (regs).di;                                                  \
		(to)[1] = (compat) ? (regs).cx : (regs).si;                                                  \
		(to)[2] = (regs).dx;                                                                         \
		(to)[3] = (compat) ? (regs).si : (regs).r10;                                                 \
		(to)[4] = (compat) ? (regs).di : (regs).r8;                                                  \
		(to)[5] = (compat) ? (regs).bp : (regs).r9;                                                  \
	} while (0)
#else
struct saved_registers {
	u64 regs[31], sp, pc, pstate, orig_x0;
};
/* other architectures have no tracepoint that a fault passes when it is taken: this is not used */
#define SP_AFTER_IP 1
#define saved_ip(r) (r).pc
#define saved_sp(r) (r).sp
#define SAVED_ARGUMENTS(to, r, compat)                                                                       \
	do {                                                                                                 \
		(to)[0] = (r).orig_x0;                                                                       \
		(to)[1] = (r).regs[1];                                                                       \
		(to)[2] = (r).regs[2];                                                                       \
		(to)[3] = (r).regs[3];                                                                       \
		(to)[4] = (r).regs[4];                                                                       \
		(to)[5] = (r).regs[5];                                                                       \
	} while (0)
#endif

INLINE void fill_call(struct record_syscall *r, u64 now, u64 pid_tid, u32 kind, u32 call, s64 result, u64 entered,
		      struct saved_registers *regs)
{
	fill_head(&r->record, now, pid_tid, kind, call, result);
	r->entered = entered;
	r->ip = saved_ip(*regs);
	SAVED_ARGUMENTS(r->arguments, *regs, call & CALL_COMPAT);
	if (bpf_probe_read_user(r->stack, sizeof r->stack, (void *)saved_sp(*regs)))
		r->stack[0] = 0;
}

INLINE u64 argument_of(struct saved_registers *regs, u32 position, u32 compat)
{
	u64 all[6];
	SAVED_ARGUMENTS(all, *regs, compat);
	return position == 1 ? all[0] : position == 2 ? all[1] : position == 3 ? all[2] : all[3];
}

INLINE void fill_path(char *to, u64 from)
{
	if (bpf_probe_read_user_str(to, PATH_ROOM, (void *)from) < 0)
		to[0] = 0;
}

SEC("raw_tp/sys_exit")
int sys_exit(struct raw_tracepoint *ctx)
{
	struct full_session *s = current_session();
	if (!s || likely(!s->exec_begun))
		return 0;
	u64 now = bpf_ktime_get_ns();
	u64 pid_tid = bpf_get_current_pid_tgid();
	if (!in_tree(s, pid_tid >> 32))
		return 0;
	struct thread_slot *slot = slot_of(s, (u32)pid_tid, 0);
	if (!slot || !slot->entered)
		return 0;
	u64 entered = slot->entered;
	u32 call = slot->call;
	s64 result = (s64)ctx->args[1];
	slot->entered = 0;
	if (unlikely(call & CALL_EXEC)) {
		if (result == 0)
			s->exec_done = 1;
		emit(s, now, pid_tid, FULL_EXEC_EXIT, call & ~CALL_EXEC, result);
		if (result == 0)
			return 0;
	}
	struct saved_registers regs;
	bpf_probe_read_kernel(&regs, sizeof regs, (void *)ctx->args[0]);
	u32 number = call & CALL_NUMBER, compat = call & CALL_COMPAT;
	u32 paths = number < CALLS ? (compat ? s->compat_paths[number] : s->paths[number]) : 0;
	if (likely(!paths)) {
		WRITE_RECORD(s, struct record_syscall,
			     fill_call(r, now, pid_tid, FULL_SYSCALL, call, result, entered, &regs));
		return 0;
	}
	u64 first = argument_of(&regs, paths & 15, compat);
	if (likely(!(paths >> 4))) {
		WRITE_RECORD(s, struct record_syscall_path, {
			fill_call(&r->call, now, pid_tid, FULL_SYSCALL_PATH, call, result, entered, &regs);
			fill_path(r->path, first);
		});
		return 0;
	}
	u64 second = argument_of(&regs, paths >> 4, compat);
	WRITE_RECORD(s, struct record_syscall_paths, {
		fill_call(&r->call, now, pid_tid, FULL_SYSCALL_PATHS, call, result, entered, &regs);
		fill_path(r->path, first);
		fill_path(r->second, second);
	});
	return 0;
}

/* X86_PF_USER (arch/x86/include/asm/trap_pf.h) */
#define FAULT_OF_USER 4

INLINE int fault_taken(struct raw_tracepoint *ctx)
{
	struct full_session *s = current_session();
	if (!s || likely(!s->exec_begun))
		return 0;
	u64 pid_tid = bpf_get_current_pid_tgid();
	if (!in_tree(s, pid_tid >> 32))
		return 0;
	struct thread_slot *slot = slot_of(s, (u32)pid_tid, 1);
	if (!slot)
		return 0;
	struct saved_registers *regs = (struct saved_registers *)ctx->args[1];
	struct {
		u64 ip, between[SP_AFTER_IP - 1], sp;
	} at;
	bpf_probe_read_kernel(&at, sizeof at, &saved_ip(*regs));
	slot->fault_address = ctx->args[0];
	slot->fault_ip = at.ip;
	slot->fault_sp = at.sp;
	slot->fault_error = ctx->args[2];
	slot->fault_entered = bpf_ktime_get_ns();
	return 0;
}

SEC("raw_tp/page_fault_user")
int page_fault_user(struct raw_tracepoint *ctx)
{
	return fault_taken(ctx);
}

SEC("raw_tp/page_fault_kernel")
int page_fault_kernel(struct raw_tracepoint *ctx)
{
	return fault_taken(ctx);
}

INLINE void fill_fault(struct record_fault *r, u64 now, u64 pid_tid, struct thread_slot *slot, u32 major)
{
	fill_head(&r->record, now, pid_tid, FULL_FAULT, (slot->fault_error & ~FAULT_MAJOR) | major, slot->fault_address);
	r->entered = slot->fault_entered;
	r->ip = slot->fault_ip;
	if (!(slot->fault_error & FAULT_OF_USER) ||
	    bpf_probe_read_user(r->stack, sizeof r->stack, (void *)slot->fault_sp))
		r->stack[0] = 0;
}

INLINE int fault_handled(u32 major)
{
	struct full_session *s = current_session();
	if (!s || likely(!s->exec_begun))
		return 0;
	u64 now = bpf_ktime_get_ns();
	u64 pid_tid = bpf_get_current_pid_tgid();
	if (!in_tree(s, pid_tid >> 32))
		return 0;
	struct thread_slot *slot = slot_of(s, (u32)pid_tid, 0);
	if (!slot || !slot->fault_entered)
		return 0;
	WRITE_RECORD(s, struct record_fault, fill_fault(r, now, pid_tid, slot, major));
	slot->fault_entered = 0;
	return 0;
}

SEC("perf_event")
int fault_minor(void *ctx)
{
	return fault_handled(0);
}

SEC("perf_event")
int fault_major(void *ctx)
{
	return fault_handled(FAULT_MAJOR);
}

INLINE void fill_off_cpu(struct record_off_cpu *r, u64 now, u64 pid_tid, struct thread_slot *slot)
{
	fill_head(&r->record, now, pid_tid, FULL_OFF_CPU, slot->left_state, 0);
	r->left = slot->left;
	r->woken = slot->woken;
}

SEC("raw_tp/sched_switch")
int sched_switch(struct raw_tracepoint *ctx)
{
	struct full_session *s = current_session();
	if (!s || likely(!s->exec_begun))
		return 0;
	u64 now = bpf_ktime_get_ns();
	u64 leaving = bpf_get_current_pid_tgid();
	if (in_tree(s, leaving >> 32)) {
		struct thread_slot *slot = slot_of(s, (u32)leaving, 1);
		if (slot) {
			slot->left_state = ctx->args[0] ? OFF_PREEMPTED : (u32)ctx->args[3];
			slot->woken = 0;
			slot->left = now;
		}
	}
	struct task_struct *next = (struct task_struct *)ctx->args[2];
	u32 pid = 0, tid = 0;
	bpf_probe_read_kernel(&pid, sizeof pid, &next->tgid);
	if (!pid || !in_tree(s, pid))
		return 0;
	bpf_probe_read_kernel(&tid, sizeof tid, &next->pid);
	struct thread_slot *slot = slot_of(s, tid, 1);
	if (!slot)
		return 0;
	u64 entering = (u64)pid << 32 | tid;
	WRITE_RECORD(s, struct record_off_cpu, fill_off_cpu(r, now, entering, slot));
	slot->left = 0;
	return 0;
}

SEC("raw_tp/sched_wakeup")
int sched_wakeup(struct raw_tracepoint *ctx)
{
	struct full_session *s = current_session();
	if (!s || likely(!s->exec_begun))
		return 0;
	struct task_struct *woken = (struct task_struct *)ctx->args[0];
	u32 pid = 0, tid = 0;
	bpf_probe_read_kernel(&pid, sizeof pid, &woken->tgid);
	if (!pid || !in_tree(s, pid))
		return 0;
	bpf_probe_read_kernel(&tid, sizeof tid, &woken->pid);
	struct thread_slot *slot = slot_of(s, tid, 0);
	if (slot && slot->left)
		slot->woken = bpf_ktime_get_ns();
	return 0;
}

SEC("raw_tp/sched_prepare_exec")
int sched_prepare_exec(struct raw_tracepoint *ctx)
{
	struct full_session *s = current_session();
	if (!s || !s->exec_begun)
		return 0;
	u64 pid_tid = bpf_get_current_pid_tgid();
	if (in_tree(s, pid_tid >> 32))
		emit(s, bpf_ktime_get_ns(), pid_tid, FULL_EXEC_PREPARE, 0, 0);
	return 0;
}

INLINE void fill_kernel_string(char *to, const void *pointer_at)
{
	const char *from = 0;
	bpf_probe_read_kernel(&from, sizeof from, pointer_at);
	if (bpf_probe_read_kernel_str(to, PATH_ROOM, from) < 0)
		to[0] = 0;
}

INLINE void fill_image(struct record_image *r, u64 now, u64 pid_tid, u32 old_tid, struct linux_binprm *bprm,
		       struct mm_struct *mm)
{
	u64 from = mm->arg_start;
	u64 length = mm->arg_end - from;
	if (length > ARGV_ROOM)
		length = ARGV_ROOM;
	fill_head(&r->record, now, pid_tid, FULL_IMAGE, (u32)length, old_tid);
	r->start_code = mm->start_code;
	r->end_code = mm->end_code;
	r->start_data = mm->start_data;
	r->end_data = mm->end_data;
	r->start_brk = mm->start_brk;
	r->start_stack = mm->start_stack;
	bpf_probe_read_kernel(r->auxv, sizeof r->auxv, mm->saved_auxv);
	fill_kernel_string(r->path, &bprm->filename);
	fill_kernel_string(r->interpreter, &bprm->interp);
	if (bpf_probe_read_user(r->argv, length, (void *)from))
		r->argv[0] = 0;
}

SEC("raw_tp/sched_process_exec")
int sched_process_exec(struct raw_tracepoint *ctx)
{
	struct full_session *s = current_session();
	if (!s || !s->exec_begun)
		return 0;
	u64 now = bpf_ktime_get_ns();
	u64 pid_tid = bpf_get_current_pid_tgid();
	if (!in_tree(s, pid_tid >> 32))
		return 0;
	u32 old_tid = (u32)ctx->args[1];
	if (unlikely(old_tid != (u32)pid_tid)) {
		/* a thread other than the leader has called execve, and has taken the leader's id over */
		struct thread_slot *old = slot_of(s, old_tid, 0);
		struct thread_slot *taken = slot_of(s, (u32)pid_tid, 1);
		if (old && taken) {
			taken->call = old->call;
			taken->entered = old->entered;
			taken->left = 0;
		}
		free_slot(s, old_tid);
	}
	struct task_struct *task = bpf_get_current_task_btf();
	struct mm_struct *mm = task->mm;
	struct linux_binprm *bprm = (struct linux_binprm *)ctx->args[2];
	if (!mm)
		return 0;
	WRITE_RECORD(s, struct record_image, fill_image(r, now, pid_tid, old_tid, bprm, mm));
	return 0;
}

SEC("raw_tp/sched_process_fork")
int sched_process_fork(struct raw_tracepoint *ctx)
{
	struct full_session *s = current_session();
	if (!s)
		return 0;
	u64 pid_tid = bpf_get_current_pid_tgid();
	struct task_struct *child = (struct task_struct *)ctx->args[1];
	s32 pid = 0, tid = 0;
	if (likely(!s->root)) {
		if (s->armed_by != (u32)pid_tid)
			return 0;
		bpf_probe_read_kernel(&pid, sizeof pid, &child->tgid);
		s->armed_by = 0;
		s->root = pid;
		return 0;
	}
	if (!in_tree(s, pid_tid >> 32))
		return 0;
	u64 now = bpf_ktime_get_ns();
	bpf_probe_read_kernel(&pid, sizeof pid, &child->tgid);
	bpf_probe_read_kernel(&tid, sizeof tid, &child->pid);
	if (pid != (s32)(pid_tid >> 32)) {
		u32 root = s->root, key = pid;
		if (bpf_map_update_elem(&TREE, &key, &root, 0))
			count_lost(s);
		else
			__sync_fetch_and_add(&s->others, 1);
	}
	emit(s, now, pid_tid, FULL_FORK, pid, tid);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int sched_process_exit(struct raw_tracepoint *ctx)
{
	struct full_session *s = current_session();
	if (!s || !s->root)
		return 0;
	u64 pid_tid = bpf_get_current_pid_tgid();
	u32 pid = pid_tid >> 32;
	if (!in_tree(s, pid))
		return 0;
	u64 now = bpf_ktime_get_ns();
	struct thread_slot *slot = slot_of(s, (u32)pid_tid, 0);
	if (slot && slot->entered)
		emit(s, slot->entered, pid_tid, FULL_UNFINISHED, slot->call, 0);
	struct task_struct *task = bpf_get_current_task_btf();
	struct signal_struct *signal = task->signal;
	u32 group_dead = signal->live.counter == 0;
	emit(s, now, pid_tid, FULL_EXIT, group_dead, task->exit_code);
	free_slot(s, (u32)pid_tid);
	/* two threads that exit at once both find the group dead: only one of them finds the entry */
	if (group_dead && pid != s->root && !bpf_map_delete_elem(&TREE, &pid))
		__sync_fetch_and_add(&s->others, -1);
	return 0;
}

/* As in phases.bpf.c: `exit_notify` tells the parent, the memory and the files are given back. */
SEC("raw_tp/signal_generate")
int signal_generate(struct raw_tracepoint *ctx)
{
	struct full_session *s = current_session();
	if (!s || !s->root || (u32)ctx->args[0] != SIGCHLD)
		return 0;
	u64 pid_tid = bpf_get_current_pid_tgid();
	if (!in_tree(s, pid_tid >> 32) && pid_tid >> 32 != s->root)
		return 0;
	if (bpf_get_current_task_btf()->flags & PF_EXITING)
		emit(s, bpf_ktime_get_ns(), pid_tid, FULL_PARENT_TOLD, 0, 0);
	return 0;
}
