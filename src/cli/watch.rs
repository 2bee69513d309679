//! Arguments and plan of `firstbyte watch`.

use super::export::ExportArgs;
use super::options::{BackendArg, JsonArgs};
use super::program::ProgramArgs;
use super::shell::Interpreter;
use super::values::{duration, whole};
use crate::document::Kind;
use crate::output::Target;
use crate::prometheus::PrometheusPlan;
use crate::report::formats::Format;
use crate::watch::scope::{control_group, user_id};
use crate::watch::{CommandLines, Subject, WantedStarts, WatchPlan};
use firstbyte_measure::tracer::starts::MAX_PROGRAM_BYTES;
use firstbyte_measure::tracer::watch::{Scope, WantedCalls};
use firstbyte_measure::units::{Bytes, parse_bytes};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

const EXAMPLES: &str = "\
The command has your terminal, stdin, stdout and stderr. The results follow on stderr.

Examples:
  firstbyte watch make -j4
  firstbyte watch --export-json watch.json ./configure
  firstbyte watch --trace cc1 --export-trace cc1.json make
  firstbyte watch --duration 1m
  firstbyte watch --user postgres
  firstbyte watch --listen 127.0.0.1:9464";

/// Count and time all programs that a command or the whole machine starts
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Stop after DURATION, such as 500ms or 2m [default: when Ctrl-C is pressed]
    #[arg(long, value_name = "DURATION", value_parser = duration, conflicts_with = "command")]
    duration: Option<Duration>,
    /// Watch only the processes of this user, by name or number
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    user: Option<String>,
    /// Watch only the processes in this control group (cgroup2) and those below it
    #[arg(long, value_name = "PATH", conflicts_with = "command")]
    cgroup: Option<PathBuf>,
    /// Watch with BACKEND: bpf, or for a command also ptrace, which slows it down; `auto` uses the best one that works
    #[arg(long, value_name = "BACKEND", default_value = "auto", hide_possible_values = true)]
    backend: BackendArg,
    /// Also measure the time to the first output; this makes every system call of the machine slower
    #[arg(long)]
    first_output: bool,
    /// Also measure the parts that programs name by marks (see docs/marks.md); this makes every system call of the machine
    /// slower
    #[arg(long)]
    marks: bool,
    /// Use at most this much memory; programs and command lines that do not fit are only counted
    #[arg(long, value_name = "SIZE", value_parser = memory, default_value = "64MiB")]
    memory: u64,
    /// Replace arguments by a hash in everything that is shown and exported: they may be secret
    #[arg(long)]
    redact: bool,
    /// Also trace starts of PROGRAM in full, one at a time, as `firstbyte trace` does; give its path or its name
    #[arg(long, value_name = "PROGRAM", value_parser = program, conflicts_with = "redact", help_heading = TRACING)]
    trace: Option<String>,
    /// Trace only every Nth start
    #[arg(long, value_name = "N", default_value_t = 1, requires = "trace", help_heading = TRACING,
          value_parser = whole::<u64>(1..=1_000_000))]
    every: u64,
    /// Trace at most N starts; from then on the watch costs no more than one without --trace
    #[arg(long, value_name = "N", default_value_t = 20, requires = "trace", help_heading = TRACING,
          value_parser = whole::<u16>(1..=10_000))]
    max_traces: u16,
    /// Write the traces as `trace --export-json` does, or if FILE ends in `.rec`, the median one as `trace --record` does
    #[arg(long, value_name = "FILE", requires = "trace", help_heading = TRACING)]
    export_trace: Option<String>,
    /// Serve the counts to Prometheus at ADDRESS, as `/metrics`; no command lines are kept
    #[arg(long, value_name = "ADDRESS", value_parser = address, help_heading = MONITORING)]
    listen: Option<SocketAddr>,
    /// Write the counts every 15 s for the node exporter's textfile collector; no command lines are kept
    #[arg(long, value_name = "FILE.prom", value_parser = textfile, help_heading = MONITORING)]
    textfile: Option<Target>,
    /// Export at most N programs; sum the rest as `other`
    #[arg(long, alias = "programs", value_name = "N", default_value_t = 100, value_parser = programs, help_heading = MONITORING)]
    max_labels: u32,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    exports: ExportArgs<{ Kind::Watch as usize }>,
    // without one, the whole machine is watched
    #[command(flatten)]
    program: ProgramArgs,
}

#[derive(Clone, Debug)]
pub struct Plan {
    pub watching: WatchPlan,
    /// Monitoring, if it is wanted.
    pub prometheus: Option<PrometheusPlan>,
    pub exports: Vec<(Format, Target)>,
    /// Where the traces go.
    pub trace_export: Option<(Format, Target)>,
}

const MONITORING: &str = "Monitoring options";
const TRACING: &str = "Tracing options";

/// The kernel side compares this many bytes of its path.
fn program(text: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > MAX_PROGRAM_BYTES || text.ends_with('/') {
        return Err(format!(
            "`{text}` is not the name or the path of a program\nhelp: give at most {MAX_PROGRAM_BYTES} bytes, such as cc1 or /usr/bin/python3"
        ));
    }
    Ok(text.to_owned())
}

/// With less, the kernel's buffer would overflow at once.
const LEAST_MEMORY: u64 = 1 << 20;

fn memory(text: &str) -> Result<u64, String> {
    let Bytes(bytes) = parse_bytes(text)?;
    if bytes < LEAST_MEMORY {
        return Err(format!("`{text}` is too little\nhelp: give at least {}", Bytes(LEAST_MEMORY)));
    }
    Ok(bytes)
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let local = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    local.as_deref().unwrap_or(text).parse().map_err(|_| {
        format!("`{text}` is not an address with a port\nhelp: write it like 127.0.0.1:9464 or [::1]:9464")
    })
}

/// The collector reads only files with this ending, from a folder.
fn textfile(text: &str) -> Result<Target, String> {
    let is_read = Path::new(text).extension().is_some_and(|extension| extension == "prom");
    match Target::parse(text) {
        Target::File(file) if is_read => Ok(Target::File(file)),
        _ => Err(format!(
            "the node exporter would not read `{text}`\nhelp: give it a name that ends in `.prom`"
        )),
    }
}

/// Each program has about 30 series.
const MAX_PROGRAMS: u32 = 10_000;

fn programs(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|programs| *programs <= MAX_PROGRAMS).ok_or_else(|| {
        format!("`{text}` is not a number of programs from 0 to {MAX_PROGRAMS}\nhelp: docs/prometheus.md says how much each costs")
    })
}

/// What ptrace does not see of a watch, with its option.
const UNSEEN: [(&str, &str); 2] = [("the first output", "--first-output"), ("marks", "--marks")];

impl Args {
    /// The plan, or an error that ends in its `help:` line.
    pub fn plan(self) -> Result<Plan, String> {
        let subject = self.subject()?;
        self.check_backend()?;
        let (command_lines, prometheus) = (self.command_lines(), self.prometheus());
        let (starts, trace_export) = (self.starts(), self.trace_export());
        let exports = self.exports.targets_with(&self.json);
        let taken = exports.iter().chain(&trace_export).any(|(_, target)| target.is_stdout());

        let watching = WatchPlan {
            subject,
            backend: self.backend.into(),
            memory: self.memory,
            calls: WantedCalls { outputs: self.first_output, marks: self.marks },
            timeline: exports.iter().any(|(format, _)| matches!(format, Format::Perfetto | Format::Firefox)),
            command_lines,
            starts,
            stdout_to_stderr: taken,
        };
        Ok(Plan { watching, prometheus, exports, trace_export })
    }

    fn check_backend(&self) -> Result<(), String> {
        if !matches!(self.backend, BackendArg::Ptrace) {
            return Ok(());
        }
        let wanted = [self.first_output, self.marks];
        if let Some(((what, option), _)) = UNSEEN.iter().zip(wanted).find(|(_, wanted)| *wanted) {
            return Err(format!(
                "the `ptrace` backend does not see {what}\nhelp: leave out `{option}` or `--backend`"
            ));
        }
        if self.trace.is_none() {
            return Ok(());
        }
        Err("`--trace` needs the bpf backend: a program can have one ptrace tracer only\nhelp: leave out --backend ptrace"
            .to_owned())
    }

    fn starts(&self) -> Option<WantedStarts> {
        let program = self.trace.clone()?;
        Some(WantedStarts { program, every: self.every, most: self.max_traces.into() })
    }

    fn trace_export(&self) -> Option<(Format, Target)> {
        let file = self.export_trace.as_ref()?;
        let is_recording = Path::new(file).extension().is_some_and(|extension| extension == "rec");
        Some((if is_recording { Format::Recording } else { Format::Json }, Target::parse(file)))
    }

    /// What goes to monitoring may be left running for months, and its memory is for programs.
    fn command_lines(&self) -> CommandLines {
        match (&self.listen, &self.textfile) {
            (None, None) if self.redact => CommandLines::hashed(),
            (None, None) => CommandLines::Whole,
            _ => CommandLines::LeftOut,
        }
    }

    fn prometheus(&self) -> Option<PrometheusPlan> {
        let is_wanted = self.listen.is_some() || self.textfile.is_some();
        let programs = usize::try_from(self.max_labels).unwrap_or(usize::MAX);
        is_wanted.then(|| PrometheusPlan { listen: self.listen, textfile: self.textfile.clone(), programs })
    }

    fn subject(&self) -> Result<Subject, String> {
        if !self.program.is_empty() {
            return self.program.words(&Interpreter::None).map(Subject::Command);
        }
        let scope = Scope {
            user: self.user.as_deref().map(user_id).transpose()?,
            cgroup: self.cgroup.as_deref().map(control_group).transpose()?,
        };
        Ok(Subject::Machine { scope, words: self.scope_in_words(), duration: self.duration })
    }

    fn scope_in_words(&self) -> String {
        let user = self.user.as_ref().map(|user| format!(" of the user `{user}`"));
        let cgroup = self.cgroup.as_ref().map(|path| format!(" in the control group `{}`", path.display()));
        if user.is_none() && cgroup.is_none() {
            return "all processes of the machine".to_owned();
        }
        format!("the processes{}{}", user.unwrap_or_default(), cgroup.unwrap_or_default())
    }
}
