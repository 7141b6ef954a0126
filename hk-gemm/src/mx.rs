//! The core of products whose w is e2m1 with a scale per block of 32 k, and x that, 8-bit floating point
//! or 16 bits.

use hk_core::dtype::{E8M0, Element, F4x2E2M1, Real16};
use hk_core::op::Arguments;
use hk_core::op::epilogue::Lowered;
use hk_core::op::prequant::Prequant;
use hk_core::op::product::Matrices;
use hk_core::op::stored::Stored;
use hk_core::{Result, TensorSlice};

use crate::options::{GemmOptions, Layout, Operands, strides};

const CORE: &str = "mx";
/// The core for e2m1 and heads of two parts, and which of its variants.
pub(crate) const SPLIT: (&str, &str, bool) = ("mx_split_cat", "e2m1", false);

/// k of a block, and how many there are, as they are declared.
pub(crate) const BLOCK: usize = 32;
pub(crate) const BLOCKS: &str = "blocks(k)";

/// Declares the operands and the scales of their blocks. An x that is transposed, which one of e2m1 may not be,
/// is turned before the product.
pub(crate) fn operands<'s, X: Element>(
    op: &'static str,
    (x, w): (&TensorSlice<X>, impl Into<Stored<'s, F4x2E2M1>>),
    (x_scale, w_scale): (Option<Stored<'s, E8M0>>, impl Into<Stored<'s, E8M0>>),
    options: &GemmOptions<'_>,
) -> Result<Operands> {
    let mut operands = Operands::declare(op, x, w, options.layout, false)?;
    let args = define_blocks::<X>(&mut operands, options.layout)?;
    let x_scale = x_scale
        .map(|scale| scale.scales(args, "x_scale", [&["m", BLOCKS], &["tiled(m)", BLOCKS]]))
        .transpose()?;
    let in_rows_or_tiles = [&["n", BLOCKS], &["tiled(n)", BLOCKS]];
    let w_scale = w_scale.into().scales(args, "w_scale", in_rows_or_tiles)?;
    operands.blocks = [x_scale, Some(w_scale)];
    Ok(operands)
}

/// As [`operands`], of a batch, none shuffled.
pub(crate) fn batched_operands<X: Element>(
    op: &'static str,
    (x, w): (&TensorSlice<X>, &TensorSlice<F4x2E2M1>),
    (x_scale, w_scale): (Option<&TensorSlice<E8M0>>, &TensorSlice<E8M0>),
    options: &GemmOptions<'_>,
) -> Result<Operands> {
    let mut operands = Operands::declare(op, x, w, options.layout, true)?;
    let args = define_blocks::<X>(&mut operands, options.layout)?;
    let mut of = |name, scale: &TensorSlice<E8M0>, dims| -> Result<Matrices> {
        Ok(Matrices::of(scale, strides(args.input(name, scale, dims), true)?))
    };
    let x_scale = x_scale.map(|scale| of("x_scale", scale, &["batch", "m", BLOCKS])).transpose()?;
    let w_scale = of("w_scale", w_scale, &["batch", "n", BLOCKS])?;
    operands.blocks = [x_scale, Some(w_scale)];
    Ok(operands)
}

/// Checks that rows are blocks, and says how many.
fn define_blocks<X: Element>(operands: &mut Operands, layout: Layout) -> Result<&mut Arguments> {
    operands.turn();
    let (args, k) = (&mut operands.args, operands.problem.k as usize);
    // Elements that share a byte are neighbours along k.
    let (layouts, holds) = match X::PACK {
        1 => ("tn or nn", !layout.w_is_transposed()),
        _ => ("tn", layout == Layout::Tn),
    };
    args.require(holds, "layout", layouts, layout.name())?;
    args.require(k.is_multiple_of(BLOCK), "x", "k a multiple of 32", k)?;
    args.define(BLOCKS, k / BLOCK);
    Ok(args)
}

/// Checks what is left, and launches the product in the variant for x of that type.
pub(crate) fn launch<Y: Element>(
    operands: Operands,
    variant: &str,
    steps: Lowered,
    options: &GemmOptions<'_>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    operands.launch((CORE, variant, true), steps, options, y)
}

/// What products of 16-bit numbers with e2m1 do besides.
#[derive(Debug, Clone)]
pub struct A16Wfp4Options<'a> {
    pub(crate) gemm: GemmOptions<'a>,
    prequant: bool,
}

impl Default for A16Wfp4Options<'_> {
    fn default() -> Self {
        Self { gemm: GemmOptions::default(), prequant: true }
    }
}

impl<'a> A16Wfp4Options<'a> {
    /// What is done besides the product. w has k contiguous, the [layout](Layout) is `Tn` or `Nn`.
    #[must_use]
    pub fn gemm(mut self, options: GemmOptions<'a>) -> Self {
        self.gemm = options;
        self
    }

    /// Whether x is quantised to e2m1 in MX blocks before, which is faster and what happens if nothing
    /// is said. Otherwise x is taken as it is.
    #[must_use]
    pub fn prequant(mut self, prequant: bool) -> Self {
        self.prequant = prequant;
        self
    }

    /// Checks what is left, and launches the product.
    pub(crate) fn launch<T: Real16, Y: Element>(
        &self,
        mut operands: Operands,
        y: &mut TensorSlice<Y>,
    ) -> Result<()> {
        let steps = operands.steps();
        if self.prequant {
            operands.prequant = Some(Prequant::Mx);
            operands.problem.bits[0] = operands.problem.bits[1];
            return launch(operands, "e2m1", steps, &self.gemm, y);
        }
        let variant = format!("{}_e2m1", T::DTYPE.name());
        launch(operands, &variant, steps, &self.gemm, y)
    }
}
