//! Which programs started which: a tree whose nodes are programs, each below the program that started it.

use super::memory::{Memory, NODE};
use firstbyte_measure::units::Nanos;
use std::collections::HashMap;

/// The nodes, each after the one above it.
#[derive(Debug, Default)]
pub(super) struct ProcessTree {
    pub(super) nodes: Vec<Node>,
    /// By the node above and the program.
    places: HashMap<(Option<usize>, usize), usize>,
}

/// All executions of a program that programs of the node above have started.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) above: Option<usize>,
    /// The place of the program.
    pub(super) program: usize,
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
        program: usize,
        memory: &mut Memory,
    ) -> Option<usize> {
        let known = self.places.get(&(above, program)).copied();
        let node = match known {
            Some(node) => node,
            None if memory.take(NODE, "") => self.grow(above, program),
            None => above?,
        };
        self.nodes[node].execs += 1;
        Some(node)
    }

    fn grow(&mut self, above: Option<usize>, program: usize) -> usize {
        let node = self.nodes.len();
        self.places.insert((above, program), node);
        self.nodes.push(Node { above, program, execs: 0, startup_ns: 0, cpu_ns: 0 });
        node
    }

    /// Adds what an execution, or a fork of it, has used.
    pub(super) fn end(&mut self, node: Option<usize>, startup: Nanos, cpu: Nanos) {
        if let Some(node) = node.and_then(|node| self.nodes.get_mut(node)) {
            node.startup_ns += startup.0;
            node.cpu_ns += cpu.0;
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
}
