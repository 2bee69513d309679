//! The watcher that works here.

#[cfg(not(feature = "bpf"))]
use super::choose::BUILT_WITHOUT_BPF;
use super::choose::{BackendChoice, ChooseError};
use super::ptrace::PtraceWatch;
use super::starts::{StartTracer, StartsPlan};
use super::watch::{WantedCalls, Watcher};

/// Attaches the watcher that was asked for; `Auto` takes BPF, or else ptrace, which can watch only a command. A BPF watcher has
/// a buffer of `ring` bytes (a power of two, a multiple of the page size). From now on every task of the machine runs its
/// programs, but nothing is watched yet.
///
/// # Errors
///
/// We may not do that, or this kernel cannot.
pub fn attach_watcher(
    choice: BackendChoice,
    a_command: bool,
    ring: u32,
    calls: WantedCalls,
) -> Result<Box<dyn Watcher>, ChooseError> {
    let by_ptrace = || -> Box<dyn Watcher> { Box::<PtraceWatch>::default() };
    match choice {
        BackendChoice::Pipe => Err(ChooseError::NoCalls),
        BackendChoice::Ptrace if !a_command => Err(ChooseError::OnlyACommand),
        BackendChoice::Ptrace => Ok(by_ptrace()),
        BackendChoice::Bpf => bpf(a_command, ring, calls),
        BackendChoice::Auto => bpf(a_command, ring, calls).or_else(|error| {
            let works = a_command && super::probe::ptrace_stop().is_ok();
            if works { Ok(by_ptrace()) } else { Err(error) }
        }),
    }
}

/// Attaches what traces starts of a program beside a watcher. From now on every task of the machine runs its programs, but no
/// start is traced yet.
///
/// # Errors
///
/// We may not do that, or this kernel cannot.
#[cfg(feature = "bpf")]
pub fn attach_starts(plan: StartsPlan) -> Result<Box<dyn StartTracer>, ChooseError> {
    let tracer = super::bpf::BpfStarts::attach(plan).map_err(|error| ChooseError::Bpf(error.to_string()))?;
    Ok(Box::new(tracer))
}

/// There is no tracer for it.
///
/// # Errors
///
/// Always.
#[cfg(not(feature = "bpf"))]
pub fn attach_starts(_plan: StartsPlan) -> Result<Box<dyn StartTracer>, ChooseError> {
    Err(ChooseError::Bpf(BUILT_WITHOUT_BPF.to_owned()))
}

#[cfg(feature = "bpf")]
fn bpf(a_command: bool, ring: u32, calls: WantedCalls) -> Result<Box<dyn Watcher>, ChooseError> {
    let watcher = super::bpf::BpfWatch::attach(a_command, ring, calls);
    Ok(Box::new(watcher.map_err(|error| ChooseError::Bpf(error.to_string()))?))
}

#[cfg(not(feature = "bpf"))]
fn bpf(_a_command: bool, _ring: u32, _calls: WantedCalls) -> Result<Box<dyn Watcher>, ChooseError> {
    Err(ChooseError::Bpf(BUILT_WITHOUT_BPF.to_owned()))
}
