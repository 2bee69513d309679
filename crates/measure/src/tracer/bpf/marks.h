/*
 * The calls that look up paths, among which are marks. They are looked at only where marks are wanted.
 */
#pragma once
#include "run.h"

/* In the table `meaning`, besides those of run.h: this + the position of the path of a call that looks it up. */
#define MEANS_LOOKUP 6

/* "MARK" in little-endian order: the paths of marks begin with it, and then with `:`, `+` or `-`. */
#define MARK 0x4b52414d

INLINE int begins_as_mark(u64 start)
{
	u8 fifth = start >> 32;
	return (u32)start == MARK && (fifth == ':' || fifth == '+' || fifth == '-');
}

/* Whether a path begins as a mark does. One that is not in memory yet may: its call will bring it there. */
INLINE int may_be_mark(u64 path)
{
	u64 start = 0;
	return bpf_probe_read_user(&start, 5, (void *)path) || begins_as_mark(start);
}

/* The address of the path that a call looks up, at its entry and at its return. */
INLINE u64 looked_up(u64 saved_registers, u32 means, u32 compat)
{
	struct pt_regs *regs = (struct pt_regs *)saved_registers;
	unsigned long path = 0;
	const void *from = means == MEANS_LOOKUP ? kept_argument_address(regs, 0, compat)
						 : kept_argument_address(regs, 1, compat);
	bpf_probe_read_kernel(&path, sizeof path, from);
	return path;
}
