//! All programs of a watch for profiler.firefox.com. A lane is a thread; an execution has a marker, and its parts have markers
//! in their colours.

use super::firefox_marker::TextMarker;
use super::watch_lanes::lanes;
use crate::document::watch::{WatchDocument, WatchPart, WatchRun, WatchTimeline};
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, MarkerTiming, ProcessHandle, Profile, ReferenceTimestamp,
    SamplingInterval, StringHandle, ThreadHandle, Timestamp,
};
use std::collections::BTreeMap;
use std::time::Duration;

pub fn render(document: &WatchDocument, timeline: &WatchTimeline) -> String {
    let title = document.command.as_ref().unwrap_or(&document.scope);
    let zero = ReferenceTimestamp::from_duration_since_unix_epoch(Duration::ZERO);
    let mut profile = Profile::new(title, zero, SamplingInterval::from_nanos(1000));
    let looks = Looks::new(&mut profile);
    let process = profile.add_process(title, 1, at(0));

    let mut tracks: BTreeMap<usize, ThreadHandle> = BTreeMap::new();
    for (lane, run) in lanes(&timeline.runs) {
        let track = *tracks.entry(lane).or_insert_with(|| track(&mut profile, process, lane));
        add_run(&mut profile, track, run, &looks);
    }
    serde_json::to_string(&profile).unwrap_or_default() + "\n"
}

/// The categories of executions and of their parts, which also have a name.
struct Looks {
    program: CategoryHandle,
    parts: [(StringHandle, CategoryHandle); WatchPart::ALL.len()],
}

impl Looks {
    fn new(profile: &mut Profile) -> Looks {
        let part = |part: WatchPart| {
            let category = profile.add_category(part.name(), colour(part));
            (profile.intern_string(part.name()), category)
        };
        let parts = WatchPart::ALL.map(part);
        Looks { program: profile.add_category("program", CategoryColor::Gray), parts }
    }
}

fn track(profile: &mut Profile, process: ProcessHandle, lane: usize) -> ThreadHandle {
    let tid = u32::try_from(lane).unwrap_or(u32::MAX).saturating_add(1);
    let track = profile.add_thread(process, tid, at(0), lane == 0);
    profile.set_thread_name(track, &format!("lane {tid}"));
    profile.set_thread_show_markers_in_timeline(track, true);
    track
}

fn add_run(profile: &mut Profile, track: ThreadHandle, run: &WatchRun, looks: &Looks) {
    let command = profile.intern_string(run.command.as_deref().unwrap_or(&run.program));
    let name = profile.intern_string(&run.program);
    let mut mark = |name, category, from, to| {
        let marker = TextMarker { name, text: command, category };
        profile.add_marker(track, MarkerTiming::Interval(at(from), at(to)), marker);
    };

    mark(name, looks.program, run.start, run.end);
    for (part, from, to) in run.parts() {
        let (name, category) = looks.parts[part as usize];
        mark(name, category, from, to);
    }
}

fn colour(part: WatchPart) -> CategoryColor {
    match part {
        WatchPart::Exec => CategoryColor::Blue,
        WatchPart::BeforeOutput => CategoryColor::Yellow,
        WatchPart::AfterOutput | WatchPart::Life => CategoryColor::Green,
    }
}

fn at(nanos: u64) -> Timestamp {
    Timestamp::from_nanos_since_reference(nanos)
}
