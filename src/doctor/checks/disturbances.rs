//! Conditions that disturb measurements.

use crate::document::doctor::{Check, CheckGroup, Status};
use firstbyte_measure::machine::Machine;

pub(super) fn governor(machine: &Machine) -> Option<Check> {
    let governor = machine.governor.as_ref()?;
    let check = Check::works(CheckGroup::Machine, "frequency governor", governor.clone());
    if governor == "performance" {
        return Some(check);
    }
    Some(check.hindered(
        Status::Partly,
        "the clock frequency follows the load, so times vary",
        Some(
            "echo performance | sudo tee /sys/devices/system/cpu/cpufreq/policy*/scaling_governor".to_owned(),
        ),
    ))
}

pub(super) fn virtualisation(machine: &Machine) -> Option<Check> {
    let kind = machine.virtualisation.as_ref()?;
    let check = Check::works(CheckGroup::Machine, "virtualisation", kind.clone());
    if kind == "none" {
        return Some(check);
    }
    let why = "in a virtual machine some instructions trap (CPUID), and other guests take time that is not visible here";
    Some(check.hindered(Status::Partly, why, None))
}

pub(super) fn cores(machine: &Machine) -> Option<Check> {
    let cores = machine.cores?;
    let check = Check::works(CheckGroup::Machine, "processors", cores.to_string());
    if cores > 1 {
        return Some(check);
    }
    Some(check.hindered(Status::Partly, "the tracer and the traced program share one processor", None))
}

pub(super) fn load(machine: &Machine) -> Option<Check> {
    /// An idle machine is below this; one process that has been busy for ten minutes is above.
    const QUIET: f64 = 0.5;
    let [one, five, fifteen] = machine.load_average?;
    let check =
        Check::works(CheckGroup::Machine, "load average", format!("{one:.2}, {five:.2}, {fifteen:.2}"));
    if one < QUIET {
        return Some(check);
    }
    let why = "other processes are running and disturb measurements: `ps -eo pid,pcpu,comm --sort=-pcpu` lists them";
    Some(check.hindered(Status::Partly, why, None))
}
