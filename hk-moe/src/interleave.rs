//! The two orders in which the gates of experts' matrices, and what they let through, are stored.

use hk_core::dtype::Element;
use hk_core::{Error, Result, Tensor, TensorSlice};

/// Rows of matrices `[E, 2n, ..]`, of which the first n are gates, as pairs of a gate and what it lets
/// through: from the order of [`moe_silu_fused`](crate::moe_silu_fused()) to that of
/// [`moe_a8w8`](crate::moe_a8w8()). Biases `[E, 2n]` and scales of rows are converted as weights are. It
/// goes through the host, once, when a model is loaded.
///
/// # Errors
/// [`Error::Shape`] if there are fewer than two dimensions, or the number of rows is odd, and those of
/// [`TensorSlice::to_vec`].
pub fn moe_interleave_gate_up<T: Element>(w: &TensorSlice<T>) -> Result<Tensor<T>> {
    rearranged("moe_interleave_gate_up", w, |row, n| row % 2 * n + row / 2)
}

/// The inverse of [`moe_interleave_gate_up`].
///
/// # Errors
/// As [`moe_interleave_gate_up`].
pub fn moe_deinterleave_gate_up<T: Element>(w: &TensorSlice<T>) -> Result<Tensor<T>> {
    rearranged("moe_deinterleave_gate_up", w, |row, n| row % n * 2 + row / n)
}

/// Matrices of which each row is the one that `of` says, given half as many as there are.
fn rearranged<T: Element>(
    op: &'static str,
    w: &TensorSlice<T>,
    of: impl Fn(usize, usize) -> usize,
) -> Result<Tensor<T>> {
    let shape = w.shape();
    let rows = match shape {
        [_, rows, ..] if rows.is_multiple_of(2) => *rows,
        _ => {
            let (expected, got) = ("[E, 2n, ..]".to_owned(), shape.to_vec());
            let why = "of as many gates as what they let through".to_owned();
            return Err(Error::Shape { op, arg: "w", expected, got, why });
        }
    };
    let elements = w.to_vec()?;
    let row = elements.len() / (shape[0] * rows).max(1);
    let mut result = Vec::with_capacity(elements.len());
    for matrix in elements.chunks((rows * row).max(1)) {
        for to in 0..rows {
            result.extend_from_slice(&matrix[of(to, rows / 2) * row..][..row]);
        }
    }
    Tensor::from_slice(w.stream(), &result, shape)
}
