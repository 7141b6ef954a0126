//! Weights of 8-bit floating point with a scale for each block of 128 rows by 128 columns.

use std::marker::PhantomData;

use hk_core::dtype::{Real, Real16};
use hk_core::op::Arguments;
use hk_core::op::quant::Fp8;
use hk_core::{Result, Stream, Tensor, TensorSlice};

use super::FusedMoeConfig;
use super::codes::{GROUP, in_groups};
use super::ragged::RaggedWeights;
use super::weights::{HERE, HIDDEN, INNER, UP, W1, W2, declare_biases, define_inner, limit_sizes};
use crate::expert_products::ExpertElement;
use crate::moe_op_gemm_a8w8::RaggedElement;
use crate::moe_op_gemm_a8w8_blockscale::{RaggedScales, moe_a8w8_blockscale_into};
use crate::ragged_products::{MoeRaggedOptions, RaggedGates, RaggedOutput};

/// Matrices of 8-bit floating point, in the flavour of the chip, and the scales of their blocks.
#[derive(Debug)]
pub struct Fp8Matrices<C: Fp8> {
    /// The numbers, `[E, rows, columns]`.
    pub codes: Tensor<C>,
    /// The scales of 128 rows by 128 columns each, `[E, ceil(rows / 128), ceil(columns / 128)]`.
    /// Those of w1 may be of one row by 128 columns, `[E, rows, ceil(columns / 128)]`.
    pub scales: Tensor<f32>,
}

/// Weights of e4m3 in the flavour of the chip, with scales of blocks of 128 by 128, of which
/// tokens, and rows between the products, are made e4m3 with a scale for each 128 numbers: w1 `[E,
/// 2 inner, hidden]`, whose row 2j is a gate and row 2j + 1 what it lets through, as
/// [`moe_interleave_gate_up`](crate::moe_interleave_gate_up) makes them, or `[E, inner, hidden]`
/// without gates, and w2 `[E, hidden, inner]`.
///
/// Where gates and what they let through were halves with blocks of their own, neighbours have
/// other scales, so that each row needs its own: repeat those of the blocks, and make them
/// neighbours as well.
#[derive(Debug)]
pub struct Fp8BlockWeights<T: Real16, C: Fp8> {
    w1: Fp8Matrices<C>,
    w2: Fp8Matrices<C>,
    b1: Option<Tensor<f32>>,
    b2: Option<Tensor<f32>>,
    hidden: PhantomData<fn() -> T>,
}

impl<T: Real16, C: Fp8> Fp8BlockWeights<T, C> {
    /// Of both products.
    pub const fn new(w1: Fp8Matrices<C>, w2: Fp8Matrices<C>) -> Self {
        Self { w1, w2, b1: None, b2: None, hidden: PhantomData }
    }

    /// What is added to the sums of each expert's columns, `[E, rows of w1]` and `[E, hidden]`.
    #[must_use]
    pub fn biases(mut self, b1: Tensor<f32>, b2: Tensor<f32>) -> Self {
        (self.b1, self.b2) = (Some(b1), Some(b2));
        self
    }

    /// Whether each row of w1 has scales of its own.
    fn has_rows(&self) -> bool {
        let rows = |of: &[usize]| of.get(1).copied().unwrap_or_default();
        let (rows, scales) = (rows(self.w1.codes.shape()), rows(self.w1.scales.shape()));
        scales == rows && rows > 1
    }
}

impl<T, C> RaggedWeights for Fp8BlockWeights<T, C>
where
    T: Real16 + ExpertElement + RaggedOutput,
    C: Fp8 + RaggedElement,
{
    type Hidden = T;
    type Code = C;
    type Scale = f32;

    fn stream(&self) -> &Stream {
        self.w1.codes.stream()
    }

    fn declare(&self, args: &mut Arguments, config: &FusedMoeConfig) -> Result<()> {
        const UP_GROUPS: &str = "ceil(rows(w1) / 128)";
        const HIDDEN_GROUPS: &str = "ceil(hidden / 128)";
        const INNER_GROUPS: &str = "ceil(inner / 128)";
        let Self { w1, w2, b1, b2, .. } = self;
        define_inner(args, w1.codes.shape(), config.activation.is_gated());
        args.input("w1", &w1.codes, W1).adjacent::<3>()?;
        args.input("w2", &w2.codes, W2).adjacent::<3>()?;
        limit_sizes(args)?;
        let [up, hidden, inner] = args.sizes([UP, HIDDEN, INNER])?;
        args.define(UP_GROUPS, up.div_ceil(GROUP));
        args.define(HIDDEN_GROUPS, hidden.div_ceil(GROUP));
        args.define(INNER_GROUPS, inner.div_ceil(GROUP));
        let of_w1: &[&str] = if self.has_rows() {
            &[HERE, UP, HIDDEN_GROUPS]
        } else {
            &[HERE, UP_GROUPS, HIDDEN_GROUPS]
        };
        args.input("w1_scales", &w1.scales, of_w1).strides::<3>()?;
        args.input("w2_scales", &w2.scales, &[HERE, HIDDEN_GROUPS, INNER_GROUPS]).strides::<3>()?;
        declare_biases(args, [b1.as_deref(), b2.as_deref()])?;
        config.activation.check(args)
    }

    fn bias(&self, is_second: bool) -> Option<&TensorSlice<f32>> {
        if is_second { self.b2.as_deref() } else { self.b1.as_deref() }
    }

    fn scales_shape(rows: usize, width: usize) -> Vec<usize> {
        vec![rows, width.div_ceil(GROUP)]
    }

    fn encode(
        &self,
        _: bool,
        x: &TensorSlice<T>,
        codes: &mut TensorSlice<C>,
        scales: &mut TensorSlice<f32>,
    ) -> Result<()> {
        in_groups(x, codes, scales)
    }

    fn multiply<Y: Real + RaggedOutput>(
        &self,
        is_second: bool,
        x: (&TensorSlice<C>, &TensorSlice<f32>),
        gates: &RaggedGates<'_>,
        options: &MoeRaggedOptions<'_>,
        y: &mut TensorSlice<Y>,
    ) -> Result<()> {
        let w = if is_second { &self.w2 } else { &self.w1 };
        let group_n = if !is_second && self.has_rows() { 1 } else { GROUP };
        let scales = RaggedScales::default().x(x.1).w(&w.scales).group_n(group_n);
        moe_a8w8_blockscale_into(x.0, &w.codes, &scales, gates, options, y)
    }
}
