/*
 * The state of one run: a page that user space also maps. The including file defines STATE as its struct, whose first
 * member is `struct run run`.
 */
#pragma once

struct {
	__uint(type, MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, MAP_FLAG_MMAPABLE);
	__type(key, u32);
	__type(value, STATE);
} SESSION SEC(".maps");

INLINE STATE *current_session(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&SESSION, &zero);
}
