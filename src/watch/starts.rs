//! Full traces of some starts of one program, made while the watch runs.

use firstbyte_measure::tracer::choose::ChooseError;
use firstbyte_measure::tracer::starts::{Look, StartTracer, StartsPlan, TracedStart, TracedStarts};
use firstbyte_measure::tracer::watch::Scope;
use firstbyte_measure::tracer::watcher::attach_starts;
use std::time::Duration;

/// A start that takes longer is not explained. The next one would have to wait for its end.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// Which starts are wanted.
#[derive(Clone, Debug)]
pub struct WantedStarts {
    /// Its path as it is executed, or the name at the end of the path.
    pub program: String,
    pub every: u64,
    /// The maximum number of starts.
    pub most: usize,
}

/// Collects the starts, in bounded memory.
#[derive(Debug)]
pub(super) struct Collector {
    tracer: Box<dyn StartTracer>,
    most: usize,
    /// What may still be kept, in bytes of the kernel's records.
    memory: u64,
    traced: TracedStarts,
}

impl Collector {
    /// `memory`: in bytes, for all starts together.
    pub(super) fn attach(wanted: &WantedStarts, memory: u64) -> Result<Collector, ChooseError> {
        let WantedStarts { program, every, most } = wanted.clone();
        let traced = TracedStarts {
            program: program.clone(),
            every,
            longest: START_TIMEOUT,
            ..TracedStarts::default()
        };
        let attached = attach_starts(StartsPlan { program, every, memory, longest: START_TIMEOUT })?;
        Ok(Collector { tracer: attached, most, memory, traced })
    }

    pub(super) fn follow_next_child(&mut self) {
        self.tracer.follow_next_child();
    }

    pub(super) fn follow(&mut self, scope: Scope) {
        self.tracer.follow(scope);
    }

    /// Takes the start that has ended, if one has. Returns whether to look again soon.
    pub(super) fn look(&mut self) -> bool {
        match self.tracer.look() {
            Look::Nothing => return false,
            Look::Soon => {}
            Look::TooLong => self.traced.too_long += 1,
            Look::TooLarge => self.traced.too_large += 1,
            Look::Ended(start) => self.keep(*start),
        }
        true
    }

    fn keep(&mut self, start: TracedStart) {
        self.traced.memory_full = start.bytes > self.memory;
        if !self.traced.memory_full {
            self.memory -= start.bytes;
            self.traced.starts.push(start);
        }
        self.traced.complete = self.traced.starts.len() >= self.most;
        if self.traced.complete || self.traced.memory_full {
            self.traced.seen = self.tracer.seen();
            // if it cannot be detached, it goes on and finds no more starts
            let _ = self.tracer.stop();
        }
    }

    /// Call it after the end of the watch.
    pub(super) fn finish(mut self) -> TracedStarts {
        self.look();
        if !self.traced.complete && !self.traced.memory_full {
            self.traced.seen = self.tracer.seen();
            self.traced.unfinished = self.tracer.is_tracing();
        }
        self.traced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use firstbyte_measure::tracer::{Backend, Recording};
    use std::collections::VecDeque;

    #[derive(Debug)]
    struct Scripted(VecDeque<Look>, u64);

    impl StartTracer for Scripted {
        fn follow_next_child(&mut self) {}
        fn follow(&mut self, _scope: Scope) {}
        fn look(&mut self) -> Look {
            self.1 += 1;
            self.0.pop_front().unwrap_or(Look::Nothing)
        }
        fn is_tracing(&self) -> bool {
            self.0.is_empty()
        }
        fn seen(&self) -> u64 {
            self.1
        }
        fn stop(&mut self) -> Result<(), ChooseError> {
            self.0.clear();
            Ok(())
        }
    }

    fn ended(number: u64, bytes: u64) -> Look {
        let recording = Recording {
            usage: firstbyte_measure::launch::Usage::default(),
            ..Recording::empty(Backend::Bpf, 1)
        };
        Look::Ended(Box::new(TracedStart { recording, number, sees_our_files: true, bytes }))
    }

    fn collected(looks: Vec<Look>, most: usize) -> TracedStarts {
        let traced = TracedStarts::default();
        let mut collector =
            Collector { tracer: Box::new(Scripted(looks.into(), 0)), most, memory: 100, traced };
        while collector.look() {}
        collector.finish()
    }

    #[test]
    fn starts_are_kept_as_long_as_there_is_memory() {
        let traced = collected(vec![ended(1, 60), ended(2, 50), ended(3, 10)], 9);
        let numbers: Vec<u64> = traced.starts.iter().map(|start| start.number).collect();
        assert_eq!((numbers, traced.memory_full, traced.complete, traced.seen), (vec![1], true, false, 2));
    }

    #[test]
    fn no_more_starts_are_kept_than_are_wanted_and_the_others_are_counted() {
        let looks = vec![Look::TooLong, ended(2, 1), Look::TooLarge, Look::Soon, ended(9, 1), ended(10, 1)];
        let traced = collected(looks, 2);
        let numbers: Vec<u64> = traced.starts.iter().map(|start| start.number).collect();
        assert_eq!((numbers, traced.too_long, traced.too_large), (vec![2, 9], 1, 1));
        assert_eq!((traced.complete, traced.memory_full, traced.unfinished), (true, false, false));
        assert!(collected(vec![Look::TooLong], 2).unfinished, "one is traced at the end");
    }
}
