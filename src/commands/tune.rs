//! `firstbyte tune`: other ways to start a program, tried and measured.
//!
//! First all ways are measured a few times. Those that may help are then measured again, and only these runs decide. At last
//! several ways are measured together.

use super::tune_preparation::{Prepared, selected};
use super::{CommandError, Exit, before_launching, bench, export, show, terminal};
use crate::cli::tune::Plan;
use crate::document::bench::Tool;
use crate::document::tune::{TuneDocument, TunedTogether, TunedVariant, UntriedVariant};
use crate::document::{self, Document, Kind};
use crate::output::say;
use crate::report::formats::Exported;
use crate::report::text::tune as text;
use crate::tune::candidate::together;
use crate::tune::catalogue::{self, Runtime};
use crate::tune::combination::{compatible, without};
use crate::tune::judgement::median;
use crate::tune::{Candidate, Judged, Pair, Start, Way, candidates, judged};
use firstbyte_measure::launch::interrupt;
use std::time::{Duration, Instant};

/// Tries the ways, and prints those that help.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    let catalogue = catalogue::load(&plan.catalogues).map_err(CommandError::usage)?;
    plan.each_run.environment.clone().choose();
    if plan.list {
        return list(plan, &catalogue);
    }
    export::check(&plan.exports)?;
    before_launching();

    let began = Instant::now();
    let prepared = Prepared::of(plan, &catalogue)?;
    let mut course = Course { plan, prepared, began, figures: Vec::new(), header: None, plain: None };
    let found = course.go()?;
    let document = course.document(found);
    let exported = export::write(&plan.exports, &Exported::Tune(&document), true);
    if !export::takes_stdout(&plan.exports) {
        show(text::render(&document, plan.all, &terminal()).as_bytes())?;
    }
    exported?;
    Ok(if document.partial { Exit::Interrupted } else { Exit::Done })
}

/// What would be tried, without running anything.
fn list(plan: &Plan, catalogue: &[Runtime]) -> Result<Exit, CommandError> {
    let start = Start::seen(&plan.words).map_err(CommandError::program)?;
    let (all, untried) = candidates(catalogue, &start);
    let (all, untried) = selected(plan, all, untried)?;
    let folder = plan.keep.clone().unwrap_or_else(|| "DIR".into());
    let ways = all.iter().map(|candidate| text::ListedWay {
        name: &candidate.name,
        why: &candidate.text,
        command: candidate.way(&start, &folder).pasted(None),
        behaviour: candidate.variant.behaviour,
    });
    show(text::list(ways, &untried, &terminal()).as_bytes())?;
    Ok(Exit::Done)
}

/// Names of programs in the measurements that are no candidates: no name of a candidate has a space.
const PLAIN: &str = "the plain command";
const WINNERS: &str = "all that help";
const ALL: &str = "all that do no harm";
const FEWEST: &str = "the fewest that do the same";

/// At least and at most so many rounds: five are enough to choose, twelve for a verdict on eight ways, eight to see what is
/// not needed.
const CHOOSING: [u32; 2] = [5, 30];
const PROVING: [u32; 2] = [12, 400];
const REMOVING: [u32; 2] = [8, 60];
/// No more ways are measured again.
const MOST_CONFIRMED: usize = 8;
/// A combination that gains less is not worth its length.
const WORTH: f64 = 0.98;

/// A way that was measured.
struct Figures {
    index: usize,
    judged: Judged,
    confirmed: bool,
}

/// A combination that is proven to be faster than the plain command.
type Found = Option<(Vec<usize>, Judged)>;

struct Course<'p> {
    plan: &'p Plan,
    prepared: Prepared<'p>,
    began: Instant,
    figures: Vec<Figures>,
    /// The head of the last document of measurements.
    header: Option<Document>,
    plain: Option<f64>,
}

impl Course<'_> {
    /// All measurements. Those that an interruption cuts off are left out.
    fn go(&mut self) -> Result<Found, CommandError> {
        let tried = self.screened()?;
        if is_interrupted() || tried.is_empty() {
            return Ok(None);
        }
        let Some(winners) = self.confirmed()? else { return Ok(None) };
        if is_interrupted() { Ok(None) } else { self.combined(&winners) }
    }

    fn left(&self) -> Duration {
        self.plan.budget.saturating_sub(self.began.elapsed())
    }

    /// How many programs can be measured in the fewest of these rounds, in a part of the time that is left.
    fn fitting(&self, [rounds, _]: [u32; 2], part: f64) -> usize {
        let round = self.prepared.plain.wall.as_f64().max(1.0) / 1e9 * f64::from(rounds + 2);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole programs, at most a million"
        )]
        let programs = (self.left().as_secs_f64() * part / round).min(1e6) as usize;
        programs
    }

    /// Measures these ways, beside the plain command.
    fn measured(
        &mut self,
        ways: Vec<(String, Way)>,
        rounds: [u32; 2],
        part: f64,
    ) -> Result<Document, CommandError> {
        let first = (PLAIN.to_owned(), Way::plain(&self.prepared.start));
        let ways: Vec<(String, Way)> = [first].into_iter().chain(ways).collect();
        let ends_early = self.plan.each_run.until.is_some();
        let expected = self.prepared.plain.expected(&self.prepared.comparing).filter(|_| !ends_early);
        let time = self.left().mul_f64(part);
        let plan =
            self.plan.measuring(&ways, expected.as_ref(), (rounds, time)).map_err(CommandError::usage)?;
        let document = match bench::measured(&plan) {
            Err(error) if error.exit == Exit::Interrupted && self.header.is_some() => Document {
                results: Vec::new(),
                executions: None,
                ..self.header.clone().unwrap_or_else(|| Document::new(Tool::ours(), document::this_machine()))
            },
            document => document?,
        };
        self.prepared.executions += document.executions.unwrap_or_default();
        self.plain = median(&document, PLAIN, self.plan.by).or(self.plain);
        self.header = Some(Document { results: Vec::new(), failed: Vec::new(), ..document.clone() });
        Ok(document)
    }

    fn candidate(&self, index: usize) -> &Candidate {
        &self.prepared.candidates[index]
    }

    fn way(&self, indices: &[usize]) -> Way {
        let all: Vec<&Candidate> = indices.iter().map(|index| self.candidate(*index)).collect();
        together(&all, &self.prepared.start, self.prepared.folder())
    }

    fn named(&self, indices: &[usize]) -> Vec<(String, Way)> {
        indices.iter().map(|index| (self.candidate(*index).name.clone(), self.way(&[*index]))).collect()
    }

    /// With what each of these is compared.
    fn pairs(&self, indices: &[usize]) -> Vec<Pair> {
        let pair = |index: &usize| {
            let candidate = self.candidate(*index);
            Pair::new(&candidate.name, candidate.base().unwrap_or(PLAIN))
        };
        indices.iter().map(pair).collect()
    }

    /// Runs each way once, and measures those that do the same a few times. The ways that do not come to it are noted.
    fn screened(&mut self) -> Result<Vec<usize>, CommandError> {
        let fitting = self.fitting(CHOOSING, 0.5).saturating_sub(1).max(1);
        say(format_args!(
            "{}",
            text::beginning(self.prepared.candidates.len().min(fitting), self.plan.budget)
        ));
        let mut usable = Vec::new();
        for index in 0..self.prepared.candidates.len() {
            let candidate = self.candidate(index).clone();
            let base = candidate.base();
            let has_base =
                base.is_none_or(|base| usable.iter().any(|index| self.candidate(*index).name == base));
            let reason = if !has_base {
                Err(format!("it needs `{}`, which is not tried", base.unwrap_or_default()))
            } else if usable.len() >= fitting || self.left().is_zero() {
                Err("no time is left (--budget)".to_owned())
            } else {
                match self.prepared.check(&candidate) {
                    Err(error) if error.exit == Exit::Interrupted => return Ok(usable),
                    reason => reason?,
                }
            };
            match reason {
                Ok(()) => usable.push(index),
                Err(reason) => self.prepared.untried.push(UntriedVariant { name: candidate.name, reason }),
            }
        }
        if usable.is_empty() {
            return Ok(usable);
        }
        let document = self.measured(self.named(&usable), CHOOSING, 0.4)?;
        self.note(&document, &usable, false);
        Ok(usable)
    }

    /// Notes figures of ways, in place of earlier ones.
    fn note(&mut self, document: &Document, indices: &[usize], confirmed: bool) {
        for judged in judged(document, self.plan.by, &self.pairs(indices)) {
            let Some(index) = self.prepared.candidates.iter().position(|it| it.name == judged.name) else {
                continue;
            };
            self.figures.retain(|figures| figures.index != index);
            self.figures.push(Figures { index, judged, confirmed });
        }
        for failed in document.failed.iter().filter(|failed| failed.name != PLAIN) {
            let (name, reason) = (failed.name.clone(), failed.reason.clone());
            self.figures.retain(|figures| figures.judged.name != name);
            self.prepared.untried.push(UntriedVariant { name, reason });
        }
    }

    /// The ways that were measured and fulfil something, the fastest first.
    fn ranked(&self, wanted: impl Fn(&Figures) -> bool) -> Vec<usize> {
        let mut all: Vec<&Figures> = self.figures.iter().filter(|figures| wanted(figures)).collect();
        all.sort_by(|a, b| a.judged.median.total_cmp(&b.judged.median));
        all.into_iter().map(|figures| figures.index).collect()
    }

    /// Those of them that may be used together.
    fn compatible(&self, indices: &[usize]) -> Vec<usize> {
        let may = |index: &&usize| self.plan.all || !self.candidate(**index).variant.behaviour;
        let all: Vec<&Candidate> = indices.iter().filter(may).map(|index| self.candidate(*index)).collect();
        self.indices(&compatible(&all))
    }

    fn indices(&self, candidates: &[&Candidate]) -> Vec<usize> {
        let place =
            |candidate: &&Candidate| self.prepared.candidates.iter().position(|it| it.name == candidate.name);
        candidates.iter().filter_map(place).collect()
    }

    /// Measures the ways that may help in fresh runs, beside combinations of them. Returns the combination that is worth to be
    /// looked at; `None`: there is none.
    fn confirmed(&mut self) -> Result<Option<Vec<usize>>, CommandError> {
        let most = self.fitting(PROVING, 0.6).saturating_sub(3).clamp(1, MOST_CONFIRMED);
        let mut promising = self.ranked(|figures| figures.judged.is_promising());
        for index in promising.split_off(promising.len().min(most)) {
            let name = self.candidate(index).name.clone();
            let reason = "it may help, and no time is left to prove it (--budget)".to_owned();
            self.figures.retain(|figures| figures.index != index);
            self.prepared.untried.push(UntriedVariant { name, reason });
        }
        let winners = self.compatible(&promising);
        let harmless = self.compatible(&self.ranked(|figures| !figures.judged.is_slower()));
        let combinations = [(WINNERS, winners), (ALL, harmless)];
        let combinations: Vec<(&str, Vec<usize>)> =
            combinations.into_iter().filter(|(_, indices)| indices.len() > 1).collect();
        let mut usable: Vec<(&str, Vec<usize>)> = Vec::new();
        for (name, indices) in combinations {
            let is_new = usable.iter().all(|(_, other)| !is_same(other, &indices));
            if is_new && self.prepared.same(&self.way(&indices))?.is_ok() {
                usable.push((name, indices));
            }
        }
        if promising.is_empty() && usable.is_empty() {
            return Ok(None);
        }

        let mut ways = self.named(&self.with_bases(&promising));
        ways.extend(usable.iter().map(|(name, indices)| ((*name).to_owned(), self.way(indices))));
        let document = self.measured(ways, PROVING, 0.5)?;
        self.note(&document, &promising, true);
        Ok(self.worth(&document, usable))
    }

    /// These ways, and those that they are compared with.
    fn with_bases(&self, indices: &[usize]) -> Vec<usize> {
        let bases = indices.iter().filter_map(|index| self.candidate(*index).base());
        let place = |base: &str| self.prepared.candidates.iter().position(|it| it.name == base);
        let missing = bases.filter_map(place).filter(|base| !indices.contains(base));
        let mut all: Vec<usize> = missing.chain(indices.iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The fastest proven way.
    fn best(&self) -> Option<usize> {
        let helps = |figures: &Figures| figures.confirmed && figures.judged.is_faster();
        let may = |figures: &Figures| self.plan.all || !self.candidate(figures.index).variant.behaviour;
        self.ranked(|figures| helps(figures) && may(figures)).first().copied()
    }

    /// The combination that is worth its length: all, if these are faster than those that help alone.
    fn worth(&self, document: &Document, usable: Vec<(&str, Vec<usize>)>) -> Option<Vec<usize>> {
        let has = |name: &str| usable.iter().any(|(other, _)| *other == name);
        let best = self.best().map(|index| self.candidate(index).name.clone());
        let reference = if has(WINNERS) { WINNERS } else { best.as_deref().unwrap_or(PLAIN) };
        let all = judged(document, self.plan.by, &[Pair::new(ALL, reference)]);
        let is_better = all.first().is_some_and(|it| it.is_faster() && it.ratio.ratio < WORTH);
        let wanted = if is_better { ALL } else { WINNERS };
        usable.into_iter().find(|(name, _)| *name == wanted).map(|(_, indices)| indices)
    }

    /// Removes from a combination what does nothing there, and proves the rest in fresh runs.
    fn combined(&mut self, all: &[usize]) -> Result<Found, CommandError> {
        let fewest = self.needed(all)?;
        if is_interrupted() {
            return Ok(None);
        }
        let is_smaller = fewest.len() > 1 && fewest.len() < all.len();
        let mut combinations = vec![(ALL, all.to_vec())];
        if is_smaller && self.prepared.same(&self.way(&fewest))?.is_ok() {
            combinations.insert(0, (FEWEST, fewest));
        }
        let best = self.best().map(|index| self.candidate(index).name.clone());
        let combination = |(name, indices): &(&str, Vec<usize>)| ((*name).to_owned(), self.way(indices));
        let mut ways: Vec<(String, Way)> = combinations.iter().map(combination).collect();
        ways.extend(self.best().into_iter().flat_map(|index| self.named(&self.with_bases(&[index]))));
        let document = self.measured(ways, PROVING, 0.9)?;

        for (name, indices) in combinations {
            let references = [Some(PLAIN), best.as_deref()].into_iter().flatten();
            let pairs: Vec<Pair> = references.map(|reference| Pair::new(name, reference)).collect();
            let verdicts = judged(&document, self.plan.by, &pairs);
            let is_proven = !verdicts.is_empty() && verdicts.iter().all(Judged::is_faster);
            if is_proven {
                return Ok(verdicts.into_iter().next().map(|against_plain| (indices, against_plain)));
            }
        }
        Ok(None)
    }

    /// Those of a combination without which it is slower. All, if there is no time to find out.
    fn needed(&mut self, all: &[usize]) -> Result<Vec<usize>, CommandError> {
        let candidates: Vec<Candidate> = all.iter().map(|index| self.candidate(*index).clone()).collect();
        let candidates: Vec<&Candidate> = candidates.iter().collect();
        if self.fitting(REMOVING, 0.6) < all.len() + 2 {
            return Ok(all.to_vec());
        }
        let name = |candidate: &Candidate| format!("without {}", candidate.name);
        let rest = |candidate: &&Candidate| {
            let rest = self.indices(&without(&candidates, &candidate.name));
            (name(candidate), self.way(&rest))
        };
        let ways: Vec<(String, Way)> =
            [(ALL.to_owned(), self.way(all))].into_iter().chain(candidates.iter().map(rest)).collect();
        let document = self.measured(ways, REMOVING, 0.5)?;

        let is_needed = |index: &&usize| {
            let pair = Pair::new(&name(self.candidate(**index)), ALL);
            judged(&document, self.plan.by, &[pair]).first().is_some_and(Judged::is_slower)
        };
        Ok(all.iter().filter(is_needed).copied().collect())
    }

    /// The results.
    fn document(&mut self, found: Found) -> TuneDocument {
        let partial = is_interrupted();
        let order = self.ranked(|_| true);
        let tuned = |index: &usize| {
            let figures = self.figures.iter().find(|figures| figures.index == *index)?;
            Some(self.tuned(figures, partial))
        };
        let mut results: Vec<TunedVariant> = order.iter().filter_map(tuned).collect();
        results.sort_by_key(|tuned| (!tuned.helps(), tuned.behaviour));
        let together = found.map(|(indices, judged)| TunedTogether {
            names: indices.iter().map(|index| self.candidate(*index).name.clone()).collect(),
            command: self.prepared.pasted(&self.way(&indices)),
            ratio: judged.ratio,
            median_ns: judged.median,
        });
        let used = results.iter().filter(|tuned| tuned.helps()).map(|tuned| tuned.name.as_str());
        let used: Vec<&str> =
            used.chain(together.iter().flat_map(|it| it.names.iter().map(String::as_str))).collect();
        self.prepared.tidy(&used);

        let header = self.header.take();
        let measured = header.iter().flat_map(|header| header.warnings.clone());
        TuneDocument {
            schema: document::bench::SCHEMA.to_owned(),
            kind: Kind::Tune,
            warnings: self.prepared.warnings.iter().cloned().chain(measured).collect(),
            tool: header.as_ref().map_or_else(Tool::ours, |header| header.tool.clone()),
            machine: header.map_or_else(document::this_machine, |header| header.machine),
            partial,
            command: shell_words::join(&self.plan.words),
            by: self.plan.by,
            cold: self.plan.cold,
            plain_ns: self.plain,
            executions: self.prepared.executions,
            seconds: self.began.elapsed().as_secs_f64(),
            results,
            together,
            untried: std::mem::take(&mut self.prepared.untried),
        }
    }

    fn tuned(&self, figures: &Figures, partial: bool) -> TunedVariant {
        let candidate = self.candidate(figures.index);
        let is_final = figures.confirmed || partial;
        TunedVariant {
            name: candidate.name.clone(),
            runtime: candidate.runtime.clone(),
            text: candidate.text.clone(),
            command: self.prepared.pasted(&self.way(&[figures.index])),
            against: candidate.base().map(str::to_owned),
            ratio: Some(figures.judged.ratio),
            median_ns: Some(figures.judged.median),
            verdict: if is_final { figures.judged.verdict } else { figures.judged.before_confirmation() },
            confirmed: figures.confirmed,
            behaviour: candidate.variant.behaviour,
            writes: candidate.variant.writes.clone(),
            undo: candidate.variant.undo.clone(),
            finding: candidate.finding.map(|(rule, _)| rule.to_owned()),
            promised_ns: candidate.finding.map(|(_, saves)| saves.0),
        }
    }
}

fn is_same(one: &[usize], other: &[usize]) -> bool {
    one.len() == other.len() && one.iter().all(|index| other.contains(index))
}

fn is_interrupted() -> bool {
    interrupt::interrupted().is_some()
}
