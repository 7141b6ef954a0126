//! Weights of 16 bits, or of integers, by which tokens of 16 bits are multiplied.

use std::fmt::Debug;
use std::marker::PhantomData;

use hk_core::dtype::{Real, Real16};
use hk_core::op::Arguments;
use hk_core::{Activation as Plain, Result, Stream, Tensor, TensorSlice};

use super::aligned::{Aligned, AlignedScratch, down_options};
use super::room::Room;
use super::weights::{
    HERE, HIDDEN, INNER, Layer, Sizes, UP, W1, W2, Work, declare_biases, declare_scales,
    define_inner, limit_sizes,
};
use super::{ByteMatrices, FusedMoeConfig, OP};
use crate::activation::Activation;
use crate::expert_products::{
    AlignedGates, ExpertElement, ExpertWeight, Form, MoeGemmOptions, launch,
};
use crate::int_groups::{self, GroupNames, WnA16Weights};
use crate::reduce_grouped::{ReduceGroupedOptions, Residual, reduce_grouped_into};

/// Weights of matrices of bf16 or f16, as tokens have, or others by which tokens are multiplied as they are: w1
/// `[E, 2 inner, hidden]` with an activation of gates, else `[E, inner, hidden]`, and w2 `[E, hidden, inner]`.
#[derive(Debug)]
pub struct DenseWeights<T: Real16, M = Tensor<T>> {
    w1: M,
    w2: M,
    tokens: PhantomData<T>,
    b1: Option<Tensor<f32>>,
    b2: Option<Tensor<f32>>,
    in_pairs: bool,
}

/// Weights of i8 for tokens of 16 bits, which stay so.
pub type W8a16Weights<T> = DenseWeights<T, ByteMatrices<i8>>;
/// Weights of unsigned integers of 8 or 4 bits with scales of groups of k, for tokens of 16 bits, which stay so.
pub type GroupedWeights<T, S> = DenseWeights<T, IntMatrices<S>>;

/// Matrices of unsigned integers with scales of groups of k, as [`WnA16Weights`] has them.
#[derive(Debug)]
pub struct IntMatrices<S: Real> {
    codes: Tensor<u8>,
    scales: Tensor<S>,
    zero_points: Option<Tensor<u8>>,
    bits: u32,
}

impl<S: Real> IntMatrices<S> {
    /// Of 8 bits: see [`WnA16Weights::of_8_bits`].
    pub const fn of_8_bits(codes: Tensor<u8>, scales: Tensor<S>) -> Self {
        Self { codes, scales, zero_points: None, bits: 8 }
    }

    /// Of 4 bits: see [`WnA16Weights::of_4_bits`].
    pub const fn of_4_bits(codes: Tensor<u8>, scales: Tensor<S>) -> Self {
        Self { codes, scales, zero_points: None, bits: 4 }
    }

    /// With zero points: see [`WnA16Weights::zero_points`].
    #[must_use]
    pub fn zero_points(mut self, zero_points: Tensor<u8>) -> Self {
        self.zero_points = Some(zero_points);
        self
    }

    fn weights(&self) -> WnA16Weights<'_, S> {
        let weights = match self.bits {
            4 => WnA16Weights::of_4_bits(&self.codes, &self.scales),
            _ => WnA16Weights::of_8_bits(&self.codes, &self.scales),
        };
        self.zero_points.iter().fold(weights, |weights, of| weights.zero_points(of))
    }
}

/// Matrices that tokens of type `T` are multiplied by as they are.
pub trait DenseMatrices<T: Real16>: Debug {
    /// That of the numbers.
    fn stream(&self) -> &Stream;

    /// Their shape as it is stored.
    fn shape(&self) -> &[usize];

    /// Declares those of both products.
    ///
    /// # Errors
    /// Those of arguments that are wrong.
    fn declare(args: &mut Arguments, of: [&Self; 2]) -> Result<()>;

    /// Multiplies the rows of gates.
    ///
    /// # Errors
    /// Those of the op.
    fn multiply<Y: Real>(
        &self,
        form: Form,
        a: &TensorSlice<T>,
        gates: &AlignedGates<'_>,
        top_k: usize,
        options: &MoeGemmOptions<'_>,
        c: &mut TensorSlice<Y>,
    ) -> Result<()>;
}

impl<T: Real16 + ExpertElement> DenseMatrices<T> for Tensor<T> {
    fn stream(&self) -> &Stream {
        (**self).stream()
    }

    fn shape(&self) -> &[usize] {
        (**self).shape()
    }

    fn declare(args: &mut Arguments, [w1, w2]: [&Self; 2]) -> Result<()> {
        args.input("w1", w1, W1).adjacent::<3>()?;
        args.input("w2", w2, W2).adjacent::<3>()?;
        limit_sizes(args)
    }

    fn multiply<Y: Real>(
        &self,
        form: Form,
        a: &TensorSlice<T>,
        gates: &AlignedGates<'_>,
        top_k: usize,
        options: &MoeGemmOptions<'_>,
        c: &mut TensorSlice<Y>,
    ) -> Result<()> {
        launch((OP, form), (a, self), gates, top_k, options, c)
    }
}

impl<T: Real16 + ExpertElement> DenseMatrices<T> for ByteMatrices<i8>
where
    i8: ExpertWeight<T>,
{
    fn stream(&self) -> &Stream {
        self.codes.stream()
    }

    fn shape(&self) -> &[usize] {
        self.codes.shape()
    }

    fn declare(args: &mut Arguments, [w1, w2]: [&Self; 2]) -> Result<()> {
        args.input("w1", &w1.codes, W1).adjacent::<3>()?;
        args.input("w2", &w2.codes, W2).adjacent::<3>()?;
        limit_sizes(args)?;
        declare_scales(args, [&w1.scales, &w2.scales])
    }

    fn multiply<Y: Real>(
        &self,
        form: Form,
        a: &TensorSlice<T>,
        gates: &AlignedGates<'_>,
        top_k: usize,
        options: &MoeGemmOptions<'_>,
        c: &mut TensorSlice<Y>,
    ) -> Result<()> {
        let options = options.clone().b_scale(&self.scales);
        launch((OP, form), (a, &*self.codes), gates, top_k, &options, c)
    }
}

/// Bytes of rows of w1 of 4 bits, which say what the hidden size is.
const PAIRS: &str = "pairs";
const HALF_HIDDEN: &str = "hidden / 2";
const HALF_INNER: &str = "inner / 2";
const HIDDEN_GROUPS: &str = "hidden / group";
const INNER_GROUPS: &str = "inner / group";
const HALF_UP: &str = "rows(w1) / 2";

/// Of w1, and of w2.
const GROUP_NAMES: [GroupNames; 2] = [
    GroupNames {
        scales: "w1_scales",
        zero_points: "w1_zero_points",
        k: HIDDEN,
        rows: UP,
        groups: HIDDEN_GROUPS,
        half_rows: HALF_UP,
        of_scales: &[HERE, UP, HIDDEN_GROUPS],
        of_pairs: &[HERE, HALF_UP, HIDDEN_GROUPS],
    },
    GroupNames {
        scales: "w2_scales",
        zero_points: "w2_zero_points",
        k: INNER,
        rows: HIDDEN,
        groups: INNER_GROUPS,
        half_rows: HALF_HIDDEN,
        of_scales: &[HERE, HIDDEN, INNER_GROUPS],
        of_pairs: &[HERE, HALF_HIDDEN, INNER_GROUPS],
    },
];

impl<T: Real16 + ExpertElement, S: Real> DenseMatrices<T> for IntMatrices<S> {
    fn stream(&self) -> &Stream {
        self.codes.stream()
    }

    fn shape(&self) -> &[usize] {
        self.codes.shape()
    }

    fn declare(args: &mut Arguments, of: [&Self; 2]) -> Result<()> {
        let [w1, w2] = of;
        args.require(w1.bits == w2.bits, "w2", format!("integers of {} bits", w1.bits), w2.bits)?;
        let [inner] = args.sizes([INNER])?;
        args.define(HALF_INNER, inner / 2);
        let is_packed = w1.bits == 4;
        let [of_w1, of_w2]: [&[&str]; 2] = match is_packed {
            true => [&[HERE, UP, PAIRS], &[HERE, HIDDEN, HALF_INNER]],
            false => [W1, W2],
        };
        args.input("w1", &w1.codes, of_w1).adjacent::<3>()?;
        if is_packed {
            let [pairs] = args.sizes([PAIRS])?;
            args.define(HIDDEN, 2 * pairs);
        }
        let [hidden] = args.sizes([HIDDEN])?;
        args.define(HALF_HIDDEN, hidden / 2);
        args.input("w2", &w2.codes, of_w2).adjacent::<3>()?;
        limit_sizes(args)?;
        for (matrices, names) in of.into_iter().zip(&GROUP_NAMES) {
            matrices.weights().declare_groups(args, names)?;
        }
        Ok(())
    }

    fn multiply<Y: Real>(
        &self,
        form: Form,
        a: &TensorSlice<T>,
        gates: &AlignedGates<'_>,
        top_k: usize,
        options: &MoeGemmOptions<'_>,
        c: &mut TensorSlice<Y>,
    ) -> Result<()> {
        int_groups::launch((OP, form), (a, &self.weights()), gates, top_k, options, c)
    }
}

impl<T: Real16> DenseWeights<T> {
    /// Of both products. Of w1, the rows of gates come first, then those of what they let through.
    pub const fn new(w1: Tensor<T>, w2: Tensor<T>) -> Self {
        Self::of(w1, w2)
    }
}

impl<T: Real16> W8a16Weights<T> {
    /// Of both products, in the order of [`DenseWeights::new`].
    pub const fn scaled(w1: ByteMatrices<i8>, w2: ByteMatrices<i8>) -> Self {
        Self::of(w1, w2)
    }
}

impl<T: Real16, S: Real> GroupedWeights<T, S> {
    /// Of both products, of as many bits, in the order of [`DenseWeights::new`].
    pub const fn grouped(w1: IntMatrices<S>, w2: IntMatrices<S>) -> Self {
        Self::of(w1, w2)
    }
}

impl<T: Real16, M> DenseWeights<T, M> {
    const fn of(w1: M, w2: M) -> Self {
        Self { w1, w2, tokens: PhantomData, b1: None, b2: None, in_pairs: false }
    }

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

impl<T: Real16 + ExpertElement, M: DenseMatrices<T>> Layer for DenseWeights<T, M> {
    type Hidden = T;
    type Scratch = DenseScratch<T>;

    fn stream(&self) -> &Stream {
        self.w1.stream()
    }

    fn declare(&self, args: &mut Arguments, config: &FusedMoeConfig) -> Result<()> {
        let Self { w1, w2, b1, b2, .. } = self;
        let activation = config.activation;
        define_inner(args, w1.shape(), activation.is_gated());
        M::declare(args, [w1, w2])?;
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
        let products = |Aligned { gates, z, y }: Aligned<'_, T>| {
            let up = MoeGemmOptions::default().validate_indices(false);
            let up = self.b1.iter().fold(up, |up, bias| up.bias(bias));
            let of_x = config.weighs_input.then_some(work.weights);
            let up = of_x.into_iter().fold(up, MoeGemmOptions::topk_weights);
            let of_tokens = [tokens, sizes.slots, sizes.inner];
            if let Some(sums) = sums {
                let shape = [tokens, sizes.slots, 2 * sizes.inner];
                let mut h = sums.narrow_mut(0, 0..all)?.reshape_mut(&shape)?;
                self.w1.multiply(Form::OnInput(None), x, &gates, sizes.slots, &up, &mut h)?;
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
                self.w1.multiply(form, x, &gates, sizes.slots, &up, &mut z)?;
            }
            let weights = (!config.weighs_input).then_some(&*weights);
            let down = down_options(self.b2.as_deref(), weights);
            let mut y = y.reshape_mut(&[all, 1, sizes.hidden])?;
            self.w2.multiply(Form::Plain(None), z, &gates, 1, &down, &mut y)
        };
        common.forward(work, products, residual, out)
    }
}
