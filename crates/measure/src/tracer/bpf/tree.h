/* The processes of the tracee's tree. */
#pragma once
#include "run.h"

/*
 * A container has ids of its own. For them, the record of a fork also contains the child's id in our namespace, in the upper
 * half of its value. User space translates all records by it.
 */
struct member {
	u32 root; /* the tracee of the run: entries of an earlier run do not count */
	u32 id;	  /* in our namespace */
};

/* Processes of the tree besides the root. */
struct {
	__uint(type, MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, u32);
	__type(value, struct member);
} TREE SEC(".maps");

INLINE int in_tree(struct run *run, u32 pid)
{
	if (likely(pid == run->root))
		return 1;
	if (run->others <= 0)
		return 0;
	struct member *member = bpf_map_lookup_elem(&TREE, &pid);
	return member && member->root == run->root;
}

INLINE void add_to_tree(struct run *run, u32 pid, u32 id)
{
	struct member member = { run->root, id };
	if (bpf_map_update_elem(&TREE, &pid, &member, 0))
		count_lost(run);
	else
		ADD(&run->others, 1);
}

/* Two threads that exit at the same time both find the group dead, but only one of them finds the entry. */
INLINE void remove_from_tree(struct run *run, u32 pid)
{
	if (pid != run->root && !bpf_map_delete_elem(&TREE, &pid))
		ADD(&run->others, -1);
}
