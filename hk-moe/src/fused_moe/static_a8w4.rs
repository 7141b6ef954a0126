//! Weights of 4-bit floating point in blocks of MX, and 8-bit floating point by scales that are given.

use std::marker::PhantomData;

use hk_core::dtype::{F4x2E2M1, Real, Real16};
use hk_core::op::Arguments;
use hk_core::op::quant::Fp8;
use hk_core::{Error, Result, Stream, Tensor, TensorSlice};

use super::codes::by_scale;
use super::mxfp4::{MxMatrices, declare_mx};
use super::ragged::RaggedWeights;
use super::weights::declare_biases;
use super::{FusedMoeConfig, OP};
use crate::expert_products::ExpertElement;
use crate::moe_op_gemm_a8w4::{A8w4Element, moe_a8w4_into};
use crate::ragged_products::{MoeRaggedOptions, RaggedGates, RaggedOutput};

/// Weights of e2m1 in blocks of MX, of which all tokens are made `C`, e4m3 in the flavour of the chip, by one scale,
/// and all rows between the products by another: w1 `[E, 2 inner, hidden]`, whose row 2j is a gate and row 2j + 1 what
/// it lets through, as [`moe_interleave_gate_up`](crate::moe_interleave_gate_up) makes them, or `[E, inner, hidden]`
/// without gates, and w2 `[E, hidden, inner]`.
#[derive(Debug)]
pub struct StaticA8w4Weights<T: Real16, C: Fp8> {
    w1: MxMatrices<F4x2E2M1>,
    w2: MxMatrices<F4x2E2M1>,
    b1: Option<Tensor<f32>>,
    b2: Option<Tensor<f32>>,
    /// Of the rows that each product takes.
    scales: [Tensor<f32>; 2],
    codes: PhantomData<fn() -> (T, C)>,
}

impl<T: Real16, C: Fp8> StaticA8w4Weights<T, C> {
    /// Of both products, with the scales of tokens and of rows between the products, `[1]` each: codes are what rows
    /// are over the scale, rounded to nearest, ties to even, and at most the largest.
    pub const fn new(
        w1: MxMatrices<F4x2E2M1>,
        w2: MxMatrices<F4x2E2M1>,
        activation_scales: [Tensor<f32>; 2],
    ) -> Self {
        let scales = activation_scales;
        Self { w1, w2, b1: None, b2: None, scales, codes: PhantomData }
    }

    /// What is added to the sums of each expert's columns, `[E, rows of w1]` and `[E, hidden]`.
    #[must_use]
    pub fn biases(mut self, b1: Tensor<f32>, b2: Tensor<f32>) -> Self {
        (self.b1, self.b2) = (Some(b1), Some(b2));
        self
    }
}

impl<T, C> RaggedWeights for StaticA8w4Weights<T, C>
where
    T: Real16 + ExpertElement + RaggedOutput,
    C: Fp8 + A8w4Element,
{
    type Hidden = T;
    type Code = C;
    type Scale = f32;

    fn stream(&self) -> &Stream {
        self.w1.codes.stream()
    }

    fn declare(&self, args: &mut Arguments, config: &FusedMoeConfig) -> Result<()> {
        declare_mx(args, [&self.w1, &self.w2], config.activation.is_gated())?;
        declare_biases(args, [self.b1.as_deref(), self.b2.as_deref()])?;
        let [of_x, of_z] = &self.scales;
        args.input("activation_scales[0]", of_x, &["1"]).contiguous()?;
        args.input("activation_scales[1]", of_z, &["1"]).contiguous()?;
        // No argument is of this type.
        let arch = self.stream().device().arch();
        let (dtype, native) = (C::DTYPE, arch.native(C::DTYPE));
        if dtype != native {
            let (op, arg, use_instead) = (OP, "codes", native.name());
            return Err(Error::ArchMismatch { op, arg, dtype, arch, use_instead });
        }
        config.activation.check(args)
    }

    fn bias(&self, is_second: bool) -> Option<&TensorSlice<f32>> {
        if is_second { self.b2.as_deref() } else { self.b1.as_deref() }
    }

    fn scales_shape(rows: usize, _: usize) -> Vec<usize> {
        // None: all rows have the one that is given.
        vec![rows, 0]
    }

    fn encode(
        &self,
        is_second: bool,
        x: &TensorSlice<T>,
        codes: &mut TensorSlice<C>,
        _: &mut TensorSlice<f32>,
    ) -> Result<()> {
        by_scale(x, &self.scales[usize::from(is_second)], codes)
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
        let options = options.x_static_scale(&self.scales[usize::from(is_second)]);
        moe_a8w4_into(x.0, None, &w.codes, &*w.scales, gates, &options, y)
    }
}
