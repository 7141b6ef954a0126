//! Fits of parameters to points, and which points are left out of them together. Nothing here knows what a model
//! is: it asks for the errors of given values.

use super::points::Row;

/// Values of a range that are tried, at even distances.
const STEPS: u32 = 32;
/// How much less the error must be: published figures of one thing differ by as much.
const CLEARLY: f64 = 0.015;
/// From which error on, as `|ln(model / published)|`, a point counts by that and no longer by its square.
const FAR: f64 = 0.1;
/// Rounds of a joint fit, and halves of a step that are tried.
const ROUNDS: usize = 4;
const HALVES: usize = 4;
/// Points that must move with a parameter that is fitted together with others.
pub(crate) const ENOUGH: usize = 3;

/// A parameter that was fitted alone.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Alone {
    /// The best value, also if it is refused.
    pub(crate) value: f64,
    /// Root of the mean square of the errors, before and after.
    pub(crate) rms: [f64; 2],
    /// Why it is refused, if it is.
    pub(crate) refused: Option<&'static str>,
}

/// Fits one parameter of the value `before` to points whose error should be `goal`: `errors` has
/// `ln(model / published)` of each for a value of the range.
pub(crate) fn alone(
    before: f64,
    range: [f64; 2],
    goal: f64,
    mut errors: impl FnMut(f64) -> Vec<f64>,
) -> Alone {
    let rms = |errors: &[f64]| {
        (errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64).sqrt()
    };
    let [low, high] = range;
    let step = (high - low) / f64::from(STEPS);
    let tried: Vec<_> = (0..=STEPS)
        .map(|at| {
            let value = low + step * f64::from(at);
            (rms(&errors(value)), value)
        })
        .collect();
    // Of values that are as good, that in the middle: a cycle of the model has no fractions.
    let least = tried.iter().map(|of| of.0).fold(f64::INFINITY, f64::min);
    let best: Vec<_> = tried.iter().filter(|of| of.0 <= least + 1e-4).map(|of| of.1).collect();
    let value = round(f64::midpoint(best[0], best[best.len() - 1]), step).clamp(low, high);
    let after = errors(value);
    let rms = [rms(&errors(before)), rms(&after)];
    let at_end = best.contains(&low) || best.contains(&high);
    // At the end of the range, the point wants what the parameter cannot be.
    let refused = if at_end && rms[1] > goal {
        Some("refused: at the end of the range, and still off")
    } else if rms[0] - rms[1] < CLEARLY {
        Some("stays: hardly better")
    } else if after.iter().any(|&error| error > goal / 2.0)
        && after.iter().any(|&error| error < -goal / 2.0)
    {
        Some("refused: its points disagree")
    } else {
        None
    };
    Alone { value, rms, refused }
}

/// No more digits than the steps tell apart.
fn round(value: f64, step: f64) -> f64 {
    let digits = (-step.log10().round()).max(0.0) as usize;
    format!("{value:.digits$}").parse().expect("it is a number")
}

/// Fits parameters together, of which each has its prior and its range: least is the sum of what points lose by
/// their errors (Huber, beyond [`FAR`]) and of `(distance from the prior / half the range)²`. `errors` has
/// `ln(model / published)` of each point for values of the parameters.
///
/// Returns the values, and the sum at the priors and there.
pub(crate) fn jointly(
    known: &[(f64, [f64; 2])],
    mut errors: impl FnMut(&[f64]) -> Vec<f64>,
) -> (Vec<f64>, [f64; 2]) {
    // In halves of the ranges from the priors.
    let half = |[low, high]: [f64; 2]| (high - low) / 2.0;
    let value = |&(prior, range): &(f64, [f64; 2]), at: f64| {
        (prior + at * half(range)).clamp(range[0], range[1])
    };
    let values =
        |at: &[f64]| -> Vec<f64> { known.iter().zip(at).map(|(of, &at)| value(of, at)).collect() };
    let lost = |errors: &[f64], at: &[f64]| {
        errors.iter().map(|&error| huber(error)).sum::<f64>()
            + at.iter().map(|at| at * at).sum::<f64>()
    };
    let mut at = vec![0.0; known.len()];
    let mut found = errors(&values(&at));
    let before = lost(&found, &at);
    let mut least = before;
    for _ in 0..ROUNDS {
        // What the errors change by, each parameter a bit to where there is room.
        let columns: Vec<Vec<f64>> = (0..known.len())
            .map(|of| {
                let (prior, range) = known[of];
                let bit = if value(&known[of], at[of] + 0.1) < range[1] { 0.1 } else { -0.1 };
                let mut other = at.clone();
                other[of] += bit;
                let moved =
                    (value(&(prior, range), other[of]) - value(&known[of], at[of])) / half(range);
                let changed = errors(&values(&other));
                changed.iter().zip(&found).map(|(is, was)| (is - was) / moved).collect()
            })
            .collect();
        let weights: Vec<f64> =
            found.iter().map(|error| (FAR / error.abs().max(FAR)).min(1.0)).collect();
        let product = |one: &[f64], other: &[f64]| -> f64 {
            one.iter().zip(other).zip(&weights).map(|((a, b), weight)| a * b * weight).sum()
        };
        let rows: Vec<Vec<f64>> = columns
            .iter()
            .enumerate()
            .map(|(of, one)| {
                let mut row: Vec<_> = columns.iter().map(|other| product(one, other)).collect();
                row[of] += 2.0;
                row.push(-product(one, &found) - 2.0 * at[of]);
                row
            })
            .collect();
        let step = solved(rows);
        // Half of it, and so on, where it goes too far.
        let taken = (0..HALVES).find_map(|halves| {
            let share = 0.5_f64.powi(halves as i32);
            let to = known.iter().zip(&at).zip(&step).map(|((&(prior, range), at), step)| {
                let [low, high] = range.map(|end| (end - prior) / half(range));
                (at + share * step).clamp(low, high)
            });
            let to: Vec<f64> = to.collect();
            let errors = errors(&values(&to));
            let lost = lost(&errors, &to);
            (lost < least).then_some((to, errors, lost))
        });
        let Some((to, errors, lost)) = taken else { break };
        let is_near = to.iter().zip(&at).all(|(to, at)| (to - at).abs() < 0.01);
        (at, found, least) = (to, errors, lost);
        if is_near {
            break;
        }
    }
    (values(&at), [before, least])
}

/// What a point loses by an error.
fn huber(error: f64) -> f64 {
    let error = error.abs();
    if error <= FAR { error * error / 2.0 } else { FAR * (error - FAR / 2.0) }
}

/// Solution of linear equations, each with its right side last; their matrix is positive definite.
fn solved(mut rows: Vec<Vec<f64>>) -> Vec<f64> {
    let count = rows.len();
    for pivot in 0..count {
        let (above, below) = rows.split_at_mut(pivot + 1);
        let taken = &above[pivot];
        for row in below {
            let factor = row[pivot] / taken[pivot];
            row.iter_mut().zip(taken).for_each(|(value, other)| *value -= factor * other);
        }
    }
    let mut solution = vec![0.0; count];
    for (at, row) in rows.iter().enumerate().rev() {
        let known = row[at + 1..count].iter().zip(&solution[at + 1..]).map(|(a, b)| a * b);
        solution[at] = (row[count] - known.sum::<f64>()) / row[at];
    }
    solution
}

/// What is left out together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    /// Each point alone.
    Point,
    /// All points of whoever measured them.
    Source,
    /// All points of a product.
    Product,
}

impl Leave {
    pub(crate) const ALL: [Self; 3] = [Self::Point, Self::Source, Self::Product];

    /// What a row is left out with.
    fn key(self, row: &Row) -> &str {
        match self {
            Self::Point => &row.id,
            // `RRZE gpu-latency, mean` is of RRZE.
            Self::Source => row.source.split([' ', ',']).next().unwrap_or_default(),
            Self::Product => &row.product,
        }
    }

    /// Rows that are left out together, by their places: each row once, in the order of the rows.
    pub(crate) fn folds(self, rows: &[Row]) -> Vec<(String, Vec<usize>)> {
        let mut folds: Vec<(String, Vec<usize>)> = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            let key = self.key(row);
            match folds.iter_mut().find(|(known, _)| known == key) {
                Some((_, places)) => places.push(at),
                None => folds.push((key.to_owned(), vec![at])),
            }
        }
        folds
    }
}

/// Whether a parameter has values in the folds that are further apart than half of its range: then nobody knows
/// it, and it belongs to its prior.
pub(crate) fn is_unidentified(values: &[f64], [low, high]: [f64; 2]) -> bool {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most - least > (high - low) / 2.0
}
