//! User code by module and by function.

use super::{NOTEWORTHY, style};
use crate::analysis::Summary;
use crate::analysis::attribution::WorkKind;
use crate::analysis::profile::{Estimate, Function};
use crate::analysis::user_code::UserCode;
use crate::output::visible;
use crate::report::text::terminal::{Terminal, fitted};
use firstbyte_measure::units::display_nanos;
use std::fmt::Write;

/// The maximum number of modules, functions by their own time, and more functions by their time with callees.
const MODULES: usize = 6;
const FUNCTIONS: usize = 10;
const CALLERS: usize = 5;
/// Functions that contain more of the user code than this, such as `main`, explain nothing.
const NEARLY_ALL: f64 = 0.95;

pub(super) fn user_code(summary: &Summary, terminal: &Terminal) -> String {
    let Some(code) = &summary.user_code else { return String::new() };
    if code.divided.functions.is_empty() {
        return String::new();
    }
    let width = terminal.width.saturating_sub(40).max(20);
    let total = (summary.median_run.total.as_f64()).max(1.0);
    let title = format!("User code by samples ({} in all)", display_nanos(code.divided.total));
    let head =
        format!("{}{:>10}{:>10}{:>8}{:>12}", fitted(&title, width), "own time", "±", "%", "with calls");
    let mut text = terminal.bold(&head) + "\n";

    for module in
        code.divided.modules.iter().take(MODULES).filter(|it| it.self_time.time >= NOTEWORTHY * total)
    {
        let name = visible(module.module.rsplit('/').next().unwrap_or_default());
        text += &terminal.paint(style(WorkKind::User), &row(&name, width, module.self_time, None, total));
        text.push('\n');
    }
    if code.divided.unsampled >= NOTEWORTHY * total {
        let name = fitted("programs with too few samples", width);
        let _ = writeln!(text, "{name}{:>10}", display_nanos(code.divided.unsampled));
    }
    for function in functions(code, total) {
        text +=
            &row(&format!("  {}", name(function)), width, function.self_time, Some(function.total), total);
        text.push('\n');
    }
    text
}

/// Those with the longest own times, then those that call the most besides.
fn functions(code: &UserCode, total: f64) -> Vec<&Function> {
    let all = &code.divided.functions;
    let shown_functions = all.iter().take(FUNCTIONS).take_while(|it| it.self_time.time >= NOTEWORTHY * total);
    let shown = shown_functions.clone().count();
    let mut callers: Vec<&Function> = all[shown..]
        .iter()
        .filter(|it| {
            it.total.time >= 4.0 * NOTEWORTHY * total && it.total.time < NEARLY_ALL * code.divided.total
        })
        .collect();
    callers.sort_by(|a, b| b.total.time.total_cmp(&a.total.time));
    shown_functions.chain(callers.into_iter().take(CALLERS)).collect()
}

fn name(function: &Function) -> String {
    let file = visible(&function.frame.place());
    match &function.frame.function {
        Some(name) => format!("{} ({file})", visible(name)),
        None => format!("{file}, without a symbol"),
    }
}

fn row(name: &str, width: usize, self_time: Estimate, with_calls: Option<Estimate>, total: f64) -> String {
    let with_calls = with_calls.map_or(String::new(), |it| format!("{:>12}", display_nanos(it.time)));
    format!(
        "{}{:>10}{:>10}{:>8.1}{with_calls}",
        fitted(name, width),
        display_nanos(self_time.time),
        display_nanos(self_time.error()),
        100.0 * self_time.time / total
    )
}
