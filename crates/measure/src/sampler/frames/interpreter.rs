//! An interpreter whose frames can be read: what its file says, and what it is in the memory of a process.

use super::frame::{RawFrame, Stopped};
use super::memory::Reader;
use crate::sampler::language::Joint;
#[cfg(feature = "bpf")]
use crate::tracer::bpf::samples_session::Image;
use std::fmt::Debug;

/// Deeper stacks are cut at their outer end.
pub(super) const DEEPEST: usize = 2000;

/// The longest names, bytes.
pub(super) const MAX_NAME: u64 = 1 << 12;

/// What a file with an interpreter in it says about it.
pub(in crate::sampler) trait Stated: Debug + Send + Sync {
    /// In the memory of a process: `bias` is what was added to the addresses that the file states. The error: the name of
    /// an unknown version.
    fn placed(&self, bias: u64) -> Result<Box<dyn Interpreter>, String>;

    /// What the kernel has to copy at a sample, so that frames can be read without a stop. `None`: they cannot.
    #[cfg(feature = "bpf")]
    fn copied(&self) -> Option<Image> {
        None
    }
}

/// An interpreter in the memory of a process, with what is known of its functions.
pub(in crate::sampler) trait Interpreter: Copied + Debug + Send {
    /// The frames of a stopped thread, the innermost one first. Empty before the interpreter is ready.
    fn frames(&mut self, stopped: &Stopped<'_>, memory: &mut Reader<'_>) -> Vec<RawFrame>;

    /// Where its frames belong among the native ones.
    fn joint(&self) -> Joint;

    /// In how many frames so far something was needed that is not among the known parts of memory. It is never so in a
    /// stopped program.
    #[cfg_attr(not(feature = "bpf"), allow(dead_code, reason = "only copies lack something"))]
    fn unread(&self) -> u64 {
        0
    }
}

/// What a new process has of its parent's interpreter.
pub(in crate::sampler) trait Copied {
    fn copied(&self) -> Box<dyn Interpreter>;
}

impl<I: Interpreter + Clone + 'static> Copied for I {
    fn copied(&self) -> Box<dyn Interpreter> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Interpreter> {
    fn clone(&self) -> Box<dyn Interpreter> {
        (**self).copied()
    }
}

/// Major and minor version, as far as a file states them.
pub(super) type Version = Option<(u8, u8)>;

/// The name of an unknown version.
pub(super) fn unknown(interpreter: &str, version: Version) -> String {
    version.map_or_else(|| interpreter.to_owned(), |(major, minor)| format!("{interpreter} {major}.{minor}"))
}

/// What a file says about an interpreter that is read from variables that have names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named<L: 'static, const N: usize> {
    pub(super) name: &'static str,
    /// The versions, and what differs between them.
    pub(super) known: &'static [((u8, u8), L)],
    pub(super) version: Version,
    /// The addresses of the variables.
    pub(super) variables: [u64; N],
    /// The interpreter whose variables have these addresses.
    pub(super) at: fn(L, [u64; N]) -> Box<dyn Interpreter>,
}

impl<L: Copy + Debug + Sync, const N: usize> Stated for Named<L, N> {
    fn placed(&self, bias: u64) -> Result<Box<dyn Interpreter>, String> {
        let known = self.known.iter().find(|(known, _)| Some(*known) == self.version);
        let (_, layout) = known.ok_or_else(|| unknown(self.name, self.version))?;
        Ok((self.at)(*layout, self.variables.map(|address| address.wrapping_add(bias))))
    }
}

/// The version at the beginning of a text: `3.11.2`.
pub(super) fn version(text: &[u8]) -> Version {
    let mut numbers = text.split(|byte| !byte.is_ascii_digit());
    let mut number = || std::str::from_utf8(numbers.next()?).ok()?.parse().ok();
    Some((number()?, number()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug)]
    struct At(u64, [u64; 1]);

    impl Interpreter for At {
        fn frames(&mut self, _: &Stopped<'_>, _: &mut Reader<'_>) -> Vec<RawFrame> {
            Vec::new()
        }

        fn joint(&self) -> Joint {
            assert_eq!((self.0, self.1), (16, [10]));
            Joint::Leaf
        }
    }

    #[test]
    fn only_known_versions_are_read_and_an_unknown_one_is_named() {
        let stated = |version| Named {
            name: "bash",
            known: &[((5, 1), 24), ((5, 2), 16)],
            version,
            variables: [7],
            at: |layout, variables| Box::new(At(layout, variables)),
        };
        stated(Some((5, 2))).placed(3).unwrap().joint();
        let refused = |version| stated(version).placed(0).unwrap_err();
        assert_eq!([Some((6, 0)), None].map(refused), ["bash 6.0", "bash"]);
    }

    #[test]
    fn a_version_is_two_numbers_at_the_beginning() {
        assert_eq!([&b"5.36.0"[..], b"3.1"].map(version), [Some((5, 36)), Some((3, 1))]);
        assert_eq!([&b"5"[..], b"x5.1", b"300.1", b""].map(version), [None; 4]);
        assert_eq!(
            (unknown("Ruby", Some((2, 7))), unknown("Ruby", None)),
            ("Ruby 2.7".into(), "Ruby".into())
        );
    }
}
