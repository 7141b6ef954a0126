//! Products of quantised matrices with a scale per row of each.

use super::product::{Step, Term};

/// The steps of an epilogue behind the scales: `epilogue((x w^T) x_scale w_scale)`, where `x_scale`
/// extends along the rows of the result and `w_scale` along its columns.
pub fn scaled([x_scale, w_scale]: [Term; 2], steps: Vec<Step>) -> Vec<Step> {
    [Step::Multiply(x_scale), Step::Multiply(w_scale)].into_iter().chain(steps).collect()
}
