//! Where the programs of a watch are attached: to tracepoints, and to the kernel's functions for `execve` and `execveat`.
//!
//! With the tracepoints of system calls, every call of every process takes the kernel's slow path. Hooks on these functions
//! cost only those who execute a program, but to remove one, the kernel waits for all tasks, 0.1 s for each function. So the
//! machine, which is watched for long, gets them if its kernel can hook functions, and a command gets the tracepoints.

use super::attach::{AttachError, Loading, judged, raw_tracepoint, refused, with_causes};
use super::skipped::skips;
use aya::programs::{FEntry, FExit, ProgramError};
use aya::{Btf, BtfError, Ebpf};

/// The tracepoints of every watch.
const TRACEPOINTS: [&str; 6] = [
    "sched_process_fork",
    "sched_process_exec",
    "sched_process_exit",
    "sched_process_wait",
    "signal_generate",
    "sched_switch",
];

/// The entry and the return of every system call.
const CALLS: [&str; 2] = ["sys_enter", "sys_exit"];

/// Those of [`TRACEPOINTS`] without which a process is not seen to begin or to end.
const LIVES: [&str; 3] = ["sched_process_fork", "sched_process_exec", "sched_process_exit"];

/// A function of the kernel, and the programs for its entry and its return.
#[derive(Debug)]
struct ExecFunction {
    name: &'static str,
    begun: &'static str,
    ended: &'static str,
    /// A kernel without 32-bit calls does not have it.
    compat: bool,
}

macro_rules! exec_functions {
    ($native:literal, $compat:literal) => {
        [
            exec_functions!($native, "execve", "execve", false),
            exec_functions!($native, "execveat", "execveat", false),
            exec_functions!($compat, "execve", "compat_execve", true),
            exec_functions!($compat, "execveat", "compat_execveat", true),
        ]
    };
    ($prefix:literal, $call:literal, $program:literal, $compat:literal) => {
        ExecFunction {
            name: concat!($prefix, $call),
            begun: concat!($program, "_begun"),
            ended: concat!($program, "_ended"),
            compat: $compat,
        }
    };
}

#[cfg(target_arch = "x86_64")]
const EXECS: [ExecFunction; 4] = exec_functions!("__x64_sys_", "__ia32_compat_sys_");
#[cfg(target_arch = "aarch64")]
const EXECS: [ExecFunction; 4] = exec_functions!("__arm64_sys_", "__arm64_compat_sys_");

/// Which hooks are wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct WantedHooks {
    /// On the kernel's functions for execs, if this kernel can.
    pub(super) functions: bool,
    /// On system calls that write output or look up a path.
    pub(super) calls: bool,
}

/// How the programs will be attached.
#[derive(Debug)]
pub(super) struct Hooks {
    functions: Vec<&'static ExecFunction>,
    wanted: WantedHooks,
    /// Why the kernel's functions cannot be hooked; `None` if they can, or if that is not wanted.
    pub(super) without_functions: Option<String>,
}

impl Hooks {
    /// Loads the programs.
    pub(super) fn load(
        programs: &mut Ebpf,
        loading: Loading<'_>,
        wanted: WantedHooks,
    ) -> Result<Hooks, AttachError> {
        load_tracepoints(programs, &TRACEPOINTS)?;
        let mut hooks = Hooks { functions: Vec::new(), wanted, without_functions: None };
        let btf = if wanted.functions { Some(loading.to_attach()?) } else { None };
        let execs = btf.iter().flat_map(|btf| EXECS.iter().map(move |function| (function, btf)));
        for (function, btf) in execs {
            match function.load(programs, btf) {
                Ok(()) => hooks.functions.push(function),
                Err(ProgramError::Btf(BtfError::UnknownBtfTypeName { .. })) if function.compat => {}
                Err(cause) => {
                    hooks.give_up(programs, function, cause);
                    break;
                }
            }
        }
        if hooks.needs_calls() {
            load_tracepoints(programs, &CALLS)?;
        }
        Ok(hooks)
    }

    /// Attaches them. From now on every task of the machine runs them.
    pub(super) fn attach(&mut self, programs: &mut Ebpf) -> Result<(), AttachError> {
        let loaded = self.needs_calls();
        for function in self.functions.clone() {
            if let Err(cause) = function.attach(programs) {
                self.give_up(programs, function, cause);
                break;
            }
        }

        if self.needs_calls() && !loaded {
            load_tracepoints(programs, &CALLS)?;
        }
        let calls = if self.needs_calls() { &CALLS[..] } else { &[] };
        for name in TRACEPOINTS.iter().chain(calls) {
            raw_tracepoint(programs, name)?.attach(name).map_err(|cause| refused(name, cause))?;
        }
        Ok(())
    }

    /// Whether execs are seen by the tracepoints of system calls.
    pub(super) fn execs_by_calls(&self) -> bool {
        self.functions.is_empty()
    }

    fn needs_calls(&self) -> bool {
        self.wanted.calls || self.execs_by_calls()
    }

    /// How often the kernel skipped a program that sees an exec, a fork or an exit.
    pub(super) fn missed(&self, programs: &Ebpf) -> u64 {
        let functions = self.functions.iter().flat_map(|function| [function.begun, function.ended]);
        let names: Vec<&str> = functions.chain(LIVES).collect();
        skips(programs, &names)
    }

    /// Takes the programs off all functions, because this one cannot be hooked. Some kernels allow tracepoints, but no hooks on
    /// functions (EPERM).
    fn give_up(&mut self, programs: &mut Ebpf, function: &ExecFunction, cause: ProgramError) {
        let cause = match refused(function.begun, cause) {
            AttachError::Rights(_) => "not permitted".to_owned(),
            AttachError::Verifier { cause, .. } => cause.to_string(),
            AttachError::Program { cause, .. } => with_causes(&cause),
            other => with_causes(&other),
        };
        for function in self.functions.drain(..) {
            function.unload(programs);
        }
        function.unload(programs);
        self.without_functions =
            Some(format!("the kernel's function `{}` cannot be hooked: {cause}", function.name));
    }
}

impl ExecFunction {
    fn load(&self, programs: &mut Ebpf, btf: &Btf) -> Result<(), ProgramError> {
        let (begun, ended) = (self.begun, self.ended);
        judged(|| entry(programs, begun)?.load(self.name, btf))?;
        judged(|| exit(programs, ended)?.load(self.name, btf))
    }

    fn attach(&self, programs: &mut Ebpf) -> Result<(), ProgramError> {
        entry(programs, self.begun)?.attach()?;
        exit(programs, self.ended)?.attach()?;
        Ok(())
    }

    /// Also if it was only loaded, or not even that.
    fn unload(&self, programs: &mut Ebpf) {
        let _ = entry(programs, self.begun).and_then(FEntry::unload);
        let _ = exit(programs, self.ended).and_then(FExit::unload);
    }
}

fn entry<'p>(programs: &'p mut Ebpf, name: &str) -> Result<&'p mut FEntry, ProgramError> {
    programs.program_mut(name).ok_or(ProgramError::NotLoaded)?.try_into()
}

fn exit<'p>(programs: &'p mut Ebpf, name: &str) -> Result<&'p mut FExit, ProgramError> {
    programs.program_mut(name).ok_or(ProgramError::NotLoaded)?.try_into()
}

fn load_tracepoints(programs: &mut Ebpf, names: &[&'static str]) -> Result<(), AttachError> {
    names.iter().try_for_each(|name| {
        let program = raw_tracepoint(programs, name)?;
        judged(|| program.load()).map_err(|cause| refused(name, cause))
    })
}
