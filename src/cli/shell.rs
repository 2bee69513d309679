//! Options that run commands by a shell.

use super::values::split;

const HEADING: &str = "Command options";

#[derive(Clone, Debug, clap::Args)]
pub(super) struct ShellArgs {
    /// Run the commands with SHELL, whose start-up is part of the result [default SHELL: /bin/sh]
    #[arg(long, value_name = "SHELL", num_args = 0..=1, require_equals = true, default_missing_value = "default", help_heading = HEADING)]
    shell: Option<String>,
    /// Same as --shell=SHELL
    #[arg(short = 'S', value_name = "SHELL", conflicts_with = "shell", help_heading = HEADING)]
    shell_word: Option<String>,
    /// Run the commands without a shell (the default)
    #[arg(short = 'N', conflicts_with_all = ["shell", "shell_word"], help_heading = HEADING)]
    no_shell: bool,
}

/// Names of shells, which nobody means to measure within a shell.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "fish", "ksh"];

impl ShellArgs {
    /// The words of the shell that runs these commands; `None` if no shell does.
    pub(super) fn shell<'c>(
        &self,
        mut commands: impl Iterator<Item = &'c String>,
    ) -> Result<Option<Vec<String>>, String> {
        let shell = match self.shell.as_ref().or(self.shell_word.as_ref()).map(String::as_str) {
            None | Some("none") => None,
            Some("default") => Some(vec!["/bin/sh".to_owned()]),
            Some(shell) => Some(split(shell)?),
        };

        if shell.is_some()
            && let Some(command) = commands.find(|command| SHELLS.contains(&command.as_str()))
        {
            return Err(format!(
                "`{command}` would be run as a command by a shell\nhelp: name the shell as in --shell={command} or -S {command}"
            ));
        }
        Ok(shell)
    }
}

/// The words of a command: split as a shell splits them, or those with which a shell runs it.
pub(super) fn words(command: &str, shell: Option<&[String]>) -> Result<Vec<String>, String> {
    match shell {
        Some(shell) => Ok(shell.iter().cloned().chain(["-c".to_owned(), command.to_owned()]).collect()),
        None => split(command),
    }
}
