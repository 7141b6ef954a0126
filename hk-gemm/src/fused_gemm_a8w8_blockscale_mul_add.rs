//! Products of 8-bit floating point with scales of blocks, multiplied and added:
//! `y = a p + b` or `y = a b + p`, where p is the product of
//! [`gemm_a8w8_blockscale`](crate::gemm_a8w8_blockscale()).
//!
//! | | |
//! |---|---|
//! | Shapes | x `(m, k)`, w `(n, k)` -> y `(m, n)`; a and b numbers, tensors of one element, or `(m, n)`; scales as `gemm_a8w8_blockscale`; w also [shuffled](crate::Shuffled); operands may be stored in any [`Layout`](crate::Layout): those whose rows are adjacent are copied before |
//! | Dtypes | x and w e4m3 in the flavour of the chip; scales f32; a and b bf16, f16 or f32; y bf16, f16 or f32 |
//! | Numerics | as `gemm_a8w8_blockscale`; the product is multiplied and added in f32, before the one rounding |
//! | Hardware | cdna3, cdna4; each with tile configurations of its own |
//! | Source | AITER `fused_gemm_a8w8_blockscale_mul_add` |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gemm::{BlockscaleOptions, Device, F8E4M3Fnuz, Fuse, Tensor};
//! use hk_gemm::fused_gemm_a8w8_blockscale_mul_add;
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let one = F8E4M3Fnuz::from_f32(1.0);
//! let x = Tensor::filled(&stream, &[2, 128], one)?;
//! let w = Tensor::filled(&stream, &[1, 128], one)?;
//! let scale = Tensor::from_slice(&stream, &[0.5f32, 1.0], &[2, 1])?;
//! let w_scale = Tensor::filled(&stream, &[1, 1], 1.0f32)?;
//! let b = Tensor::from_slice(&stream, &[1.0f32, 2.0], &[2, 1])?;
//! let y: Tensor<f32> = fused_gemm_a8w8_blockscale_mul_add(
//!     &x, &w, &scale, &w_scale, 2.0f32, &b, Fuse::ScaleProduct, &BlockscaleOptions::default(),
//! )?;
//! assert_eq!(y.to_vec()?, [129.0, 258.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::epilogue::{Extent, Lowered, Operand, Step};
use hk_core::op::quant::Fp8;
use hk_core::op::stored::Stored;
use hk_core::{Result, Tensor, TensorSlice};

use crate::a8w8_blockscale::{BlockscaleOptions, launch, operands};
use crate::options::Operands;

const OP: &str = "fused_gemm_a8w8_blockscale_mul_add";

/// How a product p and two operands are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fuse {
    /// `a p + b`
    ScaleProduct,
    /// `a b + p`
    AddProduct,
}

impl Fuse {
    /// Declares a and b, and puts the combination into the kernel's form.
    pub(crate) fn lower(
        self,
        operands: &mut Operands,
        a: Operand<'_>,
        b: Operand<'_>,
    ) -> Result<Lowered> {
        let (mut steps, args) = (operands.steps(), &mut operands.args);
        match self {
            Self::ScaleProduct => {
                steps.push(args, ["a"; 3], Step::Multiply(a, Extent::OneOrFull))?;
                steps.push(args, ["b"; 3], Step::Add(b, Extent::OneOrFull, 1.0))?;
            }
            Self::AddProduct => steps.push(args, ["a", "a", "b"], Step::AddProduct(a, b))?,
        }
        Ok(steps)
    }
}

/// `a p + b` or `a b + p` of the product p of [`gemm_a8w8_blockscale`](crate::gemm_a8w8_blockscale()).
///
/// # Errors
/// As [`gemm_a8w8_blockscale`](crate::gemm_a8w8_blockscale()); [`Error::Shape`] also if a or b is
/// neither of one element nor `(m, n)`.
#[doc(alias = "fused_gemm_a8w8_blockscale_preshuffle_mul_add")]
#[expect(clippy::too_many_arguments, reason = "two operands with scales, and two more")]
pub fn fused_gemm_a8w8_blockscale_mul_add<'s, 'a, T: Fp8, Y: Real>(
    x: &TensorSlice<T>,
    w: impl Into<Stored<'s, T>>,
    x_scale: &TensorSlice<f32>,
    w_scale: &TensorSlice<f32>,
    a: impl Into<Operand<'a>>,
    b: impl Into<Operand<'a>>,
    fuse: Fuse,
    options: &BlockscaleOptions<'_>,
) -> Result<Tensor<Y>> {
    let w = w.into();
    let shape = operands(OP, (x, w), [x_scale, w_scale], options)?.shape(&options.gemm);
    let mut y = Tensor::empty(x.stream(), &shape)?;
    fused_gemm_a8w8_blockscale_mul_add_into(x, w, x_scale, w_scale, a, b, fuse, options, &mut y)?;
    Ok(y)
}

/// As [`fused_gemm_a8w8_blockscale_mul_add`], into `y`, whose rows may be any distance apart, and
/// which may be a or b.
///
/// # Errors
/// As [`fused_gemm_a8w8_blockscale_mul_add`]; [`Error::Shape`] or [`Error::Stride`] also if `y` is
/// not `(m, n)` with such rows, [`Error::Alias`] if it overlaps an operand, unless it is the same
/// view as a or b.
#[expect(clippy::too_many_arguments, reason = "two operands with scales, and two more")]
pub fn fused_gemm_a8w8_blockscale_mul_add_into<'s, 'a, T: Fp8, Y: Real>(
    x: &TensorSlice<T>,
    w: impl Into<Stored<'s, T>>,
    x_scale: &TensorSlice<f32>,
    w_scale: &TensorSlice<f32>,
    a: impl Into<Operand<'a>>,
    b: impl Into<Operand<'a>>,
    fuse: Fuse,
    options: &BlockscaleOptions<'_>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    let mut operands = operands(OP, (x, w), [x_scale, w_scale], options)?;
    let steps = fuse.lower(&mut operands, a.into(), b.into())?;
    launch(operands, steps, options.groups, &options.gemm, y)
}
