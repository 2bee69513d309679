//! A start-up for profiler.firefox.com: a marker and a sample for each step. The weight of the sample is the step's own
//! time. The call tree and the flame graph then show where the time went.

use super::firefox_marker::TextMarker;
use crate::analysis::attribution::{WorkKind, kind};
use crate::analysis::trace_document::name;
use crate::analysis::user_code::UserCode;
use crate::analysis::{Account, Step, ThreadAccount};
use crate::document::named_span::NamedSpan;
use firstbyte_measure::units::Nanos;
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, MarkerTiming, ProcessHandle,
    Profile, ReferenceTimestamp, SamplingInterval, ThreadHandle, Timestamp,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// One run as a profile. Times start at the entry of the first `execve`.
pub fn render(command: &str, account: &Account, marks: &[NamedSpan], user_code: Option<&UserCode>) -> String {
    let zero = ReferenceTimestamp::from_duration_since_unix_epoch(Duration::ZERO);
    let mut profile = Profile::new(command, zero, SamplingInterval::from_nanos(1000));
    let categories = WorkKind::ALL.map(|kind| profile.add_category(kind.title(), colour(kind)));

    for process in &account.processes {
        let title =
            process.execs.last().map_or_else(|| command.to_owned(), |exec| shell_words::join(&exec.argv));
        let handle = profile.add_process(&title, process.pid, at(process.start));
        for thread in account.threads.iter().filter(|thread| thread.pid == process.pid) {
            let main = thread.tid == thread.pid;
            let track = profile.add_thread(handle, thread.tid, at(thread.start), main);
            profile.set_thread_show_markers_in_timeline(track, true);
            add_steps(&mut profile, track, thread, &categories);
            add_marks(&mut profile, track, thread, marks, categories[4]);
        }
    }

    if let Some(code) = user_code {
        add_sampled_run(&mut profile, code, categories[3]);
    }
    let mut profile = serde_json::to_value(&profile).unwrap_or_default();
    for thread in profile["threads"].as_array_mut().into_iter().flatten() {
        weigh_in_milliseconds(&mut thread["samples"]);
    }
    profile.to_string() + "\n"
}

/// The name of the markers of marks.
const MARK: &str = "mark";

/// The unit of the weights as integers, which are all that the crate takes: 10 ns, so that one step may take 21 s.
const UNIT: u64 = 10;

fn weight(time: Nanos) -> i32 {
    i32::try_from(time.0 / UNIT).unwrap_or(i32::MAX)
}

/// The profiler shows weights of this type as times.
fn weigh_in_milliseconds(samples: &mut Value) {
    for weight in samples["weight"].as_array_mut().into_iter().flatten() {
        *weight = (weight.as_f64().unwrap_or_default() * UNIT as f64 / 1e6).into();
    }
    samples["weightType"] = "tracing-ms".into();
}

/// One of the sampled runs, with its real stacks: a process of its own for each of its processes.
fn add_sampled_run(profile: &mut Profile, code: &UserCode, category: CategoryHandle) {
    let mut tracks: BTreeMap<(u32, u32), ThreadHandle> = BTreeMap::new();
    let mut processes: BTreeMap<u32, ProcessHandle> = BTreeMap::new();
    for sample in &code.example {
        let program = sample.program.rsplit('/').next().unwrap_or_default();
        let process = *processes.entry(sample.pid).or_insert_with(|| {
            profile.add_process(&format!("{program}, a sampled run"), sample.pid, at(Nanos(0)))
        });
        let track = *tracks.entry((sample.pid, sample.tid)).or_insert_with(|| {
            profile.add_thread(process, sample.tid, at(sample.at), sample.pid == sample.tid)
        });

        let frames: Vec<FrameInfo> = sample
            .stack
            .iter()
            .rev()
            .map(|frame| {
                let name = frame.function.as_deref().unwrap_or("without a symbol");
                let label = profile.intern_string(&format!("{name} ({})", frame.place()));
                FrameInfo {
                    frame: Frame::Label(label),
                    category_pair: category.into(),
                    flags: FrameFlags::empty(),
                }
            })
            .collect();

        let stack = profile.intern_stack_frames(track, frames.into_iter());
        let period = CpuDelta::from_nanos(code.period.0);
        profile.add_sample(track, at(sample.at), stack, period, weight(code.period));
    }
}

fn colour(kind: WorkKind) -> CategoryColor {
    match kind {
        WorkKind::KernelExec => CategoryColor::Blue,
        WorkKind::Fault => CategoryColor::Red,
        WorkKind::Syscall => CategoryColor::Yellow,
        WorkKind::Death => CategoryColor::Magenta,
        WorkKind::User => CategoryColor::Green,
        WorkKind::Waiting => CategoryColor::Gray,
    }
}

fn at(time: Nanos) -> Timestamp {
    Timestamp::from_nanos_since_reference(time.0)
}

fn add_steps(
    profile: &mut Profile,
    track: ThreadHandle,
    thread: &ThreadAccount,
    categories: &[CategoryHandle; WorkKind::ALL.len()],
) {
    for step in &thread.steps {
        let index = WorkKind::ALL.iter().position(|kind_| *kind_ == kind(&step.what)).unwrap_or_default();
        let category = categories[index];
        let (name, what) = (name(&step.what), step.what.title());
        let marker =
            TextMarker { name: profile.intern_string(&name), text: profile.intern_string(&what), category };
        let end = Nanos(step.start.0.saturating_add(step.elapsed.0));
        profile.add_marker(track, MarkerTiming::Interval(at(step.start), at(end)), marker);
        add_sample(profile, track, step, category, [WorkKind::ALL[index].title(), &name, &what]);
    }
}

/// The named parts that this thread ended, or began if they have ends of their own.
fn add_marks(
    profile: &mut Profile,
    track: ThreadHandle,
    thread: &ThreadAccount,
    marks: &[NamedSpan],
    category: CategoryHandle,
) {
    for span in marks {
        let (name, text) = (profile.intern_string(MARK), profile.intern_string(&span.name));
        for place in span.places.iter().filter(|place| (place.pid, place.tid) == (thread.pid, thread.tid)) {
            let timing = MarkerTiming::Interval(at(Nanos(place.from_ns)), at(Nanos(place.to_ns)));
            profile.add_marker(track, timing, TextMarker { name, text, category });
        }
    }
}

fn add_sample(
    profile: &mut Profile,
    track: ThreadHandle,
    step: &Step,
    category: CategoryHandle,
    frames: [&str; 3],
) {
    let frames = frames.map(|label| FrameInfo {
        frame: Frame::Label(profile.intern_string(label)),
        category_pair: category.into(),
        flags: FrameFlags::empty(),
    });
    let stack = profile.intern_stack_frames(track, frames.into_iter());
    profile.add_sample(
        track,
        at(step.start),
        stack,
        CpuDelta::from_nanos(step.self_time.0),
        weight(step.self_time),
    );
}
