//! Weights of 8 bits with a scale for each expert or each row.

use std::fmt::Debug;
use std::marker::PhantomData;

use hk_core::dtype::{Real, Real16};
use hk_core::op::Arguments;
use hk_core::op::quant::ByteCode;
use hk_core::{Result, Stream, Tensor, TensorSlice};

use super::FusedMoeConfig;
use super::codes::in_rows;
use super::ragged::{Codes, Products, RaggedScratch};
use super::room::Room;
use super::weights::{
    Layer, Sizes, W1, W2, Work, declare_biases, declare_scales, define_inner, limit_sizes,
    refuse_weighed_input,
};
use crate::expert_products::ExpertElement;
use crate::moe_op_gemm_a8w8::{RaggedElement, moe_a8w8_into};
use crate::ragged_products::{MoeRaggedOptions, RaggedGates, RaggedOutput};
use crate::reduce_grouped::Residual;

/// Matrices of 8 bits, and their scales.
#[derive(Debug)]
pub struct ByteMatrices<C: ByteCode> {
    /// The numbers, `[E, rows, columns]`.
    pub codes: Tensor<C>,
    /// The scale of each matrix, `[E]`, or of each of its rows, `[E, rows]`.
    pub scales: Tensor<f32>,
}

/// Weights of i8, or of e4m3 in the flavour of the chip, with a scale for each expert or each row,
/// of which tokens, and rows between the products, are made the same codes with a scale for each
/// row: w1 `[E, 2 inner, hidden]`, whose row 2j is a gate and row 2j + 1 what it lets through, as
/// [`moe_interleave_gate_up`](crate::moe_interleave_gate_up) makes them, or `[E, inner, hidden]`
/// without gates, and w2 `[E, hidden, inner]`.
#[derive(Debug)]
pub struct A8w8Weights<T: Real16, C: ByteCode> {
    w1: ByteMatrices<C>,
    w2: ByteMatrices<C>,
    b1: Option<Tensor<f32>>,
    b2: Option<Tensor<f32>>,
    hidden: PhantomData<fn() -> T>,
}

impl<T: Real16, C: ByteCode> A8w8Weights<T, C> {
    /// Of both products.
    pub const fn new(w1: ByteMatrices<C>, w2: ByteMatrices<C>) -> Self {
        Self { w1, w2, b1: None, b2: None, hidden: PhantomData }
    }

    /// What is added to the sums of each expert's columns, `[E, rows of w1]` and `[E, hidden]`.
    #[must_use]
    pub fn biases(mut self, b1: Tensor<f32>, b2: Tensor<f32>) -> Self {
        (self.b1, self.b2) = (Some(b1), Some(b2));
        self
    }
}

/// Rows of numbers with a scale each.
#[derive(Debug)]
pub struct ByteRows<C: ByteCode> {
    codes: Tensor<C>,
    scales: Tensor<f32>,
}

impl<C: ByteCode> Codes for ByteRows<C> {
    fn new(room: &mut Room<'_>, [rows, width]: [usize; 2]) -> Result<Self> {
        Ok(Self { codes: room.tensor(&[rows, width])?, scales: room.tensor(&[rows])? })
    }
}

impl<T, C> Products<T, ByteRows<C>> for A8w8Weights<T, C>
where
    T: Real16 + RaggedOutput,
    C: ByteCode + RaggedElement,
{
    fn encode(&self, x: &TensorSlice<T>, to: &mut ByteRows<C>) -> Result<()> {
        let rows = x.rows();
        let mut codes = to.codes.narrow_mut(0, 0..rows)?;
        in_rows(x, &mut codes, &mut to.scales.narrow_mut(0, 0..rows)?)
    }

    fn multiply<Y: Real + RaggedOutput>(
        &self,
        is_second: bool,
        x: &ByteRows<C>,
        rows: usize,
        gates: &RaggedGates<'_>,
        options: &MoeRaggedOptions<'_>,
        y: &mut TensorSlice<Y>,
    ) -> Result<()> {
        let w = if is_second { &self.w2 } else { &self.w1 };
        let (codes, scales) = (x.codes.narrow(0, 0..rows)?, x.scales.narrow(0, 0..rows)?);
        moe_a8w8_into(&codes, &w.codes, &scales, &w.scales, gates, options, y)
    }
}

impl<T, C> Layer for A8w8Weights<T, C>
where
    T: Real16 + ExpertElement + RaggedOutput,
    C: ByteCode + RaggedElement + Debug,
{
    type Hidden = T;
    type Scratch = RaggedScratch<T, ByteRows<C>>;

    fn stream(&self) -> &Stream {
        self.w1.codes.stream()
    }

    fn declare(&self, args: &mut Arguments, config: &FusedMoeConfig) -> Result<()> {
        let Self { w1, w2, b1, b2, .. } = self;
        define_inner(args, w1.codes.shape(), config.activation.is_gated());
        args.input("w1", &w1.codes, W1).adjacent::<3>()?;
        args.input("w2", &w2.codes, W2).adjacent::<3>()?;
        limit_sizes(args)?;
        declare_scales(args, [&w1.scales, &w2.scales])?;
        declare_biases(args, [b1.as_deref(), b2.as_deref()])?;
        config.activation.check(args)?;
        refuse_weighed_input(args, config)
    }

    fn scratch(
        &self,
        room: &mut Room<'_>,
        sizes: &Sizes,
        config: &FusedMoeConfig,
    ) -> Result<Self::Scratch> {
        RaggedScratch::new(room, sizes, config)
    }

    fn forward<Y: Real>(
        &self,
        scratch: &mut Self::Scratch,
        work: &Work<'_, T>,
        residual: Option<Residual<'_, Y>>,
        out: &mut TensorSlice<Y>,
    ) -> Result<()> {
        let biases = [self.b1.as_deref(), self.b2.as_deref()];
        scratch.forward(work, self, biases, residual, out)
    }
}
