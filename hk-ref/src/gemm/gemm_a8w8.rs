//! Products of quantised matrices with a scale per row of each.

use super::product::{Step, Term};

/// The steps of an epilogue behind scales: `epilogue((x w^T) x_scale w_scale)`, where `x_scale` extends
/// along the rows of the result and `w_scale` along its columns.
pub fn scaled(scales: impl IntoIterator<Item = Term>, steps: Vec<Step>) -> Vec<Step> {
    scales.into_iter().map(Step::Multiply).chain(steps).collect()
}
