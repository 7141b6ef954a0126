//! Weights, tokens and what is between the products in blocks of MX.

use std::marker::PhantomData;

use hk_core::dtype::{E8M0, F4x2E2M1, F8E4M3, Real, Real16};
use hk_core::op::Arguments;
use hk_core::op::quant::{MX_BLOCK, MxCode};
use hk_core::{Result, Stream, Tensor, TensorSlice};

use super::FusedMoeConfig;
use super::codes::in_blocks;
use super::mxfp4::{MxMatrices, declare_mx};
use super::ragged::RaggedWeights;
use super::weights::declare_biases;
use crate::expert_products::ExpertElement;
use crate::moe_op_gemm_a4w4::moe_a4w4_into;
use crate::moe_op_gemm_a8w4::moe_a8w4_into;
use crate::moe_op_gemm_a8w8::{MxBytes, moe_a8w8_mx_into};
use crate::ragged_products::{MoeRaggedOptions, RaggedGates, RaggedOutput};

/// Weights of `W` in blocks of MX, of which tokens, and rows between the products, are made blocks
/// of `X`: w1 `[E, 2 inner, hidden]`, whose row 2j is a gate and row 2j + 1 what it lets through,
/// as [`moe_interleave_gate_up`](crate::moe_interleave_gate_up) makes them, or `[E, inner, hidden]`
/// without gates, and w2 `[E, hidden, inner]`.
#[derive(Debug)]
pub struct MxWeights<T: Real16, X: MxCode, W: MxCode> {
    w1: MxMatrices<W>,
    w2: MxMatrices<W>,
    b1: Option<Tensor<f32>>,
    b2: Option<Tensor<f32>>,
    codes: PhantomData<fn() -> (T, X)>,
}

/// Of e4m3, with rows of e4m3.
pub type Mxfp8Weights<T> = MxWeights<T, F8E4M3, F8E4M3>;
/// Of e2m1, with rows of e4m3.
pub type A8w4Weights<T> = MxWeights<T, F8E4M3, F4x2E2M1>;
/// Of e2m1, with rows of e2m1.
pub type A4w4Weights<T> = MxWeights<T, F4x2E2M1, F4x2E2M1>;

impl<T: Real16, X: MxCode, W: MxCode> MxWeights<T, X, W> {
    /// Of both products.
    pub const fn new(w1: MxMatrices<W>, w2: MxMatrices<W>) -> Self {
        Self { w1, w2, b1: None, b2: None, codes: PhantomData }
    }

    /// What is added to the sums of each expert's columns, `[E, rows of w1]` and `[E, hidden]`.
    #[must_use]
    pub fn biases(mut self, b1: Tensor<f32>, b2: Tensor<f32>) -> Self {
        (self.b1, self.b2) = (Some(b1), Some(b2));
        self
    }
}

/// Codes in blocks of MX that there is a product with.
pub trait MxProduct<W: MxCode>: MxCode {
    /// Multiplies them: see [`moe_a8w4_into`], with rows and their scales, and matrices and theirs.
    ///
    /// # Errors
    /// Those of the op.
    fn multiply<Y: Real + RaggedOutput>(
        x: (&TensorSlice<Self>, &TensorSlice<E8M0>),
        w: (&TensorSlice<W>, &TensorSlice<E8M0>),
        gates: &RaggedGates<'_>,
        options: &MoeRaggedOptions<'_>,
        y: &mut TensorSlice<Y>,
    ) -> Result<()>;
}

impl MxProduct<F8E4M3> for F8E4M3 {
    fn multiply<Y: Real + RaggedOutput>(
        x: (&TensorSlice<Self>, &TensorSlice<E8M0>),
        w: (&TensorSlice<Self>, &TensorSlice<E8M0>),
        gates: &RaggedGates<'_>,
        options: &MoeRaggedOptions<'_>,
        y: &mut TensorSlice<Y>,
    ) -> Result<()> {
        let x = MxBytes { codes: x.0, scales: Some(x.1) };
        let w = MxBytes { codes: w.0, scales: Some(w.1) };
        moe_a8w8_mx_into(x, w, gates, options, y)
    }
}

impl MxProduct<F4x2E2M1> for F8E4M3 {
    fn multiply<Y: Real + RaggedOutput>(
        x: (&TensorSlice<Self>, &TensorSlice<E8M0>),
        w: (&TensorSlice<F4x2E2M1>, &TensorSlice<E8M0>),
        gates: &RaggedGates<'_>,
        options: &MoeRaggedOptions<'_>,
        y: &mut TensorSlice<Y>,
    ) -> Result<()> {
        moe_a8w4_into(x.0, Some(x.1), w.0, w.1, gates, options, y)
    }
}

impl MxProduct<Self> for F4x2E2M1 {
    fn multiply<Y: Real + RaggedOutput>(
        x: (&TensorSlice<Self>, &TensorSlice<E8M0>),
        w: (&TensorSlice<Self>, &TensorSlice<E8M0>),
        gates: &RaggedGates<'_>,
        options: &MoeRaggedOptions<'_>,
        y: &mut TensorSlice<Y>,
    ) -> Result<()> {
        moe_a4w4_into(x.0, x.1, w.0, w.1, gates, options, y)
    }
}

impl<T, X, W> RaggedWeights for MxWeights<T, X, W>
where
    T: Real16 + ExpertElement + RaggedOutput,
    X: MxProduct<W>,
    W: MxCode,
{
    type Hidden = T;
    type Code = X;
    type Scale = E8M0;

    fn stream(&self) -> &Stream {
        self.w1.codes.stream()
    }

    fn declare(&self, args: &mut Arguments, config: &FusedMoeConfig) -> Result<()> {
        declare_mx(args, [&self.w1, &self.w2], config.activation.is_gated())?;
        declare_biases(args, [self.b1.as_deref(), self.b2.as_deref()])?;
        config.activation.check(args)
    }

    fn bias(&self, is_second: bool) -> Option<&TensorSlice<f32>> {
        if is_second { self.b2.as_deref() } else { self.b1.as_deref() }
    }

    fn scales_shape(rows: usize, width: usize) -> Vec<usize> {
        vec![rows, width.div_ceil(MX_BLOCK)]
    }

    fn encode(
        &self,
        _: bool,
        x: &TensorSlice<T>,
        codes: &mut TensorSlice<X>,
        scales: &mut TensorSlice<E8M0>,
    ) -> Result<()> {
        in_blocks(x, codes, scales)
    }

    fn multiply<Y: Real + RaggedOutput>(
        &self,
        is_second: bool,
        x: (&TensorSlice<X>, &TensorSlice<E8M0>),
        gates: &RaggedGates<'_>,
        options: &MoeRaggedOptions<'_>,
        y: &mut TensorSlice<Y>,
    ) -> Result<()> {
        let w = if is_second { &self.w2 } else { &self.w1 };
        X::multiply(x, (&w.codes, &w.scales), gates, options, y)
    }
}
