//! Products of tokens with the matrices of their experts: `c[g] = w_g (a[g / top_k] b[e]^T)` for each gate g of
//! an expert e.
//!
//! | | |
//! |---|---|
//! | Shapes | a `[rows, k]`, b `[E, n, k]`, also as the transposed view of `[E, k, n]`, which is copied before if it is not of 16 bits -> c `[rows, top_k, n]`; any sizes, k at most 65,536; the gates as [`moe_align_block_size`](crate::moe_align_block_size()) gives them, topk_weights `[rows, top_k]` |
//! | Dtypes | a and b both bf16, f16, or e4m3 in the flavour of the chip with scales of blocks, of 128 by 128 or [another shape](MoeGemmOptions::block_shape), or with one scale of a and scales of experts or of rows of b; or a of 16 bits and b i8 with such scales, or e4m3 in the flavour of the chip, which a is made before with a scale of all of it, found or given; c bf16, f16 or f32; topk_weights f32, bf16 or f16; scales f32; or a of 16 bits and b unsigned integers of 8 or 4 bits in [`WnA16Weights`], with scales of groups of k in bf16, f16 or f32 |
//! | Numerics | f32 sums and weights, one rounding at the end; codes of a are those of the largest magnitude of all of it, or of a given scale; bitwise deterministic |
//! | Hardware | cdna3, cdna4; each with tile configurations of its own, whose rows divide those of the gates' tiles |
//! | Source | AITER `fused_moe`; vLLM `fused_moe_kernel` |
//!
//! Row t of `a` has the gates `t top_k` to `t top_k + top_k - 1`. Those that no tile has are not written, and
//! those of a tile without an expert are 0.
//!
//! ```
//! # #[cfg(feature = "cdna4")] {
//! use hk_moe::{Device, MoeAlignOptions, MoeGemmOptions, Tensor, bf16};
//! use hk_moe::{moe_align_block_size, moe_gemm};
//!
//! let stream = Device::open("sim:mi355x")?.default_stream();
//! // Two tokens: the first one's expert is 1, the second one's 0.
//! let a = Tensor::from_slice(&stream, &[1.0, 2.0, 1.0, 2.0].map(bf16::from_f32), &[2, 2])?;
//! let b = [3.0, 4.0, -5.0, 1.0].map(bf16::from_f32);
//! let b = Tensor::from_slice(&stream, &b, &[2, 1, 2])?;
//! let ids = Tensor::from_slice(&stream, &[1, 0], &[2, 1])?;
//! let aligned = moe_align_block_size(&ids, 2, 16, &MoeAlignOptions::default())?;
//! let c: Tensor<f32> = moe_gemm(&a, &b, &aligned.gates(16), 1, &MoeGemmOptions::default())?;
//! assert_eq!(c.to_vec()?, [-3.0, 11.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{Real, Real16};
use hk_core::{Result, Tensor, TensorSlice};

use crate::WnA16Weights;
use crate::expert_products::{
    AlignedGates, ExpertElement, ExpertWeight, Form, MoeGemmOptions, launch,
};
use crate::int_groups;

const WNA16_OP: &str = "moe_gemm_wna16";
const OP: &str = "moe_gemm";

/// Multiplies the row of `a` of each gate by the transpose of its expert's matrix:
/// `c[t, s, n] = w sum_k a[t, k] b[e, n, k]`, where e is the expert of slot s of row t and w its weight, if the
/// options have such.
///
/// # Errors
/// [`Error::Shape`] if the tensors do not fit together, n, k or E is 0, or E is above 32,767; [`Error::Stride`] if
/// elements of rows of a or c are not adjacent; [`Error::ArchMismatch`] if 8-bit floating point is that of another
/// chip; [`Error::Value`] if `top_k` is not from 1 to 64, there are 2^31 gates or more, tiles of gates are not
/// multiples of 16 rows, scales are there for 16-bit operands or missing for 8-bit ones, the options ask for what there
/// is not, b has adjacent elements neither in rows nor in columns, a is of 2 GiB or more, or k above 65,536, or gates
/// or tiles are wrong and [looked at](MoeGemmOptions::validate_indices); [`Error::NoTile`] if there is no tile of that
/// name.
pub fn moe_gemm<T: ExpertElement, W: ExpertWeight<T>, Y: Real>(
    a: &TensorSlice<T>,
    b: &TensorSlice<W>,
    gates: &AlignedGates<'_>,
    top_k: usize,
    options: &MoeGemmOptions<'_>,
) -> Result<Tensor<Y>> {
    let rows = a.shape().first().copied().unwrap_or_default();
    let columns = b.shape().get(1).copied().unwrap_or_default();
    let mut c = Tensor::zeros(a.stream(), &[rows, top_k, columns])?;
    moe_gemm_into(a, b, gates, top_k, options, &mut c)?;
    Ok(c)
}

/// As [`moe_gemm`], into `c`, whose gates may be any distance apart. Those that no tile has stay as they are.
///
/// # Errors
/// As [`moe_gemm`]; [`Error::Shape`] also if `c` has the wrong shape, [`Error::Alias`] if it overlaps an
/// operand.
pub fn moe_gemm_into<T: ExpertElement, W: ExpertWeight<T>, Y: Real>(
    a: &TensorSlice<T>,
    b: &TensorSlice<W>,
    gates: &AlignedGates<'_>,
    top_k: usize,
    options: &MoeGemmOptions<'_>,
    c: &mut TensorSlice<Y>,
) -> Result<()> {
    launch((OP, Form::Plain(None)), (a, b), gates, top_k, options, c)
}

/// Multiplies by integers of 8 or 4 bits that have a scale, and perhaps a zero point, for each group of k, rounded
/// to the type of `a`: `c[t, s, n] = w sum_k a[t, k] b[e, n, k]`, as [`moe_gemm`] does. AITER's
/// `int8_w8a16` and `int4_w4a16` with groups are such.
///
/// # Errors
/// [`Error::Shape`] if the tensors do not fit together, a group of k is no multiple of 8, n, k or E is 0, or E is above
/// 32,767; [`Error::Stride`] if elements of rows of a or c are not adjacent, or scales or zero points have gaps;
/// [`Error::Value`] if b has adjacent elements neither in rows nor in columns, k is no multiple of a group, the options
/// have scales besides or ask for what there is not, zero points of 4 bits belong to an odd number of rows, `top_k` is
/// not from 1 to 64, there are 2^31 gates or more, tiles of gates are not multiples of 16 rows, a or the scales of a
/// matrix are of 2 GiB or more, or k is above 65,536, or gates or tiles are wrong and [looked
/// at](MoeGemmOptions::validate_indices); [`Error::NoTile`] if there is no tile of that name.
pub fn moe_gemm_wna16<T: Real16 + ExpertElement, S: Real, Y: Real>(
    a: &TensorSlice<T>,
    b: &WnA16Weights<'_, S>,
    gates: &AlignedGates<'_>,
    top_k: usize,
    options: &MoeGemmOptions<'_>,
) -> Result<Tensor<Y>> {
    let rows = a.shape().first().copied().unwrap_or_default();
    let mut c = Tensor::zeros(a.stream(), &[rows, top_k, b.rows()])?;
    moe_gemm_wna16_into(a, b, gates, top_k, options, &mut c)?;
    Ok(c)
}

/// As [`moe_gemm_wna16`], into `c`, whose gates may be any distance apart. Those that no tile has stay as they are.
///
/// # Errors
/// As [`moe_gemm_wna16`]; [`Error::Shape`] also if `c` has the wrong shape, [`Error::Alias`] if it overlaps an
/// operand.
pub fn moe_gemm_wna16_into<T: Real16 + ExpertElement, S: Real, Y: Real>(
    a: &TensorSlice<T>,
    b: &WnA16Weights<'_, S>,
    gates: &AlignedGates<'_>,
    top_k: usize,
    options: &MoeGemmOptions<'_>,
    c: &mut TensorSlice<Y>,
) -> Result<()> {
    int_groups::launch((WNA16_OP, Form::Plain(None)), (a, b), gates, top_k, options, c)
}
