//! The core of products of 16-bit numbers with 8-bit ones that have scales per group of k.

use hk_core::dtype::{DType, Real, Real16};
use hk_core::op::prequant::Prequant;
use hk_core::op::quant::ByteCode;
use hk_core::op::stored::Stored;
use hk_core::{Result, TensorSlice};

use crate::a8w8_blockscale::{self, is_fast};
use crate::options::{GemmOptions, Operands};

const CORE: &str = "a16w8_blockscale";

/// What products of 16-bit numbers with 8-bit ones do besides.
#[derive(Debug, Clone)]
pub struct A16W8Options<'a> {
    pub(crate) gemm: GemmOptions<'a>,
    groups: [usize; 2],
    prequant: bool,
}

impl Default for A16W8Options<'_> {
    fn default() -> Self {
        Self { gemm: GemmOptions::default(), groups: [128; 2], prequant: false }
    }
}

impl<'a> A16W8Options<'a> {
    /// What is done besides the product.
    #[must_use]
    pub fn gemm(mut self, options: GemmOptions<'a>) -> Self {
        self.gemm = options;
        self
    }

    /// A scale of w is for `n` of its rows, any power of two, and `k` of a row: 32, 64, 128 or 256. 128
    /// and 128 if nothing is said; multiples of 128 are fastest.
    #[must_use]
    pub fn groups(mut self, n: usize, k: usize) -> Self {
        self.groups = [n, k];
        self
    }

    /// Whether x is quantised to w's type before, e4m3, with a scale per group of k of a row. It is not
    /// if nothing is said.
    #[must_use]
    pub fn prequant(mut self, prequant: bool) -> Self {
        self.prequant = prequant;
        self
    }
}

/// Declares the operands and the scales.
pub(crate) fn operands<'s, X: Real16, W: ByteCode>(
    op: &'static str,
    (x, w): (&TensorSlice<X>, impl Into<Stored<'s, W>>),
    w_scale: &TensorSlice<f32>,
    options: &A16W8Options<'_>,
) -> Result<Operands> {
    let mut operands = Operands::declare(op, x, w, options.gemm.layout, false)?;
    operands.turn();
    a8w8_blockscale::scales(&mut operands, None, w_scale, options.groups)?;
    if options.prequant {
        let is_float = W::DTYPE != DType::I8;
        operands.args.require(is_float, "prequant", "false, if w is i8", true)?;
        let k = options.groups[1] as u32;
        operands.prequant = Some(Prequant::Groups { k, reciprocal: false });
        operands.problem.bits[0] = operands.problem.bits[1];
    }
    Ok(operands)
}

/// Checks what is left, and launches the product.
pub(crate) fn launch<X: Real16, W: ByteCode, Y: Real>(
    operands: Operands,
    options: &A16W8Options<'_>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    let steps = operands.steps();
    if options.prequant {
        return a8w8_blockscale::launch(operands, steps, options.groups, &options.gemm, y);
    }
    let w = if W::DTYPE == DType::I8 { "i8" } else { "e4m3" };
    let groups = if is_fast(options.groups) { "128" } else { "any" };
    let variant = format!("{}_{w}_{groups}", X::DTYPE.name());
    operands.launch((CORE, &variant, false), steps, &options.gemm, y)
}
