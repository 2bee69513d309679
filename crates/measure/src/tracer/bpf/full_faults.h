/* Page faults, from the processor's trap to the end of the handling. */
#pragma once
#include "full_maps.h"

/* X86_PF_USER (arch/x86/include/asm/trap_pf.h) */
#define FAULT_OF_USER 4

INLINE int fault_taken(struct raw_tracepoint *ctx)
{
	u64 pid_tid;
	struct full_session *s;
	struct thread_slot *slot = slot_of_task(&s, &pid_tid, 1);
	if (!slot)
		return 0;
	struct pt_regs *regs = (struct pt_regs *)ctx->args[1];
	slot->fault_address = ctx->args[0];
	slot->fault_ip = saved_ip(regs);
	slot->fault_error = ctx->args[2];
	slot->fault_entered = bpf_ktime_get_ns();
	return 0;
}

TWICE("tp_btf/page_fault_user", page_fault_user)
{
	return fault_taken(ctx);
}

TWICE("tp_btf/page_fault_kernel", page_fault_kernel)
{
	return fault_taken(ctx);
}

/*
 * For processors whose traps have no tracepoints (arm64): the software event of every fault, which is counted when the
 * fault is taken. The event does not contain the processor's error code.
 */
SEC("perf_event")
int fault_begins(struct software_event *event)
{
	u64 pid_tid;
	struct full_session *s;
	struct thread_slot *slot = slot_of_task(&s, &pid_tid, 1);
	if (!slot)
		return 0;
	slot->fault_address = event->address;
	slot->fault_ip = event_ip(event);
	slot->fault_error = FAULT_BY_EVENT | (event_of_user(event) ? FAULT_OF_USER : 0);
	slot->fault_entered = bpf_ktime_get_ns();
	return 0;
}

INLINE void fill_fault(struct record_fault *r, u64 now, u64 pid_tid, struct thread_slot *slot, u32 major)
{
	fill_head(&r->record, now, pid_tid, FULL_FAULT, (slot->fault_error & ~FAULT_MAJOR) | major, slot->fault_address);
	r->entered = slot->fault_entered;
	r->ip = slot->fault_ip;
}

INLINE int fault_handled(u32 major)
{
	u64 pid_tid;
	struct full_session *s = session_of_task(&pid_tid);
	if (!s)
		return 0;
	u64 now = bpf_ktime_get_ns();
	struct thread_slot *slot = slot_of(s, (u32)pid_tid, 0);
	if (!slot || !slot->fault_entered)
		return 0;
	WRITE_RECORD(s, struct record_fault, fill_fault(r, now, pid_tid, slot, major));
	slot->fault_entered = 0;
	return 0;
}

/*
 * The kernel counts each handled fault for the task's memory control group, and has a tracepoint there (Linux 6.15). It
 * is the same place as that of the software events, without their path through the performance events.
 */
TWICE("tp_btf/count_memcg_events", count_memcg_events)
{
	if (!is_page_fault((u32)ctx->args[1]))
		return 0;
	return fault_handled(0);
}

/* For kernels without that tracepoint. */
SEC("perf_event")
int fault_minor(void *ctx)
{
	return fault_handled(0);
}

/* Major faults are rare and expensive anyway. If the fault has been recorded, this only marks it as major. */
SEC("perf_event")
int fault_major(void *ctx)
{
	u64 pid_tid;
	struct full_session *s;
	struct thread_slot *slot = slot_of_task(&s, &pid_tid, 0);
	if (!slot)
		return 0;
	if (slot->fault_entered)
		return fault_handled(FAULT_MAJOR);
	emit(s, bpf_ktime_get_ns(), pid_tid, FULL_FAULT_WAS_MAJOR, 0, 0);
	return 0;
}
