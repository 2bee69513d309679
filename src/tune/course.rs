//! The experiment. First all ways are measured a few times. Those that may help are then measured again, and only these runs
//! decide. At last several ways are measured together.

use super::candidate::together;
use super::catalogue::Runtime;
use super::combination::{compatible, without};
use super::error::TuneError;
use super::judgement::{median, total_beside};
use super::measuring::{NamedWay, measured};
use super::plan::{Budget, NO_TIME, TunePlan, TuneProgress, fitting};
use super::preparation::Prepared;
use super::{Candidate, Judged, Pair, Way, judged};
use crate::bench::Adaptive;
use crate::document::Document;
use crate::document::bench::Warning;
use crate::document::tune::UntriedVariant;
use firstbyte_measure::launch::{interrupt, ourselves};
use std::time::{Duration, Instant};

/// Names of programs in the measurements that are no candidates: no name of a candidate has a space.
const PLAIN: &str = "the plain command";
const WINNERS: &str = "all that help";
const ALL: &str = "all that do no harm";
const FEWEST: &str = "the fewest that do the same";

/// The least and the most rounds.
type Rounds = [u32; 2];
/// The rounds that come before those of a measurement, and after its time is up.
const BEFORE: u32 = 2;

/// The fewest rounds: five are enough to choose, twelve for a verdict on eight ways, eight to see what is
/// not needed.
const CHOOSING: Rounds = [5, 30];
const PROVING: Rounds = [12, 400];
const REMOVING: Rounds = [8, 60];
/// Why a way that may help has no figures.
const UNPROVEN: &str = "it may help, and no time is left to prove it (--budget)";
const ONE_TOO_MANY: &str = "it may help, but eight others are faster (--only)";
/// No more ways are measured again.
const MOST_CONFIRMED: usize = 8;
/// A combination that gains less is not worth its length.
const WORTH: f64 = 0.98;

/// A way that was measured.
pub(super) struct Figures {
    pub(super) index: usize,
    pub(super) judged: Judged,
    pub(super) confirmed: bool,
}

/// A combination that is proven to be faster than the plain command.
pub(super) type Found = Option<(Vec<usize>, Judged)>;

pub(super) struct Course<'p> {
    pub(super) plan: &'p TunePlan,
    pub(super) prepared: Prepared<'p>,
    pub(super) budget: Budget,
    progress: &'p mut dyn TuneProgress,
    pub(super) figures: Vec<Figures>,
    /// The last document of measurements, without its results.
    pub(super) header: Option<Document>,
    /// The median of the plain command, and that of its total where ways are compared by another time.
    pub(super) plain: Option<f64>,
    pub(super) plain_total: Option<f64>,
}

impl<'p> Course<'p> {
    pub(super) fn new(
        plan: &'p TunePlan,
        catalogue: &[Runtime],
        progress: &'p mut dyn TuneProgress,
    ) -> Result<Course<'p>, TuneError> {
        let budget = Budget::begin(plan.budget);
        let prepared = Prepared::of(plan, catalogue, progress, budget)?;
        if plan.each_run.input.is_none() {
            // no question will be asked any more
            ourselves::leave_stdin();
        }
        Ok(Course {
            plan,
            prepared,
            budget,
            progress,
            figures: Vec::new(),
            header: None,
            plain: None,
            plain_total: None,
        })
    }

    /// All measurements. Those that an interruption cuts off are left out.
    pub(super) fn go(&mut self) -> Result<Found, TuneError> {
        let tried = self.screened()?;
        if is_interrupted() || tried.is_empty() {
            return Ok(None);
        }
        let Some(winners) = self.confirmed()? else { return Ok(None) };
        if is_interrupted() { Ok(None) } else { self.combined(&winners) }
    }

    /// How many programs can be measured in the fewest of these rounds and those before them, in a part of the time that is
    /// left.
    fn fitting(&self, [rounds, _]: Rounds, part: f64) -> usize {
        fitting(self.budget.left().mul_f64(part), self.prepared.each, rounds + BEFORE)
    }

    /// How many ways can be measured beside the plain command and others. One may take all the time.
    fn room(&self, rounds: Rounds, part: f64, others: usize) -> usize {
        let one = self.fitting(rounds, 1.0).saturating_sub(1).min(1);
        self.fitting(rounds, part).saturating_sub(1 + others).max(one)
    }

    /// Measures these ways, beside the plain command, in a part of the time that is left. The fewest rounds may take all of it.
    fn measured(
        &mut self,
        ways: Vec<NamedWay>,
        [least, most]: Rounds,
        part: f64,
    ) -> Result<Document, TuneError> {
        let first = (PLAIN.to_owned(), Way::plain(&self.prepared.start));
        let ways: Vec<NamedWay> = [first].into_iter().chain(ways).collect();
        let ends_early = self.plan.each_run.until.is_some();
        let expected = self.prepared.plain.expected(&self.prepared.comparing).filter(|_| !ends_early);
        let left = self.budget.left();
        let round = self.prepared.each.saturating_mul(u32::try_from(ways.len()).unwrap_or(u32::MAX));
        let limit = Adaptive {
            least,
            most,
            time: left.mul_f64(part),
            // a round that begins ends, too, and one comes before all others
            limit: Some(left.saturating_sub(round.saturating_mul(BEFORE))),
            precision: 0.002,
            ..Adaptive::default()
        };

        let began = Instant::now();
        let document = measured(self.plan, &ways, expected.as_ref(), limit, &mut *self.progress.measuring());
        let document = match (document, &self.header) {
            (Err(_), Some(header)) if is_interrupted() => header.clone(),
            (document, _) => document?,
        };
        self.took(began.elapsed(), document.executions.unwrap_or_default());
        self.plain = median(&document, PLAIN, self.prepared.by).or(self.plain);
        self.plain_total = total_beside(&document, PLAIN, self.prepared.by).or(self.plain_total);
        let (results, failed) = (Vec::new(), Vec::new());
        self.header = Some(Document { results, failed, executions: None, ..document.clone() });
        Ok(document)
    }

    /// What runs took is what others will take.
    fn took(&mut self, time: Duration, runs: u64) {
        self.prepared.executions += runs;
        let each = u32::try_from(runs).ok().and_then(|runs| time.checked_div(runs));
        self.prepared.each = each.unwrap_or(self.prepared.each);
    }

    pub(super) fn candidate(&self, index: usize) -> &Candidate {
        &self.prepared.candidates[index]
    }

    pub(super) fn way(&self, indices: &[usize]) -> Way {
        let all: Vec<&Candidate> = indices.iter().map(|index| self.candidate(*index)).collect();
        together(&all, &self.prepared.start, self.prepared.folder())
    }

    fn named(&self, indices: &[usize]) -> Vec<NamedWay> {
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
    fn screened(&mut self) -> Result<Vec<usize>, TuneError> {
        let (all, room) = (self.prepared.candidates.len(), self.room(CHOOSING, 0.5, 0));
        if all.min(room) > 0 {
            self.progress.trying(all.min(room), self.plan.budget);
        }
        let mut usable = Vec::new();
        for index in 0..all {
            let checked =
                if usable.len() < room { self.checked(index, &usable) } else { Ok(Err(NO_TIME.to_owned())) };
            match checked {
                Err(error) if error.is_interruption() => return Ok(usable),
                checked => match checked? {
                    Ok(()) => usable.push(index),
                    Err(reason) => self.untried(index, reason),
                },
            }
        }

        if usable.is_empty() {
            return Ok(usable);
        }
        let document = self.measured(self.named(&usable), CHOOSING, 0.4)?;
        self.note(&document, &usable, CHOOSING);
        Ok(usable)
    }

    /// Whether a way does the same as the plain command. The inner error says why it is not tried.
    fn checked(&mut self, index: usize, usable: &[usize]) -> Result<Result<(), String>, TuneError> {
        let candidate = self.candidate(index).clone();
        let is_missing = |base: &&str| !usable.iter().any(|index| self.candidate(*index).name == *base);
        match candidate.base().filter(is_missing) {
            Some(base) => Ok(Err(format!("it needs `{base}`, which is not tried"))),
            None => self.prepared.check(&candidate),
        }
    }

    pub(super) fn untried(&mut self, index: usize, reason: String) {
        let name = self.candidate(index).name.clone();
        self.figures.retain(|figures| figures.index != index);
        self.prepared.untried.push(UntriedVariant { name, reason });
    }

    /// Notes figures of ways, in place of earlier ones.
    fn note(&mut self, document: &Document, indices: &[usize], rounds: Rounds) {
        let confirmed = rounds == PROVING;
        let too_few = if confirmed { UNPROVEN } else { NO_TIME };
        let place = |name: &str| indices.iter().copied().find(|index| self.candidate(*index).name == name);
        let judged = judged(document, self.prepared.by, &self.pairs(indices)).into_iter();
        let judged: Vec<_> = judged.filter_map(|judged| Some((place(&judged.name)?, judged))).collect();
        let failed =
            document.failed.iter().filter_map(|failed| Some((place(&failed.name)?, failed.reason.clone())));
        let failed: Vec<_> = failed.collect();
        for (index, judged) in judged {
            let is_cut = judged.ratio.pairs < rounds[0] as usize && !judged.is_faster() && !is_interrupted();
            if is_cut {
                self.untried(index, too_few.to_owned());
                continue;
            }
            self.figures.retain(|figures| figures.index != index);
            self.figures.push(Figures { index, judged, confirmed });
        }
        for (index, reason) in failed {
            self.untried(index, reason);
        }
    }

    /// The ways that were measured and fulfil something, the fastest first.
    pub(super) fn ranked(&self, wanted: impl Fn(&Figures) -> bool) -> Vec<usize> {
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
    fn confirmed(&mut self) -> Result<Option<Vec<usize>>, TuneError> {
        let most = self.room(PROVING, 0.6, 2).min(MOST_CONFIRMED);
        let mut promising = self.ranked(|figures| figures.judged.is_promising());
        let reason = if most < MOST_CONFIRMED { UNPROVEN } else { ONE_TOO_MANY };
        for index in promising.split_off(promising.len().min(most)) {
            self.untried(index, reason.to_owned());
        }
        let winners = self.compatible(&promising);
        let harmless = self.compatible(&self.ranked(|figures| !figures.judged.is_slower()));
        let combinations = [(WINNERS, winners), (ALL, harmless)];
        let combinations: Vec<(&str, Vec<usize>)> =
            combinations.into_iter().filter(|(_, indices)| indices.len() > 1).collect();
        let alone = self.named(&self.with_bases(&promising));
        let mut usable: Vec<(&str, Vec<usize>)> = Vec::new();
        for (name, indices) in combinations {
            let is_new = usable.iter().all(|(_, other)| !is_same(other, &indices));
            let fits = self.fitting(PROVING, 1.0) > alone.len() + usable.len() + 1;
            if is_new && !fits {
                self.not_together();
            } else if is_new && self.prepared.same(&self.way(&indices))?.is_ok() {
                usable.push((name, indices));
            }
        }
        if promising.is_empty() && usable.is_empty() {
            return Ok(None);
        }

        let mut ways = alone;
        ways.extend(usable.iter().map(|(name, indices)| ((*name).to_owned(), self.way(indices))));
        let document = self.measured(ways, PROVING, 0.5)?;
        self.note(&document, &promising, PROVING);
        Ok(self.worth(&document, usable))
    }

    fn not_together(&mut self) {
        let warning =
            Warning::minor("ways were not tried together: no time is left").with_help("--budget 5m");
        if !self.prepared.warnings.contains(&warning) {
            self.prepared.warnings.push(warning);
        }
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
        let all = judged(document, self.prepared.by, &[Pair::new(ALL, reference)]);
        let is_better = all.first().is_some_and(|it| it.is_faster() && it.ratio.ratio < WORTH);
        let wanted = if is_better { ALL } else { WINNERS };
        usable.into_iter().find(|(name, _)| *name == wanted).map(|(_, indices)| indices)
    }

    /// Removes from a combination what does nothing there, and proves the rest in fresh runs.
    fn combined(&mut self, all: &[usize]) -> Result<Found, TuneError> {
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
        let mut ways: Vec<NamedWay> = combinations.iter().map(combination).collect();
        ways.extend(self.best().into_iter().flat_map(|index| self.named(&self.with_bases(&[index]))));
        if self.fitting(PROVING, 1.0) <= ways.len() {
            self.not_together();
            return Ok(None);
        }
        let document = self.measured(ways, PROVING, 0.9)?;

        for (name, indices) in combinations {
            let references = [Some(PLAIN), best.as_deref()].into_iter().flatten();
            let pairs: Vec<Pair> = references.map(|reference| Pair::new(name, reference)).collect();
            let verdicts = judged(&document, self.prepared.by, &pairs);
            let is_proven = !verdicts.is_empty() && verdicts.iter().all(Judged::is_faster);
            if is_proven {
                return Ok(verdicts.into_iter().next().map(|against_plain| (indices, against_plain)));
            }
        }
        Ok(None)
    }

    /// Those of a combination without which it is slower. All, if there is no time to find out.
    fn needed(&mut self, all: &[usize]) -> Result<Vec<usize>, TuneError> {
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
        let ways: Vec<NamedWay> =
            [(ALL.to_owned(), self.way(all))].into_iter().chain(candidates.iter().map(rest)).collect();
        let document = self.measured(ways, REMOVING, 0.5)?;

        let is_needed = |index: &&usize| {
            let pair = Pair::new(&name(self.candidate(**index)), ALL);
            judged(&document, self.prepared.by, &[pair]).first().is_some_and(Judged::is_slower)
        };
        Ok(all.iter().filter(is_needed).copied().collect())
    }
}

fn is_same(one: &[usize], other: &[usize]) -> bool {
    one.len() == other.len() && one.iter().all(|index| other.contains(index))
}

pub(super) fn is_interrupted() -> bool {
    interrupt::interrupted().is_some()
}
