//! `firstbyte bench`: its arguments, and the plan that they amount to.

use super::common::{CacheArgs, ExportArgs, Format, MeasuringArgs, duration, percent, readable, split};
use super::parameters::{Assignment, Parameter, combinations, replaced};
use crate::bench::{Adaptive, Budget};
use crate::document::bench::{ColdMethod, Metric};
use crate::output::Target;
use firstbyte_measure::launch::{CpuSet, OutputKind, Until};
use firstbyte_measure::tracer::Choice;
use std::path::PathBuf;
use std::time::Duration;

/// Measures any commands, interleaved: phases, first byte, statistics, verdicts.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Args {
    /// The commands, each one word for our shell; split into words as a shell does, and run without one
    #[arg(value_name = "COMMAND", required = true)]
    commands: Vec<String>,
    /// Unmeasured runs of each command first (at least one is made)
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    warmup: u32,
    /// Exactly so many runs of each command (default: until the medians are known, or the time is up)
    #[arg(short, long, value_name = "N", conflicts_with_all = ["min_runs", "max_runs", "time", "precision"], value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    runs: Option<u32>,
    /// At least so many runs of each command
    #[arg(short, long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    min_runs: u32,
    /// At most so many runs of each command
    #[arg(short = 'M', long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_runs: u32,
    /// No more runs after this long, such as 500ms or 2m; a plain number means seconds (default: 3s for each command)
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    time: Option<Duration>,
    /// No more runs once every median is known to so many percent (half of its 95 % interval)
    #[arg(long, value_name = "PERCENT", default_value = "0.5", value_parser = percent)]
    precision: f64,
    /// Give a command a name (once for each command, in order)
    #[arg(short = 'n', long = "command-name", value_name = "NAME")]
    names: Vec<String>,
    /// A command, measured too, that the others are compared with (default: the first)
    #[arg(long, value_name = "COMMAND")]
    reference: Option<String>,
    /// A command, measured too, whose time is taken off the others', run by run
    #[arg(long, value_name = "COMMAND")]
    subtract: Option<String>,
    /// What the summary compares
    #[arg(long, value_name = "TIME", default_value = "total")]
    compare_by: MetricArg,
    /// Run this shell command before each run (once for all commands, or once for each)
    #[arg(short, long, value_name = "COMMAND")]
    prepare: Vec<String>,
    /// Run this shell command after each run (once for all commands, or once for each)
    #[arg(short = 'C', long, value_name = "COMMAND")]
    conclude: Vec<String>,
    /// Run this shell command for each command before its first run
    #[arg(short, long, value_name = "COMMAND")]
    setup: Option<String>,
    /// Run this shell command for each command after its last run
    #[arg(short, long, value_name = "COMMAND")]
    cleanup: Option<String>,
    /// Make a run for each value of a list, for which {NAME} stands in the commands (may be repeated)
    #[arg(short = 'L', long, num_args = 2, value_names = ["NAME", "A,B,…"], allow_hyphen_values = true)]
    parameter_list: Vec<String>,
    /// Make a run for each number of a range, for which {NAME} stands in the commands
    #[arg(short = 'P', long, num_args = 3, value_names = ["NAME", "MIN", "MAX"], allow_hyphen_values = true)]
    parameter_scan: Vec<String>,
    /// The distance between the numbers of --parameter-scan [default: 1]
    #[arg(short = 'D', long, value_name = "STEP", requires = "parameter_scan")]
    parameter_step_size: Option<String>,
    /// Run the commands by a shell (default: /bin/sh); what the shell takes to start is part of the result
    #[arg(long, value_name = "SHELL", num_args = 0..=1, require_equals = true, default_missing_value = "default")]
    shell: Option<String>,
    /// The same, with the shell as a word of its own: -S bash
    #[arg(short = 'S', value_name = "SHELL", conflicts_with = "shell")]
    shell_word: Option<String>,
    /// Run the commands without a shell, which is the default
    #[arg(short = 'N', conflicts_with_all = ["shell", "shell_word"])]
    no_shell: bool,
    /// Take runs whatever their exit status is
    #[arg(short, long)]
    ignore_failure: bool,
    /// A file that each run reads as its stdin (default: /dev/null)
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// End each run when this text has come out, and stop the program
    #[arg(long, value_name = "TEXT")]
    until: Option<String>,
    /// End each run at its first byte of output, and stop the program
    #[arg(long, conflicts_with = "until")]
    until_first_byte: bool,
    /// Let the size of the environment differ from run to run, and with it where the stack begins
    #[arg(long)]
    env_offset: bool,
    #[command(flatten)]
    measuring: MeasuringArgs,
    #[command(flatten)]
    cache: CacheArgs,
    /// Leave out the untraced runs by which the observer overhead is measured
    #[arg(long)]
    no_overhead: bool,
    /// Leave out the counting runs (system calls, page faults, memory)
    #[arg(long)]
    no_counts: bool,
    #[command(flatten)]
    exports: ExportArgs,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum MetricArg {
    Total,
    FirstByte,
}

/// One command that is to be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Benchmark {
    /// The name shown.
    pub name: String,
    /// The command as it was given, its parameters replaced.
    pub command: String,
    /// Its words.
    pub words: Vec<String>,
    /// The shell among them, as a shell would take it; `None`: no shell runs it.
    pub shell: Option<String>,
    /// Values of its parameters.
    pub parameters: Assignment,
    /// A shell command before each run.
    pub prepare: Option<String>,
    /// A shell command after each run.
    pub conclude: Option<String>,
    /// A shell command before all runs.
    pub setup: Option<String>,
    /// A shell command after all runs.
    pub cleanup: Option<String>,
}

/// What is to be measured, and how.
#[derive(Debug)]
pub struct Plan {
    /// The commands.
    pub benchmarks: Vec<Benchmark>,
    /// Which of them the others are compared with.
    pub reference: usize,
    /// Which of them is taken off the others.
    pub subtract: Option<usize>,
    /// What is compared.
    pub compare_by: Metric,
    /// How long, or how often.
    pub budget: Budget,
    /// Unmeasured rounds first.
    pub warmup: u32,
    /// Any exit status will do.
    pub ignore_failure: bool,
    /// What each run reads.
    pub input: Option<PathBuf>,
    /// What ends a run.
    pub until: Option<Until>,
    /// Environments differ in size.
    pub env_offset: bool,
    /// How the page cache is made cold; `None`: it stays warm.
    pub cold: Option<ColdMethod>,
    /// Which backend was asked for.
    pub backend: Choice,
    /// What stdout is.
    pub output: OutputKind,
    /// Where the programs may run.
    pub cpus: Option<CpuSet>,
    /// When a run is killed.
    pub timeout: Duration,
    /// The seed of the order.
    pub seed: u64,
    /// Measure the observer overhead.
    pub overhead: bool,
    /// Counting runs of each program: system calls, page faults, memory.
    pub count_runs: u32,
    /// Where results go.
    pub exports: Vec<(Format, Target)>,
}

/// The time for each command, if none is given.
const TIME_EACH: Duration = Duration::from_secs(3);

/// Enough for a median; counts hardly vary.
const COUNT_RUNS: u32 = 3;

/// When a run is killed, if no limit is given.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

impl Args {
    /// The plan, or the line that says what is wrong.
    pub fn plan(self) -> Result<Plan, String> {
        let mut benchmarks = self.benchmarks()?;
        let shell = self.shell()?;
        let reference = match &self.reference {
            Some(command) => position(&mut benchmarks, command, shell.as_deref())?,
            None => 0,
        };
        let subtract = self.subtract.as_ref();
        let subtract =
            subtract.map(|command| position(&mut benchmarks, command, shell.as_deref())).transpose()?;
        make_unique(&mut benchmarks);
        if self.input.is_some() && self.measuring.output() == OutputKind::Pty {
            return Err("with `--output pty` stdin is the terminal, and --input has no place\n\
                        help: leave --input out, or take --output pipe"
                .to_owned());
        }
        self.check_input()?;
        Ok(Plan {
            reference,
            subtract,
            compare_by: match self.compare_by {
                MetricArg::Total => Metric::Total,
                MetricArg::FirstByte => Metric::FirstByte,
            },
            budget: self.budget(benchmarks.len())?,
            benchmarks,
            warmup: self.warmup,
            ignore_failure: self.ignore_failure,
            until: self.until()?,
            input: self.input,
            env_offset: self.env_offset,
            cold: self.cache.cold(),
            backend: self.measuring.backend(),
            output: self.measuring.output(),
            timeout: self.measuring.timeout.unwrap_or(DEFAULT_TIMEOUT),
            cpus: self.measuring.cpus,
            seed: self.measuring.seed,
            overhead: !self.no_overhead,
            count_runs: if self.no_counts { 0 } else { COUNT_RUNS },
            exports: self.exports.targets(),
        })
    }

    /// A file that is not there is found before anything runs, unless a command before the runs may make it.
    fn check_input(&self) -> Result<(), String> {
        let Some(input) = self.input.as_ref().filter(|_| self.setup.is_none() && self.prepare.is_empty())
        else {
            return Ok(());
        };
        readable(input)
    }

    fn budget(&self, commands: usize) -> Result<Budget, String> {
        if let Some(runs) = self.runs {
            return Ok(Budget::Runs(runs));
        }
        if self.min_runs > self.max_runs {
            let (min, max) = (self.min_runs, self.max_runs);
            return Err(format!(
                "--min-runs {min} is more than --max-runs {max}\nhelp: firstbyte bench --min-runs {max} --max-runs {min} …"
            ));
        }
        let each = TIME_EACH.saturating_mul(u32::try_from(commands).unwrap_or(u32::MAX));
        Ok(Budget::Adaptive(Adaptive {
            least: self.min_runs,
            most: self.max_runs,
            time: self.time.unwrap_or(each),
            precision: self.precision,
        }))
    }

    fn until(&self) -> Result<Option<Until>, String> {
        let until = match &self.until {
            Some(text) if text.is_empty() => {
                return Err(
                    "the text of --until is empty\nhelp: firstbyte bench --until-first-byte …".to_owned()
                );
            }
            Some(text) => Some(Until::Text(text.as_bytes().into())),
            None => self.until_first_byte.then_some(Until::FirstByte),
        };
        if until.is_some() && matches!(self.measuring.output(), OutputKind::Null | OutputKind::File) {
            return Err("a run can end at its output only where the output can be seen as it comes\nhelp: use --output pipe or --output pty".to_owned());
        }
        Ok(until)
    }

    /// The words of the shell that runs the commands; `None`: none does.
    fn shell(&self) -> Result<Option<Vec<String>>, String> {
        let shell = match self.shell.as_ref().or(self.shell_word.as_ref()).map(String::as_str) {
            None | Some("none") => None,
            Some("default") => Some(vec!["/bin/sh".to_owned()]),
            Some(shell) => Some(split(shell)?),
        };
        if shell.is_some()
            && let Some(command) = self.commands.iter().find(|command| SHELLS.contains(&command.as_str()))
        {
            return Err(format!(
                "`{command}` would be run as a command by a shell\nhelp: name the shell as in --shell={command} or -S {command}"
            ));
        }
        Ok(shell)
    }

    fn parameters(&self) -> Result<Vec<Assignment>, String> {
        let lists = self.parameter_list.chunks_exact(2).map(|list| Parameter::list(&list[0], &list[1]));
        let step = self.parameter_step_size.as_deref();
        let scans = self
            .parameter_scan
            .chunks_exact(3)
            .map(|scan| Parameter::scan(&scan[0], &scan[1], &scan[2], step));
        combinations(&lists.chain(scans).collect::<Result<Vec<_>, _>>()?)
    }

    /// Every command under every combination of parameters.
    fn benchmarks(&self) -> Result<Vec<Benchmark>, String> {
        let (assignments, shell) = (self.parameters()?, self.shell()?);
        let all = self.commands.len() * assignments.len();
        let given = self.names.len();
        if given > self.commands.len() && given != all {
            return Err(format!(
                "there are {given} names for {} commands\nhelp: give each command one name, in order",
                self.commands.len()
            ));
        }
        let mut benchmarks = Vec::new();
        for (place, command) in self.commands.iter().enumerate() {
            for assignment in &assignments {
                let name_place = if given == all { benchmarks.len() } else { place };
                let mut benchmark = Benchmark::of(&replaced(command, assignment), shell.as_deref())?;
                if let Some(name) = self.names.get(name_place) {
                    benchmark.name = replaced(name, assignment);
                }
                let own = |text: &String| replaced(text, assignment);
                benchmark.prepare = self.hook("prepare", &self.prepare, place)?.map(own);
                benchmark.conclude = self.hook("conclude", &self.conclude, place)?.map(own);
                benchmark.setup = self.setup.as_ref().map(own);
                benchmark.cleanup = self.cleanup.as_ref().map(own);
                benchmark.parameters.clone_from(assignment);
                benchmarks.push(benchmark);
            }
        }
        Ok(benchmarks)
    }

    /// The one hook of all commands, or the one of this command.
    fn hook<'h>(
        &self,
        option: &str,
        hooks: &'h [String],
        place: usize,
    ) -> Result<Option<&'h String>, String> {
        match hooks.len() {
            0 | 1 => Ok(hooks.first()),
            n if n == self.commands.len() => Ok(hooks.get(place)),
            n => Err(format!(
                "--{option} is given {n} times for {} commands\nhelp: give it once for all, or once for each command",
                self.commands.len()
            )),
        }
    }
}

/// Names of shells that nobody means to measure under a shell.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "fish", "ksh"];

impl Benchmark {
    /// A command, its words split, without hooks.
    pub(super) fn of(command: &str, shell: Option<&[String]>) -> Result<Benchmark, String> {
        let words = match shell {
            Some(shell) => shell.iter().cloned().chain(["-c".to_owned(), command.to_owned()]).collect(),
            None => split(command)?,
        };
        Ok(Benchmark {
            name: command.to_owned(),
            command: command.to_owned(),
            words,
            shell: shell.map(shell_words::join),
            parameters: Assignment::new(),
            prepare: None,
            conclude: None,
            setup: None,
            cleanup: None,
        })
    }
}

/// The place of a command that is given by an option: among the others, or behind them.
fn position(
    benchmarks: &mut Vec<Benchmark>,
    command: &str,
    shell: Option<&[String]>,
) -> Result<usize, String> {
    let named = benchmarks.iter().position(|b| b.command == command || b.name == command);
    if let Some(place) = named {
        return Ok(place);
    }
    benchmarks.push(Benchmark::of(command, shell)?);
    Ok(benchmarks.len() - 1)
}

/// Names tell results apart, also in files that are compared later.
fn make_unique(benchmarks: &mut [Benchmark]) {
    for place in 0..benchmarks.len() {
        let (earlier, rest) = benchmarks.split_at_mut(place);
        let name = rest[0].name.clone();
        let taken = |name: &str| earlier.iter().any(|benchmark| benchmark.name == name);
        let free = (2..=place + 2).map(|n| format!("{name} ({n})")).find(|name| !taken(name));
        if taken(&name) {
            rest[0].name = free.unwrap_or(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    fn plan(words: &[&str]) -> Result<Plan, String> {
        let cli = Cli::try_parse_from(["firstbyte", "bench"].iter().chain(words));
        match cli.map_err(|error| error.to_string())?.command {
            Command::Bench(args) => args.plan(),
            other => panic!("{other:?}"),
        }
    }

    fn commands(words: &[&str]) -> Vec<Vec<String>> {
        plan(words).unwrap().benchmarks.into_iter().map(|benchmark| benchmark.words).collect()
    }

    #[test]
    fn commands_are_split_as_a_shell_splits_words_and_no_shell_runs_them() {
        assert_eq!(commands(&["grep -i 'a b' \"c\"d"]), [["grep", "-i", "a b", "cd"]]);
        assert_eq!(commands(&["-N", "true"]), [["true"]]);
        assert_eq!(commands(&["--shell=none", "true"]), [["true"]]);
    }

    #[test]
    fn a_shell_runs_them_if_asked_for() {
        assert_eq!(commands(&["--shell", "a | b"]), [["/bin/sh", "-c", "a | b"]]);
        assert_eq!(commands(&["--shell=bash --norc", "a"]), [["bash", "--norc", "-c", "a"]]);
        assert_eq!(commands(&["-S", "bash", "a"]), [["bash", "-c", "a"]]);
        assert!(plan(&["--shell", "bash", "a"]).unwrap_err().contains("--shell=bash"));
    }

    #[test]
    fn parameters_multiply_the_commands_names_and_hooks() {
        let words = ["-L", "a", "x,y", "-P", "n", "1", "2", "-n", "{a}{n}", "-p", "rm {n}", "echo {a} {n}"];
        let plan = plan(&words).unwrap();
        let names: Vec<_> = plan.benchmarks.iter().map(|b| b.name.as_str()).collect();
        assert_eq!(names, ["x1", "x2", "y1", "y2"]);
        assert_eq!(plan.benchmarks[3].words, ["echo", "y", "2"]);
        assert_eq!(plan.benchmarks[3].prepare.as_deref(), Some("rm 2"));
        assert_eq!(plan.benchmarks[3].parameters["a"], "y");
    }

    #[test]
    fn each_command_may_have_a_hook_of_its_own() {
        let hooked = plan(&["-p", "a", "-p", "b", "x", "y"]).unwrap();
        assert_eq!(hooked.benchmarks[1].prepare.as_deref(), Some("b"));
        assert!(plan(&["-p", "a", "-p", "b", "x", "y", "z"]).unwrap_err().contains("2 times for 3"));
    }

    #[test]
    fn equal_commands_get_names_that_tell_them_apart() {
        let plan = plan(&["true", "true", "true (2)", "true"]).unwrap();
        let names: Vec<_> = plan.benchmarks.iter().map(|b| b.name.as_str()).collect();
        assert_eq!(names, ["true", "true (2)", "true (2) (2)", "true (3)"]);
    }

    #[test]
    fn the_reference_is_one_of_the_commands_or_another_one() {
        assert_eq!(plan(&["a", "b"]).unwrap().reference, 0);
        assert_eq!(plan(&["--reference", "b", "a", "b"]).unwrap().reference, 1);
        let other = plan(&["--reference", "c", "--subtract", "d", "a", "b"]).unwrap();
        assert_eq!((other.reference, other.subtract, other.benchmarks.len()), (2, Some(3), 4));
    }

    #[test]
    fn nonsense_is_refused_with_a_remedy() {
        let table: [&[&str]; 11] = [
            &["'open"],
            &[""],
            &["  "],
            &["-m", "20", "-M", "10", "a"],
            &["--until", "", "a"],
            &["--until", "x", "--output", "null", "a"],
            &["-n", "a", "-n", "b", "x"],
            &["--input", "/nonexistent", "x"],
            &["--input", "/", "x"],
            &["-L", "n", "1", "-L", "n", "2", "x"],
            &["-P", "n", "2", "1", "x"],
        ];
        for words in table {
            let error = plan(words).unwrap_err();
            assert!(error.contains("\nhelp: ") && !error.contains("error:"), "{words:?}: {error}");
        }
        for hook in ["--prepare", "--setup"] {
            assert!(plan(&["--input", "/nonexistent", hook, "touch it", "x"]).is_ok(), "it may be made");
        }
        for words in [&["-r", "0", "a"][..], &["-r", "1", "-m", "2", "a"], &[], &["--precision", "NaN", "a"]]
        {
            assert!(plan(words).is_err(), "{words:?}");
        }
    }
}
