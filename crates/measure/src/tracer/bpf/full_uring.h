/* Writes of output by io_uring. */
#pragma once
#include "full_maps.h"
#include "uring.h"

SEC("tp_btf/io_uring_submit_req")
int io_uring_submit_req(struct raw_tracepoint *ctx)
{
	u64 pid_tid;
	struct full_session *s = session_of_task(&pid_tid);
	if (s && s->run.exec_done)
		uring_takes_off(&s->run, pid_tid, ctx->args[0]);
	return 0;
}

INLINE void fill_output(struct record_output *r, u64 now, struct uring_flight *f, s64 result)
{
	fill_head(&r->record, now, f->pid_tid, FULL_URING_OUTPUT, (u32)f->call, result);
	r->entered = f->entered;
}

/* Since 5.19 the second argument is the request. */
SEC("tp_btf/io_uring_complete")
int io_uring_complete(struct raw_tracepoint *ctx)
{
	struct full_session *s = current_session();
	if (!s || likely(!s->run.exec_done))
		return 0;
	u64 now = bpf_ktime_get_ns();
	struct uring_flight landed;
	s32 result = 0;
	if (uring_lands(&s->run, ctx->args[1], &landed, &result))
		WRITE_RECORD(s, struct record_output, fill_output(r, now, &landed, result));
	return 0;
}
