//! The functions of the program's own language that were running, as its interpreter has them.

use std::sync::Arc;

/// A function of a program, by its definition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LanguageFunction {
    /// `Python`, `JavaScript`, `Ruby`, `Java`, `Perl`, `PHP`, `bash`, `zsh`.
    pub language: &'static str,
    /// Its name, qualified where the interpreter knows that: `Class.method`.
    pub name: Arc<str>,
    /// Its source file, as the interpreter names it: `<frozen os>` and `<string>` are no files.
    pub file: Arc<str>,
    /// The line where its definition begins, from 1 on.
    pub line: u32,
}

/// A function that was running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanguageFrame {
    /// Which one.
    pub function: Arc<LanguageFunction>,
    /// The line that was running; `None`: this code belongs to no line.
    pub line: Option<u32>,
    /// Its caller is not a frame of the same call of the interpreter's loop: native code called the loop with this one.
    pub begins_run: bool,
    /// It is a native frame, too.
    pub native: Option<NativePart>,
}

/// What a language frame has because it is a native frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NativePart {
    /// Its frame pointer.
    pub pointer: u64,
    /// The line by the thread's registers. It is the one that was running if the thread executed a handler of the
    /// interpreter, which is the code for one instruction. A builtin that it calls mostly leaves them as they are.
    pub line_in_registers: Option<u32>,
}

/// How the frames of a language and native frames belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joint {
    /// This native function executes language functions. Each call of it is a run of frames.
    Loop(&'static str),
    /// Each language frame is a native one, too.
    FramePointers,
    /// They are outside of the native frames, up to the first one of the interpreter.
    Leaf,
}

/// The stack of one thread in its own language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanguageStack {
    /// The file of the interpreter's code, by the path at which it is mapped.
    pub interpreter: Arc<str>,
    /// Where the native frames belong.
    pub joint: Joint,
    /// The native stack was too deep to be copied: its outer end is missing.
    pub native_is_cut: bool,
    /// The innermost one first.
    pub frames: Vec<LanguageFrame>,
}
