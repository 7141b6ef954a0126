//! The core of products whose w is e2m1 with a scale per block of 32 k, and x that, 8-bit floating point
//! or 16 bits.

use hk_core::dtype::{E8M0, Element, F4x2E2M1, Real};
use hk_core::op::epilogue::Lowered;
use hk_core::op::product::Matrices;
use hk_core::{Result, TensorSlice};

use crate::options::{GemmOptions, Layout, Operands, strides};

const CORE: &str = "mx";

/// k of a block, and how many there are, as they are declared.
const BLOCK: usize = 32;
const BLOCKS: &str = "blocks(k)";

/// Declares the operands and the scales of their blocks.
pub(crate) fn operands<X: Element>(
    op: &'static str,
    (x, w): (&TensorSlice<X>, &TensorSlice<F4x2E2M1>),
    (x_scale, w_scale): (Option<&TensorSlice<E8M0>>, &TensorSlice<E8M0>),
    options: &GemmOptions<'_>,
    batched: bool,
) -> Result<Operands> {
    let layout = options.layout;
    let mut operands = Operands::declare(op, x, w, layout, batched)?;
    let (args, k) = (&mut operands.args, operands.problem.k as usize);
    args.require(layout == Layout::Tn, "layout", "tn", layout.name())?;
    args.require(k.is_multiple_of(BLOCK), "x", "k a multiple of 32", k)?;
    args.define(BLOCKS, k / BLOCK);
    let dims = |dims: &'static [&'static str; 3]| &dims[usize::from(!batched)..];
    if let Some(scale) = x_scale {
        let argument = args.input("x_scale", scale, dims(&["batch", "m", BLOCKS]));
        operands.blocks[0] = Some(Matrices::of(scale, strides(argument, batched)?));
    }
    let argument = args.input("w_scale", w_scale, dims(&["batch", "n", BLOCKS]));
    operands.blocks[1] = Some(Matrices::of(w_scale, strides(argument, batched)?));
    Ok(operands)
}

/// Checks what is left, and launches the product in the variant for x of that type.
pub(crate) fn launch<Y: Real>(
    operands: Operands,
    variant: &str,
    steps: Lowered,
    options: &GemmOptions<'_>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    operands.launch((CORE, variant, true), steps, options, y)
}
