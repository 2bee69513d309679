//! Options that run commands by a shell.

use super::shell_syntax;
use super::values::split;

const HEADING: &str = "Command options";

#[derive(Clone, Debug, clap::Args)]
pub(super) struct ShellArgs {
    /// Run the commands with SHELL, such as 'bash --norc', whose start-up is part of the result; `default` is /bin/sh, and
    /// `none` is -N
    #[arg(long, value_name = "SHELL", help_heading = HEADING)]
    shell: Vec<String>,
    /// Run the commands with /bin/sh, whose start-up is part of the result
    #[arg(short = 'S', conflicts_with = "shell", help_heading = HEADING)]
    default_shell: bool,
    /// Run the commands without a shell (the default), and pass shell syntax literally
    #[arg(short = 'N', conflicts_with_all = ["shell", "default_shell"], help_heading = HEADING)]
    no_shell: bool,
}

/// What runs the commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interpreter {
    /// None: shell syntax in a command is an error.
    None,
    /// None: shell syntax is passed on as it is.
    Literal,
    /// A shell with these words.
    Shell(Vec<String>),
}

/// Values of `--shell` that older versions of hyperfine take after `-S`. Nobody means to measure them within a shell.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "fish", "ksh", "default", "none"];

impl ShellArgs {
    /// What runs these commands.
    pub(super) fn interpreter<'c>(
        &self,
        mut commands: impl Iterator<Item = &'c str>,
    ) -> Result<Interpreter, String> {
        self.refuse_several()?;
        let shell = self.shell.first().map(String::as_str).or(self.default_shell.then_some("default"));
        let interpreter = match shell {
            None if self.no_shell => Interpreter::Literal,
            None => Interpreter::None,
            Some("none") => Interpreter::Literal,
            Some("default") => Interpreter::default_shell(),
            Some(shell) => Interpreter::Shell(split(shell)?),
        };

        if matches!(interpreter, Interpreter::Shell(_))
            && let Some(command) = commands.find(|command| SHELLS.contains(command))
        {
            return Err(format!(
                "`{command}` would be run as a command by a shell, because -S takes no value\nhelp: --shell {command}"
            ));
        }
        Ok(interpreter)
    }

    /// hyperfine takes the last of several shells. Who types two wants to compare them.
    fn refuse_several(&self) -> Result<(), String> {
        if self.shell.windows(2).all(|two| two[0] == two[1]) {
            return Ok(());
        }
        let shells = self.shell.iter().map(|shell| format!("`{shell}`")).collect::<Vec<_>>().join(" and ");
        let commands =
            self.shell.iter().map(|shell| shell_words::quote(&format!("{shell} -c COMMAND")).into_owned());
        Err(format!(
            "`--shell` is given for {shells}, and one shell runs all commands\nhelp: to compare them: firstbyte bench {}",
            commands.collect::<Vec<_>>().join(" ")
        ))
    }
}

impl Interpreter {
    pub(super) fn default_shell() -> Interpreter {
        Interpreter::Shell(vec!["/bin/sh".to_owned()])
    }

    /// The words of the shell, if one runs the commands.
    pub(super) fn shell(&self) -> Option<&[String]> {
        match self {
            Interpreter::Shell(words) => Some(words),
            Interpreter::None | Interpreter::Literal => None,
        }
    }

    /// The words of a command: split as a shell splits them, or those with which a shell runs it.
    pub(super) fn words(&self, command: &str) -> Result<Vec<String>, String> {
        match self {
            Interpreter::Shell(shell) => {
                Ok(shell.iter().cloned().chain(["-c".to_owned(), command.to_owned()]).collect())
            }
            Interpreter::Literal => split(command),
            Interpreter::None => without_syntax(command),
        }
    }
}

fn without_syntax(command: &str) -> Result<Vec<String>, String> {
    let words = split(command)?;
    match shell_syntax::find(command) {
        None => Ok(words),
        Some(part) => Err(format!(
            "`{command}` needs a shell for `{part}`, and runs without one by default\nhelp: {}-S runs it with /bin/sh (in firstbyte.toml: `shell = true`); to pass `{part}` on as it is, quote it or add -N",
            if shell_syntax::is_assignment(part) { "--env sets variables; " } else { "" }
        )),
    }
}
