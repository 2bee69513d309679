//! Shell builtins: paired differences of whole scripts, timed from outside.
//!
//! A shell's own clocks are too coarse for one command (`times` prints milliseconds, `EPOCHREALTIME` microseconds), and
//! a process that reads the time (`date`) costs more than the command. So a script that repeats a command some thousand
//! times is run as a process, alternating with a script that repeats `:` as often and with an empty script. The shell's
//! start-up cancels out in the difference. The name of a figure says where a redirection is; inside the loop it is
//! opened again at each turn.

use super::batch::{BatchResult, Microbenchmark};
use super::spawn::{How, Spawn, SpawnedProgram};
use crate::document::floor::{Figure, Group, Missing};
use firstbyte_measure::launch::{Environment, find_in_path};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A shell of this machine.
#[derive(Clone, Debug)]
pub struct Shell {
    /// `dash`, `bash`, `zsh`.
    pub name: &'static str,
    pub path: PathBuf,
}

/// The shells to measure.
pub const NAMES: [&str; 3] = ["dash", "bash", "zsh"];

/// Divides the shells into those that are installed and the names of those that are not.
pub fn found(names: &[&'static str]) -> (Vec<Shell>, Vec<&'static str>) {
    let (mut here, mut absent) = (Vec::new(), Vec::new());
    for &name in names {
        match find_in_path(name) {
            Some(path) => here.push(Shell { name, path }),
            None => absent.push(name),
        }
    }
    (here, absent)
}

impl Shell {
    /// Writes a script to `folder`, to be run by this shell.
    pub fn running(&self, folder: &Path, name: &str, script: &str) -> io::Result<Spawn> {
        let file = folder.join(format!("{}-{name}.sh", self.name));
        fs::write(&file, script)?;
        let argv = [self.name.as_ref(), file.as_os_str()];
        Spawn::executing(How::Vfork, SpawnedProgram::new(&self.path, &argv)?)
    }
}

/// A command repeated, one line each.
pub fn straight(command: &str, times: u32) -> String {
    format!("{command}\n").repeat(times as usize)
}

/// A command in the loop that Print Benchmark prints: `for i in $(seq N)`.
pub fn counted(command: &str, times: u32) -> String {
    Loop::Seq.script(command, times)
}

/// How a script repeats a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loop {
    /// `for i in 1 2 3 … 100`, in as many statements as needed.
    Words,
    /// `for i in $(seq N)`, including the process that counts.
    Seq,
    /// `while [ "$i" -lt N ]`
    While,
    /// `for ((i = 0; i < N; i++))`, which dash does not have.
    Arithmetic,
}

impl Loop {
    const ALL: [Loop; 4] = [Loop::Words, Loop::Seq, Loop::While, Loop::Arithmetic];

    fn name(self) -> &'static str {
        match self {
            Loop::Words => "for i in 1 … 100",
            Loop::Seq => "for i in $(seq N)",
            Loop::While => "while [ $i -lt N ]",
            Loop::Arithmetic => "for ((i…))",
        }
    }

    fn script(self, command: &str, times: u32) -> String {
        match self {
            Loop::Words => of_words(command, times),
            Loop::Seq => format!("for i in $(seq {times}); do {command}; done\n"),
            Loop::While => format!("i=0\nwhile [ $i -lt {times} ]; do {command}; i=$((i+1)); done\n"),
            Loop::Arithmetic => format!("for ((i = 0; i < {times}; i++)); do {command}; done\n"),
        }
    }
}

/// bash formats the statement's head at each turn (`print_for_command_head` in `execute_cmd.c`), for `BASH_COMMAND`. With
/// a list of ten thousand words a turn takes 400 µs. So the lists are short, and there are more of them.
fn of_words(command: &str, times: u32) -> String {
    const WORDS: u32 = 100;
    let statement = |words: u32| {
        let words: Vec<String> = (1..=words).map(|i| i.to_string()).collect();
        format!("for i in {}; do {command}; done\n", words.join(" "))
    };
    let rest = if times.is_multiple_of(WORDS) { String::new() } else { statement(times % WORDS) };
    statement(WORDS).repeat((times / WORDS) as usize) + &rest
}

/// A figure that is the difference of two scripts.
struct ScriptDifference {
    name: String,
    above: String,
    below: String,
    times: u32,
    /// The command whose writes are counted for the note.
    command: Option<String>,
}

/// The scripts of one shell by name, and the differences between them.
struct Catalogue {
    scripts: BTreeMap<String, String>,
    differences: Vec<ScriptDifference>,
}

/// A process is a thousand times as expensive as a builtin.
const PROCESSES_PER_BUILTIN: u32 = 100;

impl Catalogue {
    fn of(shell: &Shell, external: Option<&Path>, times: u32) -> Catalogue {
        let mut all = Catalogue { scripts: BTreeMap::new(), differences: Vec::new() };
        all.script("empty", String::new());
        all.inline(times);
        for kind in Loop::ALL {
            if kind != Loop::Arithmetic || shell.name != "dash" {
                all.in_loop(kind, times);
            }
        }
        all.redirections(times);
        all.processes(external, (times / PROCESSES_PER_BUILTIN).max(5));
        all
    }

    fn script(&mut self, name: &str, text: String) {
        self.scripts.insert(name.to_owned(), text);
    }

    fn difference(&mut self, name: &str, above: &str, below: &str, times: u32, command: Option<&str>) {
        let (name, command) = (name.to_owned(), command.map(str::to_owned));
        let difference =
            ScriptDifference { name, above: above.to_owned(), below: below.to_owned(), times, command };
        self.differences.push(difference);
    }

    fn inline(&mut self, times: u32) {
        self.script("colon", straight(":", times));
        self.difference("`:`, inline", "colon", "empty", times, Some(":"));
        for (key, command) in [("echo", "echo H"), ("printf", "printf 'H\\n'"), ("test", "[ a = a ]")] {
            self.script(key, straight(command, times));
            self.difference(&format!("`{command}` over `:`, inline"), key, "colon", times, Some(command));
        }
    }

    fn in_loop(&mut self, kind: Loop, times: u32) {
        let (colon, echo) = (format!("colon {kind:?}"), format!("echo {kind:?}"));
        self.script(&colon, kind.script(":", times));
        self.script(&echo, kind.script("echo H", times));
        self.difference(&format!("`:`, {}", kind.name()), &colon, "empty", times, None);
        self.difference(&format!("`echo H` over `:`, {}", kind.name()), &echo, &colon, times, None);
    }

    fn redirections(&mut self, times: u32) {
        self.script("redirected", straight("echo H >/dev/null", times));
        self.script("around", format!("{{\n{}}} >/dev/null\n", straight("echo H", times)));
        self.difference("`>/dev/null` on each `echo H`", "redirected", "echo", times, None);
        self.difference("`>/dev/null` once around all", "around", "echo", times, None);
    }

    fn processes(&mut self, external: Option<&Path>, times: u32) {
        self.script("few echoes", straight("echo H", times));
        self.script("subshells", straight("( echo H )", times));
        self.difference("`( echo H )` over `echo H`", "subshells", "few echoes", times, Some("( echo H )"));
        if let Some(external) = external {
            let command = shell_words::quote(&external.to_string_lossy()).into_owned();
            self.script("external", straight(&command, times));
            self.difference(
                "external binary (plain ELF) over `echo H`",
                "external",
                "few echoes",
                times,
                None,
            );
        }
    }
}

/// The scripts of all shells, to be measured together.
pub struct Questions {
    /// One per script.
    pub benchmarks: Vec<Microbenchmark>,
    /// The shell and the script's name for each microbenchmark.
    keys: Vec<(&'static str, String)>,
    catalogues: Vec<(Shell, Catalogue)>,
    missing: Vec<Missing>,
}

impl Questions {
    /// Every script of these shells with `times` repetitions. `external` is the external command to run.
    pub fn new(names: &[&'static str], folder: &Path, external: Option<&Path>, times: u32) -> Questions {
        let (here, absent) = found(names);
        let mut all = Questions {
            benchmarks: Vec::new(),
            keys: Vec::new(),
            catalogues: Vec::new(),
            missing: Vec::new(),
        };
        for name in absent {
            all.lack(name, format!("`{name}` is not in PATH"));
        }

        for shell in here {
            let catalogue = Catalogue::of(&shell, external, times);
            match all.add(&shell, &catalogue, folder) {
                Ok(()) => all.catalogues.push((shell, catalogue)),
                Err(error) => all.lack(shell.name, format!("its scripts cannot be written: {error}")),
            }
        }
        all
    }

    fn lack(&mut self, shell: &str, reason: String) {
        self.missing.push(Missing { group: Group::Shells, name: shell.to_owned(), reason });
    }

    fn add(&mut self, shell: &Shell, catalogue: &Catalogue, folder: &Path) -> io::Result<()> {
        for (index, (name, script)) in catalogue.scripts.iter().enumerate() {
            let spawn = shell.running(folder, &index.to_string(), script)?;
            self.benchmarks.push(Microbenchmark::new(format!("{}: {name}", shell.name), spawn).at_most(1));
            self.keys.push((shell.name, name.clone()));
        }
        Ok(())
    }

    /// The figures: the differences, per repetition.
    pub fn answers(self, results: &[BatchResult]) -> (Vec<Figure>, Vec<Missing>) {
        let (mut figures, mut missing) = (Vec::new(), self.missing);
        let keys = self.keys.iter().map(|(shell, script)| (*shell, script.as_str()));
        let by_key: BTreeMap<(&str, &str), &BatchResult> = keys.zip(results).collect();

        for (shell, catalogue) in &self.catalogues {
            for difference in &catalogue.differences {
                let name = format!("{}: {}", shell.name, difference.name);
                let result = |script: &str| by_key.get(&(shell.name, script)).copied();
                match taken(difference, result(&difference.above), result(&difference.below)) {
                    Ok(samples) => figures.extend(
                        Figure::from_samples(Group::Shells, &name, samples)
                            .map(|figure| Figure { calls: difference.times, ..figure })
                            .map(|figure| figure.note(writes(shell, difference).as_deref())),
                    ),
                    Err(reason) => missing.push(Missing { group: Group::Shells, name, reason }),
                }
            }
        }
        (figures, missing)
    }
}

fn taken(
    difference: &ScriptDifference,
    above: Option<&BatchResult>,
    below: Option<&BatchResult>,
) -> Result<Vec<f64>, String> {
    let (Some(above), Some(below)) = (above, below) else {
        return Err("its script was not run".to_owned());
    };
    let (above, below) = (above.as_ref().map_err(Clone::clone)?, below.as_ref().map_err(Clone::clone)?);
    let pairs = above.per_call.iter().zip(&below.per_call);
    Ok(pairs.map(|(above, below)| (above - below) / f64::from(difference.times)).collect())
}

fn writes(shell: &Shell, difference: &ScriptDifference) -> Option<String> {
    let command = difference.command.as_deref()?;
    let (writes, bytes) = count_writes(shell, command).ok()?;
    Some(match writes {
        0 => "writes nothing".to_owned(),
        1 => format!("1 write of {bytes} bytes"),
        _ => format!("{writes} writes, {bytes} bytes"),
    })
}

/// The number of writes that a command makes, and their bytes. They are counted at the other end of a pipe in packet
/// mode, where each write(2) is one read(2) (pipe(7), `O_DIRECT`), in a separate, untimed run.
pub fn count_writes(shell: &Shell, command: &str) -> io::Result<(u32, usize)> {
    let mut ends = [0; 2];
    // SAFETY: room for the two descriptors, which are owned at once.
    let (mut ours, theirs) = unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_DIRECT) != 0 {
            return Err(io::Error::last_os_error());
        }
        (fs::File::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
    };
    let mut child = Command::new(&shell.path)
        .args(["-c", command])
        .env_clear()
        .envs(Environment::of_programs().variables())
        .stdin(Stdio::null())
        .stdout(theirs)
        .stderr(Stdio::null())
        .spawn()?;

    let (mut writes, mut bytes) = (0, 0);
    let mut packet = [0; 4096];
    loop {
        match ours.read(&mut packet) {
            Ok(0) => break,
            Ok(count) => (writes, bytes) = (writes + 1, bytes + count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    child.wait().map(|_| (writes, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell() -> Shell {
        Shell { name: "dash", path: PathBuf::from("/bin/sh") }
    }

    #[test]
    fn an_echo_is_one_write_and_a_colon_none() {
        assert_eq!(count_writes(&shell(), "echo H").unwrap(), (1, 2));
        assert_eq!(count_writes(&shell(), "echo H; echo HH").unwrap(), (2, 5));
        assert_eq!(count_writes(&shell(), ":").unwrap(), (0, 0));
    }

    #[test]
    fn every_loop_repeats_its_command_the_given_number_of_times() {
        for kind in Loop::ALL.into_iter().filter(|kind| *kind != Loop::Arithmetic) {
            for times in [7, 100, 207] {
                let writes = count_writes(&shell(), &kind.script("echo H", times)).unwrap();
                assert_eq!(writes, (times, 2 * times as usize), "{}", kind.name());
            }
        }
        assert_eq!(straight("echo H", 3), "echo H\necho H\necho H\n");
    }

    #[test]
    fn every_difference_is_of_scripts_that_exist() {
        for name in NAMES {
            let shell = Shell { name, ..shell() };
            let all = Catalogue::of(&shell, Some(Path::new("/bin/true")), 10);
            for difference in &all.differences {
                assert!(all.scripts.contains_key(&difference.above), "{}", difference.above);
                assert!(all.scripts.contains_key(&difference.below), "{}", difference.below);
            }
        }
    }
}
