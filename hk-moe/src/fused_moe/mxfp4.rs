//! Weights of 4-bit floating point in blocks of MX, with 16-bit tokens.

use std::marker::PhantomData;

use hk_core::dtype::{E8M0, F4x2E2M1, Real, Real16};
use hk_core::op::Arguments;
use hk_core::{Activation as Plain, Result, Stream, Tensor, TensorSlice};

use super::aligned::{Aligned, AlignedScratch, down_options};
use super::room::Room;
use super::weights::{
    HERE, HIDDEN, INNER, Layer, Sizes, UP, W1, W2, Work, declare_biases, define_inner, limit_sizes,
};
use super::{FusedMoeConfig, OP};
use crate::activation::Activation;
use crate::expert_products::{AlignedGates, ExpertElement, Form, MoeGemmOptions};
use crate::moe_op_mxfp4::{launch, moe_mxfp4_into};
use crate::moe_op_mxfp4_silu_fused::{MoeGatedOptions, moe_mxfp4_silu_fused_into};
use crate::reduce_grouped::Residual;

/// Numbers in blocks of MX, and the scales of 32 of them each.
#[derive(Debug)]
pub struct MxMatrices<C: hk_core::dtype::Element> {
    /// The numbers, `[E, rows, columns]`.
    pub codes: Tensor<C>,
    /// Their scales, `[E, rows, ceil(columns / 32)]`.
    pub scales: Tensor<E8M0>,
}

/// Weights of e2m1 in blocks of MX, of which tokens are bf16 or f16 and stay so: w1
/// `[E, 2 inner, hidden]`, the rows of gates first, then those of what they let through, or
/// `[E, inner, hidden]` without gates, and w2 `[E, hidden, inner]`.
#[derive(Debug)]
pub struct Mxfp4Weights<T: Real16> {
    w1: MxMatrices<F4x2E2M1>,
    w2: MxMatrices<F4x2E2M1>,
    b1: Option<Tensor<f32>>,
    b2: Option<Tensor<f32>>,
    hidden: PhantomData<fn() -> T>,
}

impl<T: Real16> Mxfp4Weights<T> {
    /// Of both products.
    pub const fn new(w1: MxMatrices<F4x2E2M1>, w2: MxMatrices<F4x2E2M1>) -> Self {
        Self { w1, w2, b1: None, b2: None, hidden: PhantomData }
    }

    /// What is added to the sums of each expert's columns, `[E, rows of w1]` and `[E, hidden]`.
    #[must_use]
    pub fn biases(mut self, b1: Tensor<f32>, b2: Tensor<f32>) -> Self {
        (self.b1, self.b2) = (Some(b1), Some(b2));
        self
    }
}

/// k of a block.
const BLOCK: usize = 32;
const HIDDEN_BLOCKS: &str = "ceil(hidden / 32)";
const INNER_BLOCKS: &str = "ceil(inner / 32)";

/// Declares both matrices.
pub(super) fn declare_mx<C: hk_core::dtype::Element>(
    args: &mut Arguments,
    [w1, w2]: [&MxMatrices<C>; 2],
    is_gated: bool,
) -> Result<()> {
    define_inner(args, w1.codes.shape(), is_gated);
    args.input("w1", &w1.codes, W1).portable().adjacent::<3>()?;
    args.input("w2", &w2.codes, W2).portable().adjacent::<3>()?;
    limit_sizes(args)?;
    let [hidden, inner] = args.sizes([HIDDEN, INNER])?;
    args.define(HIDDEN_BLOCKS, hidden.div_ceil(BLOCK));
    args.define(INNER_BLOCKS, inner.div_ceil(BLOCK));
    args.input("w1_scales", &w1.scales, &[HERE, UP, HIDDEN_BLOCKS]).adjacent::<3>()?;
    args.input("w2_scales", &w2.scales, &[HERE, HIDDEN, INNER_BLOCKS]).adjacent::<3>()?;
    Ok(())
}

impl<T: Real16 + ExpertElement> Mxfp4Weights<T> {
    /// The first product and its activation.
    fn multiply_x(
        &self,
        work: &Work<'_, T>,
        gates: &AlignedGates<'_>,
        z: &mut TensorSlice<T>,
    ) -> Result<()> {
        let Work { config, sizes, x, .. } = *work;
        let (codes, scales) = (&*self.w1.codes, &*self.w1.scales);
        let before = config.weighs_input.then_some(work.weights);
        let plain = match config.activation {
            Activation::None => None,
            Activation::GeluTanh => Some(Plain::GeluTanh),
            Activation::SiluAndMul | Activation::Swiglu { .. } => {
                let up = MoeGatedOptions::new(config.activation).validate_indices(false);
                let up = self.b1.iter().fold(up, |up, bias| up.bias(bias));
                let up = before.into_iter().fold(up, MoeGatedOptions::topk_weights);
                return moe_mxfp4_silu_fused_into(x, codes, scales, gates, sizes.slots, &up, z);
            }
        };
        let up = MoeGemmOptions::default().validate_indices(false);
        let up = self.b1.iter().fold(up, |up, bias| up.bias(bias));
        let up = before.into_iter().fold(up, MoeGemmOptions::topk_weights);
        launch((OP, Form::OnInput(plain)), x, (codes, scales), gates, sizes.slots, &up, z)
    }
}

impl<T: Real16 + ExpertElement> Layer for Mxfp4Weights<T> {
    type Hidden = T;
    type Scratch = AlignedScratch<T>;

    fn stream(&self) -> &Stream {
        self.w1.codes.stream()
    }

    fn declare(&self, args: &mut Arguments, config: &FusedMoeConfig) -> Result<()> {
        let activation = config.activation;
        declare_mx(args, [&self.w1, &self.w2], activation.is_gated())?;
        declare_biases(args, [self.b1.as_deref(), self.b2.as_deref()])?;
        activation.check(args)
    }

    fn scratch(
        &self,
        room: &mut Room<'_>,
        sizes: &Sizes,
        _: &FusedMoeConfig,
    ) -> Result<AlignedScratch<T>> {
        AlignedScratch::new(room, sizes)
    }

    fn forward<Y: Real>(
        &self,
        scratch: &mut AlignedScratch<T>,
        work: &Work<'_, T>,
        residual: Option<Residual<'_, Y>>,
        out: &mut TensorSlice<Y>,
    ) -> Result<()> {
        let Work { config, sizes, .. } = *work;
        let (tokens, all) = (work.tokens(), work.gates());
        let weights = work.weights.reshape(&[all, 1])?;
        let products = |Aligned { gates, z, y }: Aligned<'_, T>| {
            let mut of_tokens = z.reshape_mut(&[tokens, sizes.slots, sizes.inner])?;
            self.multiply_x(work, &gates, &mut of_tokens)?;
            let weights = (!config.weighs_input).then_some(&*weights);
            let down = down_options(self.b2.as_deref(), weights);
            let (codes, scales) = (&self.w2.codes, &self.w2.scales);
            let mut y = y.reshape_mut(&[all, 1, sizes.hidden])?;
            moe_mxfp4_into(z, codes, scales, &gates, 1, &down, &mut y)
        };
        scratch.forward(work, products, residual, out)
    }
}
