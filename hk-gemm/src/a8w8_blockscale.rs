//! The core of products of 8-bit floating point with scales per group of k.

use hk_core::dtype::Real;
use hk_core::op::epilogue::Lowered;
use hk_core::op::product::GroupScales;
use hk_core::op::quant::{Fp8, ScaleLayout};
use hk_core::op::stored::Stored;
use hk_core::{Result, TensorSlice};

use crate::options::{GemmOptions, Operands};

const CORE: &str = "a8w8_blockscale";

/// Groups of rows of w and of k, as they are declared.
const X_GROUPS: &str = "groups(k)";
const W_GROUPS: &str = "groups(n)";

/// The lengths that a group of k may have.
pub(crate) const GROUP_K: [usize; 4] = [32, 64, 128, 256];

/// What products with scales of groups do besides.
#[derive(Debug, Clone)]
pub struct BlockscaleOptions<'a> {
    pub(crate) gemm: GemmOptions<'a>,
    pub(crate) groups: [usize; 2],
    x_scales: ScaleLayout,
}

impl Default for BlockscaleOptions<'_> {
    fn default() -> Self {
        Self { gemm: GemmOptions::default(), groups: [128; 2], x_scales: ScaleLayout::default() }
    }
}

impl<'a> BlockscaleOptions<'a> {
    /// What is done besides the product.
    #[must_use]
    pub fn gemm(mut self, options: GemmOptions<'a>) -> Self {
        self.gemm = options;
        self
    }

    /// A scale of w is for `n` of its rows, any power of two, and a scale of either operand for `k`
    /// of a row: 32, 64, 128 or 256. 128 and 128 if nothing is said; multiples of 128 are fastest.
    #[must_use]
    pub fn groups(mut self, n: usize, k: usize) -> Self {
        self.groups = [n, k];
        self
    }

    /// How the scales of x are stored: [`RowMajor`](ScaleLayout::RowMajor) is `(m, groups of k)`,
    /// [`ColMajor`](ScaleLayout::ColMajor) `(groups of k, m)`.
    #[must_use]
    pub fn x_scale_layout(mut self, layout: ScaleLayout) -> Self {
        self.x_scales = layout;
        self
    }
}

/// Declares the operands and their scales.
pub(crate) fn operands<'s, T: Fp8>(
    op: &'static str,
    (x, w): (&TensorSlice<T>, impl Into<Stored<'s, T>>),
    [x_scale, w_scale]: [&TensorSlice<f32>; 2],
    options: &BlockscaleOptions<'_>,
) -> Result<Operands> {
    let mut operands = Operands::declare(op, x, w, options.gemm.layout, false)?;
    operands.turn();
    let x_scale = Some((x_scale, options.x_scales));
    scales(&mut operands, x_scale, w_scale, options.groups)?;
    Ok(operands)
}

/// Declares scales of groups of w, and of x if it has such.
pub(crate) fn scales(
    operands: &mut Operands,
    x_scale: Option<(&TensorSlice<f32>, ScaleLayout)>,
    w_scale: &TensorSlice<f32>,
    [n, k]: [usize; 2],
) -> Result<()> {
    let args = &mut operands.args;
    args.require(n.is_power_of_two() && n <= 1 << 31, "groups", "a power of two of rows", n)?;
    args.require(GROUP_K.contains(&k), "groups", "32, 64, 128 or 256 of k", k)?;
    args.define(X_GROUPS, (operands.problem.k as usize).div_ceil(k));
    args.define(W_GROUPS, (operands.problem.n as usize).div_ceil(n));
    let mut groups = GroupScales { sizes: [n as u32, k as u32], ..GroupScales::NONE };
    if let Some((x_scale, layout)) = x_scale {
        groups.tensors[0] = x_scale.ptr();
        groups.strides[0] = match layout {
            ScaleLayout::RowMajor => [args.input("x_scale", x_scale, &["m", X_GROUPS]).rows()?, 1],
            ScaleLayout::ColMajor => [1, args.input("x_scale", x_scale, &[X_GROUPS, "m"]).rows()?],
            other => {
                let got = format!("{other:?}");
                args.require(false, "x_scale_layout", "RowMajor or ColMajor", got)?;
                [0; 2]
            }
        };
    }
    groups.tensors[1] = w_scale.ptr();
    groups.strides[1] = [args.input("w_scale", w_scale, &[W_GROUPS, X_GROUPS]).rows()?, 1];
    operands.groups = Some(groups);
    operands.problem.group = k as u64;
    Ok(())
}

/// Whether groups are those of the fast kernels.
pub(crate) fn is_fast(groups: [usize; 2]) -> bool {
    groups.iter().all(|size| size.is_multiple_of(128))
}

/// The core for heads of two parts, and which of its variants.
pub(crate) fn split_kernel(groups: [usize; 2]) -> (&'static str, &'static str, bool) {
    let variant = if is_fast(groups) { "e4m3_128" } else { "e4m3_any" };
    ("a8w8_blockscale_split_cat", variant, false)
}

/// Checks what is left, and launches the product.
pub(crate) fn launch<Y: Real>(
    operands: Operands,
    steps: Lowered,
    groups: [usize; 2],
    options: &GemmOptions<'_>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    let variant = if is_fast(groups) { "e4m3_128" } else { "e4m3_any" };
    operands.launch((CORE, variant, false), steps, options, y)
}
