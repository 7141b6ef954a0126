//! Gated products of tokens with the matrices of their experts, of 4-bit floating point with scales of MX
//! blocks: `c[g] = act(gate[g], value[g])` for each gate g of an expert e, whose matrix is the gates' rows, then
//! those of what they let through. The columns of both are
//! `w_g a_scale b_scale[e] sum_b 2^(b_mx_scale[e, ., b] - 127) (a[g / top_k] b[e]^T)_b + bias[e]`, where b is a
//! block of 32 k; rows of 8 or 4 bits may have such scales, too, by which their blocks are multiplied.
//!
//! | | |
//! |---|---|
//! | Shapes | a `[rows, k]`, b `[E, 2n, k]`, b_mx_scale `[E, 2n, ceil(k / 32)]`, a_mx_scale `[rows, ceil(k / 32)]` -> c `[rows, top_k, n]`; any sizes, k even, at most 65,536; the gates as [`moe_align_block_size`](crate::moe_align_block_size()) gives them, topk_weights `[rows, top_k]`, bias `[E, 2n]`, a_scale `[1]`, b_scale `[E]` |
//! | Dtypes | a bf16, f16, or e4m3 in the flavour of the chip, or, with a_mx_scale, e2m1, two in a byte, or OCP's e4m3 on every chip; b e2m1; scales of blocks e8m0; c bf16, f16 or f32; topk_weights f32, bf16 or f16; bias, a_scale and b_scale f32 |
//! | Numerics | operands are expanded as [`moe_mxfp4`](crate::moe_mxfp4()) says; f32 sums, weights and activation, one rounding at the end; bitwise deterministic |
//! | Hardware | cdna3, cdna4; each with tile configurations of its own, whose rows divide those of the gates' tiles |
//! | Source | gpt-oss model card (arXiv 2508.10925), section 2.1; GLU variants (arXiv 2002.05202); OCP Microscaling Formats (MX) 1.0; AITER `fused_moe_mxfp4_silu` |
//!
//! Row t of `a` has the gates `t top_k` to `t top_k + top_k - 1`. Those that no tile has are not written, and
//! those of a tile without an expert are 0. Column j of the activation's gates is row j of the matrix, and what
//! it lets through is row n + j.
//!
//! ```
//! # #[cfg(feature = "cdna4")] {
//! use hk_moe::{Activation, Device, E8M0, F4x2E2M1, MoeAlignOptions, MoeGatedOptions, Tensor, bf16};
//! use hk_moe::{moe_align_block_size, moe_mxfp4_silu_fused};
//!
//! let stream = Device::open("sim:mi355x")?.default_stream();
//! let a = Tensor::filled(&stream, &[1, 32], bf16::from_f32(2.0))?;
//! // A row of 1 for the gate, and one for what it lets through, times 4 and 1/2.
//! let b = Tensor::filled(&stream, &[1, 2, 32], F4x2E2M1::from_bits(0x22))?;
//! let scales = [4.0, 0.5].map(E8M0::from_f32);
//! let scale = Tensor::from_slice(&stream, &scales, &[1, 2, 1])?;
//! let ids = Tensor::from_slice(&stream, &[0], &[1, 1])?;
//! let aligned = moe_align_block_size(&ids, 1, 16, &MoeAlignOptions::default())?;
//! let swiglu = Activation::Swiglu { alpha: 1.702, limit: Some(7.0), add_residual: true };
//! let options = MoeGatedOptions::new(Activation::SiluAndMul);
//! let c: Tensor<f32> = moe_mxfp4_silu_fused(&a, &b, &scale, &aligned.gates(16), 1, &options)?;
//! // A gate of 256 is as it is, and lets 32 through.
//! assert_eq!(c.to_vec()?, [8192.0]);
//! let options = MoeGatedOptions::new(swiglu);
//! let c: Tensor<f32> = moe_mxfp4_silu_fused(&a, &b, &scale, &aligned.gates(16), 1, &options)?;
//! assert!((c.to_vec()?[0] - 56.0).abs() < 0.001);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{E8M0, F4x2E2M1, Real};
use hk_core::op::Arguments;
use hk_core::op::epilogue::{Extent, Lowered, Operand, Step};
use hk_core::{Result, Tensor, TensorSlice};

use crate::activation::Activation;
use crate::expert_products::{AlignedGates, MoeGemmOptions, WeightCopy};
use crate::moe_op_mxfp4::{MxOperands, Mxfp4Element};

const OP: &str = "moe_mxfp4_silu_fused";

/// What gated products of experts do besides.
#[derive(Debug, Clone)]
pub struct MoeGatedOptions<'a> {
    activation: Activation,
    gemm: MoeGemmOptions<'a>,
    bias: Option<&'a TensorSlice<f32>>,
    a_scale: Option<&'a TensorSlice<f32>>,
    b_scale: Option<&'a TensorSlice<f32>>,
}

impl<'a> MoeGatedOptions<'a> {
    /// With this activation, of gates and what they let through.
    #[must_use]
    pub fn new(activation: Activation) -> Self {
        let gemm = MoeGemmOptions::default();
        Self { activation, gemm, bias: None, a_scale: None, b_scale: None }
    }

    /// Multiplies the sums of each gate by its weight, `[rows, top_k]`, of f32, bf16 or f16, before the bias is
    /// added.
    #[must_use]
    pub fn topk_weights(mut self, weights: impl Into<Operand<'a>>) -> Self {
        self.gemm = self.gemm.topk_weights(weights);
        self
    }

    /// Adds these numbers of each expert to the columns of its gates, then of what they let through,
    /// `[E, 2n]`.
    #[must_use]
    pub fn bias(mut self, bias: &'a TensorSlice<f32>) -> Self {
        self.bias = Some(bias);
        self
    }

    /// The scales of blocks of MX of a, `[rows, ceil(k / 32)]`: with them, a is e2m1, or e4m3 as OCP has it, on
    /// every chip.
    #[must_use]
    pub fn a_mx_scale(mut self, scale: &'a TensorSlice<E8M0>) -> Self {
        self.gemm = self.gemm.a_mx_scale(scale);
        self
    }

    /// Multiplies all sums by this number, `[1]`.
    #[must_use]
    pub fn a_scale(mut self, scale: &'a TensorSlice<f32>) -> Self {
        self.a_scale = Some(scale);
        self
    }

    /// Multiplies the sums of each expert by its number, `[E]`.
    #[must_use]
    pub fn b_scale(mut self, scale: &'a TensorSlice<f32>) -> Self {
        self.b_scale = Some(scale);
        self
    }

    /// Whether gates and tiles are looked at, as [`MoeGemmOptions::validate_indices`] says.
    #[must_use]
    pub fn validate_indices(mut self, validate: bool) -> Self {
        self.gemm = self.gemm.validate_indices(validate);
        self
    }

    /// Takes the tile configuration of that name, such as `64x64x256`, instead of the one that is expected to
    /// be fastest.
    #[must_use]
    pub fn tile(mut self, tile: &'a str) -> Self {
        self.gemm = self.gemm.tile(tile);
        self
    }

    /// Declares what happens to sums before the activation, which has to be one of gates.
    fn steps(&self, args: &mut Arguments) -> Result<(Lowered, WeightCopy)> {
        let got = format!("{:?}", self.activation);
        args.require(self.activation.is_gated(), "activation", "one of gates", got)?;
        self.activation.check(args)?;
        let mut steps = Lowered::default();
        for (name, scale, extent) in
            [("a_scale", self.a_scale, Extent::One), ("b_scale", self.b_scale, Extent::Experts)]
        {
            if let Some(scale) = scale {
                steps.push(args, [name; 3], Step::Multiply(Operand::F32(scale), extent))?;
            }
        }
        let weights = self.gemm.weigh(args, &mut steps)?;
        if let Some(bias) = self.bias {
            let step = Step::Add(Operand::F32(bias), Extent::ExpertHalves(&["experts", "2n"]), 1.0);
            steps.push(args, ["bias"; 3], step)?;
        }
        Ok((steps, weights))
    }
}

/// Multiplies the row of `a` of each gate by the transpose of its expert's matrix, and gives the activation of
/// the first half of the columns and what that lets through of the second one: `c[t, s, n]` for slot s of row t.
///
/// # Errors
/// [`Error::Shape`] if the tensors do not fit together, b has an odd number of rows, n, k or E is 0, or E is above
/// 32,767; [`Error::Stride`] if elements of rows are not adjacent; [`Error::ArchMismatch`] if a is that of another
/// chip; [`Error::Value`] if k is above 65,536, `top_k` is not from 1 to 64, there are 2^31 gates or more, tiles of
/// gates are not multiples of 16 rows, the activation is none of gates, has numbers that are not finite or a limit
/// below 0, a of e2m1 has no scales of blocks of MX or a of 16 bits or of cdna3's e4m3 has such, or a is of 2 GiB or
/// more, or gates or tiles are wrong and [looked at](MoeGatedOptions::validate_indices); [`Error::NoTile`] if there is
/// no tile of that name.
pub fn moe_mxfp4_silu_fused<T: Mxfp4Element, Y: Real>(
    a: &TensorSlice<T>,
    b: &TensorSlice<F4x2E2M1>,
    b_mx_scale: &TensorSlice<E8M0>,
    gates: &AlignedGates<'_>,
    top_k: usize,
    options: &MoeGatedOptions<'_>,
) -> Result<Tensor<Y>> {
    let rows = a.shape().first().copied().unwrap_or_default();
    let columns = b.shape().get(1).copied().unwrap_or_default() / 2;
    let mut c = Tensor::zeros(a.stream(), &[rows, top_k, columns])?;
    moe_mxfp4_silu_fused_into(a, b, b_mx_scale, gates, top_k, options, &mut c)?;
    Ok(c)
}

/// As [`moe_mxfp4_silu_fused`], into `c`, whose gates may be any distance apart. Those that no tile has stay as
/// they are.
///
/// # Errors
/// As [`moe_mxfp4_silu_fused`]; [`Error::Shape`] also if `c` has the wrong shape, [`Error::Alias`] if it overlaps
/// an operand.
pub fn moe_mxfp4_silu_fused_into<T: Mxfp4Element, Y: Real>(
    a: &TensorSlice<T>,
    b: &TensorSlice<F4x2E2M1>,
    b_mx_scale: &TensorSlice<E8M0>,
    gates: &AlignedGates<'_>,
    top_k: usize,
    options: &MoeGatedOptions<'_>,
    c: &mut TensorSlice<Y>,
) -> Result<()> {
    let (_, halves) = options.activation.code();
    let MoeGemmOptions { a_mx_scale, validate, .. } = options.gemm;
    let splits = None;
    let operands = MxOperands { a, a_mx_scale, b, b_mx_scale, gates, top_k, splits, validate };
    operands.launch(OP, Some(halves), options.gemm.tile, |args| options.steps(args), c)
}
