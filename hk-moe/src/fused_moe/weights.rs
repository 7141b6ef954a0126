//! What the formats of weights have in common.

use std::fmt::Debug;

use hk_core::dtype::{Real, Real16};
use hk_core::op::Arguments;
use hk_core::op::tiling::MAX_CHAIN;
use hk_core::{Result, Stream, TensorSlice};

use super::FusedMoeConfig;
use super::room::Room;
use crate::expert_products::ExpertElement;
use crate::reduce_grouped::Residual;

/// Weights of a layer's experts, in one of the formats of this module.
pub trait ExpertWeights: Layer {}

impl<W: Layer> ExpertWeights for W {}

/// Sizes of a layer.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Experts that routers choose from.
    pub(super) experts: usize,
    /// Experts that there are matrices of.
    pub(super) here: usize,
    pub(super) hidden: usize,
    pub(super) inner: usize,
    /// Experts of a token, with those that are shared.
    pub(super) slots: usize,
    /// Most tokens of a call.
    pub(super) tokens: usize,
}

impl Sizes {
    /// Most gates of a call.
    pub(super) const fn gates(&self) -> usize {
        self.tokens.saturating_mul(self.slots)
    }
}

/// A call, whose arguments are right and whose tokens have experts.
#[derive(Debug)]
pub struct Work<'a, T: Real16> {
    pub(super) config: &'a FusedMoeConfig,
    pub(super) sizes: Sizes,
    /// `[T, hidden]`.
    pub(super) x: &'a TensorSlice<T>,
    /// Experts, by the numbers of their matrices, and weights, `[T, slots]`.
    pub(super) ids: &'a TensorSlice<i32>,
    pub(super) weights: &'a TensorSlice<f32>,
    /// The number of each gate that has an expert here, if there may be others.
    pub(super) present: Option<&'a TensorSlice<i32>>,
}

impl<T: Real16> Work<'_, T> {
    /// Tokens.
    pub(super) fn tokens(&self) -> usize {
        self.x.rows()
    }

    /// Gates.
    pub(super) fn gates(&self) -> usize {
        self.ids.len()
    }
}

/// What a format does.
pub trait Layer: Debug + Sized {
    /// Numbers of tokens.
    type Hidden: Real16 + ExpertElement;
    /// What products hand to each other.
    type Scratch: Debug;

    /// That of the weights.
    fn stream(&self) -> &Stream;

    /// Declares the weights, and with them the sizes "here", "hidden" and "inner".
    fn declare(&self, args: &mut Arguments, config: &FusedMoeConfig) -> Result<()>;

    /// Memory for calls of these sizes at most.
    fn scratch(
        &self,
        room: &mut Room<'_>,
        sizes: &Sizes,
        config: &FusedMoeConfig,
    ) -> Result<Self::Scratch>;

    /// Gives each token the sum of its experts' results, and the residual.
    fn forward<Y: Real>(
        &self,
        scratch: &mut Self::Scratch,
        work: &Work<'_, Self::Hidden>,
        residual: Option<Residual<'_, Y>>,
        out: &mut TensorSlice<Y>,
    ) -> Result<()>;
}

/// Sizes of matrices, by name.
pub(super) const HERE: &str = "here";
pub(super) const HIDDEN: &str = "hidden";
pub(super) const INNER: &str = "inner";
/// Rows of an expert's first matrix.
pub(super) const UP: &str = "rows(w1)";
pub(super) const W1: &[&str] = &[HERE, UP, HIDDEN];
pub(super) const W2: &[&str] = &[HERE, HIDDEN, INNER];

/// Gives the sizes names, by the shape of the first weights.
pub(super) fn define_inner(args: &mut Arguments, w1: &[usize], is_gated: bool) {
    let rows = w1.get(1).copied().unwrap_or_default();
    // An odd number of rows is none of these.
    let inner = if is_gated { rows / 2 } else { rows };
    args.define(INNER, inner);
    args.define(UP, if is_gated { 2 * inner } else { inner });
}

/// Requires sizes that products can have.
pub(super) fn limit_sizes(args: &Arguments) -> Result<()> {
    args.limit(HERE, 1..=i16::MAX as usize)?;
    args.limit(HIDDEN, 1..=MAX_CHAIN as usize)?;
    args.limit(INNER, 1..=MAX_CHAIN as usize)
}

/// Declares the scales of matrices or of their rows, of both products.
pub(super) fn declare_scales(
    args: &mut Arguments,
    [of_w1, of_w2]: [&TensorSlice<f32>; 2],
) -> Result<()> {
    let dims = |scales: &TensorSlice<f32>, of_rows: &'static [&'static str]| {
        if scales.shape().len() == 1 { &of_rows[..1] } else { of_rows }
    };
    args.input("w1_scales", of_w1, dims(of_w1, &[HERE, UP])).contiguous()?;
    args.input("w2_scales", of_w2, dims(of_w2, &[HERE, HIDDEN])).contiguous()
}

/// Declares the biases of both products, of which there may be none.
pub(super) fn declare_biases(
    args: &mut Arguments,
    [b1, b2]: [Option<&TensorSlice<f32>>; 2],
) -> Result<()> {
    if let Some(bias) = b1 {
        args.input("b1", bias, &[HERE, UP]).contiguous()?;
    }
    if let Some(bias) = b2 {
        args.input("b2", bias, &[HERE, HIDDEN]).contiguous()?;
    }
    Ok(())
}
