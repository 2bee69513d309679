//! What a start should cost on this machine: the predicted numbers of events, times the cost of each.

use super::unit_costs::UnitCosts;
use crate::document::floor::{Calibration, Cost};
use crate::document::inspect::{StartCost, UnitCost};
use crate::inspect::Inspection;
use crate::inspect::prediction::Prediction;
use firstbyte_measure::arch::cpuid::cpuid_cost;
use firstbyte_measure::launch::Command;
use firstbyte_measure::tracer::ptrace::cpuid_count;

/// The page faults and system calls that are part of the cost of an exec: those of the plain ELF.
const OF_EXEC: (u64, u64) = (2, 3);
/// The page faults that are part of the cost of a library: one for each of its three read-only segments, and three where
/// it writes.
const OF_LIBRARY: u64 = 6;
/// The program whose CPUID instructions are counted: glibc executes them before any code of a program.
const SMALL: &str = "true";

/// `None` for a file whose start cannot be predicted.
pub fn estimate(inspection: &Inspection, units: UnitCosts) -> Option<StartCost> {
    let prediction = inspection.prediction.as_ref()?;
    Some(StartCost { costs: costs(inspection, prediction, &units.costs), source: units.source })
}

/// The cost of a library includes its system calls and the page faults of a small library.
fn costs(inspection: &Inspection, prediction: &Prediction, units: &Calibration) -> Vec<UnitCost> {
    let names: Vec<&str> = inspection.libraries.iter().map(|library| library.name.as_str()).collect();
    let of_libraries = || prediction.parts.iter().filter(|part| names.contains(&part.name.as_str()));
    let libraries = if units.library.is_some() { of_libraries().count() as u64 } else { 0 };
    let their_calls: u64 = if libraries > 0 { of_libraries().map(|part| part.syscalls).sum() } else { 0 };
    let syscalls = prediction.syscalls.saturating_sub(OF_EXEC.1 + their_calls);
    let faults = prediction.page_faults.saturating_sub(OF_EXEC.0 + OF_LIBRARY * libraries);
    let (relative, symbolic) = relocations(inspection);
    let cpuids = if prediction.starts_glibc { cpuids_of_glibc().unwrap_or(0) } else { 0 };

    let ns = |unit: Option<Cost>| unit.map(|unit| unit.ns);
    let counted = [
        ("process creation, exec, exit", 1, ns(units.exec)),
        ("libraries mapped and linked", libraries, ns(units.library)),
        ("further system calls", syscalls, ns(units.null_syscall)),
        ("further page faults", faults, fault(units)),
        ("relative relocations", relative, ns(units.relative_relocation)),
        ("relocations by name", symbolic, ns(units.symbolic_relocation)),
        (executes_cpuid(inspection), cpuids, cpuid_cost().map(|cost| cost.0 as f64)),
    ];
    let cost = |(name, count, ns): (&'static str, u64, Option<f64>)| Some(UnitCost { name, count, ns: ns? });
    counted.into_iter().filter(|(_, count, _)| *count > 0).filter_map(cost).collect()
}

/// Whose code executes CPUID: a program without a C library may still be linked by glibc's loader.
fn executes_cpuid(inspection: &Inspection) -> &'static str {
    let c_library = inspection.elf.as_ref().and_then(|elf| elf.runtime.c_library);
    match c_library {
        Some(_) => "CPUID instructions of glibc",
        None => "CPUID instructions of the loader",
    }
}

/// How often this machine's glibc executes CPUID at a start, to identify the processor: that depends on both. Its loader
/// executes them where there is one. `None` if it cannot be counted.
fn cpuids_of_glibc() -> Option<u64> {
    cpuid_count(&Command::new(&[SMALL]).ok()?).ok()
}

/// A start has page faults of all kinds: the mean of a fault that maps the pages around it, and of one that copies a page.
fn fault(units: &Calibration) -> Option<f64> {
    match (units.file_fault_around, units.copied_fault) {
        (Some(around), Some(copied)) => Some(f64::midpoint(around.ns, copied.ns)),
        _ => units.file_fault.map(|unit| unit.ns),
    }
}

/// Relative relocations, and those that are looked up by name before the program starts.
fn relocations(inspection: &Inspection) -> (u64, u64) {
    let libraries = inspection.libraries.iter().filter_map(|library| library.elf.as_ref());
    libraries.chain(&inspection.elf).fold((0, 0), |(relative, symbolic), elf| {
        let relocations = &elf.relocations;
        let bound_now = elf.dynamic.as_ref().is_some_and(|dynamic| dynamic.bind_now);
        let jumps = if bound_now { relocations.jump_slot } else { 0 };
        (relative + relocations.relative, symbolic + relocations.symbolic + jumps)
    })
}
