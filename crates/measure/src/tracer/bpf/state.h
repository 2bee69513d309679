/*
 * The state of one run: a page that user space maps, too. Who includes this says by STATE which struct it is; its first
 * member is a `struct run run`.
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
