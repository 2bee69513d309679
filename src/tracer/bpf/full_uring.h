/* Writes of output by io_uring, which are no system calls: see phases.bpf.c. */
#pragma once
#include "full_state.h"

/* include/uapi/linux/io_uring.h: WRITEV, WRITE_FIXED, SENDMSG, WRITE, SEND, SPLICE, TEE write to `fd` */
#define URING_WRITES (1ull << 2 | 1ull << 5 | 1ull << 9 | 1ull << 23 | 1ull << 26 | 1ull << 30 | 1ull << 33)
#define CALL_URING 0x10000

struct uring_flight {
	u64 pid_tid;
	u64 entered;
	u64 call;
};

/* In flight, by their request. */
struct {
	__uint(type, MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, struct uring_flight);
} URING SEC(".maps");

SEC("tp_btf/io_uring_submit_req")
int io_uring_submit_req(struct raw_tracepoint *ctx)
{
	u64 pid_tid;
	struct full_session *s = session_of_task(&pid_tid);
	if (!s || !s->run.exec_done)
		return 0;
	u64 key = ctx->args[0];
	struct io_kiocb *req = (struct io_kiocb *)key;
	u8 opcode = 0;
	u32 flags = 0;
	s32 fd = -1;
	bpf_probe_read_kernel(&opcode, sizeof opcode, &req->opcode);
	bpf_probe_read_kernel(&flags, sizeof flags, &req->flags);
	if (opcode > 63 || !(URING_WRITES >> opcode & 1) || flags & REQ_F_FIXED_FILE)
		return 0;
	bpf_probe_read_kernel(&fd, sizeof fd, &req->cqe.fd);
	if (!is_our_stdout(&s->run, file_of(bpf_get_current_task_btf(), fd)))
		return 0;
	struct uring_flight f = { pid_tid, bpf_ktime_get_ns(), CALL_URING + opcode };
	if (bpf_map_update_elem(&URING, &key, &f, 0))
		count_lost(&s->run);
	return 0;
}

INLINE void fill_output(struct record_output *r, u64 now, struct uring_flight *f, s64 result)
{
	fill_head(&r->record, now, f->pid_tid, FULL_URING_OUTPUT, (u32)f->call, result);
	r->entered = f->entered;
}

SEC("tp_btf/io_uring_complete")
int io_uring_complete(struct raw_tracepoint *ctx)
{
	struct full_session *s = current_session();
	if (!s || likely(!s->run.exec_done))
		return 0;
	u64 now = bpf_ktime_get_ns();
	u64 key = ctx->args[1];
	struct uring_flight *f = bpf_map_lookup_elem(&URING, &key);
	if (!f)
		return 0;
	struct uring_flight landed = *f;
	bpf_map_delete_elem(&URING, &key);
	/* left over from a run that was killed: the request is somebody else's now */
	if (!in_tree(&s->run, landed.pid_tid >> 32))
		return 0;
	s32 result = 0;
	struct io_kiocb *req = (struct io_kiocb *)key;
	bpf_probe_read_kernel(&result, sizeof result, &req->cqe.res);
	WRITE_RECORD(s, struct record_output, fill_output(r, now, &landed, result));
	return 0;
}
