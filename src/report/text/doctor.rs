//! The doctor's report, for a terminal: a line for each check, and below it the reason and the fix.

use super::terminal::{Terminal, columns, fitted};
use crate::document::doctor::{Check, CheckGroup, DoctorReport, GroupPlan, InstallPlan, Status};
use crate::output::visible;
use anstyle::{AnsiColor, Style};
use firstbyte_measure::machine::Machine;

/// The width of the names. A longer name is still followed by its detail.
const NAME: usize = 26;
/// The indent of details, reasons and commands.
const INDENT: usize = 4;

pub fn render(report: &DoctorReport, terminal: &Terminal) -> String {
    let mut lines = vec![terminal.bold("machine")];
    lines.extend(facts(&report.machine).iter().map(|(name, fact)| fact_line(name, fact, terminal)));
    let mut group = None;
    for check in &report.results {
        if group != Some(check.group) {
            group = Some(check.group);
            lines.push(String::new());
            lines.push(terminal.bold(heading(check.group)));
        }
        lines.extend(check_lines(check, terminal));
    }
    lines.push(String::new());
    lines.extend(summary(&report.results, &report.install, terminal));
    lines.join("\n") + "\n"
}

fn heading(group: CheckGroup) -> &'static str {
    match group {
        CheckGroup::Tracing => "tracing",
        CheckGroup::Counters => "counters",
        CheckGroup::PageCache => "page cache",
        CheckGroup::Machine => "conditions",
        CheckGroup::Corpus => "corpus",
    }
}

fn facts(machine: &Machine) -> Vec<(&'static str, String)> {
    let unknown = || "unknown".to_owned();
    let number = |bytes: Option<firstbyte_measure::units::Bytes>| {
        bytes.map_or_else(unknown, |bytes| bytes.to_string())
    };
    vec![
        ("processor", machine.cpu_model.clone().unwrap_or_else(unknown)),
        ("architecture", machine.architecture.clone()),
        ("memory", number(machine.memory)),
        ("kernel", machine.kernel_release.clone().unwrap_or_else(unknown)),
        ("page size", number(machine.page_size)),
        ("huge pages", machine.transparent_huge_pages.clone().unwrap_or_else(unknown)),
        ("clock source", machine.clock_source.clone().unwrap_or_else(unknown)),
        ("container", machine.container.clone().unwrap_or_else(unknown)),
        ("mitigations", mitigations(machine).unwrap_or_else(unknown)),
    ]
}

/// How many of the processor's vulnerabilities are mitigated, which costs time.
fn mitigations(machine: &Machine) -> Option<String> {
    let all = machine.mitigations.as_ref()?;
    let mitigated = all.values().filter(|state| state.starts_with("Mitigation")).count();
    // partly, too: "Mitigation: Enhanced IBRS; BHI: Vulnerable", "SMT vulnerable"
    let open = all.iter().filter(|(_, state)| state.to_ascii_lowercase().contains("vulnerable"));
    let open: Vec<&str> = open.map(|(name, _)| name.as_str()).collect();
    let names = if open.is_empty() { String::new() } else { format!(" ({})", open.join(", ")) };
    Some(format!("{mitigated} active, {} vulnerable{names}, of {} known", open.len(), all.len()))
}

fn fact_line(name: &str, fact: &str, terminal: &Terminal) -> String {
    terminal.wrap(&format!("{}{}{}", " ".repeat(INDENT), fitted(name, NAME - INDENT), visible(fact)), NAME)
}

fn check_lines(check: &Check, terminal: &Terminal) -> Vec<String> {
    let mut lines = vec![first_line(check, terminal)];
    let indent = " ".repeat(INDENT);
    if let Some(why) = &check.why {
        let label = if check.status == Status::Works { "note: " } else { "why: " };
        lines.push(terminal.wrap(&format!("{indent}{label}{}", visible(why)), INDENT + label.len()));
    }
    if let Some(fix) = &check.fix {
        lines.push(command(&format!("{indent}fix: "), &visible(fix), terminal));
    }
    lines
}

fn first_line(check: &Check, terminal: &Terminal) -> String {
    let name = visible(&check.name);
    let padding = " ".repeat((NAME - INDENT).saturating_sub(columns(&name)).max(1));
    let text = format!("{}{name}{padding}{}", " ".repeat(INDENT), visible(&check.detail));
    let wrapped = terminal.wrap(&text, NAME);
    let rest = wrapped.strip_prefix("    ").unwrap_or(&wrapped);
    let (mark, style) = mark(check.status);
    format!("  {} {rest}", terminal.paint(style, mark))
}

/// A character and a colour: no information is in the colour alone.
fn mark(status: Status) -> (&'static str, Style) {
    match status {
        Status::Works => ("✓", AnsiColor::Green.on_default()),
        Status::Partly => ("~", AnsiColor::Yellow.on_default()),
        Status::DoesNotWork => ("✗", AnsiColor::Red.on_default()),
    }
}

fn summary(checks: &[Check], install: &InstallPlan, terminal: &Terminal) -> Vec<String> {
    let count = |status| checks.iter().filter(|check| check.status == status).count();
    let (partly, not) = (count(Status::Partly), count(Status::DoesNotWork));
    let verb = |n: usize| if n == 1 { "works" } else { "work" };
    let works = count(Status::Works);
    let does = if not == 1 { "does" } else { "do" };
    let mut lines =
        vec![format!("{works} {}, {partly} {} partly, {not} {does} not work", verb(works), verb(partly))];
    if let Some(command) = &install.command {
        lines.push(terminal.wrap("to install the missing tools, run `firstbyte doctor --install` or:", 0));
        lines.push(self::command("", &visible(command), terminal));
    }
    lines
}

/// A command, which may be copied: a shell joins its lines again.
fn command(before: &str, command: &str, terminal: &Terminal) -> String {
    let indent = columns(before);
    let width = terminal.width.saturating_sub(indent);
    if columns(command) <= width {
        return format!("{before}{command}");
    }
    let steps = command.split_inclusive(" && ").flat_map(|step| continued(step.trim_end(), width));
    before.to_owned() + &steps.collect::<Vec<_>>().join(&format!("\n{}", " ".repeat(indent)))
}

/// One step of a command in lines that end with a backslash. What is quoted may not be broken.
fn continued(step: &str, width: usize) -> Vec<String> {
    if step.contains(['\'', '"', '\\']) {
        return vec![step.to_owned()];
    }
    let mut lines: Vec<String> = Vec::new();
    for word in step.split(' ') {
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(word) + 2 <= width => {
                line.push(' ');
                line.push_str(word);
            }
            last => {
                if let Some(line) = last {
                    line.push_str(" \\");
                }
                lines.push(word.to_owned());
            }
        }
    }
    lines
}

/// The width of the names of groups.
const GROUP: usize = 13;

/// What groups of the corpus lack, and how large it is; if wanted, also the commands that install it.
pub fn groups(plans: &[GroupPlan], with_commands: bool, terminal: &Terminal) -> String {
    let mut lines = Vec::new();
    for plan in plans {
        let text = format!("{}{}", fitted(&plan.group, GROUP), what_it_lacks(plan));
        lines.push(terminal.wrap(&text, GROUP));
        if with_commands {
            let others = plan.commands.iter().map(|command| command.join(" "));
            lines.extend(plan.install.command.iter().cloned().chain(others));
        }
    }
    lines.join("\n") + "\n"
}

fn what_it_lacks(plan: &GroupPlan) -> String {
    let mut parts = Vec::new();
    if !plan.install.packages.is_empty() {
        let sizes = match &plan.sizes {
            Some((download, disk)) => format!("{download} to download, {disk} on disk"),
            None => "unknown sizes".to_owned(),
        };
        parts.push(format!("{}: {sizes}", plan.install.packages.join(" ")));
    }
    parts.extend(plan.commands.iter().map(|command| format!("`{}`", command.join(" "))));
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Kind;
    use firstbyte_measure::units::Bytes;

    fn check(group: CheckGroup, name: &str, status: Status, detail: &str) -> Check {
        Check { group, name: name.to_owned(), status, detail: detail.to_owned(), why: None, fix: None }
    }

    fn report() -> DoctorReport {
        let results = vec![
            check(CheckGroup::Tracing, "bpf backend", Status::Works, "its programs were loaded and attached"),
            Check {
                why: Some(
                    "it exists since Linux 6.10; startup is not divided at the point of no return".into(),
                ),
                ..check(CheckGroup::Tracing, "sched_prepare_exec", Status::Partly, "no such event")
            },
            Check {
                why: Some("`zsh` is not in PATH; skipped: zsh".into()),
                fix: Some("sudo apt-get install -y --no-install-recommends zsh".into()),
                ..check(CheckGroup::Corpus, "zsh", Status::DoesNotWork, "missing")
            },
        ];

        let machine = Machine {
            cpu_model: Some("Fast CPU".to_owned()),
            architecture: "x86_64".to_owned(),
            page_size: Some(Bytes(4096)),
            ..Machine::default()
        };
        let command = Some("sudo apt-get install -y --no-install-recommends zsh".to_owned());
        DoctorReport {
            kind: Kind::Doctor,
            machine,
            results,
            install: InstallPlan { packages: vec!["zsh".to_owned()], command },
        }
    }

    #[test]
    fn a_report_is_drawn_in_groups_with_reasons_and_commands() {
        insta::assert_snapshot!(render(&report(), &Terminal::default()), @r"
        machine
            processor             Fast CPU
            architecture          x86_64
            memory                unknown
            kernel                unknown
            page size             4.00 KiB
            huge pages            unknown
            clock source          unknown
            container             unknown
            mitigations           unknown

        tracing
          ✓ bpf backend           its programs were loaded and attached
          ~ sched_prepare_exec    no such event
            why: it exists since Linux 6.10; startup is not divided at the point of no
                 return

        corpus
          ✗ zsh                   missing
            why: `zsh` is not in PATH; skipped: zsh
            fix: sudo apt-get install -y --no-install-recommends zsh

        1 works, 1 works partly, 1 does not work
        to install the missing tools, run `firstbyte doctor --install` or:
        sudo apt-get install -y --no-install-recommends zsh
        ");
    }

    #[test]
    fn groups_are_shown_with_their_sizes_and_commands() {
        let install = InstallPlan {
            packages: vec!["duktape".to_owned(), "mujs".to_owned()],
            command: Some("sudo apt-get install -y --no-install-recommends duktape mujs".to_owned()),
        };
        let plan = GroupPlan {
            group: "javascript".to_owned(),
            install,
            sizes: Some(("300 kB".to_owned(), "900 kB".to_owned())),
            commands: vec![["npm", "install", "--global", "deno"].map(str::to_owned).to_vec()],
        };
        insta::assert_snapshot!(groups(&[plan], true, &Terminal::default()), @r"
        javascript   duktape mujs: 300 kB to download, 900 kB on disk; `npm install
                     --global deno`
        sudo apt-get install -y --no-install-recommends duktape mujs
        npm install --global deno
        ");
    }

    #[test]
    fn a_partial_mitigation_counts_as_vulnerable_too() {
        let states = [
            ("meltdown", "Not affected"),
            ("mds", "Mitigation: Clear CPU buffers"),
            (
                "spectre_v2",
                "Mitigation: Enhanced / Automatic IBRS; PBRSB-eIBRS: SW sequence; BHI: Vulnerable",
            ),
        ];
        let mitigations = states.map(|(name, state)| (name.to_owned(), state.to_owned())).into();
        let machine = Machine { mitigations: Some(mitigations), ..Machine::default() };
        let shown = super::mitigations(&machine);
        assert_eq!(shown.as_deref(), Some("2 active, 1 vulnerable (spectre_v2), of 3 known"));
    }

    #[test]
    fn a_long_command_has_lines_that_a_shell_joins() {
        let of = |text: &str| command("    fix: ", text, &Terminal { width: 40, ..Terminal::default() });
        assert_eq!(of("sudo a"), "    fix: sudo a");
        insta::assert_snapshot!(of("sudo groupadd -f x && sudo install one two three four five six && sudo c"), @r"
            fix: sudo groupadd -f x &&
                 sudo install one two three \
                 four five six &&
                 sudo c
        ");
        let quoted = "sh -c 'echo a  b                       c'";
        assert_eq!(of(quoted), format!("    fix: {quoted}"));
        let words = of("w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12");
        assert!(words.lines().all(|line| columns(line) <= 40), "{words}");
        assert_eq!(words.split_whitespace().filter(|word| word.starts_with('w')).count(), 12);
    }

    #[test]
    fn lines_fit_the_terminal_unless_they_are_commands() {
        let mut long = report();
        long.results[0].detail = "a word and another ".repeat(20);
        long.results[1].why = Some("w".repeat(300));
        for line in render(&long, &Terminal::default()).lines().filter(|line| !line.contains("apt-get")) {
            assert!(columns(line) <= 80, "{line}");
        }
    }

    #[test]
    fn colours_are_used_only_if_wanted() {
        assert!(!render(&report(), &Terminal::default()).contains('\u{1b}'));
        assert!(render(&report(), &Terminal { width: 80, height: 24, colour: true }).contains("\u{1b}[32m✓"));
    }

    #[test]
    fn the_version_of_a_tool_cannot_control_the_terminal() {
        let mut hostile = report();
        hostile.results[0].detail = "\u{1b}]0;owned\u{7}".to_owned();
        assert!(!render(&hostile, &Terminal::default()).contains('\u{1b}'));
    }
}
