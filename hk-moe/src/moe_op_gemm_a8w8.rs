//! Products of rows with the matrices of their experts, of 8 bits:
//! `y[p] = gammas[p] act(s_x s_w (x[row(p)] w[e]^T) + bias[e])` for each place p of expert e.
//!
//! | | |
//! |---|---|
//! | Shapes | x `[rows, k]`, w `[E, n, k]`, x_scale `[1]` or `[rows]`, w_scale `[1]`, `[E]` or `[E, n]`, bias `[E, n]`, gammas `[G]`; in blocks of MX x_scales `[rows, ceil(k / 32)]`, w_scales `[E, n, ceil(k / 32)]`, or [shuffled](StoredMxBytes) -> y `[G, n]`, or `[T, n]` if gates are scattered, with an activation of pairs `[.., n / 2]`; any sizes, k at most 65,536, of i8 131,071 |
//! | Dtypes | x and w i8, or e4m3 in the flavour of the chip; blocks of MX are OCP's e4m3 on every chip, with scales of e8m0; scales, bias and gammas f32; y bf16, f16, f32 or the chip's e4m3 |
//! | Numerics | i8 exact, then as many roundings as factors; else f32 sums; one rounding at the end, and one of rows that are scattered; bitwise deterministic |
//! | Hardware | cdna3, which expands blocks of MX to bf16, and cdna4; each with tile configurations of its own, whose rows divide `block_m` |
//! | Source | AITER `moe_gemm_a8w8`, `moe_gemm_int8_smoothquant`; OCP Microscaling Formats (MX) 1.0 |
//!
//! Place p is that of a gate, in order of experts; `row(p)` is p, or the row of the gate's token if rows are
//! gathered. If gates are scattered, tokens receive the sums of their gates' rows. Rows of gates that have
//! no expert are not written. Of tensors with room for more rows, columns or k than count, ops of this family
//! take the parts that count, as [views](TensorSlice::narrow): what is beside them does not count, and stays as it is.
//! That is what AITER's `unpadded_n` and `unpadded_k` say.
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_moe::{Activation, Device, MoeRaggedOptions, RaggedGates, Tensor, moe_a8w8};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! // Three rows, of which expert 1 has the last two.
//! let x = Tensor::from_slice(&stream, &[1i8, 1, 2, 2, 3, 3], &[3, 2])?;
//! let w = Tensor::from_slice(&stream, &[1i8, 0, 1, 1], &[2, 1, 2])?;
//! let (one, of_w) = (Tensor::filled(&stream, &[1], 1.0)?, Tensor::from_slice(&stream, &[1.0, 0.5], &[2])?);
//! let offsets = Tensor::from_slice(&stream, &[0, 1, 3], &[3])?;
//! let tiles = Tensor::from_slice(&stream, &[0, 1], &[2])?;
//! let gates = RaggedGates::new(&offsets, &tiles, 16, 1);
//! let options = MoeRaggedOptions::new(Activation::None);
//! let y: Tensor<f32> = moe_a8w8(&x, &w, &one, &of_w, &gates, &options)?;
//! assert_eq!(y.to_vec()?, [1.0, 2.0, 3.0]);
//!
//! // The same of matrices with room for 4 k, of which 2 count.
//! let w = Tensor::from_slice(&stream, &[1i8, 0, 9, 9, 1, 1, 9, 9], &[2, 1, 4])?;
//! let w = w.narrow(2, 0..2)?;
//! let y: Tensor<f32> = moe_a8w8(&x, &w, &one, &of_w, &gates, &options)?;
//! assert_eq!(y.to_vec()?, [1.0, 2.0, 3.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{E8M0, Element, F8E4M3, F8E4M3Fnuz};
use hk_core::op::stored::Stored;
use hk_core::{Result, Tensor, TensorSlice};

use crate::ragged_products::{MoeRaggedOptions, RaggedGates, RaggedOp, RaggedOutput};

const OP: &str = "moe_a8w8";
const MX_OP: &str = "moe_a8w8_mx";
/// k up to which sums of i8 are within 32 bits.
const MOST_K_OF_I8: u64 = 131_071;

/// Elements of 8 bits that experts' products have: i8, and e4m3 in the flavour of the chip.
pub trait RaggedElement: Element {
    /// How the kernels' variants name it.
    const NAME: &'static str;
}

impl RaggedElement for i8 {
    const NAME: &'static str = "i8";
}

impl RaggedElement for F8E4M3 {
    const NAME: &'static str = "e4m3";
}

impl RaggedElement for F8E4M3Fnuz {
    const NAME: &'static str = "e4m3";
}

/// Multiplies rows by the transpose of their expert's matrix.
///
/// # Errors
/// [`Error::Shape`] if sizes do not fit to each other, there are no columns, k or experts, or more than 32,767
/// experts; [`Error::Stride`] if elements of rows are not adjacent; [`Error::ArchMismatch`] if they are those of
/// another chip; [`Error::Value`] if `block_m` is not a power of two from 16 to 256, `n_expts_act` is not from 1 to
/// 64, there are 2^31 gates or more, columns of an activation of pairs are odd, k is beyond 65,536, or
/// 131,071 of i8, rows of x are 2 GiB or more, a scale of results is missing or not positive, or places, gates or tiles are wrong and
/// [looked at](MoeRaggedOptions::validate_indices); [`Error::NoTile`] if there is no tile of that name.
pub fn moe_a8w8<'a, T: RaggedElement, Y: RaggedOutput>(
    x: &TensorSlice<T>,
    w: &TensorSlice<T>,
    x_scale: &'a TensorSlice<f32>,
    w_scale: &'a TensorSlice<f32>,
    gates: &RaggedGates<'a>,
    options: &MoeRaggedOptions<'a>,
) -> Result<Tensor<Y>> {
    let mut y = gates.results(x, w, options)?;
    moe_a8w8_into(x, w, x_scale, w_scale, gates, options, &mut y)?;
    Ok(y)
}

/// As [`moe_a8w8`], into `y`, whose rows may be any distance apart.
///
/// # Errors
/// As [`moe_a8w8`]; [`Error::Shape`] also if `y` has the wrong shape, [`Error::Alias`] if it overlaps
/// another argument.
pub fn moe_a8w8_into<'a, T: RaggedElement, Y: RaggedOutput>(
    x: &TensorSlice<T>,
    w: &TensorSlice<T>,
    x_scale: &'a TensorSlice<f32>,
    w_scale: &'a TensorSlice<f32>,
    gates: &RaggedGates<'a>,
    options: &MoeRaggedOptions<'a>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    let mut op = RaggedOp::declare(OP, (x, w), [false; 2], gates, options)?;
    op.refuse_static_scales()?;
    if T::NAME == "i8" {
        op.ragged.most_k = MOST_K_OF_I8;
    }
    op.row_scales("x_scale", Some(x_scale))?;
    op.column_scales("w_scale", Some(w_scale))?;
    op.launch(T::NAME, y, None)
}

/// An operand of 8-bit floating point: in blocks of MX, which are OCP's e4m3 on every chip, if there are
/// scales, else e4m3 in the flavour of the chip.
#[derive(Debug, Clone, Copy)]
pub struct MxBytes<'a, T: RaggedElement> {
    /// The numbers.
    pub codes: &'a TensorSlice<T>,
    /// Scales of blocks of 32 k.
    pub scales: Option<&'a TensorSlice<E8M0>>,
}

/// As [`MxBytes`], of matrices, whose scales may be [shuffled](crate::Shuffled): `[E, rows, k / 32]`, with rows those
/// of a matrix, rounded up to any multiple of 32, and k a multiple of 256.
#[derive(Debug, Clone, Copy)]
pub struct StoredMxBytes<'a, T: RaggedElement> {
    /// The numbers.
    pub codes: &'a TensorSlice<T>,
    /// Scales of blocks of 32 k.
    pub scales: Option<Stored<'a, E8M0>>,
}

impl<'a, T: RaggedElement> From<MxBytes<'a, T>> for StoredMxBytes<'a, T> {
    fn from(bytes: MxBytes<'a, T>) -> Self {
        Self { codes: bytes.codes, scales: bytes.scales.map(Into::into) }
    }
}

/// As [`moe_a8w8`], with one operand or both in blocks of MX, and static scales of the other one. Matrices are
/// [`MxBytes`], or [`StoredMxBytes`] if their scales may be shuffled.
///
/// # Errors
/// As [`moe_a8w8`]; [`Error::Value`] also if neither operand has scales of blocks, or there are no such tiles of
/// shuffled scales.
pub fn moe_a8w8_mx<'a, 'w, X: RaggedElement, W: RaggedElement, Y: RaggedOutput>(
    x: MxBytes<'_, X>,
    w: impl Into<StoredMxBytes<'w, W>>,
    gates: &RaggedGates<'a>,
    options: &MoeRaggedOptions<'a>,
) -> Result<Tensor<Y>> {
    let w = w.into();
    let mut y = gates.results(x.codes, w.codes, options)?;
    moe_a8w8_mx_into(x, w, gates, options, &mut y)?;
    Ok(y)
}

/// As [`moe_a8w8_mx`], into `y`, whose rows may be any distance apart.
///
/// # Errors
/// As [`moe_a8w8_mx`] and [`moe_a8w8_into`].
pub fn moe_a8w8_mx_into<'a, 'w, X: RaggedElement, W: RaggedElement, Y: RaggedOutput>(
    x: MxBytes<'_, X>,
    w: impl Into<StoredMxBytes<'w, W>>,
    gates: &RaggedGates<'a>,
    options: &MoeRaggedOptions<'a>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    let w = w.into();
    let are_mx = [x.scales.is_some(), w.scales.is_some()];
    let mut op = RaggedOp::declare(MX_OP, (x.codes, w.codes), are_mx, gates, options)?;
    let variant = match are_mx {
        [true, true] => "mxfp8",
        [true, false] => "mxfp8_e4m3",
        [false, true] => "e4m3_mxfp8",
        [false, false] => "",
    };
    op.args.require(!variant.is_empty(), "x_scales", "some, or w_scales", "none")?;
    let ocp = F8E4M3::DTYPE;
    let is_ocp = |is_mx: bool, arg, dtype| {
        op.args.require(!is_mx || dtype == ocp, arg, format!("{ocp}, in blocks of MX"), dtype)
    };
    is_ocp(are_mx[0], "x", X::DTYPE)?;
    is_ocp(are_mx[1], "w", W::DTYPE)?;
    let bytes = |is_mx: bool, name: &str| is_mx || name == "e4m3";
    let are_bytes = bytes(are_mx[0], X::NAME) && bytes(are_mx[1], W::NAME);
    op.args.require(are_bytes, "x", "8-bit floating point", X::DTYPE)?;
    op.static_scales()?;
    op.blocks(x.scales, w.scales)?;
    op.launch(variant, y, None)
}
