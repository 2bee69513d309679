//! One stack from two: native functions, and the functions of the program's own language.
//!
//! An interpreter's main loop executes language functions. Each call of it is a native frame and stands for a run of language
//! frames. So the runs take the places of these native frames. The interpreter's other functions around them only serve the
//! program, and are left out: their time is that of the language function that is executed.

use super::{Frame, SourceLine};
use firstbyte_measure::sampler::{LanguageFrame, LanguageStack};
use std::ops::Range;
use std::sync::Arc;

/// Functions that collect garbage, as their runtimes name them. They serve no function in particular.
pub const COLLECTORS: [&str; 5] =
    ["gc_collect_main", "gc_collect_region", "gc_start", "runtime.gcStart", "GC_collect_or_expand"];

/// Functions that only call the program or its thread.
pub const ENTRIES: [&str; 8] = [
    "_start",
    "__libc_start_main",
    "__libc_start_main_impl",
    "__libc_start_call_main",
    "main",
    "start_thread",
    "clone",
    "clone3",
];

/// Merges a native stack with the language frames of the same moment. All have the innermost function first.
pub(super) fn merged(native: Vec<Frame>, language: &LanguageStack) -> Vec<Frame> {
    let runs = runs(&language.frames);
    let is_loop = |frame: &Frame| {
        frame.module == language.interpreter
            && frame.function.as_deref().is_some_and(|name| name.starts_with(language.main_loop))
    };
    let loops: Vec<usize> = (0..native.len()).filter(|index| is_loop(&native[*index])).collect();

    // A loop that has just been called, or is about to return, has no frames yet or no longer. It is the innermost one, so
    // the outermost ones belong together, unless the outer end of the native stack is missing.
    let pairs = loops.len().min(runs.len());
    let (first_loop, first_run) =
        if language.native_is_cut { (0, 0) } else { (loops.len() - pairs, runs.len() - pairs) };
    let paired = &loops[first_loop..first_loop + pairs];
    let outermost = paired.last().copied();

    let mut stack = Vec::with_capacity(native.len() + language.frames.len());
    let add = |stack: &mut Vec<Frame>, runs: &[Range<usize>]| {
        for run in runs {
            stack.extend(language.frames[run.clone()].iter().map(frame));
        }
    };
    for (index, native) in native.into_iter().enumerate() {
        if let Some(pair) = paired.iter().position(|paired| *paired == index) {
            // runs whose loops are not known are inside the innermost one that is
            let from = if pair == 0 { 0 } else { first_run + pair };
            add(&mut stack, &runs[from..=first_run + pair]);
        } else if is_kept(&native, language, outermost.is_some_and(|outermost| index > outermost)) {
            stack.push(native);
        }
    }
    add(&mut stack, &runs[if pairs == 0 { 0 } else { first_run + pairs }..]);
    stack
}

/// The frames of each call of the loop.
fn runs(frames: &[LanguageFrame]) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let mut start = 0;
    for (index, frame) in frames.iter().enumerate() {
        if frame.begins_run || index + 1 == frames.len() {
            runs.push(start..index + 1);
            start = index + 1;
        }
    }
    runs
}

/// Whether a native frame is shown beside language frames.
fn is_kept(native: &Frame, language: &LanguageStack, is_outside: bool) -> bool {
    let name = native.function.as_deref().unwrap_or_default();
    if native.module == language.interpreter {
        return COLLECTORS.iter().any(|known| name.starts_with(known));
    }
    !(is_outside && (name.is_empty() || ENTRIES.contains(&name)))
}

fn frame(frame: &LanguageFrame) -> Frame {
    let function = &frame.function;
    let (language, file, line) = (function.language, Arc::clone(&function.file), function.line);
    Frame {
        module: package(&file),
        function: Some(Arc::clone(&function.name)),
        source: Some(SourceLine { language, file, line }),
    }
}

/// What comes with Python.
pub const STANDARD_LIBRARY: &str = "Python's standard library";

/// The package of a source file; of the user's own code, the file itself.
fn package(file: &Arc<str>) -> Arc<str> {
    for folder in ["/site-packages/", "/dist-packages/"] {
        if let Some(at) = file.find(folder) {
            let start = at + folder.len();
            let end = file[start..].find('/').map_or(file.len(), |length| start + length);
            return file[..end].into();
        }
    }
    let in_library = file.contains("/lib/python3") || file.starts_with("<frozen ");
    if in_library { STANDARD_LIBRARY.into() } else { Arc::clone(file) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstbyte_measure::sampler::LanguageFunction;

    /// `module:function` each, the innermost first.
    fn native(frames: &str) -> Vec<Frame> {
        let frame = |text: &str| {
            let (module, name) = text.split_once(':').unwrap();
            Frame::native(module, Some(name).filter(|name| !name.is_empty()).map(Into::into))
        };
        frames.split_whitespace().map(frame).collect()
    }

    /// Names, the innermost first; `|` ends a run.
    fn language(frames: &str, native_is_cut: bool) -> LanguageStack {
        let mut all: Vec<LanguageFrame> = Vec::new();
        for name in frames.split_whitespace() {
            if name == "|" {
                all.last_mut().unwrap().begins_run = true;
                continue;
            }
            let function =
                LanguageFunction { language: "Python", name: name.into(), file: "/a.py".into(), line: 1 };
            all.push(LanguageFrame { function: Arc::new(function), line: Some(2), begins_run: false });
        }
        LanguageStack { interpreter: "/py".into(), main_loop: "Eval", native_is_cut, frames: all }
    }

    fn merged_names(native_frames: &str, language: &LanguageStack) -> String {
        let stack = merged(native(native_frames), language);
        let names: Vec<&str> = stack.iter().map(|frame| frame.function.as_deref().unwrap_or("?")).collect();
        names.join(" ")
    }

    #[test]
    fn each_run_stands_where_the_loop_was_called() {
        let stack = "/libc:memcpy /x.so:parse /py:Call /py:Eval /f.so:partial /py:Vector /py:Eval.cold /py:run /py:main \
                     /libc:__libc_start_main /py:_start";
        assert_eq!(merged_names(stack, &language("c | b a |", false)), "memcpy parse c partial b a");
    }

    #[test]
    fn a_loop_without_frames_is_the_innermost_one() {
        let stack = "/x.so:f /py:Eval /f.so:partial /py:Eval /py:main";
        assert_eq!(merged_names(stack, &language("a |", false)), "f partial a");
        // a loop that is not recognised: its run is the innermost
        assert_eq!(merged_names(stack, &language("c | b | a |", false)), "f c b partial a");
    }

    #[test]
    fn of_a_native_stack_that_was_cut_the_inner_ends_belong_together() {
        let stack = "/x.so:f /py:Eval /f.so:partial /py:Eval";
        assert_eq!(merged_names(stack, &language("c | b | a |", true)), "f c partial b a");
        assert_eq!(merged_names("/x.so:f", &language("b a |", true)), "f b a", "without a loop");
    }

    #[test]
    fn garbage_collection_is_no_work_of_the_function() {
        let stack = "/py:visit /py:gc_collect_main /py:alloc /py:Eval";
        assert_eq!(merged_names(stack, &language("a |", false)), "gc_collect_main a");
    }

    #[test]
    fn packages_and_the_standard_library_are_told_from_own_code() {
        let of = |file: &str| package(&file.into()).to_string();
        assert_eq!(of("/v/lib/python3.11/site-packages/rich/a.py"), "/v/lib/python3.11/site-packages/rich");
        assert_eq!(of("/usr/lib/python3/dist-packages/six.py"), "/usr/lib/python3/dist-packages/six.py");
        assert_eq!(of("/usr/lib/python3.11/json/decoder.py"), STANDARD_LIBRARY);
        assert_eq!(of("<frozen importlib._bootstrap>"), STANDARD_LIBRARY);
        assert_eq!([of("/app/plugins.py"), of("<string>")], ["/app/plugins.py", "<string>"]);
    }
}
