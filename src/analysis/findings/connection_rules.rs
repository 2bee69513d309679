//! A finding about addresses to which the program does not get a connection.

use super::extent::{Extent, Processes};
use super::floors::floor;
use super::peers::internet;
use super::process_rules::times;
use super::{Finding, noteworthy};
use crate::analysis::{Account, Reason, Step, What};
use firstbyte_measure::arch::Wait;
use std::collections::BTreeMap;

/// Attempts of a process to connect to an address that fail, and those up to the one that succeeds.
#[derive(Default)]
struct Attempts<'s> {
    /// The first and the last attempt.
    between: Option<[&'s Step; 2]>,
    failed: usize,
    error: &'s str,
    succeeds: bool,
}

impl<'s> Attempts<'s> {
    fn add(&mut self, step: &'s Step, error: &'s str) {
        if self.succeeds || matches!(error, "EINPROGRESS" | "EALREADY" | "EINTR") {
            return;
        }
        self.between = Some([self.between.map_or(step, |[first, _]| first), step]);
        self.succeeds = error.is_empty();
        if !self.succeeds {
            (self.failed, self.error) = (self.failed + 1, error);
        }
    }

    /// The attempts, and the waits of the process between them.
    fn extent(&self, account: &Account, (pid, address): &(u32, String)) -> Extent {
        let Some([first, last]) = self.between else { return Extent::default() };
        let processes = Processes::of(account);
        let is_of_it = |step: &&Step| match &*step.what {
            What::Call { .. } => connected(step).is_some_and(|(to, _)| to == *address),
            What::Off(Reason::For(Wait::Sleep | Wait::Poll | Wait::Connection)) => true,
            _ => false,
        };
        let [from, to] = [first.start, last.start + last.elapsed]
            .map(|at| account.steps.partition_point(|step| step.start < at));
        let within = account.steps[from..to].iter().filter(is_of_it);
        Extent::of(within.filter(|step| processes.at(step.start) == *pid))
    }
}

/// The address to which connecting fails the longest, with the time between the attempts in which the program waits.
pub(super) fn failed_connections(account: &Account) -> Option<Finding> {
    let processes = Processes::of(account);
    let mut all: BTreeMap<(u32, String), Attempts> = BTreeMap::new();
    for step in &account.steps {
        if let Some((address, error)) = connected(step) {
            all.entry((processes.at(step.start), address)).or_default().add(step, error);
        }
    }
    let failing = all.into_iter().filter(|(_, attempts)| attempts.failed > 0);
    let failing = failing.map(|(key, attempts)| (attempts.extent(account, &key), key.1, attempts));
    let (extent, address, attempts) = failing.max_by_key(|(extent, ..)| extent.total())?;

    let end = if attempts.succeeds { ", and then succeeds" } else { "" };
    let text = format!(
        "Connecting to `{address}` fails {} ({}){end}. Start what listens there before the program, or do not connect to it.",
        times(attempts.failed),
        attempts.error
    );
    let cost = extent.total();
    // that a call times out is a wait
    let is_wait = attempts.failed == 1 && attempts.error == "ETIMEDOUT";
    (!is_wait && noteworthy(cost, account, floor("failed-connections")))
        .then(|| Finding::new("failed-connections", cost, text).about(&address).saving_all().on(extent))
}

/// The address to which a call connects, of the network or the path of a socket, and its error; without one, nothing.
fn connected(step: &Step) -> Option<(String, &str)> {
    let What::Call { name, text, .. } = &*step.what else { return None };
    if &**name != "connect" {
        return None;
    }
    let path = || Some(text.split_once("sun_path=\"")?.1.split_once('"')?.0.to_owned());
    let address = internet(text).map(|address| address.to_string()).or_else(path)?;
    Some((address, text.rsplit_once(" = -1 ").map_or("", |(_, error)| error)))
}
