//! `scope.h` in Rust: which processes of the machine are watched. The tests compare the two files.

use crate::tracer::watch::Scope;

/// `struct scope`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ScopeFields {
    everyone: u32,
    by_user: u32,
    user: u32,
    cgroup_level: u32,
    cgroup: u64,
}

impl From<Scope> for ScopeFields {
    fn from(scope: Scope) -> ScopeFields {
        ScopeFields {
            everyone: 1,
            by_user: scope.user.is_some().into(),
            user: scope.user.unwrap_or_default(),
            cgroup_level: scope.cgroup.map_or(0, |group| group.level),
            cgroup: scope.cgroup.map_or(0, |group| group.id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::c_header::assert_same_layout;
    use super::*;

    #[test]
    fn the_scope_matches_scope_h() {
        assert_same_layout!(ScopeFields, "scope", [everyone, by_user, user, cgroup_level, cgroup]);
    }
}
