//! What the cases of a module may cost that `check` runs and the tests do not.
//!
//! A case costs its simulation, and `.ci/run` runs them all. Wave-instructions are the same on every
//! host; a module that exceeds its budget gets smaller cases, or a larger budget with a reason.

use std::collections::BTreeMap;

use hk_ref::{Case, Report, Size};

/// Module and wave-instructions of its core cases on one device.
const BUDGETS: &str = include_str!("../../../budgets.csv");

/// What the core cases of each module have executed on one device.
#[derive(Default)]
pub(crate) struct Spent {
    by_module: BTreeMap<&'static str, u64>,
}

impl Spent {
    /// Notes the first run of a case, if it is one of those.
    pub(crate) fn note(&mut self, case: &Case, report: &Report) {
        if case.info.size == Size::Core {
            *self.by_module.entry(case.info.module).or_default() += report.executed;
        }
    }

    /// What is wrong with each module that spent more than it may.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let of = |module: &str| {
            let mut lines = BUDGETS.lines().filter_map(|line| line.split_once(','));
            lines.find(|(of, _)| *of == module).and_then(|(_, budget)| budget.parse::<u64>().ok())
        };
        let complain = |(module, spent): (&&str, &u64)| match of(module) {
            Some(budget) if *spent <= budget => None,
            Some(budget) => Some(format!(
                "{module}: {spent} wave-instructions in its core cases, more than the budget of {budget}"
            )),
            None => Some(format!(
                "{module}: {spent} wave-instructions in its core cases, and no budget in budgets.csv"
            )),
        };
        self.by_module.iter().filter_map(complain).collect()
    }
}
