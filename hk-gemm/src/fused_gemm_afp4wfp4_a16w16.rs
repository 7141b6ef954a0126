//! Two products of the same rows in one launch: one of 4-bit floating point with scales of MX blocks, as
//! [`gemm_afp4wfp4`](crate::gemm_afp4wfp4()), and one of 16-bit numbers, as
//! [`gemm_a16w16`](crate::gemm_a16w16()).
//!
//! `narrow = sum_g 2^(x_fp4_scale[., g] + w_fp4_scale[., g] - 254) (x_fp4 w_fp4^T)_g + narrow_bias` and
//! `wide = x_bf16 w_bf16^T + wide_bias`, where g is a block of 32 k.
//!
//! | | |
//! |---|---|
//! | Shapes | x_fp4 and x_bf16 `(m, k)`, w_fp4 `(n1, k)`, w_bf16 `(n2, k)` -> `(m, n1)` and `(m, n2)`; any m, n1 and n2, k a multiple of 32; x_fp4_scale `(m, k / 32)`, w_fp4_scale `(n1, k / 32)`; w_fp4 and the scales also [shuffled](crate::Shuffled) |
//! | Dtypes | x_fp4 and w_fp4 e2m1, two in a byte; scales e8m0; x_bf16 and w_bf16 both bf16 or f16; results bf16, f16 or f32; biases any of the three |
//! | Numerics | f32 sums, one rounding at the end; bitwise deterministic, also when k is split |
//! | Hardware | cdna3, which expands e2m1 to bf16, and cdna4; each with tile configurations of its own |
//! | Source | OCP Microscaling Formats (MX) 1.0; AITER `fused_gemm_afp4wfp4_a16w16` |
//!
//! ```
//! # #[cfg(feature = "cdna4")] {
//! use hk_gemm::{Device, E8M0, F4x2E2M1, Tensor, TwoProducts, TwoProductsOptions, bf16};
//! use hk_gemm::fused_gemm_afp4wfp4_a16w16;
//!
//! let stream = Device::open("sim:mi355x")?.default_stream();
//! // Pairs of 1.0 and 0.5.
//! let narrow = [1, 3].map(|rows| Tensor::filled(&stream, &[rows, 32], F4x2E2M1::from_bits(0x12)));
//! let [x_fp4, w_fp4] = narrow;
//! let scales = [1, 3].map(|rows| Tensor::filled(&stream, &[rows, 1], E8M0::ONE));
//! let [x_scale, w_scale] = scales;
//! let wide = [1, 2].map(|rows| Tensor::filled(&stream, &[rows, 32], bf16::from_f32(0.5)));
//! let [x_bf16, w_bf16] = wide;
//! let y: TwoProducts<f32> = fused_gemm_afp4wfp4_a16w16(
//!     (&x_fp4?, &w_fp4?),
//!     (&x_scale?, &w_scale?),
//!     [&x_bf16?, &w_bf16?],
//!     &TwoProductsOptions::default(),
//! )?;
//! assert_eq!(y.narrow.to_vec()?, [20.0f32; 3]);
//! assert_eq!(y.wide.to_vec()?, [8.0; 2]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{E8M0, F4x2E2M1, Real, Real16};
use hk_core::op::Arguments;
use hk_core::op::product;
use hk_core::op::stored::Stored;
use hk_core::{Result, TensorSlice};

use crate::mx::{BLOCK, BLOCKS};
use crate::two_products::{Half, Names, TwoProducts, TwoProductsOptions, TwoProductsOut, launch};

const OP: &str = "fused_gemm_afp4wfp4_a16w16";
const CORE: &str = "mx_a16w16";
const NARROW: Names = Names {
    of: product::Names { x: "x_fp4", w: "w_fp4", blocks: ["x_fp4_scale", "w_fp4_scale"] },
    bias: "bias_fp4",
    y: "y_fp4",
    w_dims: &["narrow", "k"],
    y_dims: &["m", "narrow"],
};

/// Multiplies x by the transpose of w, for both pairs of them: of 4-bit floating point, `(x_fp4, w_fp4)`
/// with `(x_fp4_scale, w_fp4_scale)`, and of 16-bit numbers, `[x_bf16, w_bf16]`.
///
/// # Errors
/// [`Error::Shape`] if the operands, scales or biases do not fit together, or n1, n2 or k is 0;
/// [`Error::Stride`] if elements of a row or of scales are not adjacent, or what is shuffled has
/// gaps; [`Error::Value`] if k is no multiple of 32, is to be split into more shares than it has
/// elements, a stride is too long, or there are to be no compute units; [`Error::NoTile`] if there
/// is no tile of that name.
pub fn fused_gemm_afp4wfp4_a16w16<'s, U: Real16, Y: Real>(
    (x, w): (&TensorSlice<F4x2E2M1>, impl Into<Stored<'s, F4x2E2M1>>),
    (x_scale, w_scale): (impl Into<Stored<'s, E8M0>>, impl Into<Stored<'s, E8M0>>),
    wide: [&TensorSlice<U>; 2],
    options: &TwoProductsOptions<'_>,
) -> Result<TwoProducts<Y>> {
    let w = w.into();
    let columns = [w.rows(), Stored::from(wide[1]).rows()];
    let mut y = TwoProducts::empty(x.stream(), x.shape(), columns)?;
    fused_gemm_afp4wfp4_a16w16_into((x, w), (x_scale, w_scale), wide, options, y.out())?;
    Ok(y)
}

/// As [`fused_gemm_afp4wfp4_a16w16`], into given tensors.
///
/// # Errors
/// As [`fused_gemm_afp4wfp4_a16w16`]; [`Error::Shape`] or [`Error::Stride`] also if a result has
/// the wrong shape or no such rows, [`Error::Alias`] if it overlaps the other one or an operand.
pub fn fused_gemm_afp4wfp4_a16w16_into<'s, U: Real16, Y: Real>(
    (x, w): (&TensorSlice<F4x2E2M1>, impl Into<Stored<'s, F4x2E2M1>>),
    (x_scale, w_scale): (impl Into<Stored<'s, E8M0>>, impl Into<Stored<'s, E8M0>>),
    wide: [&TensorSlice<U>; 2],
    options: &TwoProductsOptions<'_>,
    out: TwoProductsOut<'_, Y>,
) -> Result<()> {
    let mut args = Arguments::new(OP);
    let mut half = Half::declare(&mut args, NARROW, (x, w.into()))?;
    let k = half.problem.k as usize;
    args.require(k.is_multiple_of(BLOCK), "x_fp4", "k a multiple of 32", k)?;
    args.define(BLOCKS, k / BLOCK);
    let in_rows_or_tiles = [&["m", BLOCKS], &["tiled(m)", BLOCKS]];
    half.blocks[0] = Some(x_scale.into().scales(&mut args, "x_fp4_scale", in_rows_or_tiles)?);
    let in_rows_or_tiles = [&["narrow", BLOCKS], &["tiled(narrow)", BLOCKS]];
    half.blocks[1] = Some(w_scale.into().scales(&mut args, "w_fp4_scale", in_rows_or_tiles)?);
    launch(args, (CORE, &half), wide, options, out)
}
