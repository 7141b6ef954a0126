//! Products of rows of 8 or 16 bits with the matrices of their experts, of 4-bit floating point with scales
//! of MX blocks: `y[p] = gammas[p] act(s_x sum_b 2^(..) (x[row(p)] w[e]^T)_b + bias[e])` for each place p of
//! expert e, where b is a block of 32 k and its power of two that of the scales of w, and of x if it has such.
//!
//! | | |
//! |---|---|
//! | Shapes | x `[rows, k]`, w `[E, n, k]`, w_scales `[E, n, ceil(k / 32)]`, x_scales `[rows, ceil(k / 32)]`, bias `[E, n]`, gammas `[G]` -> y as [`moe_a8w8`](crate::moe_a8w8()) has it; any sizes, k even, at most 65,536; scales any distance apart; w_scales also [shuffled](crate::Shuffled), `(experts, n', k / 32)` with n' = n or more |
//! | Dtypes | x e4m3 in the flavour of the chip, OCP's e4m3 in blocks of MX on every chip, or bf16; w e2m1, two in a byte; scales of blocks e8m0; bias and gammas f32; y bf16, f16, f32 or the chip's e4m3, or OCP's e4m3 in blocks of MX |
//! | Numerics | operands are expanded exactly where there is no instruction for them; f32 sums; one rounding at the end, and one of rows that are scattered; bitwise deterministic |
//! | Hardware | cdna3, which expands to bf16, and cdna4; each with tile configurations of its own, whose rows divide `block_m` |
//! | Source | gpt-oss model card (arXiv 2508.10925), section 2.1; OCP Microscaling Formats (MX) 1.0; AITER `moe_gemm_a8w4` |
//!
//! Places, rows, scattering and parts of padded tensors are those of [`moe_a8w8`](crate::moe_a8w8()).
//!
//! ```
//! # #[cfg(feature = "cdna4")] {
//! use hk_moe::{Activation, Device, E8M0, F4x2E2M1, MoeRaggedOptions, RaggedGates, Tensor, bf16};
//! use hk_moe::moe_a8w4;
//!
//! let stream = Device::open("sim:mi355x")?.default_stream();
//! let x = Tensor::filled(&stream, &[1, 32], bf16::from_f32(2.0))?;
//! // Pairs of 1.0 and 0.5, times 4.
//! let w = Tensor::filled(&stream, &[1, 3, 32], F4x2E2M1::from_bits(0x12))?;
//! let scales = Tensor::filled(&stream, &[1, 3, 1], E8M0::from_f32(4.0))?;
//! let offsets = Tensor::from_slice(&stream, &[0, 1], &[2])?;
//! let tiles = Tensor::from_slice(&stream, &[0], &[1])?;
//! let gates = RaggedGates::new(&offsets, &tiles, 16, 1);
//! let options = MoeRaggedOptions::new(Activation::None);
//! let y: Tensor<f32> = moe_a8w4(&x, None, &w, &scales, &gates, &options)?;
//! assert_eq!(y.to_vec()?, [192.0; 3]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{DType, E8M0, Element, F4x2E2M1, F8E4M3, F8E4M3Fnuz, bf16};
use hk_core::op::stored::Stored;
use hk_core::{Result, Tensor, TensorSlice};

use crate::ragged_products::{MoeRaggedOptions, RaggedGates, RaggedOp, RaggedOutput};

const OP: &str = "moe_a8w4";
/// Columns of a block of results.
const BLOCK: usize = 32;

/// Elements of rows that are multiplied by 4-bit floating point: e4m3, and bf16.
pub trait A8w4Element: Element {}

impl A8w4Element for F8E4M3 {}
impl A8w4Element for F8E4M3Fnuz {}
impl A8w4Element for bf16 {}

/// Rows of results in blocks of MX.
#[derive(Debug)]
pub struct MxRows {
    /// The numbers, `[G, n]`, or `[G, n / 2]` with an activation of pairs.
    pub codes: Tensor<F8E4M3>,
    /// The scales of 32 of them each.
    pub scales: Tensor<E8M0>,
}

/// Where [`moe_a8w4_mx_into`] stores.
#[derive(Debug)]
pub struct MxRowsOut<'a> {
    /// The numbers.
    pub codes: &'a mut TensorSlice<F8E4M3>,
    /// The scales of 32 of them each.
    pub scales: &'a mut TensorSlice<E8M0>,
}

/// Multiplies rows by the transpose of their expert's matrix. `x_scales` are those of blocks of MX.
///
/// # Errors
/// As [`moe_a8w8`](crate::moe_a8w8()); [`Error::Value`] also if x has scales and is not OCP's e4m3.
pub fn moe_a8w4<'a, 's, T: A8w4Element, Y: RaggedOutput>(
    x: &TensorSlice<T>,
    x_scales: Option<&TensorSlice<E8M0>>,
    w: &TensorSlice<F4x2E2M1>,
    w_scales: impl Into<Stored<'s, E8M0>>,
    gates: &RaggedGates<'a>,
    options: &MoeRaggedOptions<'a>,
) -> Result<Tensor<Y>> {
    let mut y = gates.results(x, w, options)?;
    moe_a8w4_into(x, x_scales, w, w_scales, gates, options, &mut y)?;
    Ok(y)
}

/// As [`moe_a8w4`], into `y`, whose rows may be any distance apart.
///
/// # Errors
/// As [`moe_a8w4`] and [`moe_a8w8_into`](crate::moe_a8w8_into).
pub fn moe_a8w4_into<'a, 's, T: A8w4Element, Y: RaggedOutput>(
    x: &TensorSlice<T>,
    x_scales: Option<&TensorSlice<E8M0>>,
    w: &TensorSlice<F4x2E2M1>,
    w_scales: impl Into<Stored<'s, E8M0>>,
    gates: &RaggedGates<'a>,
    options: &MoeRaggedOptions<'a>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    launch(x, x_scales, (w, w_scales.into()), gates, options, y, None)
}

/// As [`moe_a8w4`], with results in blocks of MX, as the next product takes them: the scale of a block is
/// the power of two that makes its largest number, rounded to two bits, at most 256.
///
/// # Errors
/// As [`moe_a8w4`]; [`Error::Value`] also if gates are scattered, or columns are not whole blocks of 32.
pub fn moe_a8w4_mx<'a, 's, T: A8w4Element>(
    x: &TensorSlice<T>,
    x_scales: Option<&TensorSlice<E8M0>>,
    w: &TensorSlice<F4x2E2M1>,
    w_scales: impl Into<Stored<'s, E8M0>>,
    gates: &RaggedGates<'a>,
    options: &MoeRaggedOptions<'a>,
) -> Result<MxRows> {
    let mut codes: Tensor<F8E4M3> = gates.results(x, w, options)?;
    let [rows, columns] = codes.shape().try_into().unwrap_or([0; 2]);
    let mut scales = Tensor::zeros(x.stream(), &[rows, columns / BLOCK])?;
    let out = MxRowsOut { codes: &mut codes, scales: &mut scales };
    moe_a8w4_mx_into(x, x_scales, w, w_scales, gates, options, out)?;
    Ok(MxRows { codes, scales })
}

/// As [`moe_a8w4_mx`], into given tensors, whose rows may be any distance apart.
///
/// # Errors
/// As [`moe_a8w4_mx`] and [`moe_a8w8_into`](crate::moe_a8w8_into).
pub fn moe_a8w4_mx_into<'a, 's, T: A8w4Element>(
    x: &TensorSlice<T>,
    x_scales: Option<&TensorSlice<E8M0>>,
    w: &TensorSlice<F4x2E2M1>,
    w_scales: impl Into<Stored<'s, E8M0>>,
    gates: &RaggedGates<'a>,
    options: &MoeRaggedOptions<'a>,
    out: MxRowsOut<'_>,
) -> Result<()> {
    launch(x, x_scales, (w, w_scales.into()), gates, options, out.codes, Some(out.scales))
}

/// Declares everything, and launches it.
fn launch<'a, T: A8w4Element, Y: RaggedOutput>(
    x: &TensorSlice<T>,
    x_scales: Option<&TensorSlice<E8M0>>,
    (w, w_scales): (&TensorSlice<F4x2E2M1>, Stored<'_, E8M0>),
    gates: &RaggedGates<'a>,
    options: &MoeRaggedOptions<'a>,
    y: &mut TensorSlice<Y>,
    y_scales: Option<&mut TensorSlice<E8M0>>,
) -> Result<()> {
    let is_mx = x_scales.is_some();
    let mut op = RaggedOp::declare(OP, (x, w), [is_mx, false], gates, options)?;
    let fits = !is_mx || T::DTYPE == DType::F8E4M3;
    op.args.require(fits, "x_scales", format!("none, of {}", T::DTYPE), "some")?;
    let variant = match (T::DTYPE, is_mx) {
        (_, true) => "mxfp8_e2m1",
        (DType::Bf16, _) => "bf16_e2m1",
        _ => "e4m3_e2m1",
    };
    if variant == "e4m3_e2m1" {
        op.static_scales()?;
    } else {
        op.refuse_static_scales()?;
    }
    op.blocks(x_scales, Some(w_scales))?;
    op.launch(variant, y, y_scales)
}
