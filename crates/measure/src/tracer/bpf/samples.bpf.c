/*
 * Samples of user code, with what a reader of an interpreter's frames needs: the registers, the stack, and the objects to
 * which the stack leads. They are read after the run, when the process is gone. Without that, the process has to be stopped at
 * each sample.
 *
 * What the objects of an interpreter look like is in tables (`struct image`): which pointers lead to which kinds of objects.
 * Needs Linux 5.17 (`bpf_loop`).
 */
#include "run.h"
#include "samples_session.h"

static u32 (*bpf_get_smp_processor_id)(void) = (void *)8;
static long (*bpf_loop)(u32 times, void *function, void *context, u64 flags) = (void *)181;

#define PAGE 4096
/* Objects of a sample, and a power of two for the table of those that were met. */
#define QUEUE 2048
#define MET 2048
/* Contents that are remembered over all samples: a power of two. */
#define REMEMBERED (64 << 10)
/* Namespaces of process ids do not lie deeper. */
#define MOST_NAMESPACES 8
/* More words of an object are no pointers that matter. */
#define MOST_WORDS 160
/* Where a frame of V8 has the context and the function, in words below the frame pointer. */
#define CONTEXT 1
#define FUNCTION 2
/* `StringRepresentationTag` of V8 (`src/objects/instance-type.h`). */
enum { CONS = 1, EXTERNAL = 2, SLICED = 3, THIN = 5 };

/* An object that is to be copied. */
struct item {
	u64 address;
	u32 kind;
	u32 padding;
};

/* What a processor needs while it takes a sample. */
struct scratch {
	u32 first;
	u32 last;
	u32 used;
	u32 turn;
	struct item queue[QUEUE];
	u64 met[MET];
	struct sample sample;
	u8 room[PIECES + sizeof(struct piece) + 2 * LARGEST_PART];
};

struct {
	__uint(type, MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, MAP_FLAG_MMAPABLE);
	__type(key, u32);
	__type(value, struct samples_session);
} SESSION SEC(".maps");

/* One for each processor. */
struct {
	__uint(type, MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} SCRATCH SEC(".maps");

struct remembered {
	u64 of[REMEMBERED];
};

struct {
	__uint(type, MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct remembered);
} REMEMBER SEC(".maps");

struct {
	__uint(type, MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} EVENTS SEC(".maps");

/* What callbacks get. */
struct context {
	u32 image;
	u64 salt;
};

INLINE struct samples_session *session(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&SESSION, &zero);
}

INLINE struct scratch *scratch(void)
{
	u32 processor = bpf_get_smp_processor_id();
	return bpf_map_lookup_elem(&SCRATCH, &processor);
}

INLINE u64 mixed(u64 value)
{
	value ^= value >> 32;
	value *= 0x9e3779b97f4a7c15ull;
	return value ^ value >> 29;
}

/* Copies memory of the program, as a piece. Returns where its bytes are, or a negative number. */
static __attribute__((noinline)) long copied(struct scratch *s, u64 address, u32 bytes)
{
	u32 at = s->used;
	if (at >= PIECES || bytes > LARGEST_PART) {
		s->sample.cut++;
		return -1;
	}
	struct piece *piece = (struct piece *)(s->room + (at & (PIECES - 1) & ~7u));
	piece->address = address;
	piece->bytes = bytes;
	void *to = piece + 1;
	if (bpf_probe_read_user(to, bytes & (2 * LARGEST_PART - 1), (void *)address))
		return -1;
	s->used = at + sizeof *piece + ((bytes + 7) & ~7u);
	return at + sizeof *piece;
}

/* The word of a piece. */
INLINE u64 word(struct scratch *s, u64 at)
{
	return *(u64 *)(s->room + (at & (PIECES - 1) & ~7u));
}

static __attribute__((noinline)) int push(struct scratch *s, u64 address, u32 kind)
{
	u64 *met = &s->met[mixed(address) & (MET - 1)];
	u64 this = mixed((u64)s->turn << 32 | kind) ^ address;
	if (*met == this)
		return 0;
	*met = this;
	u32 last = s->last;
	if (last >= QUEUE) {
		s->sample.cut++;
		return 0;
	}
	struct item *item = &s->queue[last & (QUEUE - 1)];
	item->address = address;
	item->kind = kind;
	s->last = last + 1;
	return 0;
}

/* A value that may be a pointer. */
INLINE void follow(struct scratch *s, struct image *image, u64 value, u32 kind)
{
	if ((value & image->tag_mask) == image->tag)
		push(s, value - image->tag, kind);
}

/* Whether the first words of an object at this address are new. */
INLINE int is_new(struct scratch *s, u64 salt, u64 address, u64 at)
{
	u64 hash = mixed(address ^ salt);
	for (u32 n = 0; n < 6; n++)
		hash = mixed(hash ^ word(s, at + 8 * n));
	u32 zero = 0;
	struct remembered *remembered = bpf_map_lookup_elem(&REMEMBER, &zero);
	if (!remembered)
		return 1;
	u64 *place = &remembered->of[hash & (REMEMBERED - 1)];
	int is_new = *place != hash;
	*place = hash;
	return is_new;
}

/* The characters of a string of V8 (`src/objects/string.h`): behind its head, or those of other strings. External ones are in
 * the interpreter's file. */
INLINE void string(struct scratch *s, struct image *image, struct item *item, struct kind *kind, u64 at)
{
	u16 type = 0;
	u64 map = word(s, at) - image->tag;
	if (bpf_probe_read_user(&type, sizeof type, (void *)(map + image->type_at)))
		return;
	u32 length = *(u32 *)(s->room + ((at + image->length_at) & (PIECES - 1) & ~3u));
	u32 bytes = type & image->one_byte ? length : 2 * length;
	u32 representation = type & image->representation;
	u64 others[2] = { word(s, at + 16), word(s, at + 24) };
	if (representation == CONS || representation == SLICED || representation == THIN) {
		follow(s, image, others[0], item->kind);
		if (representation == CONS)
			follow(s, image, others[1], item->kind);
	} else if (representation != EXTERNAL && length <= kind->most && bytes <= kind->most) {
		copied(s, item->address + 16, bytes);
	}
}

INLINE void object(struct scratch *s, struct image *image, struct item *item, u64 salt)
{
	struct kind *kind = &image->kind[item->kind & (KINDS - 1)];
	long copy = copied(s, item->address, kind->bytes);
	if (copy < 0)
		return;
	u64 at = copy;
	/* what only looks like a pointer may lead to it as another kind */
	int is_new_one = kind->is_once ? is_new(s, salt ^ (u64)item->kind << 56, item->address, at) : 1;

	for (u32 n = 0; n < EDGES; n++) {
		struct edge *edge = &kind->edge[n];
		if (n < kind->edges && (is_new_one || !edge->rare))
			follow(s, image, word(s, at + edge->at), edge->to);
	}
	if (!is_new_one)
		return;
	if (kind->is_string) {
		string(s, image, item, kind, at);
		return;
	}
	if (!kind->unit)
		return;
	u32 count = *(u32 *)(s->room + ((at + kind->count_at) & (PIECES - 1) & ~3u));
	u32 more = count * kind->unit;
	if (count > kind->most || more > kind->most)
		return;
	long second = more ? copied(s, item->address + kind->bytes, more) : -1;
	if (more && second < 0) /* it may be smaller, at the end of the memory */
		second = copied(s, item->address + kind->bytes, more / 2);
	if (!kind->words_to)
		return;
	u32 from = kind->words_from + (count >= kind->many ? 8 * count : 0);
	for (u32 n = 0; n < MOST_WORDS; n++) {
		u32 offset = from + 8 * n;
		if (offset < kind->bytes)
			follow(s, image, word(s, at + offset), kind->words_to);
		else if (second >= 0 && offset - kind->bytes < more)
			follow(s, image, word(s, second + offset - kind->bytes), kind->words_to);
	}
}

static long visit(u32 index, struct context *context)
{
	struct samples_session *session_ = session();
	struct scratch *s = scratch();
	if (!s || !session_)
		return 1;
	u32 first = s->first;
	if (first >= s->last)
		return 1;
	struct item *item = &s->queue[first & (QUEUE - 1)];
	s->first = first + 1;
	struct image *image = &session_->image[context->image & (IMAGES - 1)];
	object(s, image, item, context->salt);
	return 0;
}

/* A word of the stack may be where a frame keeps its caller's frame pointer. */
static long look(u32 index, struct context *context)
{
	struct samples_session *session_ = session();
	struct scratch *s = scratch();
	if (!s || !session_)
		return 1;
	struct image *image = &session_->image[context->image & (IMAGES - 1)];
	u64 from = sizeof(struct piece), at = from + 8 * (index + FUNCTION);
	u64 sp = ((struct piece *)s->room)->address, end = sp + s->sample.stack;
	u64 pointer = sp + at - from;
	if (pointer + 8 > end)
		return 1;
	u64 caller = word(s, at);
	if (caller <= pointer || caller >= end || caller & 7)
		return 0;
	u64 function = word(s, at - 8 * FUNCTION);
	if ((word(s, at - 8 * CONTEXT) & image->tag_mask) != image->tag || (function & image->tag_mask) != image->tag)
		return 0;
	follow(s, image, function, image->function);
	u64 bytecode = at + image->bytecode;
	if (bytecode >= from && bytecode < at)
		follow(s, image, word(s, bytecode), image->of_bytecode);
	return 0;
}

/* Copies the stack page by page, up to where the arguments of the program begin. */
INLINE void stack(struct scratch *s, u64 sp, u64 start)
{
	u32 wanted = SAMPLED_STACK, have = 0;
	if (start > sp && start - sp < SAMPLED_STACK)
		wanted = start - sp;
	struct piece *piece = (struct piece *)s->room;
	for (u32 n = 0; n <= SAMPLED_STACK / PAGE && have < wanted; n++) {
		u32 part = PAGE - ((sp + have) & (PAGE - 1));
		if (part > wanted - have)
			part = wanted - have;
		void *to = s->room + sizeof *piece + (have & (2 * LARGEST_PART - 1));
		if (bpf_probe_read_user(to, part & (2 * PAGE - 1), (void *)(sp + have)))
			break;
		have += part;
	}
	piece->address = sp;
	piece->bytes = have;
	s->sample.stack = have;
	s->used = sizeof *piece + ((have + 7) & ~7u);
}

/* The id of a task in our namespace of process ids. */
static __attribute__((noinline)) u32 id_of(struct task_struct *task, u32 namespace)
{
	struct pid *ids = FETCH(task->thread_pid);
	for (u32 level = 0; level < MOST_NAMESPACES; level++) {
		struct upid id = {};
		read_id(&id, ids, level);
		if (id.ns && FETCH(id.ns->ns.inum) == namespace)
			return id.nr;
	}
	return 0;
}

/* The number of the image plus one. */
INLINE u32 image_of(struct samples_session *session_, struct mm_struct *mm)
{
	struct file *exe = FETCH(mm->exe_file);
	struct inode *inode = exe ? FETCH(exe->f_inode) : 0;
	if (!inode)
		return 0;
	u64 number = FETCH(inode->i_ino);
	u64 size = FETCH(inode->i_size);
	for (u32 n = 0; n < IMAGES; n++)
		if (session_->image[n].inode == number && session_->image[n].size == size && size)
			return n + 1;
	return 0;
}

#ifdef __TARGET_ARCH_x86
#define SAMPLED_REGISTERS 21
#define event_sp(event) (event)->sp
#define event_narrow(event) ((event)->cs != 0x33)
#else
#define SAMPLED_REGISTERS 34
#define event_sp(event) (event)->sp
#define event_narrow(event) ((event)->pstate & 0x10)
#endif

SEC("perf_event")
int sampled(struct software_event *event)
{
	u64 begun = bpf_ktime_get_ns();
	struct samples_session *session_ = session();
	struct scratch *s = scratch();
	if (!s || !session_)
		return 0;
	struct task_struct *task = current_task();
	u32 pid = id_of(FETCH(task->group_leader), session_->namespace);
	if (pid == session_->ours)
		return 0;
	struct mm_struct *mm = FETCH(task->mm);
	if (!mm)
		return 0;
	s->turn++;
	s->first = s->last = 0;
	s->sample.cut = 0;
	s->sample.at = begun;
	s->sample.pid = pid;
	s->sample.tid = id_of(task, session_->namespace);
#pragma unroll
	for (u32 n = 0; n < SAMPLED_REGISTERS; n++)
		s->sample.registers[n] = ((volatile u64 *)event)[n];
	u64 sp = event_sp(event);
	stack(s, sp, FETCH(mm->start_stack));

	u32 image = event_narrow(event) ? 0 : image_of(session_, mm);
	s->sample.image = image;
	if (image) {
		u64 salt = mixed((u64)pid << 32 | session_->run) ^ FETCH(task->self_exec_id);
		salt = mixed(salt ^ (u64)session_->forgotten << 32);
		struct context context = { .image = image - 1, .salt = salt };
		bpf_loop(s->sample.stack / 8, look, &context, 0);
		bpf_loop(QUEUE, visit, &context, 0);
	}

	u64 bytes = s->used;
	s->sample.bytes = bytes;
	if (bytes > PIECES + sizeof(struct piece) + LARGEST_PART ||
	    bpf_ringbuf_output(&EVENTS, &s->sample, sizeof s->sample + bytes, RINGBUF_NO_WAKEUP)) {
		__sync_fetch_and_add(&session_->lost, 1);
		s->sample.cut++;
	}
	if (s->sample.cut)
		__sync_fetch_and_add(&session_->forgotten, 1);
	__sync_fetch_and_add(&session_->nanos, bpf_ktime_get_ns() - begun);
	__sync_fetch_and_add(&session_->samples, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
