//! One stack from two: native functions, and the functions of the program's own language.
//!
//! An interpreter's main loop executes language functions. Each call of it is a native frame and stands for a run of language
//! frames. So the runs take the places of these native frames. The interpreter's other functions around them only serve the
//! program, and are left out: their time is that of the language function that is executed.

use super::packages::package;
use super::{Frame, GENERATED, NativeFrame, Running, SourceLine, work};
use crate::analysis::symbols::{V8_BUILTIN, V8_BUILTINS};
use firstbyte_measure::sampler::{Joint, LanguageFrame, LanguageStack};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

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
pub(super) fn merged(native: Vec<NativeFrame>, language: &LanguageStack) -> Vec<Running> {
    match language.joint {
        Joint::Loop(main_loop) => {
            let native = native.into_iter().map(|native| native.frame).collect();
            by_runs(native, language, main_loop)
        }
        Joint::FramePointers => by_pointers(native, language),
        Joint::Leaf => outside_leaf(native, language),
    }
}

/// The native frames inside the interpreter's, then the language frames.
fn outside_leaf(native: Vec<NativeFrame>, language: &LanguageStack) -> Vec<Running> {
    let is_inside = |frame: &Frame| frame.module != language.interpreter && &*frame.module != GENERATED;
    let inside = native.into_iter().map(|native| native.frame).take_while(is_inside);
    inside.map(Running::from).chain(language.frames.iter().map(running)).collect()
}

fn name(frame: &Frame) -> &str {
    frame.function.as_deref().unwrap_or_default()
}

/// Where the functions begin that only call the program, outside of all others.
fn entries(native: &[&Frame]) -> usize {
    let is_entry = |frame: &&Frame| ENTRIES.contains(&name(frame));
    let inner = native.iter().rposition(|frame| !name(frame).is_empty() && !is_entry(frame));
    let outer = inner.map_or(0, |inner| inner + 1);
    let first = native[outer..].iter().position(is_entry);
    first.map_or(native.len(), |first| outer + first - unnamed_entries(native, outer..outer + first))
}

/// How many functions before a named entry are entries, too. Distributions strip their files: what calls `main` in the C library
/// has no name there, and `main` has none either.
fn unnamed_entries(native: &[&Frame], inside: Range<usize>) -> usize {
    let entry = native[inside.end];
    let is_unnamed = |index: &usize| name(native[*index]).is_empty();
    let is_of_library = |index: &usize| is_unnamed(index) && native[*index].module == entry.module;
    let of_library = inside.clone().rev().take_while(is_of_library).count();

    let main = (inside.start..inside.end - of_library).last().filter(is_unnamed);
    // the innermost function is the one that runs
    let has_main = name(entry).starts_with("__libc_start_main") && main.is_some_and(|main| main > 0);
    of_library + usize::from(has_main)
}

fn by_runs(mut native: Vec<Frame>, language: &LanguageStack, main_loop: &str) -> Vec<Running> {
    let runs = runs(&language.frames);
    let is_loop = |frame: &Frame| frame.module == language.interpreter && name(frame).starts_with(main_loop);
    let loops: Vec<usize> = (0..native.len()).filter(|index| is_loop(&native[*index])).collect();

    // A loop that has just been called, or is about to return, has no frames yet or no longer. It is the innermost one, so
    // the outermost ones belong together, unless the outer end of the native stack is missing.
    let pairs = loops.len().min(runs.len());
    let (first_loop, first_run) =
        if language.native_is_cut { (0, 0) } else { (loops.len() - pairs, runs.len() - pairs) };
    let paired = &loops[first_loop..first_loop + pairs];
    let outermost = paired.last().copied();
    let entries = native.split_off(entries(&native.iter().collect::<Vec<_>>()));

    let mut stack = Vec::with_capacity(native.len() + language.frames.len());
    let add = |stack: &mut Vec<Running>, runs: &[Range<usize>]| {
        for run in runs {
            stack.extend(language.frames[run.clone()].iter().map(running));
        }
    };
    for (index, native) in native.into_iter().enumerate() {
        if let Some(pair) = paired.iter().position(|paired| *paired == index) {
            // runs whose loops are not known are inside the innermost one that is
            let from = if pair == 0 { 0 } else { first_run + pair };
            add(&mut stack, &runs[from..=first_run + pair]);
        } else if is_kept(&native, language, outermost.is_some_and(|outermost| index > outermost)) {
            stack.push(native.into());
        } else {
            stack.push(executing(native));
        }
    }
    // while an interpreter compiles or ends, no loop executes its outermost function
    add(&mut stack, &runs[if pairs == 0 { 0 } else { first_run + pairs }..]);
    stack.extend(entries.into_iter().map(executing));
    stack
}

/// What V8 does for a function, beside executing it and work of a known kind, by the beginning of names.
const V8_SNAPSHOT: &str = "v8::internal::Snapshot";

/// V8's handlers execute one instruction each.
const V8_HANDLER: &str = "Handler";

/// Where builtins have no names, any of them may be a handler. In 1,300 samples in builtins that a handler had called (Node.js 18
/// to 26), the registers still had the handler's offset, or no valid one.
fn may_be_handler(builtin: &str) -> bool {
    builtin.ends_with(V8_HANDLER) || builtin == V8_BUILTINS
}

/// Each language frame takes the place of the native frame with the same frame pointer.
fn by_pointers(native: Vec<NativeFrame>, language: &LanguageStack) -> Vec<Running> {
    let pointers = language.frames.iter().filter_map(|it| it.native.map(|native| (native.pointer, it)));
    let own: HashMap<u64, &LanguageFrame> = pointers.collect();
    let is_builtin =
        |it: &NativeFrame| it.frame.module == language.interpreter && name(&it.frame).starts_with(V8_BUILTIN);
    let executes = |it: &NativeFrame| is_builtin(it) || &*it.frame.module == GENERATED;
    let found = |it: &NativeFrame| own.get(&it.pointer).copied().filter(|_| executes(it));
    if !native.iter().any(|it| found(it).is_some()) {
        return native.into_iter().map(|native| native.frame.into()).collect();
    }

    let entries = entries(&native.iter().map(|it| &it.frame).collect::<Vec<_>>());
    let mut stack = Vec::with_capacity(native.len());
    let mut last = None;
    for (index, native) in native.into_iter().enumerate() {
        if let Some(of_language) = found(&native) {
            // builtins without a frame of their own use that of their caller
            if last.replace(native.pointer) != Some(native.pointer) {
                let is_handler = index == 0 && may_be_handler(name(&native.frame));
                let line = running_line(of_language, is_handler, is_builtin(&native));
                stack.push(Running { line, ..running(of_language) });
            }
        } else if index < entries && !executes(&native) && does_work(&native.frame, language) {
            stack.push(native.frame.into());
        } else {
            stack.push(executing(native.frame));
        }
    }
    stack
}

/// A function of the interpreter that only executes the program.
fn executing(frame: Frame) -> Running {
    Running { frame, line: None, executes: true }
}

/// Compiled code does not keep its line.
fn running_line(frame: &LanguageFrame, is_handler: bool, is_interpreted: bool) -> Option<u32> {
    match (is_handler, is_interpreted) {
        (true, _) => frame.native.and_then(|native| native.line_in_registers),
        (false, true) => frame.line,
        (false, false) => None,
    }
}

/// Whether native code is shown beside language frames.
fn does_work(native: &Frame, language: &LanguageStack) -> bool {
    let name = name(native);
    native.module != language.interpreter
        || work::of_native(name).is_some()
        || name.starts_with(V8_SNAPSHOT)
        || !name.is_empty() && !name.starts_with("v8::") && !name.starts_with("node::")
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
    let name = name(native);
    if native.module == language.interpreter {
        return work::COLLECTORS.iter().any(|known| name.starts_with(known));
    }
    !(is_outside && (name.is_empty() || ENTRIES.contains(&name)))
}

fn running(running: &LanguageFrame) -> Running {
    let function = &running.function;
    let (language, file, line) = (function.language, Arc::clone(&function.file), function.line);
    let frame = Frame {
        module: package(language, &file),
        function: Some(Arc::clone(&function.name)),
        source: Some(SourceLine { language, file, line }),
    };
    Running { frame, line: running.line, executes: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstbyte_measure::sampler::{LanguageFunction, NativePart};

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
            let function = Arc::new(function);
            all.push(LanguageFrame { function, line: Some(2), begins_run: false, native: None });
        }
        LanguageStack { interpreter: "/py".into(), joint: Joint::Loop("Eval"), native_is_cut, frames: all }
    }

    fn merged_names(native_frames: &str, language: &LanguageStack) -> String {
        let stack = by_runs(native(native_frames), language, "Eval");
        names(&stack)
    }

    /// Of the innermost language frame.
    fn innermost_line(stack: &[Running]) -> Option<u32> {
        stack.iter().find(|running| running.frame.source.is_some()).and_then(|running| running.line)
    }

    fn names(stack: &[Running]) -> String {
        let shown = stack.iter().filter(|running| !running.executes);
        let names: Vec<&str> =
            shown.map(|running| running.frame.function.as_deref().unwrap_or("?")).collect();
        names.join(" ")
    }

    #[test]
    fn each_run_stands_where_the_loop_was_called() {
        let stack = "/libc:memcpy /x.so:parse /py:Call /py:Eval /f.so:partial /py:Vector /py:Eval.cold /py:run /py:main \
                     /libc:__libc_start_main /py:_start";
        assert_eq!(merged_names(stack, &language("c | b a |", false)), "memcpy parse c partial b a");
        let merged = by_runs(native(stack), &language("c | b a |", false), "Eval");
        let executing: Vec<&str> =
            merged.iter().filter(|it| it.executes).filter_map(|it| it.frame.function.as_deref()).collect();
        assert_eq!(executing.join(" "), "Call Vector run main __libc_start_main _start");
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
    fn a_function_without_a_loop_is_called_by_the_start_of_c() {
        let start = "/libc:__libc_start_call_main /libc: /libc:__libc_start_main /py:_start";
        let stack = format!("/libc:malloc /py:compile /py:main {start}");
        assert_eq!(merged_names(&stack, &language("a |", false)), "malloc a");
        assert_eq!(merged_names("/libc:malloc /libc:", &language("a |", false)), "malloc ? a", "no start");
        assert_eq!(merged_names("/libc:malloc /libc: /py:main", &language("a |", false)), "malloc ? a");
    }

    #[test]
    fn what_calls_main_is_outside_also_without_symbols() {
        let start = "/ruby: /libc: /libc:__libc_start_main /ruby:_start";
        for loops in ["", "/py: /py: /py:ruby_run_node"] {
            let stack = format!("/libc:malloc /x.so: {loops} {start}");
            assert_eq!(merged_names(&stack, &language("b a |", false)), "malloc ? b a", "{loops}");
        }
        assert_eq!(merged_names(&format!("/x.so: {start}"), &language("a |", false)), "? a");
        let thread = "/x.so: /x.so: /libc: /libc:clone3";
        assert_eq!(
            merged_names(thread, &language("a |", false)),
            "? ? a",
            "the function of a thread is its own"
        );
    }

    #[test]
    fn garbage_collection_is_no_work_of_the_function() {
        let stack = "/py:visit /py:gc_collect_main /py:alloc /py:Eval";
        assert_eq!(merged_names(stack, &language("a |", false)), "gc_collect_main a");
    }

    /// A stack of V8: native frames with their frame pointers, and names with those of language frames.
    fn merged_by_pointers(native_frames: &[(&str, u64)], own: &[(&str, u64)]) -> (String, Option<u32>) {
        let native_frame = |(text, pointer): &(&str, u64)| {
            let (module, name) = text.split_once(':').unwrap();
            let frame = Frame::native(module, Some(name).filter(|name| !name.is_empty()).map(Into::into));
            NativeFrame { frame, pointer: *pointer }
        };
        let function = |name: &str| LanguageFunction {
            language: "JavaScript",
            name: name.into(),
            file: "/a.js".into(),
            line: 1,
        };
        let own_frame = |(name, pointer): &(&str, u64)| LanguageFrame {
            function: Arc::new(function(name)),
            line: Some(2),
            begins_run: false,
            native: Some(NativePart { pointer: *pointer, line_in_registers: Some(3) }),
        };
        let frames = own.iter().map(own_frame).collect();
        let (interpreter, joint) = ("/node".into(), Joint::FramePointers);
        let language = LanguageStack { interpreter, joint, native_is_cut: false, frames };
        let stack = by_pointers(native_frames.iter().map(native_frame).collect(), &language);
        (names(&stack), innermost_line(&stack))
    }

    #[test]
    fn a_frame_of_v8_stands_where_its_native_frame_is() {
        let outside = [("/node:Builtins_JSEntry", 60), ("/node:v8::internal::Execution::Call", 0)];
        let inside = [
            ("/libc:memcpy", 7),
            ("/node:v8::internal::JsonParser::Parse", 10),
            ("/node:v8::internal::Runtime_X", 10),
            ("/node:Builtins_CEntry", 20),
            ("/node:Builtins_Add", 30),
            ("/node:Builtins_AddHandler", 30),
            ("generated code:", 50),
            ("generated code:", 40),
        ];
        let all = [&inside[..], &outside].concat();
        // at 20 is an old frame that is not on the stack any more, and another one is not there at all
        let own = [("inner", 30), ("old", 10), ("gone", 35), ("outer", 40)];
        let names = "memcpy v8::internal::JsonParser::Parse inner outer";
        assert_eq!(merged_by_pointers(&all, &own), (names.to_owned(), Some(2)));
        let native = "Builtins_JSEntry v8::internal::Execution::Call";
        assert_eq!(merged_by_pointers(&outside, &own), (native.to_owned(), None), "no function yet");
    }

    #[test]
    fn what_calls_main_is_outside_of_v8_also_without_symbols() {
        let start =
            [("/bin/node:", 0), ("/libc:", 0), ("/libc:__libc_start_main", 0), ("/bin/node:_start", 0)];
        let stack =
            [&[("/x.so:", 7), ("/node:Builtins_Add", 30), ("/node:node::Start", 0)][..], &start].concat();
        assert_eq!(merged_by_pointers(&stack, &[("f", 30)]).0, "? f");
    }

    #[test]
    fn native_code_is_inside_of_functions_whose_native_frames_are_not_known() {
        let stack = |modules: &str| {
            let native = native(modules).into_iter().map(|frame| NativeFrame { frame, pointer: 0 });
            let language = LanguageStack { joint: Joint::Leaf, ..language("b a", false) };
            merged(native.collect(), &language)
        };
        let frames = stack("/libc:memcpy /x.so:f /py:run /libc:qsort /py:main /libc:_start");
        assert_eq!((names(&frames).as_str(), innermost_line(&frames)), ("memcpy f b a", Some(2)));
    }

    #[test]
    fn a_line_of_v8_is_known_of_interpreted_code() {
        let line = |function: &str| merged_by_pointers(&[(function, 30)], &[("f", 30)]).1;
        assert_eq!(line("/node:Builtins_StarHandler"), Some(3), "by the registers");
        assert_eq!(line("/node:Builtins_*"), Some(3), "of a stripped file");
        assert_eq!(line("/node:Builtins_InterpreterEntryTrampoline"), Some(2));
        assert_eq!(line("generated code:"), None);
        let called = [("/node:v8::internal::JsonParser::Parse", 10), ("/node:Builtins_*", 30)];
        assert_eq!(merged_by_pointers(&called, &[("f", 30)]).1, Some(2), "by the place of the call");
    }
}
