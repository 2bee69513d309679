/* Which processes of the machine are watched. */
#pragma once
#include "run.h"

struct scope {
	/* all processes of the machine, or those of this user or below this control group (cgroup2) at this depth */
	u32 everyone;
	u32 by_user;
	u32 user;
	u32 cgroup_level;
	u64 cgroup;
};

/* Whether the running process is one of them, and one that we may look at. */
INLINE int in_scope(struct run *run, struct scope *scope)
{
	if (!scope->everyone || !is_own(run))
		return 0;
	if (scope->by_user && (u32)bpf_get_current_uid_gid() != scope->user)
		return 0;
#ifndef BEFORE_5_12
	if (scope->cgroup && bpf_get_current_ancestor_cgroup_id(scope->cgroup_level) != scope->cgroup)
		return 0;
#endif
	return 1;
}
