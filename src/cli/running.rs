//! Options about single runs of the user's commands: their stdin, their end, their exit status.

use super::options::MeasuringArgs;
use super::values::{readable, whole};
use crate::bench::{Accepted, Destination, LookForMarks, RunPlan};
use firstbyte_measure::launch::{Environment, OutputKind, Until};
use std::path::PathBuf;

#[derive(Clone, Debug, clap::Args)]
pub(super) struct RunningArgs {
    /// Accept runs that fail: in `any` way (the default MODE), with any exit status (`all-non-zero`), or with these, such
    /// as 1,2
    #[arg(short, long, value_name = "MODE", num_args = 0..=1, require_equals = true, default_missing_value = "any")]
    ignore_failure: Option<Accepted>,
    /// Use FILE as stdin of each run; `null` is /dev/null [default: null]
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// End each run when TEXT appears in its stdout or stderr, and stop the program
    #[arg(long, value_name = "TEXT")]
    until: Option<String>,
    /// End each run at the first byte of its stdout, and stop the program
    #[arg(long, conflicts_with = "until")]
    until_first_byte: bool,
    /// End each run when something listens on this TCP port, and stop the program
    #[arg(long, value_name = "PORT", value_parser = whole::<u16>(1..=65535), conflicts_with_all = ["until", "until_first_byte"])]
    until_port: Option<u16>,
    /// End each run when a process sends READY=1 to `NOTIFY_SOCKET`, as services of systemd do, and stop the program
    #[arg(long, conflicts_with_all = ["until", "until_first_byte", "until_port"])]
    until_ready: bool,
}

impl RunningArgs {
    /// How each run is made, or an error that ends in its `help:` line. `may_be_made`: the input may not exist yet, because
    /// commands that run before may create it.
    pub(super) fn plan(
        &self,
        output: Destination,
        measuring: &MeasuringArgs,
        environment: Environment,
        may_be_made: bool,
    ) -> Result<RunPlan, String> {
        self.check_input(output.kind, may_be_made)?;
        Ok(RunPlan {
            placement: measuring.placement(),
            timeout: measuring.timeout(),
            input: self.input().cloned(),
            until: self.until(output.kind)?,
            region: None,
            marks: LookForMarks::IfAny,
            accepted: self.accepted(),
            output,
            environment,
        })
    }

    /// The file of stdin. `null` is `/dev/null`, as in hyperfine.
    fn input(&self) -> Option<&PathBuf> {
        self.input.as_ref().filter(|input| input.as_os_str() != "null")
    }

    fn accepted(&self) -> Accepted {
        self.ignore_failure.unwrap_or(Accepted::SUCCESS)
    }

    /// Refuses an input that cannot be used before anything runs.
    fn check_input(&self, output: OutputKind, may_be_made: bool) -> Result<(), String> {
        let Some(input) = self.input() else { return Ok(()) };
        if output == OutputKind::Pty {
            return Err("`--input` cannot be used with `--output pty`: stdin is the terminal\n\
                        help: leave out --input, or use --output pipe"
                .to_owned());
        }
        if may_be_made { Ok(()) } else { readable(input) }
    }

    fn until(&self, output: OutputKind) -> Result<Option<Until>, String> {
        if let Some(port) = self.until_port {
            return Ok(Some(Until::Port(port)));
        }
        if self.until_ready {
            return Ok(Some(Until::Ready));
        }
        let until = match &self.until {
            Some(text) if text.is_empty() => {
                return Err(
                    "the text of `--until` is empty\nhelp: --until-first-byte ends a run at any output"
                        .to_owned(),
                );
            }
            Some(text) => Some(Until::Text(text.as_bytes().into())),
            None => self.until_first_byte.then_some(Until::FirstByte),
        };

        let seen = matches!(output, OutputKind::Pipe | OutputKind::Pty);
        if until.is_some() && !seen {
            return Err("`--until` and `--until-first-byte` cannot see output to /dev/null or to a file\n\
                        help: use --output pipe or --output pty"
                .to_owned());
        }
        Ok(until)
    }
}

/// How runs are made that have none of these options.
pub(super) fn plain(measuring: &MeasuringArgs, environment: Environment) -> RunPlan {
    RunPlan {
        output: measuring.output(),
        placement: measuring.placement(),
        timeout: measuring.timeout(),
        input: None,
        until: None,
        region: None,
        marks: LookForMarks::Never,
        accepted: Accepted::SUCCESS,
        environment,
    }
}
