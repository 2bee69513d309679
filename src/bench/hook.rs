//! Runs shell commands of the user: `--setup`, `--prepare`, `--conclude`, `--cleanup`.

use firstbyte_measure::launch::hook_runner::{self, Kept};
use firstbyte_measure::launch::{interrupt, last_line, temporary_file};
use std::os::fd::AsFd;
use std::time::Duration;

/// A shell command, and how long it may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    pub command: String,
    pub limit: Duration,
    /// The shell that runs it, quoted as a shell reads it, if the user named one for the measured commands.
    pub shell: Option<String>,
    /// Variables that are set for it, each with its value: those of the measured command.
    pub variables: Vec<(String, String)>,
}

impl Hook {
    /// Runs it by its shell, or else by `/bin/sh`. The error says how it failed; being interrupted is no failure.
    pub fn run(&self) -> Result<(), String> {
        self.run_script(&self.script())
    }

    /// Runs it with the number of a run in a variable of its environment.
    pub fn run_with(&self, variable: &str, number: &str) -> Result<(), String> {
        self.run_script(&format!("export {variable}={number}\n{}", self.script()))
    }

    /// The command for `/bin/sh`.
    fn script(&self) -> String {
        match &self.shell {
            None => self.command.clone(),
            Some(shell) => format!("exec {shell} -c {}", shell_words::quote(&self.command)),
        }
    }

    fn run_script(&self, script: &str) -> Result<(), String> {
        let script = &(self.exports() + script);
        let not_run = |error: std::io::Error| format!("could not be run: {error}");
        // A file, not a pipe: what the command leaves running in the background may keep it open.
        let mut messages = temporary_file().map_err(|error| {
            format!("could not be run: {}", error.to_string().lines().next().unwrap_or_default())
        })?;

        let status = match hook_runner::run(script, messages.as_fd(), self.limit).map_err(not_run)? {
            Kept::Interrupted => return Ok(()),
            Kept::TimedOut => {
                let seconds = self.limit.as_secs_f64();
                return Err(format!("did not end within {seconds} s and was killed (see --hook-timeout)"));
            }
            Kept::Ended(status) => status,
        };
        if status.success() || interrupt::interrupted().is_some() {
            return Ok(());
        }
        let last = last_line(&mut messages);
        Err(if last.is_empty() { format!("failed: {status}") } else { format!("failed: {status}: {last}") })
    }
}

impl Hook {
    /// The lines of a script that set the variables. A shell has no variable whose name is not an identifier.
    fn exports(&self) -> String {
        let is_identifier = |name: &str| {
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
            name.chars().all(is_part) && !name.starts_with(|c: char| c.is_ascii_digit())
        };
        let settable = self.variables.iter().filter(|(name, _)| is_identifier(name));
        let export =
            |name: &str, value: &str| ["export ", name, "=", &shell_words::quote(value), "\n"].concat();
        settable.map(|(name, value)| export(name, value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(command: &str, limit: Duration) -> Hook {
        let variables = vec![("A".to_owned(), "it's".to_owned()), ("no-name".to_owned(), String::new())];
        Hook { command: command.to_owned(), limit, shell: None, variables }
    }

    fn shell(command: &str) -> Result<(), String> {
        hook(command, Duration::from_secs(20)).run()
    }

    #[test]
    fn a_shell_command_that_fails_says_why() {
        assert_eq!(shell("true | true"), Ok(()));
        assert_eq!(shell("kill -PIPE $$").unwrap_err(), "failed: killed by SIGPIPE", "a pipe may break");
        assert_eq!(shell("exit 3"), Err("failed: exit status 3".to_owned()));
        assert_eq!(shell("echo one >&2; echo two >&2; false"), Err("failed: exit status 1: two".to_owned()));
        let late = "yes a line | head -n 100000 >&2; echo the last one >&2; false";
        assert_eq!(shell(late), Err("failed: exit status 1: the last one".to_owned()));
    }

    #[test]
    fn a_shell_command_gets_the_number_of_its_run_and_the_variables_of_the_measured_command() {
        let hook = hook("test $N = 7 && test \"$A\" = \"it's\"", Duration::from_secs(20));
        assert_eq!(hook.run_with("N", "7"), Ok(()));
    }

    #[test]
    fn a_shell_command_runs_by_the_shell_of_the_measured_command() {
        let by_shell = |shell: &str, command: &str| Hook {
            shell: Some(shell.to_owned()),
            ..hook(command, Duration::from_secs(20))
        };
        assert_eq!(by_shell("sh -u", "test \"$A$N\" = \"it's7\"").run_with("N", "7"), Ok(()));
        assert!(by_shell("sh -u", "echo $UNSET").run().is_err(), "the shell has its options");
        assert!(by_shell("/no/such/shell", "true").run().unwrap_err().contains("/no/such/shell"));
    }

    #[test]
    fn a_shell_command_that_hangs_is_killed() {
        let hook = hook("sleep 1000", Duration::from_millis(10));
        let expected = "did not end within 0.01 s and was killed (see --hook-timeout)";
        assert_eq!(hook.run(), Err(expected.to_owned()));
    }
}
