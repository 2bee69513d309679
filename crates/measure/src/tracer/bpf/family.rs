//! The processes of a run that live besides its root, as the kernel side knows them.
//!
//! Only this list decides whom we kill. Events may be lost, and by them a process that has ended would seem to live,
//! while its id belongs to a stranger.

use super::attach::{AttachError, taken};
use aya::Ebpf;
use aya::maps::{HashMap, MapData};
use std::collections::BTreeSet;

/// The map `TREE` of `tree.h`: process ids of the machine, each with the root of its run and its id in our namespace.
pub(super) struct Family {
    tree: HashMap<MapData, u32, [u32; 2]>,
}

impl Family {
    pub(super) fn of(programs: &mut Ebpf) -> Result<Family, AttachError> {
        let tree = HashMap::try_from(taken(programs, "TREE")?)
            .map_err(|error| AttachError::Map { map: "TREE", cause: error.to_string() })?;
        Ok(Family { tree })
    }

    /// The processes that descend from `root` (an id of the machine) and have not exited, by their ids in our namespace.
    pub(super) fn living(&self, root: u32) -> BTreeSet<u32> {
        self.ids(root).map(|(_, id)| id).collect()
    }

    /// The same, by both ids.
    fn ids(&self, root: u32) -> impl Iterator<Item = (u32, u32)> {
        let found = self.tree.iter().flatten();
        found.filter(move |(_, [ancestor, _])| *ancestor == root).map(|(pid, [_, id])| (pid, id))
    }

    /// Removes what a run has left, when no program follows it any more. Its ids will be those of strangers.
    pub(super) fn forget(&mut self, root: u32) {
        let left: Vec<u32> = self.ids(root).map(|(pid, _)| pid).collect();
        self.remove(&left);
    }

    /// Removes everything, when no run is followed.
    pub(super) fn forget_all(&mut self) {
        let left: Vec<u32> = self.tree.keys().flatten().collect();
        self.remove(&left);
    }

    fn remove(&mut self, processes: &[u32]) {
        for pid in processes {
            let _ = self.tree.remove(pid);
        }
    }
}
