/* Writes of output by io_uring, which are not system calls. */
#pragma once
#include "tree.h"

/* include/uapi/linux/io_uring.h: WRITEV, WRITE_FIXED, SENDMSG, WRITE, SEND, SPLICE, TEE write to `fd` */
#define URING_WRITES (1ull << 2 | 1ull << 5 | 1ull << 9 | 1ull << 23 | 1ull << 26 | 1ull << 30 | 1ull << 33)
#define CALL_URING 0x10000

/* The thread that submitted a request, the time, and CALL_URING + its opcode. */
struct uring_flight {
	u64 pid_tid;
	u64 entered;
	u64 call;
};

/* The writes in flight, by request. */
struct {
	__uint(type, MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, struct uring_flight);
} URING SEC(".maps");

/* A thread of the tree submits a request. Returns 1 if it writes output and is now in flight. */
INLINE int uring_takes_off(struct run *run, u64 pid_tid, u64 request)
{
	struct io_kiocb *req = (struct io_kiocb *)request;
	u8 opcode = 0;
	u32 flags = 0;
	s32 fd = -1;
	bpf_probe_read_kernel(&opcode, sizeof opcode, &req->opcode);
	bpf_probe_read_kernel(&flags, sizeof flags, &req->flags);
	if (opcode > 63 || !(URING_WRITES >> opcode & 1) || flags & REQ_F_FIXED_FILE)
		return 0;
	bpf_probe_read_kernel(&fd, sizeof fd, &req->cqe.fd);
	if (!is_our_stdout(run, file_of(current_task(), fd)))
		return 0;
	struct uring_flight f = { pid_tid, bpf_ktime_get_ns(), CALL_URING + opcode };
	if (!bpf_map_update_elem(&URING, &request, &f, 0))
		return 1;
	count_lost(run);
	return 0;
}

/*
 * A request is complete. Returns 1 if it was a write of output of this run. The result is read from the request, because
 * its position in the tracepoint's arguments differs between kernels.
 */
INLINE int uring_lands(struct run *run, u64 request, struct uring_flight *landed, s32 *result)
{
	struct uring_flight *f = bpf_map_lookup_elem(&URING, &request);
	if (!f)
		return 0;
	*landed = *f;
	bpf_map_delete_elem(&URING, &request);
	/* left over from a run that was killed: the request now belongs to another process */
	if (!in_tree(run, landed->pid_tid >> 32))
		return 0;
	struct io_kiocb *req = (struct io_kiocb *)request;
	bpf_probe_read_kernel(result, sizeof *result, &req->cqe.res);
	return 1;
}
