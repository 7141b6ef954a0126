//! Gradients of the attention of one head, with materialised weights.

use super::attention::{Head, Scores, attend};
use crate::Expected;

/// Gradients of a number that depends on a head's results.
#[derive(Debug, Clone)]
pub struct Gradients {
    /// Of rows of queries.
    pub q: Vec<Vec<f64>>,
    /// Of rows of keys; heads of queries that share them add up.
    pub k: Vec<Vec<f64>>,
    /// Of rows of values; heads of queries that share them add up.
    pub v: Vec<Vec<f64>>,
    /// Of the score of the key without value; 0 if there is none.
    pub sink: f64,
    /// For each query, the product of its result and the gradient of it.
    pub delta: Vec<f64>,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(to: &mut [f64], factor: f64, row: &[f64]) {
    for (to, x) in to.iter_mut().zip(row) {
        *to += factor * x;
    }
}

/// Gradients, given those of results and the results as they were stored, in rows.
///
/// # Panics
///
/// If keys or values have scales: caches of 8 bits have no gradients.
pub fn gradients(head: &Head, scores: &Scores, o: &[Vec<f64>], d_o: &[Vec<f64>]) -> Gradients {
    assert!(scores.key_scales.is_none() && scores.value_scales.is_none());
    let zeros = |rows: &[Vec<f64>]| rows.iter().map(|row| vec![0.0; row.len()]).collect();
    let mut all = Gradients {
        q: zeros(&head.q),
        k: zeros(&head.k),
        v: zeros(&head.v),
        sink: 0.0,
        delta: o.iter().zip(d_o).map(|(o, d_o)| dot(o, d_o)).collect(),
    };
    let kept = scores.dropped.map_or(1.0, |dropped| 1.0 / (1.0 - f64::from(dropped.p)));
    for (i, attended) in attend(head, scores).into_iter().enumerate() {
        let delta = all.delta[i];
        // Without any weight there is nothing that a sink shares in.
        if let Some(sink) = scores.sink.filter(|_| attended.lse > f64::NEG_INFINITY) {
            all.sink -= (sink - attended.lse).exp() * delta;
        }
        for (j, weight) in attended.weights.into_iter().enumerate() {
            // Weights that are 0 stand for keys that are not visible, whatever those hold.
            if weight == 0.0 {
                continue;
            }
            let keep = if weight > 0.0 { kept } else { 0.0 };
            let weight = weight.abs();
            if keep > 0.0 {
                add(&mut all.v[j], keep * weight, &d_o[i]);
            }
            let d_weight = if keep > 0.0 { keep * dot(&d_o[i], &head.v[j]) } else { 0.0 };
            let mut d_score = weight * (d_weight - delta);
            if let Some(cap) = scores.softcap {
                let capped = (scores.scale * dot(&head.q[i], &head.k[j]) / cap).tanh();
                d_score *= 1.0 - capped * capped;
            }
            add(&mut all.q[i], scores.scale * d_score, &head.k[j]);
            add(&mut all.k[j], scores.scale * d_score, &head.q[i]);
        }
    }
    all
}

/// Gradients that may be off by a share of their root mean square, each, and by one of them all together.
fn near(values: Vec<f64>, each: f64, together: f64) -> Expected {
    let squares: f64 = values.iter().map(|value| value * value).sum();
    let rms = (squares / values.len().max(1) as f64).sqrt();
    let allowed = vec![each * rms + 1e-6; values.len()];
    Expected { values, allowed, frobenius: Some(together), ..Expected::default() }
}

/// Gradients by values, of 16 bits.
pub fn by_values(values: Vec<f64>) -> Expected {
    near(values, 8e-2, 5e-3)
}

/// Gradients by queries or keys, of 16 bits.
pub fn by_scores(values: Vec<f64>) -> Expected {
    near(values, 1.6e-1, 8e-3)
}

/// Gradients by sinks.
pub fn by_sinks(values: Vec<f64>) -> Expected {
    near(values, 5e-2, 5e-3)
}

/// Products of results with their gradients, of which a sum has so many.
pub fn products(values: Vec<f64>, width: usize) -> Expected {
    let allowed = values.iter().map(|value| 1e-5 * (value.abs() + (width as f64).sqrt())).collect();
    Expected { values, allowed, ..Expected::default() }
}

#[cfg(test)]
mod tests {
    use super::super::attention::{Alibi, Dropped};
    use super::*;

    /// Rows of numbers that look like chance.
    fn rows(count: usize, width: usize, phase: f64) -> Vec<Vec<f64>> {
        let number = |i: usize| (phase + 1.7 * i as f64).sin() * (1.0 + (0.3 * i as f64).cos());
        (0..count).map(|row| (0..width).map(|x| number(row * width + x)).collect()).collect()
    }

    /// The number whose gradients are wanted: results, weighed.
    fn number(head: &Head, scores: &Scores, d_o: &[Vec<f64>]) -> f64 {
        attend(head, scores).iter().zip(d_o).map(|(row, d_o)| dot(&row.o, d_o)).sum()
    }

    /// The slope of `number` along one number.
    fn slope(of: impl Fn(f64) -> f64) -> f64 {
        const STEP: f64 = 1e-5;
        (of(STEP) - of(-STEP)) / (2.0 * STEP)
    }

    fn check(scores: &Scores) {
        let head = Head { q: rows(5, 4, 0.1), k: rows(7, 4, 0.6), v: rows(7, 3, 1.9) };
        let d_o = rows(5, 3, 2.7);
        let o: Vec<_> = attend(&head, scores).into_iter().map(|row| row.o).collect();
        let found = gradients(&head, scores, &o, &d_o);
        type Part = fn(&mut Head) -> &mut Vec<Vec<f64>>;
        let parts: [(&str, Part, &Vec<Vec<f64>>); 3] = [
            ("q", |head| &mut head.q, &found.q),
            ("k", |head| &mut head.k, &found.k),
            ("v", |head| &mut head.v, &found.v),
        ];
        for (name, part, found) in parts {
            assert!(found.iter().flatten().any(|x| *x != 0.0), "{name}");
            for (row, values) in found.iter().enumerate() {
                for (column, value) in values.iter().enumerate() {
                    let wanted = slope(|step| {
                        let mut moved = head.clone();
                        part(&mut moved)[row][column] += step;
                        number(&moved, scores, &d_o)
                    });
                    let error = (value - wanted).abs();
                    assert!(error < 1e-8, "{name}[{row}, {column}]: {value} and {wanted}");
                }
            }
        }
        if let Some(sink) = scores.sink {
            let wanted = slope(|step| {
                let moved = Scores { sink: Some(sink + step), ..scores.clone() };
                number(&head, &moved, &d_o)
            });
            assert!((found.sink - wanted).abs() < 1e-8, "sink: {} and {wanted}", found.sink);
        }
    }

    #[test]
    fn gradients_are_slopes_of_results() {
        let plain = Scores { scale: 0.5, ..Scores::default() };
        let dropped = Dropped { p: 0.4, seed: 7, offset: 3, head: 2 };
        let causal = Scores { window: [None, Some(0)], first_position: -1, ..plain.clone() };
        for scores in [
            plain.clone(),
            causal.clone(),
            Scores { window: [Some(2), Some(1)], first_position: 2, ..plain.clone() },
            Scores { softcap: Some(1.5), ..plain.clone() },
            Scores { alibi: Some((Alibi::Distance, 0.3)), ..plain.clone() },
            Scores { bias: Some(rows(5, 7, 4.0).concat()), ..plain.clone() },
            Scores { sink: Some(0.7), ..plain },
            Scores { dropped: Some(dropped), sink: Some(-0.2), softcap: Some(2.0), ..causal },
        ] {
            check(&scores);
        }
    }

    #[test]
    fn what_is_not_visible_has_no_part() {
        let mut head = Head { q: rows(3, 4, 0.1), k: rows(5, 4, 0.6), v: rows(5, 3, 1.9) };
        head.k[4].fill(f64::NAN);
        head.v[4].fill(f64::NAN);
        // Query 0 sees no key at all.
        let scores = Scores {
            scale: 1.0,
            window: [None, Some(0)],
            first_position: -1,
            sink: Some(f64::NEG_INFINITY),
            ..Scores::default()
        };
        let (o, d_o) = (rows(3, 3, 2.2), rows(3, 3, 2.7));
        let found = gradients(&head, &scores, &o, &d_o);
        assert!(found.q[0].iter().chain(&found.k[4]).chain(&found.v[4]).all(|x| *x == 0.0));
        assert_eq!(found.sink, 0.0);
        assert!([found.q, found.k, found.v].iter().flatten().flatten().all(|x| x.is_finite()));
    }
}
