//! What can be altered of a core, and the sample of mutants.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use hk_sim::alter::{Alteration, Change, alterations};
use hk_sim::equal::{Entry, is_equal};
use hk_sim::exec::Executed;
use hk_sim::isa::{Arch, Inst};
use hk_sim::object::Placed;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use super::Run;
use crate::cores::{self, Code, Core, CoreKernel, Instruction, Place};

/// A kernel with its code and what the cases execute of it.
pub(super) struct Target<'c> {
    pub(super) kernel: &'c CoreKernel,
    code: Code,
    executed: Executed,
}

/// A copy of a place that can be altered.
pub(super) struct Copy {
    /// The number of its kernel among the targets.
    pub(super) target: usize,
    pub(super) placed: Placed,
    /// By some case.
    is_executed: bool,
    pub(super) alterations: Vec<Alteration>,
}

/// By place that some case executes, its copies: all that the compiler has made of it, executed or
/// not.
pub(super) type Places = BTreeMap<Place, Vec<Copy>>;

/// A mutant: every copy of a place, with the same change made.
pub(super) struct Mutant<'a> {
    pub(super) place: &'a Place,
    pub(super) change: Change,
    pub(super) copies: Vec<(&'a Copy, &'a Inst)>,
}

impl<'a> Mutant<'a> {
    fn new(place: &'a Place, copies: &'a [Copy], change: Change) -> Self {
        let altered = |copy: &'a Copy| {
            let is_it = |altered: &&Alteration| altered.change == change;
            Some((copy, &copy.alterations.iter().find(is_it)?.inst))
        };
        Self { place, change, copies: copies.iter().filter_map(altered).collect() }
    }

    /// Its copies in each kernel.
    pub(super) fn by_target(&self) -> BTreeMap<usize, Vec<(&'a Placed, &'a Inst)>> {
        let mut targets: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for &(Copy { target, placed, .. }, inst) in &self.copies {
            targets.entry(*target).or_default().push((placed, inst));
        }
        targets
    }

    /// Whether it is proved to do what the original does, in every kernel.
    pub(super) fn is_equal(&self, targets: &[Target<'_>]) -> bool {
        self.by_target().into_iter().all(|(target, copies)| {
            let Target { kernel, code, .. } = &targets[target];
            let altered: Vec<_> =
                copies.into_iter().map(|(placed, inst)| (placed.offset, inst)).collect();
            let entry = Entry { threads: kernel.tile.threads, group: code.group };
            is_equal(&code.all, entry, &altered)
        })
    }

    /// What reasons are looked up by.
    pub(super) fn what(&self) -> Vec<String> {
        self.copies.iter().map(|(copy, inst)| what(copy, inst)).collect()
    }
}

/// An alteration as reasons speak of it.
pub(super) fn what(copy: &Copy, altered: &Inst) -> String {
    format!("{} -> {altered}", copy.placed.inst)
}

/// What cases execute of a core.
pub(super) fn targets<'c>(
    core: &'c Core,
    runs: &[Run<'_>],
) -> Result<Vec<Target<'c>>, Box<dyn Error>> {
    let target = |kernel: &'c CoreKernel| {
        let mut executed = Executed::default();
        let runs = runs.iter().filter_map(|run| run.executed(kernel));
        runs.for_each(|of| executed.merge(of));
        Ok(Target { kernel, code: cores::code(kernel)?, executed })
    };
    core.kernels.iter().map(target).collect()
}

/// Whether an instruction is among what was executed, by an active lane if lanes count.
pub(super) fn executes(all: &Executed, placed: &Placed) -> bool {
    let seen = all.at(placed.offset);
    seen.with_lanes() || seen.executed() && !placed.inst.info.format.is_vector()
}

/// What of a core some case executes and can be altered.
pub(super) fn places(targets: &[Target<'_>]) -> Places {
    let mut places = Places::new();
    for (target, Target { kernel, code, executed }) in targets.iter().enumerate() {
        let Some(arch) = Arch::from_target_id(kernel.arch) else { continue };
        for Instruction { placed, place, .. } in &code.possible {
            let (placed, is_executed) = (placed.clone(), executes(executed, placed));
            let alterations = alterations(arch, &placed.inst);
            let copy = Copy { target, placed, is_executed, alterations };
            places.entry(place.clone()).or_default().push(copy);
        }
    }
    places.retain(|_, copies| !changes(copies).is_empty());
    places
}

/// What can be changed in copies that some case executes.
fn changes(copies: &[Copy]) -> BTreeSet<Change> {
    let executed = copies.iter().filter(|copy| copy.is_executed);
    executed.flat_map(|copy| &copy.alterations).map(|altered| altered.change).collect()
}

/// Draws the sample.
pub(super) fn sample(places: &Places, count: usize, seed: u64) -> Vec<Mutant<'_>> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut left: Vec<_> = places
        .iter()
        .map(|(place, copies)| (place, copies, Vec::from_iter(changes(copies))))
        .collect();
    let mut mutants = Vec::new();
    while mutants.len() < count && !left.is_empty() {
        left.shuffle(&mut random);
        for (place, copies, changes) in &mut left {
            let change = changes.swap_remove(random.random_range(0..changes.len()));
            mutants.push(Mutant::new(place, copies, change));
        }
        left.retain(|(.., changes)| !changes.is_empty());
    }
    mutants.truncate(count);
    mutants
}
