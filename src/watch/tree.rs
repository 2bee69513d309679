//! Which programs started which: a tree whose nodes are programs, each below the program that started it.

use super::memory::{Memory, NODE};
use super::programs::ProgramId;
use firstbyte_measure::units::Nanos;
use std::collections::HashMap;

/// The nodes, each after the one above it.
#[derive(Debug, Default)]
pub(super) struct ProcessTree {
    pub(super) nodes: Vec<Node>,
    /// By the node above and the program.
    indices: HashMap<(Option<usize>, ProgramId), usize>,
}

/// All executions of a program that programs of the node above have started.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) above: Option<usize>,
    pub(super) program: ProgramId,
    pub(super) execs: u64,
    pub(super) startup_ns: u64,
    /// Also of its forks.
    pub(super) cpu_ns: u64,
}

impl ProcessTree {
    /// Counts an execution. Returns its node: without memory for a new one, the node above, if there is one.
    pub(super) fn start(
        &mut self,
        above: Option<usize>,
        program: ProgramId,
        memory: &mut Memory,
    ) -> Option<usize> {
        let known = self.indices.get(&(above, program)).copied();
        let node = match known {
            Some(node) => node,
            None if memory.take(NODE, "") => self.grow(above, program),
            None => above?,
        };
        self.nodes[node].execs += 1;
        Some(node)
    }

    fn grow(&mut self, above: Option<usize>, program: ProgramId) -> usize {
        let node = self.nodes.len();
        self.indices.insert((above, program), node);
        self.nodes.push(Node { above, program, execs: 0, startup_ns: 0, cpu_ns: 0 });
        node
    }

    /// Adds nodes together whose program is the same now. Returns the new place of each.
    pub(super) fn merge(
        &mut self,
        listed: impl Fn(ProgramId) -> ProgramId,
        memory: &mut Memory,
    ) -> Vec<usize> {
        let old = std::mem::take(self);
        memory.give(NODE * old.nodes.len() as u64);
        let mut indices: Vec<usize> = Vec::with_capacity(old.nodes.len());

        for node in old.nodes {
            let (above, program) = (node.above.map(|above| indices[above]), listed(node.program));
            let known = self.indices.get(&(above, program)).copied();
            let index = known.unwrap_or_else(|| self.grow(above, program));
            let sum = &mut self.nodes[index];
            sum.execs += node.execs;
            sum.startup_ns = sum.startup_ns.saturating_add(node.startup_ns);
            sum.cpu_ns = sum.cpu_ns.saturating_add(node.cpu_ns);
            indices.push(index);
        }
        memory.take(NODE * self.nodes.len() as u64, "");
        indices
    }

    /// Adds what an execution, or a fork of it, has used.
    pub(super) fn end(&mut self, node: Option<usize>, startup: Nanos, cpu: Nanos) {
        if let Some(node) = node.and_then(|node| self.nodes.get_mut(node)) {
            node.startup_ns = node.startup_ns.saturating_add(startup.0);
            node.cpu_ns = node.cpu_ns.saturating_add(cpu.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_added_up_below_the_program_that_started_them() {
        let (mut tree, mut memory) = (ProcessTree::default(), Memory::new(3 * NODE));
        let make = tree.start(None, 0, &mut memory);
        let cc = tree.start(make, 1, &mut memory);
        assert_eq!(tree.start(make, 1, &mut memory), cc);
        let other = tree.start(None, 1, &mut memory);
        assert_ne!(other, cc);
        tree.end(cc, Nanos(3), Nanos(5));
        tree.end(cc, Nanos(4), Nanos(6));
        assert_eq!(tree.start(cc, 2, &mut memory), cc, "there is no memory for another node");
        let nodes: Vec<_> = tree.nodes.iter().map(|node| (node.above, node.program, node.execs)).collect();
        assert_eq!(nodes, [(None, 0, 1), (Some(0), 1, 3), (None, 1, 1)]);
        assert_eq!((tree.nodes[1].startup_ns, tree.nodes[1].cpu_ns), (7, 11));
        assert_eq!(tree.start(None, 3, &mut memory), None);
    }
    #[test]
    fn nodes_whose_programs_have_become_one_are_merged_with_all_that_is_below() {
        let (mut tree, mut memory) = (ProcessTree::default(), Memory::new(6 * NODE));
        let make = tree.start(None, 1, &mut memory);
        let [one, two] = [2, 3].map(|program| tree.start(make, program, &mut memory));
        let below = [one, two].map(|above| tree.start(above, 4, &mut memory));
        tree.end(below[1], Nanos(3), Nanos(5));

        let indices =
            tree.merge(|program| if program == 2 || program == 3 { 0 } else { program }, &mut memory);
        assert_eq!(indices, [0, 1, 1, 2, 2]);
        let nodes: Vec<_> = tree.nodes.iter().map(|node| (node.above, node.program, node.execs)).collect();
        assert_eq!(nodes, [(None, 1, 1), (Some(0), 0, 2), (Some(1), 4, 2)]);
        assert_eq!(tree.nodes[2].cpu_ns, 5);
        assert!(memory.has(3 * NODE, "") && !memory.has(4 * NODE, ""));
    }
}
