/*
 * The parts of the kernel that our BPF programs need: types, helpers, map declarations, and the fields of kernel
 * structures that they read. Structures are partial on purpose. `preserve_access_index` makes clang emit CO-RE
 * relocations, and the loader adapts each access to the running kernel's BTF by field name, so the offsets that clang
 * sees here do not matter. The helper numbers are from include/uapi/linux/bpf.h and are ABI.
 */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define KERNEL_STRUCT __attribute__((preserve_access_index))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* BTF-defined maps (libbpf's convention): the types of the members contain the values. */
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name

enum { MAP_TYPE_HASH = 1, MAP_TYPE_ARRAY = 2, MAP_TYPE_PERCPU_ARRAY = 6, MAP_TYPE_RINGBUF = 27 };
enum { MAP_FLAG_MMAPABLE = 1 << 10 };
enum { RINGBUF_NO_WAKEUP = 1 };

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static u64 (*bpf_get_current_pid_tgid)(void) = (void *)14;
static u64 (*bpf_get_current_uid_gid)(void) = (void *)15;
static long (*bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*bpf_probe_read_kernel_str)(void *to, u32 size, const void *from) = (void *)115;
static long (*bpf_ringbuf_output)(void *ring, void *record, u64 size, u64 flags) = (void *)130;
#ifdef BEFORE_5_12
static struct task_struct *(*bpf_get_current_task)(void) = (void *)35;
#else
static struct task_struct *(*bpf_get_current_task_btf)(void) = (void *)158;
static u64 (*bpf_get_current_ancestor_cgroup_id)(int level) = (void *)123; /* in tracepoints since 5.14 */
#endif
static long (*bpf_probe_read_user)(void *to, u32 size, const void *from) = (void *)112;
static long (*bpf_probe_read_user_str)(void *to, u32 size, const void *from) = (void *)114;
static void *(*bpf_ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*bpf_ringbuf_submit)(void *record, u64 flags) = (void *)132;
static void (*bpf_ringbuf_discard)(void *record, u64 flags) = (void *)133;

/*
 * Reads a field through a helper. Newer kernels also permit a plain load (READ), but for each load of a pointer their
 * verifier searches all types of the kernel, by name, which takes 1 ms (`btf_nested_type_is_trusted` in
 * kernel/bpf/verifier.c). A watch is loaded for each command, so it loads no pointers where processes begin and end.
 */
#define FETCH(field)                                                                                         \
	({                                                                                                   \
		typeof(field) value_ = 0;                                                                    \
		bpf_probe_read_kernel(&value_, sizeof value_, &(field));                                     \
		value_;                                                                                      \
	})

/*
 * Each object is compiled twice. Kernels before 5.12 have no atomic operation that returns the old value, and before 5.11
 * the verifier does not know the type of the current task. For them (BEFORE_5_12) no memory is shared by processors that
 * allocate from it, and a helper reads the task's fields. Newer kernels get plain loads.
 */
#ifdef BEFORE_5_12
#define current_task() bpf_get_current_task()
/* In assembly, because newer clangs fetch the old value even if it is not used. */
#define ADD(place, value)                                                                                    \
	do {                                                                                                 \
		if (sizeof *(place) == 8)                                                                    \
			asm volatile("lock *(u64 *)(%0 + 0) += %1" : : "r"(place), "r"((u64)(value)) : "memory"); \
		else                                                                                         \
			asm volatile("lock *(u32 *)(%0 + 0) += %1" : : "r"(place), "w"((u32)(value)) : "memory"); \
	} while (0)
#define READ(field) FETCH(field)
#else
#define current_task() bpf_get_current_task_btf()
#define ADD(place, value) ((void)__sync_fetch_and_add(place, value))
#define READ(field) (field)
#endif

/* The arguments of a raw tracepoint. In `tp_btf` programs the verifier knows the types that they point to. */
struct raw_tracepoint {
	u64 args[0];
};

struct super_block {
	unsigned long s_magic;
} KERNEL_STRUCT;

struct inode {
	struct super_block *i_sb;
	u64 i_ino;
	u64 i_size;
} KERNEL_STRUCT;

struct file {
	struct inode *f_inode;
} KERNEL_STRUCT;

struct fdtable {
	u32 max_fds;
	struct file **fd;
} KERNEL_STRUCT;

struct files_struct {
	struct fdtable *fdt;
} KERNEL_STRUCT;

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
	int nr_threads;
	int group_exit_code;
	u32 flags;
} KERNEL_STRUCT;

#define SIGNAL_GROUP_EXIT 0x00000004 /* include/linux/sched/signal.h: `group_exit_code` is how the process ends */

struct sched_entity {
	u64 sum_exec_runtime;
} KERNEL_STRUCT;

struct thread_info {
	u32 status;
	unsigned long flags;
} KERNEL_STRUCT;

struct mm_struct {
	unsigned long start_code, end_code, start_data, end_data;
	unsigned long start_brk, start_stack, arg_start, arg_end;
	unsigned long saved_auxv[1];
	struct file *exe_file;
} KERNEL_STRUCT;

struct ns_common {
	unsigned int inum;
} KERNEL_STRUCT;

struct pid_namespace {
	struct ns_common ns;
} KERNEL_STRUCT;

struct mnt_namespace {
	struct ns_common ns;
} KERNEL_STRUCT;

struct nsproxy {
	struct mnt_namespace *mnt_ns;
} KERNEL_STRUCT;

/* A process id in one namespace. It is copied as a whole: every kernel that we know has just these two fields. */
struct upid {
	int nr;
	struct pid_namespace *ns;
};

/* The ids of a task: in the machine's namespace (level 0), in one below it, and so on to the task's own namespace. */
struct pid {
	unsigned int level;
	struct upid numbers[1];
} KERNEL_STRUCT;

/* include/linux/sched.h */
#define PF_EXITING 0x00000004
#define PF_IO_WORKER 0x00000010
#define PF_USER_WORKER 0x00004000
#define TASK_ASLEEP 0x3 /* interruptible or not */
#define TASK_DEAD 0x80
#define SIGBUS 7
#define SIGSEGV 11
#define SIGCHLD 17

typedef struct {
	u32 val;
} kuid_t;

typedef struct {
	u32 val;
} kgid_t;

/* 64 bits, in one number or, until 6.2, in two */
typedef struct {
	u64 val;
} kernel_cap_t;

struct cred {
	kuid_t uid;
	kgid_t gid;
	kuid_t suid;
	kgid_t sgid;
	kuid_t euid;
	kgid_t egid;
	kernel_cap_t cap_permitted;
} KERNEL_STRUCT;

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	u32 flags;
	int on_cpu; /* with CONFIG_SMP */
	struct sched_entity se;
	struct mm_struct *mm;
	s32 pid;
	s32 tgid;
	int exit_code;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	unsigned long nvcsw;
	struct pid *thread_pid;
	struct files_struct *files;
	struct cred *cred;
	struct nsproxy *nsproxy;
	struct signal_struct *signal;
	u64 self_exec_id;
} KERNEL_STRUCT;

/* Until 5.13. */
struct task_struct___5_13 {
	long state;
} KERNEL_STRUCT;

/* BPF_FIELD_BYTE_OFFSET and BPF_FIELD_EXISTS (tools/lib/bpf/bpf_core_read.h): the loader inserts the offset, and 1 or 0. */
#define field_offset(field) __builtin_preserve_field_info(field, 0)
#define field_exists(field) __builtin_preserve_field_info(field, 2)

INLINE u32 state_of(struct task_struct *task)
{
	if (field_exists(task->__state))
		return task->__state;
	return (u32)((struct task_struct___5_13 *)task)->state;
}

/* include/linux/vm_event_item.h: the counts of a memory control group. The numbers are those of the running kernel. */
enum vm_event_item { PGFAULT };
#define is_page_fault(item) ((item) == __builtin_preserve_enum_value(*(enum vm_event_item *)PGFAULT, 1))

/* include/linux/sched/task.h, since 6.4: what a thread of vhost is created with */
struct kernel_clone_args {
	u32 user_worker : 1;
} KERNEL_STRUCT;

/*
 * Whether a thread that ends had an event when it was created: workers of io_uring and, since 6.4, of vhost had none
 * (`create_io_thread` and `vhost_task_create` call `copy_process` without `kernel_clone`). Older kernels give the second
 * flag another meaning.
 */
INLINE int is_announced(struct task_struct *task)
{
	struct kernel_clone_args *arguments = 0;
	u32 unannounced = PF_IO_WORKER;
	if (field_exists(arguments->user_worker))
		unannounced |= PF_USER_WORKER;
	return !(READ(task->flags) & unannounced);
}

struct linux_binprm {
	const char *filename;
	const char *interp;
} KERNEL_STRUCT;

/* io_uring/io_uring_types.h: a request. `fd` and the completion's `flags` have the same offset. */
struct io_cqe {
	s32 res;
	s32 fd;
} KERNEL_STRUCT;

struct io_kiocb {
	u8 opcode;
	u32 flags;
	struct io_cqe cqe;
} KERNEL_STRUCT;

#define REQ_F_FIXED_FILE 1 /* `fd` is an index into the ring's registered files */

/*
 * The registers that the kernel saved at its entry. `argument_address` is the address of the field with the native (or
 * 32-bit) argument number n of a system call. SAVED_ARGUMENTS reads all six.
 */
#if defined(__TARGET_ARCH_x86)

struct pt_regs {
	unsigned long bx, cx, dx, si, di, bp, r8, r9, r10, orig_ax, ip, sp;
} KERNEL_STRUCT;

#define TS_COMPAT 0x0002 /* arch/x86/include/asm/thread_info.h: the task is in an `int 0x80` or 32-bit call */
#define task_in_compat_call(task) (READ((task)->thread_info.status) & TS_COMPAT)

#define argument_address(regs, n, compat)                                                                    \
	((compat) ? ((n) == 0 ? &(regs)->bx : (n) == 1 ? &(regs)->cx : &(regs)->dx)                          \
		  : ((n) == 0 ? &(regs)->di : (n) == 1 ? &(regs)->si : &(regs)->dx))

/* As it was at the call's entry, also when it has returned. */
#define kept_argument_address argument_address

#define saved_ip(regs) (regs)->ip
#define saved_number(regs) (regs)->orig_ax

/* arch/x86/include/uapi/asm/stat.h */
#define STAT_MODE 24
#define STAT_RDEV 40

/* The context of a software event's program: include/uapi/linux/bpf_perf_event.h, arch/x86/include/uapi/asm/ptrace.h. */
struct software_event {
	u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
	u64 sample_period;
	u64 address;
};
#define event_ip(event) (event)->ip
#define event_of_user(event) (((event)->cs & 3) == 3)
#define SAVED_ARGUMENTS(to, regs, compat)                                                                    \
	do {                                                                                                 \
		(to)[2] = (regs)->dx;                                                                        \
		if (compat) {                                                                                \
			(to)[0] = (regs)->bx;                                                                \
			(to)[1] = (regs)->cx;                                                                \
			(to)[3] = (regs)->si;                                                                \
			(to)[4] = (regs)->di;                                                                \
			(to)[5] = (regs)->bp;                                                                \
		} else {                                                                                     \
			(to)[0] = (regs)->di;                                                                \
			(to)[1] = (regs)->si;                                                                \
			(to)[3] = (regs)->r10;                                                               \
			(to)[4] = (regs)->r8;                                                                \
			(to)[5] = (regs)->r9;                                                                \
		}                                                                                            \
	} while (0)

#elif defined(__TARGET_ARCH_arm64)

struct pt_regs {
	u64 regs[31];
	u64 sp, pc;
	u64 orig_x0;
	s32 syscallno;
} KERNEL_STRUCT;

#define TIF_32BIT 22 /* arch/arm64/include/asm/thread_info.h */
#define task_in_compat_call(task) (READ((task)->thread_info.flags) & (1UL << TIF_32BIT))
#define argument_address(regs_, n, compat) (&(regs_)->regs[n])
#define kept_argument_address(regs_, n, compat) ((n) == 0 ? &(regs_)->orig_x0 : &(regs_)->regs[n])

#define saved_ip(regs) (regs)->pc
#define saved_number(regs) (regs)->syscallno

/* include/uapi/asm-generic/stat.h */
#define STAT_MODE 16
#define STAT_RDEV 32

/* The context of a software event's program: include/uapi/linux/bpf_perf_event.h, arch/arm64/include/uapi/asm/ptrace.h. */
struct software_event {
	u64 regs[31];
	u64 sp, pc, pstate;
	u64 sample_period;
	u64 address;
};
#define PSR_MODE_USER_MASK 0xf /* 0: exception level 0, of either word size */
#define event_ip(event) (event)->pc
#define event_of_user(event) (!((event)->pstate & PSR_MODE_USER_MASK))
#define SAVED_ARGUMENTS(to, regs_, compat)                                                                   \
	do {                                                                                                 \
		(to)[0] = (regs_)->orig_x0;                                                                  \
		(to)[1] = (regs_)->regs[1];                                                                  \
		(to)[2] = (regs_)->regs[2];                                                                  \
		(to)[3] = (regs_)->regs[3];                                                                  \
		(to)[4] = (regs_)->regs[4];                                                                  \
		(to)[5] = (regs_)->regs[5];                                                                  \
	} while (0)

#else
#error "unsupported architecture: teach kernel.h where system-call arguments lie"
#endif

#define STAT_SIZE 48
/* include/uapi/linux/stat.h */
#define STATX_MODE 28
#define STATX_SIZE 40
#define STATX_RDEV 128 /* major and minor number */

/* include/uapi/linux/stat.h, include/linux/stat.h */
#define IS_DEVICE(mode) (((mode) & 0170000) == 0020000 || ((mode) & 0170000) == 0060000)

/* The argument of a system call at a position, counted from 1. */
INLINE u64 argument_of(struct pt_regs *regs, u32 position, u32 compat)
{
	u64 all[6];
	SAVED_ARGUMENTS(all, regs, compat);
	return position == 1   ? all[0]
	       : position == 2 ? all[1]
	       : position == 3 ? all[2]
	       : position == 4 ? all[3]
			       : all[4];
}
