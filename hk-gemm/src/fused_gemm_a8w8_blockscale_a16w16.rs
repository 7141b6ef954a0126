//! Two products of the same rows in one launch, such as of a shared expert and of a router: one of 8-bit
//! floating point with scales of blocks, as [`gemm_a8w8_blockscale`](crate::gemm_a8w8_blockscale()), and
//! one of 16-bit numbers, as [`gemm_a16w16`](crate::gemm_a16w16()).
//!
//! `narrow = sum_g x_fp8_scale[., g] w_fp8_scale[n / 128, g] (x_fp8 w_fp8^T)_g + narrow_bias` and
//! `wide = x_bf16 w_bf16^T + wide_bias`, where g is a group of 128 k.
//!
//! | | |
//! |---|---|
//! | Shapes | x_fp8 and x_bf16 `(m, k)`, w_fp8 `(n1, k)`, w_bf16 `(n2, k)` -> `(m, n1)` and `(m, n2)`; any sizes; x_fp8_scale `(m, groups of k)`, w_fp8_scale `(groups of n1, groups of k)` of 128 each; w_fp8 also [shuffled](crate::Shuffled) |
//! | Dtypes | x_fp8 and w_fp8 e4m3 in the flavour of the chip; scales f32; x_bf16 and w_bf16 both bf16 or f16; results bf16, f16 or f32; biases any of the three |
//! | Numerics | f32 sums, one rounding at the end; bitwise deterministic, also when k is split |
//! | Hardware | cdna3, cdna4; each with tile configurations of its own |
//! | Source | DeepSeek-V3 (arXiv 2412.19437): the shared expert and the gate have one input; AITER `fused_gemm_a8w8_blockscale_a16w16` |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gemm::{Device, F8E4M3Fnuz, Tensor, TwoProducts, TwoProductsOptions, bf16};
//! use hk_gemm::fused_gemm_a8w8_blockscale_a16w16;
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let one = F8E4M3Fnuz::from_f32(1.0);
//! let narrow = [1, 3].map(|rows| Tensor::filled(&stream, &[rows, 128], one));
//! let [x_fp8, w_fp8] = narrow;
//! let wide = [1, 2].map(|rows| Tensor::filled(&stream, &[rows, 128], bf16::from_f32(0.5)));
//! let [x_bf16, w_bf16] = wide;
//! let scale = Tensor::filled(&stream, &[1, 1], 0.25f32)?;
//! let y: TwoProducts<f32> = fused_gemm_a8w8_blockscale_a16w16(
//!     (&x_fp8?, &w_fp8?),
//!     [&scale, &scale],
//!     [&x_bf16?, &w_bf16?],
//!     &TwoProductsOptions::default(),
//! )?;
//! assert_eq!(y.narrow.to_vec()?, [8.0f32; 3]);
//! assert_eq!(y.wide.to_vec()?, [32.0; 2]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{Real, Real16};
use hk_core::op::Arguments;
use hk_core::op::product::{self, GroupScales};
use hk_core::op::quant::Fp8;
use hk_core::op::stored::Stored;
use hk_core::{Result, TensorSlice};

use crate::two_products::{Half, Names, TwoProducts, TwoProductsOptions, TwoProductsOut, launch};

const OP: &str = "fused_gemm_a8w8_blockscale_a16w16";
const CORE: &str = "a8w8_blockscale_a16w16";
const NARROW: Names = Names {
    of: product::Names { x: "x_fp8", w: "w_fp8", ..product::Names::PLAIN },
    bias: "bias_fp8",
    y: "y_fp8",
    w_dims: &["narrow", "k"],
    y_dims: &["m", "narrow"],
};

/// Rows of w, and k, that have one scale.
const GROUP: usize = 128;
/// How many groups there are, as they are declared.
const X_GROUPS: &str = "groups(k)";
const W_GROUPS: &str = "groups(narrow)";

/// Multiplies x by the transpose of w, for both pairs of them: of 8-bit floating point, `(x_fp8, w_fp8)`
/// with `[x_fp8_scale, w_fp8_scale]`, and of 16-bit numbers, `[x_bf16, w_bf16]`.
///
/// # Errors
/// [`Error::Shape`] if the operands, scales or biases do not fit together, or n1, n2 or k is 0;
/// [`Error::Stride`] if elements of a row or of scales are not adjacent, or a shuffled w has gaps;
/// [`Error::Value`] if k is to be split into more shares than it has elements, a stride is too
/// long, or there are to be no compute units; [`Error::NoTile`] if there is no tile of that name;
/// [`Error::ArchMismatch`] if the narrow elements are those of another chip.
pub fn fused_gemm_a8w8_blockscale_a16w16<'s, T: Fp8, U: Real16, Y: Real>(
    (x, w): (&TensorSlice<T>, impl Into<Stored<'s, T>>),
    scales: [&TensorSlice<f32>; 2],
    wide: [&TensorSlice<U>; 2],
    options: &TwoProductsOptions<'_>,
) -> Result<TwoProducts<Y>> {
    let w = w.into();
    let columns = [w.rows(), Stored::from(wide[1]).rows()];
    let mut y = TwoProducts::empty(x.stream(), x.shape(), columns)?;
    fused_gemm_a8w8_blockscale_a16w16_into((x, w), scales, wide, options, y.out())?;
    Ok(y)
}

/// As [`fused_gemm_a8w8_blockscale_a16w16`], into given tensors.
///
/// # Errors
/// As [`fused_gemm_a8w8_blockscale_a16w16`]; [`Error::Shape`] or [`Error::Stride`] also if a result
/// has the wrong shape or no such rows, [`Error::Alias`] if it overlaps the other one or an
/// operand.
pub fn fused_gemm_a8w8_blockscale_a16w16_into<'s, T: Fp8, U: Real16, Y: Real>(
    (x, w): (&TensorSlice<T>, impl Into<Stored<'s, T>>),
    [x_scale, w_scale]: [&TensorSlice<f32>; 2],
    wide: [&TensorSlice<U>; 2],
    options: &TwoProductsOptions<'_>,
    out: TwoProductsOut<'_, Y>,
) -> Result<()> {
    let mut args = Arguments::new(OP);
    let mut half = Half::declare(&mut args, NARROW, (x, w.into()))?;
    args.define(X_GROUPS, (half.problem.k as usize).div_ceil(GROUP));
    args.define(W_GROUPS, (half.problem.n as usize).div_ceil(GROUP));
    let x_row = args.input("x_fp8_scale", x_scale, &["m", X_GROUPS]).rows()?;
    let w_row = args.input("w_fp8_scale", w_scale, &[W_GROUPS, X_GROUPS]).rows()?;
    half.groups = Some(GroupScales {
        tensors: [x_scale.ptr(), w_scale.ptr()],
        strides: [[x_row, 1], [w_row, 1]],
        sizes: [GROUP as u32; 2],
        ..GroupScales::NONE
    });
    half.problem.group = GROUP as u64;
    launch(args, (CORE, &half), wide, options, out)
}
