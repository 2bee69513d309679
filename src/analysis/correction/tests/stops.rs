//! Runs whose stops say how long threads have had a processor.

use super::*;

/// A call by ptrace whose thread had had a processor for so long when it was entered and when it returned, so often.
fn measured(tid: u32, name: &str, [from, to]: [u64; 2], ran: [u64; 2], turns: [u64; 2]) -> Event {
    let mut event = call(tid, name, from, to, 0);
    let EventKind::Call(call) = &mut event.kind else { unreachable!() };
    let reading = |at: usize| OnProcessor::from([ran[at], 0, turns[at]]);
    call.processor = Some(Box::new([reading(0), reading(1)]));
    event
}

/// Calls that take 100 ns, 1000 ns of user code after each, and stops of 2000 ns of a processor, after which it takes `latencies`
/// until the thread goes on.
fn with_readings(latencies: &[u64]) -> Vec<Event> {
    let (mut at, mut ran, mut turns) = (1_000_000, 5000, 7);
    let calls = latencies.iter().map(|latency| {
        let (from, entered) = (at, ran);
        at += 2100 + latency;
        ran += 2100;
        let event = measured(1, "getpid", [from, at], [entered, ran], [turns, turns + 1]);
        at += 3000 + latency;
        ran += 3000;
        turns += 2;
        event
    });
    calls.collect()
}

/// Beginnings and ends of the calls, at this pace.
fn calls_at(pace: Pace, mut recording: Recording) -> Vec<[u64; 2]> {
    let costs = PointCosts { pace, ..PointCosts::default() };
    Lags::of(&recording).corrected(&mut recording, &costs, |recording| {
        let calls = recording.events.iter().map(|event| match &event.kind {
            EventKind::Call(call) => [call.entered.0, event.at.0],
            _ => unreachable!(),
        });
        calls.collect()
    })
}

/// Their lengths, and the times between them.
fn lengths(calls: &[[u64; 2]]) -> (Vec<u64>, Vec<u64>) {
    let between = calls.windows(2).map(|pair| pair[1][0] - pair[0][1]);
    (calls.iter().map(|[from, to]| to - from).collect(), between.collect())
}

#[test]
fn time_without_a_processor_is_no_time_of_the_program() {
    let recording = recording(Backend::Ptrace, with_readings(&[9000, 40_000, 500, 9000, 200_000, 7000]));
    // the cheapest kind of call takes 2100 ns with its stop
    let pace = Pace { stops: 2000.0 / 2100.0, ..NONE };
    assert_eq!(lengths(&calls_at(pace, recording)), (vec![100; 6], vec![1000; 5]));
}

#[test]
fn stops_may_cost_more_in_user_code() {
    let recording = recording(Backend::Ptrace, with_readings(&[9000; 6]));
    let pace = Pace { stops: 2000.0 / 2100.0, tilt: 100.0 / 2100.0, ..NONE };
    assert_eq!(lengths(&calls_at(pace, recording)), (vec![200; 6], vec![900; 5]));
}

#[test]
fn a_part_of_user_code_may_be_of_the_calls_after_it() {
    let recording = recording(Backend::Ptrace, with_readings(&[9000; 6]));
    let pace = Pace { stops: 2000.0 / 2100.0, given: 0.4, ..NONE };
    let mut lengths = lengths(&calls_at(pace, recording));
    // before the first one is none
    assert_eq!(lengths.0.remove(0), 100);
    assert_eq!(lengths, (vec![500; 5], vec![600; 5]));
}

#[test]
fn stops_take_no_longer_than_from_call_to_call() {
    // each of the calls takes 100 ns longer than the user code after it
    let mut events = with_readings(&[9000; 6]);
    for (n, event) in events.iter_mut().enumerate() {
        let EventKind::Call(call) = &mut event.kind else { unreachable!() };
        let (before, [entry, exit]) = (1000 * n as u64, call.processor.as_mut().unwrap().as_mut());
        (entry.ran.0, exit.ran.0) = (entry.ran.0 - before, exit.ran.0 - before);
        (call.entered.0, event.at.0) = (call.entered.0 - before, event.at.0 - before);
    }
    let pace = Pace { stops: 1.0, ..NONE };
    let (calls, between) = lengths(&calls_at(pace, recording(Backend::Ptrace, events)));
    // two events are never at the same time
    assert_eq!((calls[1..].to_vec(), between), (vec![99; 5], vec![1; 5]));
}

#[test]
fn samples_say_how_much_is_user_code_whatever_stops_took() {
    let in_user_code = |time: f64| {
        let observed = ObservedRuns {
            recordings: vec![recording(Backend::Ptrace, with_readings(&[9000; 50]))],
            untraced: vec![110_000.0],
            user: Some(SampledUser { time, samples: 1_000_000, each: 0.001, period: 0.001, executions: 1 }),
            ..ObservedRuns::default()
        };
        let costs = costs_of(&observed, None);
        let lags = Lags::of(&observed.recordings[0]);
        [lags.user(&observed.recordings[0], &costs), lags.total(&observed.recordings[0], &costs)]
    };
    for time in [5000.0, 20_000.0, 45_000.0, 51_000.0] {
        let [user, total] = in_user_code(time);
        assert!((user - time).abs() < 100.0 && (total - 55_000.0).abs() < 550.0, "{user} {total}");
    }
}

#[test]
fn a_thread_that_got_a_processor_twice_in_a_call_waited_there() {
    let mut events = with_readings(&[9000; 6]);
    let at = events.last().unwrap().at.0 + 12_000;
    events.push(measured(1, "getpid", [at, at + 1_009_000], [40_000, 42_100], [19, 21]));
    let calls = calls_at(NONE, recording(Backend::Ptrace, events));
    // as long as the others have no processor is the way from stop to stop
    assert_eq!(calls[6][1] - calls[6][0], 1_009_000 - 9000);
}

#[test]
fn stops_that_wake_another_processor_cost_more() {
    // of those before, 400 ns are for a turn; these stops take 10000 ns more
    let mut events = with_readings(&[9000; 20]);
    for (n, event) in events.iter_mut().enumerate() {
        let EventKind::Call(call) = &mut event.kind else { unreachable!() };
        let [entry, exit] = call.processor.as_mut().unwrap().as_mut();
        let n = n as u64;
        if n < 10 {
            (entry.delayed, exit.delayed) = (Nanos(800 * n), Nanos(800 * n + 400));
        } else {
            (entry.delayed, exit.delayed) = (Nanos(8000), Nanos(8000));
            let more = 10_000 * (2 * (n - 10));
            (entry.ran.0, exit.ran.0) = (entry.ran.0 + more, exit.ran.0 + more + 10_000);
            (call.entered.0, event.at.0) = (call.entered.0 + more, event.at.0 + more + 10_000);
        }
    }
    let pace = Pace { stops: 1.0, ..NONE };
    let (calls, between) = lengths(&calls_at(pace, recording(Backend::Ptrace, events)));
    // two events are never at the same time
    assert!(calls.iter().all(|length| *length <= 1), "{calls:?}");
    assert_eq!(between[..9], [899; 9]);
    assert_eq!(between[10..], [899; 9]);
}

#[test]
fn a_run_that_was_slowed_down_lasts_as_long_as_the_untraced_one() {
    let long = |untraced: f64| {
        let observed = ObservedRuns {
            recordings: vec![recording(Backend::Ptrace, with_readings(&[9000; 50]))],
            untraced: vec![2.0 * untraced],
            ..ObservedRuns::default()
        };
        let costs = costs_of(&observed, None);
        Lags::of(&observed.recordings[0]).total(&observed.recordings[0], &costs)
    };
    // half of so short a run's wall time is its launch
    for untraced in [40_000.0, 50_000.0, 59_000.0] {
        assert!((long(untraced) - untraced).abs() < 0.01 * untraced, "{}", long(untraced));
    }
}

#[test]
fn waits_give_way_only_if_nothing_else_explains_the_length_of_untraced_runs() {
    // a thread works in 60 of 1,100 ns, another one waits for something else meanwhile
    let ways = |name: &str, result: i64, untraced: f64| {
        let mut events = with_readings(&[9000; 60]);
        let (from, to) = (events[0].at.0 + 10, events[59].at.0 + 10);
        let mut wait = measured(2, name, [from, to], [1000, 3100], [1, 3]);
        let EventKind::Call(call) = &mut wait.kind else { unreachable!() };
        call.result = Some(result);
        events.extend([fork(1, from - 5, 2), wait]);
        events.extend([event(2, to + 20, EventKind::Fork { child_pid: 1, child_tid: 3 })]);
        for event in &mut events {
            event.pid = 1;
        }
        let observed = ObservedRuns {
            recordings: vec![recording(Backend::Ptrace, events)],
            untraced: vec![untraced + 60_000.0],
            ..ObservedRuns::default()
        };
        costs_of(&observed, None).pace.giving_way
    };
    let [working, waiting] = [66_000.0, 1_400_000.0];
    assert_eq!(ways("epoll_wait", 1, waiting), GivingWay::Nothing);
    assert_eq!(ways("epoll_wait", 1, working), GivingWay::Waits);
    assert_eq!(ways("epoll_wait", 0, working), GivingWay::Timeouts);
    assert_eq!(ways("nanosleep", 0, 1_400_000.0), GivingWay::Nothing);
}

/// The last call of these runs, and one of the same thread behind.
fn after(events: &[Event], name: &str, length: u64, ran: u64, turns: u64) -> Event {
    let last = events.last().unwrap();
    let EventKind::Call(call) = &last.kind else { unreachable!() };
    let OnProcessor { ran: before, turns: taken, .. } = call.processor.as_ref().unwrap()[1];
    let (at, before, taken) = (last.at.0 + 12_000, before.0 + 3000, taken + 1);
    measured(1, name, [at, at + length], [before, before + ran], [taken, taken + turns])
}

/// How long the last call takes, corrected.
fn length_of_last(events: Vec<Event>) -> u64 {
    let pace = Pace { stops: 2000.0 / 2100.0, giving_way: GivingWay::Waits, ..NONE };
    let costs = PointCosts { pace, ..PointCosts::default() };
    let mut recording = recording(Backend::Ptrace, events);
    Lags::of(&recording).corrected(&mut recording, &costs, |recording| {
        let last = recording.events.last().unwrap();
        let EventKind::Call(call) = &last.kind else { unreachable!() };
        last.at.0 - call.entered.0
    })
}

#[test]
fn the_stop_of_a_fork_within_a_call_is_no_sleep() {
    let length = |turns: u64| {
        let mut events = with_readings(&[9000; 6]);
        let forking = after(&events, "clone", 42_100, 4100, turns);
        let EventKind::Call(call) = &forking.kind else { unreachable!() };
        events.push(fork(1, call.entered.0 + 20_000, 2));
        events.push(forking);
        length_of_last(events)
    };
    // two stops of 2000 ns on the processor, and all of the way to the tracer and back
    assert_eq!(length(2), 100);
    // what the way usually takes for both stops, if it also slept
    assert_eq!(length(3), 100 + 38_000 - 2 * 9000);
}

#[test]
fn a_call_that_an_ignored_signal_interrupted_stops_four_times() {
    let length = |turns: u64| {
        let mut events = with_readings(&[9000; 6]);
        let waiting = after(&events, "wait4", 54_100, 8100, turns);
        let EventKind::Call(call) = &waiting.kind else { unreachable!() };
        events.push(event(1, call.entered.0 + 20_000, EventKind::Signalled { signal: libc::SIGCHLD }));
        events.push(waiting);
        length_of_last(events)
    };
    // all of the way to the tracer and back, or what it usually takes for four stops
    assert_eq!([length(4), length(5)], [100, 100 + 46_000 - 4 * 9000]);
}

#[test]
fn a_failed_exec_stops_twice_like_other_calls() {
    let mut events = with_readings(&[9000; 6]);
    let exec = after(&events, "execve", 11_150, 2150, 1);
    let EventKind::Call(call) = &exec.kind else { unreachable!() };
    events.push(event(1, call.entered.0, EventKind::ExecEnter));
    events.push(event(1, exec.at.0, EventKind::ExecExit { result: -2 }));
    let at = Pace { stops: 2000.0 / 2100.0, ..NONE };
    let costs = PointCosts { pace: at, ..PointCosts::default() };
    let recording = recording(Backend::Ptrace, [events, vec![exec]].concat());
    // six calls of 100 ns, 1000 ns after each, and 150 ns for this one
    let total = Lags::of(&recording).total(&recording, &costs).round();
    assert!((total - 6.0 * 1100.0 + 100.0 - 150.0).abs() < 2.0, "{total}");
}

#[test]
fn a_parent_waits_as_long_as_its_child_lives() {
    let mut events = with_readings(&[9000; 6]);
    let (from, to) = (events[0].at.0, events[5].at.0);
    for event in &mut events {
        (event.pid, event.tid) = (2, 2);
    }
    let end = to + 40_000;
    events.push(event(2, end, EventKind::Exit { group_dead: true, status: 0 }));
    let mut wait = measured(1, "wait4", [from - 500, end + 20_000], [1000, 3100], [1, 3]);
    let EventKind::Call(call) = &mut wait.kind else { unreachable!() };
    call.result = Some(2);
    events.extend([fork(1, from - 1000, 2), wait]);
    let costs = PointCosts { pace: Pace { stops: 1.0, ..NONE }, ..PointCosts::default() };
    let mut recording = recording(Backend::Ptrace, events);
    let [exit, returned] = Lags::of(&recording).corrected(&mut recording, &costs, |recording| {
        let at = |tid| recording.events.iter().rev().find(|event| event.tid == tid).unwrap().at;
        [at(2), at(1)]
    });
    // not before its end, nor a stop later
    assert!(exit <= returned && returned.0 < exit.0 + 2000, "{exit} {returned}");
}

#[test]
fn a_call_that_never_returns_has_one_stop() {
    let mut events = with_readings(&[9000; 6]);
    let begin = events.last().unwrap().at.0 + 100_000;
    let mut last = call(1, "exit_group", begin, begin, 0);
    let EventKind::Call(ending) = &mut last.kind else { unreachable!() };
    ending.result = None;
    let exit = event(1, begin + 100_000, EventKind::Exit { group_dead: true, status: 0 });
    events.extend([last, exit]);
    let recording = recording(Backend::Ptrace, events);
    let total = |stops: f64| {
        let costs = PointCosts { pace: Pace { stops, ..NONE }, ..PointCosts::default() };
        Nanos::rounded(Lags::of(&recording).total(&recording, &costs)).0
    };
    // 2100 ns at each stop: two for each of five calls, that of the entry, and that of the exit
    assert_eq!(total(0.0) - total(0.1), 210 * 12);
}

#[test]
fn a_call_that_never_returns_lasts_until_its_thread_ends() {
    let calls = with_readings(&[9000; 6]);
    let [begin, end] = [calls[0].at.0, calls[5].at.0];
    let mut wait = call(2, "futex", begin + 10, begin + 10, 0);
    let EventKind::Call(waiting) = &mut wait.kind else { unreachable!() };
    waiting.result = None;

    let costs = PointCosts { pace: Pace { stops: 2000.0 / 2100.0, ..NONE }, ..PointCosts::default() };
    let in_user_code = |exit: u64| {
        let exit = event(2, exit, EventKind::Exit { group_dead: false, status: 0 });
        let events = [calls.clone(), vec![fork(1, begin + 5, 2), wait.clone(), exit]].concat();
        let recording = recording(Backend::Ptrace, events);
        Lags::of(&recording).user(&recording, &costs)
    };
    let [soon, late] = [begin + 20, end + 10].map(in_user_code);
    assert!((late - soon).abs() < 10.0, "{late} after {soon}");
}

#[test]
fn what_comes_after_the_awaited_event_is_no_part_of_the_run() {
    let events = with_readings(&[9000; 6]);
    let reached =
        Event { at: Nanos(events[2].at.0 + 10), pid: 0, tid: 0, kind: EventKind::Reached { sign: None } };
    let until = |events: &[Event]| {
        let recording = recording(Backend::Ptrace, events.to_vec());
        Lags::of(&recording).total(&recording, &PointCosts::default()).round()
    };
    let [all, three] = [until(&events), until(&events[..3])];
    assert!(three < all);
    let with = until(&[&events[..], &[reached]].concat());
    assert!((with - three).abs() <= 10.0, "{with} {three}");
}
