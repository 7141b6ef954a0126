//! Weights of 16 bits, or of i8, by which tokens of 16 bits are multiplied.

use std::marker::PhantomData;

use hk_core::dtype::{Element, Real, Real16};
use hk_core::op::Arguments;
use hk_core::{Activation as Plain, Result, Stream, Tensor, TensorSlice};

use super::aligned::{Aligned, AlignedScratch, down_options};
use super::room::Room;
use super::weights::{
    Layer, Sizes, W1, W2, Work, declare_biases, declare_scales, define_inner, limit_sizes,
};
use super::{ByteMatrices, FusedMoeConfig, OP};
use crate::activation::Activation;
use crate::expert_products::{ExpertElement, ExpertWeight, Form, MoeGemmOptions, launch};
use crate::reduce_grouped::{ReduceGroupedOptions, Residual, reduce_grouped_into};

/// Weights of bf16 or f16, as tokens have: w1 `[E, 2 inner, hidden]` with an activation of gates,
/// else `[E, inner, hidden]`, and w2 `[E, hidden, inner]`.
#[derive(Debug)]
pub struct DenseWeights<T: Real16, W: Element = T> {
    w1: Tensor<W>,
    w2: Tensor<W>,
    scales: Option<[Tensor<f32>; 2]>,
    tokens: PhantomData<T>,
    b1: Option<Tensor<f32>>,
    b2: Option<Tensor<f32>>,
    in_pairs: bool,
}

/// Weights of i8 for tokens of 16 bits, which stay so.
pub type W8a16Weights<T> = DenseWeights<T, i8>;

impl<T: Real16> DenseWeights<T> {
    /// Of both products. Of w1, the rows of gates come first, then those of what they let through.
    pub const fn new(w1: Tensor<T>, w2: Tensor<T>) -> Self {
        Self { w1, w2, scales: None, tokens: PhantomData, b1: None, b2: None, in_pairs: false }
    }
}

impl<T: Real16> W8a16Weights<T> {
    /// Of both products, in the order of [`DenseWeights::new`].
    pub fn scaled(w1: ByteMatrices<i8>, w2: ByteMatrices<i8>) -> Self {
        let scales = Some([w1.scales, w2.scales]);
        let (w1, w2, tokens) = (w1.codes, w2.codes, PhantomData);
        Self { w1, w2, scales, tokens, b1: None, b2: None, in_pairs: false }
    }
}

impl<T: Real16, W: Element> DenseWeights<T, W> {
    /// What is added to the sums of each expert's columns, `[E, rows of w1]` and `[E, hidden]`.
    #[must_use]
    pub fn biases(mut self, b1: Tensor<f32>, b2: Tensor<f32>) -> Self {
        (self.b1, self.b2) = (Some(b1), Some(b2));
        self
    }

    /// Row 2j of w1, and of its bias, is a gate and row 2j + 1 what it lets through, as
    /// [`moe_interleave_gate_up`](crate::moe_interleave_gate_up) makes them. Takes a launch more.
    #[must_use]
    pub const fn pairs(mut self) -> Self {
        self.in_pairs = true;
        self
    }
}

/// What products hand to each other.
#[derive(Debug)]
pub struct DenseScratch<T: Real16> {
    common: AlignedScratch<T>,
    /// Sums of pairs, `[gates, 2 inner]`.
    sums: Option<Tensor<f32>>,
}

impl<T: Real16 + ExpertElement, W: ExpertWeight<T>> Layer for DenseWeights<T, W> {
    type Hidden = T;
    type Scratch = DenseScratch<T>;

    fn stream(&self) -> &Stream {
        self.w1.stream()
    }

    fn declare(&self, args: &mut Arguments, config: &FusedMoeConfig) -> Result<()> {
        let Self { w1, w2, scales, b1, b2, .. } = self;
        let activation = config.activation;
        define_inner(args, w1.shape(), activation.is_gated());
        args.input("w1", w1, W1).adjacent::<3>()?;
        args.input("w2", w2, W2).adjacent::<3>()?;
        limit_sizes(args)?;
        if let Some([of_w1, of_w2]) = scales {
            declare_scales(args, [of_w1, of_w2])?;
        }
        declare_biases(args, [b1.as_deref(), b2.as_deref()])?;
        activation.check(args)
    }

    fn scratch(
        &self,
        room: &mut Room<'_>,
        sizes: &Sizes,
        config: &FusedMoeConfig,
    ) -> Result<DenseScratch<T>> {
        let common = AlignedScratch::new(room, sizes)?;
        let has_sums = self.in_pairs && config.activation.is_gated();
        let shape = [sizes.gates(), 2 * sizes.inner];
        let sums = has_sums.then(|| room.tensor(&shape)).transpose()?;
        Ok(DenseScratch { common, sums })
    }

    fn forward<Y: Real>(
        &self,
        scratch: &mut DenseScratch<T>,
        work: &Work<'_, T>,
        residual: Option<Residual<'_, Y>>,
        out: &mut TensorSlice<Y>,
    ) -> Result<()> {
        let DenseScratch { common, sums } = scratch;
        let Work { config, sizes, x, .. } = *work;
        let (tokens, all) = (work.tokens(), work.gates());
        let weights = work.weights.reshape(&[all, 1])?;
        let scales = |at: usize| self.scales.as_ref().map(|scales| &*scales[at]);
        let products = |Aligned { gates, z, y }: Aligned<'_, T>| {
            let up = MoeGemmOptions::default();
            let up = self.b1.iter().fold(up, |up, bias| up.bias(bias));
            let up = scales(0).into_iter().fold(up, MoeGemmOptions::b_scale);
            let of_x = config.weighs_input.then_some(work.weights);
            let up = of_x.into_iter().fold(up, MoeGemmOptions::topk_weights);
            let operands = (x, &*self.w1);
            let of_tokens = [tokens, sizes.slots, sizes.inner];
            if let Some(sums) = sums {
                let shape = [tokens, sizes.slots, 2 * sizes.inner];
                let mut h = sums.narrow_mut(0, 0..all)?.reshape_mut(&shape)?;
                launch((OP, Form::OnInput(None)), operands, &gates, sizes.slots, &up, &mut h)?;
                let h = h.reshape(&[1, all, 2 * sizes.inner])?;
                let options = ReduceGroupedOptions::new(config.activation);
                reduce_grouped_into::<_, T>(&h, None, None, &options, z)?;
            } else {
                let form = match config.activation {
                    Activation::None => Form::OnInput(None),
                    Activation::GeluTanh => Form::OnInput(Some(Plain::GeluTanh)),
                    Activation::SiluAndMul | Activation::Swiglu { .. } => Form::Gated,
                };
                let is_gated = config.activation.is_gated();
                let up = if is_gated { up.activation(config.activation) } else { up };
                let mut z = z.reshape_mut(&of_tokens)?;
                launch((OP, form), operands, &gates, sizes.slots, &up, &mut z)?;
            }
            let weights = (!config.weighs_input).then_some(&*weights);
            let down = down_options(self.b2.as_deref(), weights);
            let down = scales(1).into_iter().fold(down, MoeGemmOptions::b_scale);
            let mut y = y.reshape_mut(&[all, 1, sizes.hidden])?;
            launch((OP, Form::Plain(None)), (&*z, &*self.w2), &gates, 1, &down, &mut y)
        };
        common.forward(work, products, residual, out)
    }
}
