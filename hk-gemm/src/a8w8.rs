//! The core of products of 8-bit operands with a scale per row of each.

use hk_core::dtype::Real;
use hk_core::op::epilogue::{Extent, Step};
use hk_core::op::product::Element8;
use hk_core::op::stored::Stored;
use hk_core::{Result, TensorSlice};

use crate::options::{GemmOptions, Operands};

const CORE: &str = "a8w8";

/// Declares the operands. Those that are transposed are turned before the product.
fn operands<T: Element8>(
    op: &'static str,
    (x, w): (&TensorSlice<T>, Stored<'_, T>),
    options: &GemmOptions<'_>,
    batched: bool,
) -> Result<Operands> {
    let mut operands = Operands::declare(op, x, w, options.layout, batched)?;
    operands.turn();
    Ok(operands)
}

/// Shape of the result.
pub(crate) fn shape<T: Element8>(
    op: &'static str,
    (x, w): (&TensorSlice<T>, Stored<'_, T>),
    options: &GemmOptions<'_>,
    batched: bool,
) -> Result<Vec<usize>> {
    Ok(operands(op, (x, w), options, batched)?.shape(options))
}

/// Checks all arguments, and launches the product.
pub(crate) fn launch<T: Element8, Y: Real>(
    op: &'static str,
    tensors: (&TensorSlice<T>, Stored<'_, T>),
    [x_scale, w_scale]: [&TensorSlice<f32>; 2],
    options: &GemmOptions<'_>,
    batched: bool,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    let mut operands = operands(op, tensors, options, batched)?;
    let mut steps = operands.steps();
    let args = &mut operands.args;
    steps.push(args, ["x_scale"; 3], Step::Multiply(x_scale.into(), Extent::OneOrRows))?;
    steps.push(args, ["w_scale"; 3], Step::Multiply(w_scale.into(), Extent::OneOrColumns))?;
    operands.launch((CORE, T::NAME, true), steps, options, y)
}
