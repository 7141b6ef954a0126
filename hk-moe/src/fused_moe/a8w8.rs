//! Weights of 8 bits with a scale for each expert or each row.

use std::marker::PhantomData;

use hk_core::dtype::{Real, Real16};
use hk_core::op::Arguments;
use hk_core::op::quant::{ByteCode, Fp8};
use hk_core::{Result, Stream, Tensor, TensorSlice};

use super::FusedMoeConfig;
use super::codes::{by_scale, in_rows, in_smooth_rows};
use super::ragged::RaggedWeights;
use super::weights::{
    HIDDEN, INNER, W1, W2, declare_biases, declare_scales, define_inner, limit_sizes,
};
use crate::expert_products::ExpertElement;
use crate::moe_op_gemm_a8w8::{RaggedElement, moe_a8w8_into};
use crate::ragged_products::{MoeRaggedOptions, RaggedGates, RaggedOutput};

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

impl<T, C> RaggedWeights for A8w8Weights<T, C>
where
    T: Real16 + ExpertElement + RaggedOutput,
    C: ByteCode + RaggedElement,
{
    type Hidden = T;
    type Code = C;
    type Scale = f32;

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

    fn bias(&self, is_second: bool) -> Option<&TensorSlice<f32>> {
        if is_second { self.b2.as_deref() } else { self.b1.as_deref() }
    }

    fn scales_shape(rows: usize, _: usize) -> Vec<usize> {
        vec![rows]
    }

    fn encode(
        &self,
        is_second: bool,
        x: &TensorSlice<T>,
        codes: &mut TensorSlice<C>,
        scales: &mut TensorSlice<f32>,
    ) -> Result<()> {
        match &self.rows[usize::from(is_second)] {
            RowScale::Own => in_rows(x, codes, scales),
            RowScale::Smooth(smooth) => in_smooth_rows(x, smooth, codes, scales),
            RowScale::Given(scale) => by_scale(x, scale, codes),
        }
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
        let scales = match &self.rows[usize::from(is_second)] {
            RowScale::Own | RowScale::Smooth(_) => x.1,
            RowScale::Given(scale) => scale,
        };
        moe_a8w8_into(x.0, &w.codes, scales, &w.scales, gates, options, y)
    }
}
