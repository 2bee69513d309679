//! A frame as it was during a stop. It gets its names when the program is not waiting for them.

use crate::sampler::language::{LanguageFrame, LanguageFunction, NativePart};
use crate::tracer::ptrace::place::StoppedAt;
use std::fmt::Debug;
use std::sync::Arc;

/// How much of the stack is copied, bytes. Older versions of `CPython` use half a KiB of it for each call.
pub(in crate::sampler) const STACK: usize = 48 << 10;

/// A thread that is stopped.
pub(in crate::sampler) struct Stopped<'s> {
    pub(in crate::sampler) place: StoppedAt,
    /// What lies above the stack pointer.
    pub(in crate::sampler) stack: &'s [u8],
}

/// The code of a function, as far as it was copied.
pub(in crate::sampler) trait Code: Debug + Send + Sync {
    fn function(&self) -> Arc<LanguageFunction>;

    /// The line of the instruction at an offset, as the code's reader counts.
    fn line(&self, offset: i64) -> Option<u32>;
}

/// A function whose frames say which line they execute: that is the offset.
#[derive(Debug)]
pub(in crate::sampler) struct Lined(pub(in crate::sampler) Arc<LanguageFunction>);

impl Code for Lined {
    fn function(&self) -> Arc<LanguageFunction> {
        Arc::clone(&self.0)
    }

    fn line(&self, line: i64) -> Option<u32> {
        u32::try_from(line).ok().filter(|line| *line > 0)
    }
}

/// A frame that was read.
#[derive(Clone, Debug)]
pub(in crate::sampler) struct RawFrame {
    pub(in crate::sampler) code: Arc<dyn Code>,
    /// Of the instruction.
    pub(in crate::sampler) offset: i64,
    pub(in crate::sampler) begins_run: bool,
    pub(in crate::sampler) native: Option<RawNative>,
}

/// What a frame has because it is a native one, too.
#[derive(Clone, Copy, Debug)]
pub(in crate::sampler) struct RawNative {
    pub(in crate::sampler) pointer: u64,
    /// The instruction by the registers.
    pub(in crate::sampler) offset_in_registers: Option<i64>,
}

impl RawFrame {
    /// Of a function whose frames say their lines; `None`: the line is not known.
    pub(in crate::sampler) fn on_line(code: Arc<dyn Code>, line: Option<u32>, begins_run: bool) -> RawFrame {
        RawFrame { code, offset: line.map_or(0, i64::from), begins_run, native: None }
    }

    pub(in crate::sampler) fn named(&self) -> LanguageFrame {
        let native = self.native.map(|native| NativePart {
            pointer: native.pointer,
            line_in_registers: native.offset_in_registers.and_then(|offset| self.code.line(offset)),
        });
        LanguageFrame {
            function: self.code.function(),
            line: self.code.line(self.offset),
            begins_run: self.begins_run,
            native,
        }
    }
}
