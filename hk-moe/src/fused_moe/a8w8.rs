//! Weights of 8 bits with a scale for each expert or each row.

use std::fmt::Debug;
use std::marker::PhantomData;

use hk_core::dtype::{Real, Real16};
use hk_core::op::Arguments;
use hk_core::op::quant::{ByteCode, Fp8};
use hk_core::{Result, Stream, Tensor, TensorSlice};

use super::FusedMoeConfig;
use super::codes::{by_scale, in_rows, in_smooth_rows};
use super::ragged::{Codes, Products, RaggedScratch};
use super::room::Room;
use super::weights::{
    HIDDEN, INNER, Layer, Sizes, W1, W2, Work, declare_biases, declare_scales, define_inner,
    limit_sizes,
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
/// row, or one that is given: w1 `[E, 2 inner, hidden]`, whose row 2j is a gate and row 2j + 1 what it lets through, as
/// [`moe_interleave_gate_up`](crate::moe_interleave_gate_up) makes them, or `[E, inner, hidden]`
/// without gates, and w2 `[E, hidden, inner]`.
#[derive(Debug)]
pub struct A8w8Weights<T: Real16, C: ByteCode> {
    w1: ByteMatrices<C>,
    w2: ByteMatrices<C>,
    b1: Option<Tensor<f32>>,
    b2: Option<Tensor<f32>>,
    /// Of the rows that each product takes.
    rows: [RowScale; 2],
    hidden: PhantomData<fn() -> T>,
}

/// How rows become codes.
#[derive(Debug)]
enum RowScale {
    /// By their largest magnitude.
    Own,
    /// Likewise, after each column is multiplied by one of these numbers.
    Smooth(Tensor<f32>),
    /// All by this scale.
    Given(Tensor<f32>),
}

impl<T: Real16, C: ByteCode> A8w8Weights<T, C> {
    /// Of both products.
    pub const fn new(w1: ByteMatrices<C>, w2: ByteMatrices<C>) -> Self {
        let rows = [RowScale::Own, RowScale::Own];
        Self { w1, w2, b1: None, b2: None, rows, hidden: PhantomData }
    }

    /// What is added to the sums of each expert's columns, `[E, rows of w1]` and `[E, hidden]`.
    #[must_use]
    pub fn biases(mut self, b1: Tensor<f32>, b2: Tensor<f32>) -> Self {
        (self.b1, self.b2) = (Some(b1), Some(b2));
        self
    }
}

impl<T: Real16> A8w8Weights<T, i8> {
    /// Multiplies each number of tokens by that of its column, `[hidden]`, before they are made codes, by
    /// which w1 is divided (SmoothQuant, arXiv 2211.10438). Products are rounded to f32.
    #[must_use]
    pub fn smooth_scale(mut self, scale: Tensor<f32>) -> Self {
        self.rows[0] = RowScale::Smooth(scale);
        self
    }

    /// As [`smooth_scale`](Self::smooth_scale), of rows between the products, `[inner]`, and w2.
    #[must_use]
    pub fn inner_smooth_scale(mut self, scale: Tensor<f32>) -> Self {
        self.rows[1] = RowScale::Smooth(scale);
        self
    }
}

impl<T: Real16, C: Fp8> A8w8Weights<T, C> {
    /// Makes all tokens codes by the first scale, `[1]`, and all rows between the products by the second one,
    /// instead of by scales of their own: codes are what they are over the scale, rounded to nearest, ties to
    /// even, and at most the largest.
    #[must_use]
    pub fn activation_scales(mut self, [tokens, inner]: [Tensor<f32>; 2]) -> Self {
        self.rows = [RowScale::Given(tokens), RowScale::Given(inner)];
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
    fn encode(&self, is_second: bool, x: &TensorSlice<T>, to: &mut ByteRows<C>) -> Result<()> {
        let rows = x.rows();
        let mut codes = to.codes.narrow_mut(0, 0..rows)?;
        let mut scales = to.scales.narrow_mut(0, 0..rows)?;
        match &self.rows[usize::from(is_second)] {
            RowScale::Own => in_rows(x, &mut codes, &mut scales),
            RowScale::Smooth(smooth) => in_smooth_rows(x, smooth, &mut codes, &mut scales),
            RowScale::Given(scale) => by_scale(x, scale, &mut codes),
        }
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
        let scales = match &self.rows[usize::from(is_second)] {
            RowScale::Given(scale) => scale,
            RowScale::Own | RowScale::Smooth(_) => &*scales,
        };
        moe_a8w8_into(&codes, &w.codes, scales, &w.scales, gates, options, y)
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
        let Self { w1, w2, b1, b2, rows, .. } = self;
        define_inner(args, w1.codes.shape(), config.activation.is_gated());
        args.input("w1", &w1.codes, W1).adjacent::<3>()?;
        args.input("w2", &w2.codes, W2).adjacent::<3>()?;
        limit_sizes(args)?;
        declare_scales(args, [&w1.scales, &w2.scales])?;
        declare_biases(args, [b1.as_deref(), b2.as_deref()])?;
        const NAMES: [[&str; 3]; 2] = [
            ["smooth_scale", "activation_scales[0]", HIDDEN],
            ["inner_smooth_scale", "activation_scales[1]", INNER],
        ];
        for (rows, [smooth_name, given_name, width]) in rows.iter().zip(&NAMES) {
            match rows {
                RowScale::Own => (),
                RowScale::Smooth(smooth) => {
                    args.input(smooth_name, smooth, std::slice::from_ref(width)).contiguous()?;
                }
                RowScale::Given(scale) => {
                    args.input(given_name, scale, &["1"]).contiguous()?;
                }
            }
        }
        config.activation.check(args)
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
