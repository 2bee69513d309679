//! Where the time of a thread went, by kind and name.

use super::model::Account;
use super::step::{Reason, Region, Step, What};
use firstbyte_measure::launch::exit_status::named;
use firstbyte_measure::units::Nanos;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The kinds of work and waiting into which a total is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkKind {
    /// The work of the kernel for an exec.
    KernelExec,
    Fault,
    /// System calls, without the waits and faults inside them.
    Syscall,
    /// The end of a process by a signal: its delivery, the core, and the release of what the process had.
    Death,
    User,
    /// The thread was off the processor.
    Waiting,
}

impl WorkKind {
    /// In the order in which they are shown.
    pub const ALL: [WorkKind; 6] = [
        WorkKind::KernelExec,
        WorkKind::Fault,
        WorkKind::Syscall,
        WorkKind::Death,
        WorkKind::User,
        WorkKind::Waiting,
    ];

    /// The name in documents.
    pub fn key(self) -> &'static str {
        match self {
            WorkKind::KernelExec => "kernel_exec",
            WorkKind::Fault => "fault",
            WorkKind::Syscall => "syscall",
            WorkKind::Death => "death",
            WorkKind::User => "user",
            WorkKind::Waiting => "waiting",
        }
    }

    /// The name for people, where page faults may not have been seen: user code then has their time.
    pub fn title_if(self, sees_faults: bool) -> &'static str {
        if self == WorkKind::User && !sees_faults { "user code with page faults" } else { self.title() }
    }

    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            WorkKind::KernelExec => "kernel exec work",
            WorkKind::Fault => "page faults",
            WorkKind::Syscall => "system calls",
            WorkKind::Death => "death",
            WorkKind::User => "user code",
            WorkKind::Waiting => "waiting",
        }
    }
}

/// The time of all steps of one kind and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    pub kind: WorkKind,
    /// A stage of an exec, a region, a call, a module or a reason, depending on the kind.
    pub name: String,
    pub time: Nanos,
    /// The number of steps.
    pub count: u64,
}

impl Share {
    /// The kind and the name, for people.
    pub fn title(&self) -> String {
        let kind = self.kind.title();
        if self.kind == WorkKind::Death {
            return format!("{kind} {}", self.name);
        }
        if self.name == kind { kind.to_owned() } else { format!("{kind} ({})", self.name) }
    }
}

pub fn kind(what: &What) -> WorkKind {
    match what {
        What::Exec { .. } => WorkKind::KernelExec,
        What::Call { .. } => WorkKind::Syscall,
        What::Fault(_) => WorkKind::Fault,
        What::Death { .. } => WorkKind::Death,
        What::Off(_) => WorkKind::Waiting,
        What::User => WorkKind::User,
    }
}

/// The name of a step's share: see [`Share::name`].
pub(super) fn name(what: &What) -> Cow<'_, str> {
    match what {
        What::Exec { stage, .. } => stage.to_string().into(),
        What::Call { name, .. } => Cow::Borrowed(name),
        What::Fault(fault) => {
            let region = match &fault.region {
                Region::File(path) => short(path).into(),
                Region::Bss(path) => format!("{}, zeroed data", short(path)).into(),
                Region::Anonymous => "anonymous memory".into(),
                Region::Heap => "heap".into(),
                Region::Stack => "stack".into(),
                Region::Vdso => "vdso".into(),
                Region::Unknown => "an image being built".into(),
            };
            if fault.major { format!("{region}, from disk").into() } else { region }
        }
        What::Death { signal } => format!("by {}", named(*signal)).into(),
        What::Off(reason @ (Reason::Preempted | Reason::Stopped)) => reason.name().into(),
        What::Off(reason) => format!("for {}", reason.name()).into(),
        What::User => WorkKind::User.title().into(),
    }
}

fn short(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The name of the waits in which other programs had the processor. They say nothing of the program.
pub const OTHERS: &str = "while other programs had the processor";

/// The shares of a run's path. Their times sum to the total.
pub fn shares_of(account: &Account) -> Vec<Share> {
    let (mut all, taken) = (BTreeMap::new(), account.taken());
    let mut by_others = taken.by_others.iter().peekable();
    for (place, step) in account.steps.iter().enumerate() {
        let taken = by_others.next_if(|(of, _)| *of == place).map_or(Nanos(0), |(_, time)| *time);
        if taken.0 == 0 || taken < step.self_time {
            add(&mut all, step, Nanos(step.self_time.0 - taken.0));
        }
    }
    let others = taken.others;
    if others.times > 0 {
        all.insert((WorkKind::Waiting, OTHERS.into()), (others.time, others.times as u64));
    }
    sorted(all)
}

/// The shares of some steps, sorted by kind and name. Their times sum to the steps' own times.
pub fn shares(steps: &[Step]) -> Vec<Share> {
    let mut all = BTreeMap::new();
    for step in steps {
        add(&mut all, step, step.self_time);
    }
    sorted(all)
}

/// The time and the number of steps of each kind and name.
type Amounts<'s> = BTreeMap<(WorkKind, Cow<'s, str>), (Nanos, u64)>;

fn add<'s>(all: &mut Amounts<'s>, step: &'s Step, time: Nanos) {
    let share = all.entry((kind(&step.what), name(&step.what))).or_default();
    *share = (share.0 + time, share.1 + 1);
}

fn sorted(all: Amounts) -> Vec<Share> {
    let share = |((kind, name), (time, count)): ((_, Cow<str>), _)| Share {
        kind,
        name: name.into_owned(),
        time,
        count,
    };
    all.into_iter().map(share).collect()
}
