//! Products of rows with the matrices of their experts, both of 4-bit floating point with scales of MX
//! blocks: `y[p] = gammas[p] act(sum_b 2^(x_scales + w_scales - 254) (x[row(p)] w[e]^T)_b + bias[e])` for
//! each place p of expert e, where b is a block of 32 k.
//!
//! | | |
//! |---|---|
//! | Shapes | x `[rows, k]`, w `[E, n, k]`, x_scales `[rows, ceil(k / 32)]`, w_scales `[E, n, ceil(k / 32)]`, bias `[E, n]`, gammas `[G]` -> y as [`moe_a8w8`](crate::moe_a8w8()) has it; any sizes, k even, at most 65,536; scales any distance apart; w_scales also [shuffled](crate::Shuffled), `(experts, n', k / 32)` with n' = n or more |
//! | Dtypes | x, w e2m1, two in a byte; scales e8m0; bias and gammas f32; y bf16, f16 or f32 |
//! | Numerics | f32 sums; one rounding at the end, and one of rows that are scattered; bitwise deterministic |
//! | Hardware | cdna3, which expands both operands to bf16, and cdna4; each with tile configurations of its own, whose rows divide `block_m` |
//! | Source | OCP Microscaling Formats (MX) 1.0; AITER `moe_gemm_a4w4` |
//!
//! Places, rows, scattering and parts of padded tensors are those of [`moe_a8w8`](crate::moe_a8w8()).
//!
//! ```
//! # #[cfg(feature = "cdna4")] {
//! use hk_moe::{Activation, Device, E8M0, F4x2E2M1, MoeRaggedOptions, RaggedGates, Tensor};
//! use hk_moe::moe_a4w4;
//!
//! let stream = Device::open("sim:mi355x")?.default_stream();
//! // Ones, and pairs of 1.0 and 0.5, times 4.
//! let x = Tensor::filled(&stream, &[1, 32], F4x2E2M1::from_bits(0x22))?;
//! let w = Tensor::filled(&stream, &[1, 3, 32], F4x2E2M1::from_bits(0x12))?;
//! let of_x = Tensor::filled(&stream, &[1, 1], E8M0::from_f32(1.0))?;
//! let of_w = Tensor::filled(&stream, &[1, 3, 1], E8M0::from_f32(4.0))?;
//! let offsets = Tensor::from_slice(&stream, &[0, 1], &[2])?;
//! let tiles = Tensor::from_slice(&stream, &[0], &[1])?;
//! let gates = RaggedGates::new(&offsets, &tiles, 16, 1);
//! let options = MoeRaggedOptions::new(Activation::None);
//! let y: Tensor<f32> = moe_a4w4(&x, &of_x, &w, &of_w, &gates, &options)?;
//! assert_eq!(y.to_vec()?, [96.0; 3]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{E8M0, F4x2E2M1, Real};
use hk_core::op::stored::Stored;
use hk_core::{Result, Tensor, TensorSlice};

use crate::ragged_products::{MoeRaggedOptions, RaggedGates, RaggedOp, RaggedOutput};

const OP: &str = "moe_a4w4";

/// Multiplies rows by the transpose of their expert's matrix.
///
/// # Errors
/// As [`moe_a8w8`](crate::moe_a8w8()); [`Error::Value`] also if the options have static scales.
pub fn moe_a4w4<'a, 's, Y: Real + RaggedOutput>(
    x: &TensorSlice<F4x2E2M1>,
    x_scales: &TensorSlice<E8M0>,
    w: &TensorSlice<F4x2E2M1>,
    w_scales: impl Into<Stored<'s, E8M0>>,
    gates: &RaggedGates<'a>,
    options: &MoeRaggedOptions<'a>,
) -> Result<Tensor<Y>> {
    let mut y = gates.results(x, w, options)?;
    moe_a4w4_into(x, x_scales, w, w_scales, gates, options, &mut y)?;
    Ok(y)
}

/// As [`moe_a4w4`], into `y`, whose rows may be any distance apart.
///
/// # Errors
/// As [`moe_a4w4`] and [`moe_a8w8_into`](crate::moe_a8w8_into).
pub fn moe_a4w4_into<'a, 's, Y: Real + RaggedOutput>(
    x: &TensorSlice<F4x2E2M1>,
    x_scales: &TensorSlice<E8M0>,
    w: &TensorSlice<F4x2E2M1>,
    w_scales: impl Into<Stored<'s, E8M0>>,
    gates: &RaggedGates<'a>,
    options: &MoeRaggedOptions<'a>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    let mut op = RaggedOp::declare(OP, (x, w), [false; 2], gates, options)?;
    op.refuse_static_scales()?;
    op.blocks(Some(x_scales), Some(w_scales.into()))?;
    op.launch("e2m1", y, None)
}
