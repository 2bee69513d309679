//! The document of an experiment.

use super::course::{Course, Figures, Found, is_interrupted};
use crate::document::bench::{SCHEMA, Tool};
use crate::document::tune::{TuneDocument, TunedTogether, TunedVariant};
use crate::document::{Kind, this_machine};

impl Course<'_> {
    /// The results.
    pub(super) fn document(mut self, found: Found) -> TuneDocument {
        let partial = is_interrupted();
        if partial {
            self.cut_off();
        }
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
            total_ns: judged.total,
        });
        let used = results.iter().filter(|tuned| tuned.helps()).map(|tuned| tuned.name.as_str());
        let used: Vec<&str> =
            used.chain(together.iter().flat_map(|it| it.names.iter().map(String::as_str))).collect();
        self.prepared.tidy(&used);

        let header = self.header.take();
        let measured = header.iter().flat_map(|header| header.warnings.clone());
        TuneDocument {
            schema: SCHEMA.to_owned(),
            kind: Kind::Tune,
            warnings: self.prepared.warnings.iter().cloned().chain(measured).collect(),
            tool: header.as_ref().map_or_else(Tool::ours, |header| header.tool.clone()),
            machine: header.map_or_else(this_machine, |header| header.machine),
            partial,
            command: shell_words::join(&self.plan.words),
            by: self.prepared.by,
            silent: self.plan.by.is_none() && self.prepared.is_silent(),
            cold: self.plan.cold,
            plain_ns: self.plain,
            plain_total_ns: self.plain_total,
            executions: self.prepared.executions,
            seconds: self.budget.spent().as_secs_f64(),
            results,
            together,
            untried: std::mem::take(&mut self.prepared.untried),
        }
    }

    /// Ways that an interruption left without figures were not tried.
    fn cut_off(&mut self) {
        let is_known = |index: &usize| {
            let name = &self.candidate(*index).name;
            self.figures.iter().any(|figures| figures.index == *index)
                || self.prepared.untried.iter().any(|untried| untried.name == *name)
        };
        let left: Vec<usize> = (0..self.prepared.candidates.len()).filter(|index| !is_known(index)).collect();
        for index in left {
            self.untried(index, "interrupted before it was measured".to_owned());
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
            total_ns: figures.judged.total,
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
