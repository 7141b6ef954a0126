//! Gated products of matrices: `y = epilogue(activation(x gates^T) * (x values^T))`, where w is the gates
//! and then what they let through.
//!
//! | | |
//! |---|---|
//! | Shapes | x `(m, k)`, w `(2n, k)` -> y `(m, n)`, or transposed as [`Layout`] says; any sizes; bias `(2n)`, residual `(m, n)` |
//! | Dtypes | x and w both bf16 or f16; y bf16, f16 or f32; operands of the epilogue any of the three |
//! | Numerics | f32 sums, gates and products; one rounding at the end; bitwise deterministic, also when k is split |
//! | Hardware | cdna3, cdna4; each with tile configurations of its own |
//! | Source | GLU variants (arXiv 2002.05202); AITER `gemm_a16w16_gated` |
//!
//! ```
//! # #[cfg(feature = "cdna4")] {
//! use hk_gemm::{Activation, Device, GemmOptions, Tensor, bf16, gemm_a16w16_gated};
//!
//! let stream = Device::open("sim:mi355x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[1.0, 2.0].map(bf16::from_f32), &[1, 2])?;
//! // A gate of 3 + 8, which lets -5 + 2 through.
//! let w = Tensor::from_slice(&stream, &[3.0, 4.0, -5.0, 1.0].map(bf16::from_f32), &[2, 2])?;
//! let options = GemmOptions::default().activation(Activation::Relu);
//! let y: Tensor<f32> = gemm_a16w16_gated(&x, &w, &options)?;
//! assert_eq!(y.to_vec()?, [-33.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use crate::Layout;
#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{Real, Real16};
use hk_core::{Activation, Result, Tensor, TensorSlice};

use crate::a16w16::variant;
use crate::options::{GemmOptions, Operands};

const OP: &str = "gemm_a16w16_gated";
const CORE: &str = "a16w16_gated";

/// Multiplies `x` by the transposes of the first and of the second half of `w`, and the results with each
/// other: `y[i, j] = epilogue(activation(sum_k x[i, k] w[j, k]) * sum_k x[i, k] w[n + j, k])`. The bias is
/// added to both sums before; everything else of the options happens behind.
///
/// # Errors
/// [`Error::Shape`] if the operands do not fit together, w has an odd number of rows, n or k is 0,
/// or an operand of the epilogue has the wrong shape; [`Error::Stride`] if elements of a row are
/// not adjacent; [`Error::Value`] if the activation is none of [`Gelu`](Activation::Gelu),
/// [`GeluTanh`](Activation::GeluTanh), [`Silu`](Activation::Silu),
/// [`SiluExp2`](Activation::SiluExp2) and [`Relu`](Activation::Relu), the options ask for what
/// there is not, a stride is too long, or the epilogue has too many steps; [`Error::NoTile`] if
/// there is no tile of that name.
pub fn gemm_a16w16_gated<T: Real16, Y: Real>(
    x: &TensorSlice<T>,
    w: &TensorSlice<T>,
    options: &GemmOptions<'_>,
) -> Result<Tensor<Y>> {
    let shape = operands(x, w, options)?.shape(options);
    let mut y = Tensor::empty(x.stream(), &shape)?;
    gemm_a16w16_gated_into(x, w, options, &mut y)?;
    Ok(y)
}

/// As [`gemm_a16w16_gated`], into `y`, whose rows may be any distance apart.
///
/// # Errors
/// As [`gemm_a16w16_gated`]; [`Error::Shape`] or [`Error::Stride`] also if `y` is not `(m, n)` with
/// such rows, [`Error::Alias`] if it overlaps an operand, unless it is the same view as one of
/// `(m, n)` of the epilogue's.
pub fn gemm_a16w16_gated_into<T: Real16, Y: Real>(
    x: &TensorSlice<T>,
    w: &TensorSlice<T>,
    options: &GemmOptions<'_>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    let operands = operands(x, w, options)?;
    let steps = operands.steps();
    operands.launch((CORE, &variant::<T>(options.layout), false), steps, options, y)
}

fn operands<T: Real16>(
    x: &TensorSlice<T>,
    w: &TensorSlice<T>,
    options: &GemmOptions<'_>,
) -> Result<Operands> {
    use Activation::{Gelu, GeluTanh, Relu, Silu, SiluExp2};
    let operands = Operands::declare_gated(OP, x, w, options.layout)?;
    let known = matches!(options.activation, None | Some(Gelu | GeluTanh | Silu | SiluExp2 | Relu));
    let name = options.activation.map_or_else(String::new, |activation| format!("{activation:?}"));
    operands.args.require(known, "activation", "gelu, gelu_tanh, silu, silu_exp2 or relu", name)?;
    Ok(operands)
}
