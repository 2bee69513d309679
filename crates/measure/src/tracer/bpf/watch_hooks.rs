//! Where the programs of a watch are attached: to tracepoints, and to the kernel's functions for `execve` and `execveat`.
//!
//! The tracepoints of system calls make every call of every process slower (they take the kernel's slow path), and hooks on
//! these functions cost only those who execute a program. Kernels that cannot hook functions get the tracepoints instead.

use super::attach::{AttachError, raw_tracepoint, refused, with_causes};
use aya::programs::{FEntry, FExit, ProgramError};
use aya::{Btf, BtfError, Ebpf};

/// The tracepoints of every watch.
const TRACEPOINTS: [&str; 5] =
    ["sched_process_fork", "sched_process_exec", "sched_process_exit", "signal_generate", "sched_switch"];

/// The entry and the return of every system call.
const CALLS: [&str; 2] = ["sys_enter", "sys_exit"];

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

/// How the programs will be attached.
#[derive(Debug)]
pub(super) struct Hooks {
    functions: Vec<&'static ExecFunction>,
    /// Whether the system calls are seen that write output.
    pub(super) outputs: bool,
    /// Why execs are seen by the tracepoints of system calls; `None` if they are seen by the kernel's functions.
    pub(super) without_functions: Option<String>,
}

impl Hooks {
    /// Loads the programs. `outputs`: the first output is wanted.
    pub(super) fn load(programs: &mut Ebpf, btf: &Btf, outputs: bool) -> Result<Hooks, AttachError> {
        load_tracepoints(programs, &TRACEPOINTS)?;
        let mut hooks = Hooks { functions: Vec::new(), outputs, without_functions: None };
        for function in &EXECS {
            match function.load(programs, btf) {
                Ok(()) => hooks.functions.push(function),
                Err(ProgramError::Btf(BtfError::UnknownBtfTypeName { .. })) if function.compat => {}
                Err(cause) => hooks.give_up(programs, function, cause)?,
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
                self.give_up(programs, function, cause)?;
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
        self.without_functions.is_some()
    }

    fn needs_calls(&self) -> bool {
        self.outputs || self.execs_by_calls()
    }

    /// Takes the programs off all functions, because this one cannot be hooked. A lack of rights has no remedy here.
    fn give_up(
        &mut self,
        programs: &mut Ebpf,
        function: &ExecFunction,
        cause: ProgramError,
    ) -> Result<(), AttachError> {
        let cause = match refused(function.begun, cause) {
            denied @ AttachError::Rights(_) => return Err(denied),
            AttachError::Verifier { cause, .. } => cause.to_string(),
            AttachError::Program { cause, .. } => with_causes(&cause),
            other => with_causes(&other),
        };
        for function in self.functions.drain(..) {
            function.unload(programs);
        }
        self.without_functions =
            Some(format!("the kernel's function `{}` cannot be hooked: {cause}", function.name));
        Ok(())
    }
}

impl ExecFunction {
    fn load(&self, programs: &mut Ebpf, btf: &Btf) -> Result<(), ProgramError> {
        entry(programs, self.begun)?.load(self.name, btf)?;
        exit(programs, self.ended)?.load(self.name, btf)
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
    for name in names {
        raw_tracepoint(programs, name)?.load().map_err(|cause| refused(name, cause))?;
    }
    Ok(())
}
