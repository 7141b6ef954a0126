//! Rows that are normalised, gated or joined, and quantised in one go, without a round trip through
//! memory: `n[i,j] = h[i,j] / sqrt(mean_j h[i,j]^2 + eps) * weight[j]` to codes
//! `c[i,j] = n[i,j] (1 / s)`, where h is x or `x + residual`; what other ops compute stands with them.
//!
//! | | |
//! |---|---|
//! | Shapes | x, residual `[.., n]`, weight `[n]` -> codes `[.., n]`, and the sum and the norm if wanted; scales `[.., ceil(n/g)]` or `[ceil(n/g), rows]` of [`fused_rms_fp8_group_quant`] with groups of g = 32, 64 or 128, `[1]` given to [`fused_rms_fp8_per_tensor_static_quant`], `[..]` of [`rmsnorm_dynamic_quant`] and [`fused_add_rmsnorm_dynamic_quant`]; any n >= 1, rows any distance apart; beside them other rows x2 `[.., k]` can be normalised, with weight2 `[k]`; [`fused_rms_gated_fp8_group_quant`] takes gates `[.., n]` too, [`fused_silu_mul_fp8_per_tensor_static_quant`] x `[.., 2n]`, [`fused_flatten_fp8_group_quant`] x `[.., h, n]` to codes `[.., h n]` |
//! | Dtypes | x, residual, norm bf16, f16, f32; weight and weight2 bf16, f16, f32 each, whatever x is; codes e4m3 in the flavour of the chip, and i8 where rows have one scale; scales f32 |
//! | Numerics | f32 throughout; the sum is rounded before it is normalised by [`fused_add_rmsnorm_dynamic_quant`] alone; codes are rounded to nearest, ties to even; [`fused_flatten_fp8_group_quant`] is exact |
//! | Hardware | cdna3, cdna4 |
//! | Source | Zhang and Sennrich, "Root Mean Square Layer Normalization" (2019); DeepSeek-AI, "DeepSeek-V3 Technical Report" (2024), for scales of groups |
//!
//! ```
//! # #[cfg(feature = "cdna4")] {
//! use hk_core::dtype::F8E4M3;
//! use hk_quant::{Device, GroupOptions, RmsInput, Tensor, fused_rms_fp8_group_quant};
//!
//! let stream = Device::open("sim:mi355x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[3.0f32, -6.0, 0.0, 0.0], &[1, 4])?;
//! let weight = Tensor::from_slice(&stream, &[1.0f32; 4], &[4])?;
//! let input = RmsInput::new(&x, &weight, 1e-12);
//! let out = fused_rms_fp8_group_quant::<_, _, F8E4M3>(&input, &GroupOptions::default())?;
//! assert_eq!(out.codes.to_vec()?, [224.0, -448.0, 0.0, 0.0].map(F8E4M3::from_f32));
//! // The largest of the norm is the root of 3.2.
//! assert!((out.scales.to_vec()?[0] - 3.2f32.sqrt() / 448.0).abs() < 1e-8);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

mod flatten;
mod gated;
mod silu_mul;

pub use flatten::{fused_flatten_fp8_group_quant, fused_flatten_fp8_group_quant_into};
pub use gated::{
    GateActivation, GatedRmsInput, GatedRmsOptions, fused_rms_gated_fp8_group_quant,
    fused_rms_gated_fp8_group_quant_into,
};
pub use silu_mul::{
    fused_silu_mul_fp8_per_tensor_static_quant, fused_silu_mul_fp8_per_tensor_static_quant_into,
};

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{Element, Real};
use hk_core::op::quant::{ByteCode, Fp8, GroupOptions, GroupScales, QuantisedOut};
use hk_core::op::rows::{ROWS, RowOptions};
use hk_core::{Result, Tensor, TensorSlice};

use crate::rms_quant::{Codes, RmsInput, RmsOthers, ScaleKind, launch};

/// What can be chosen where a scale is given.
#[derive(Debug, Clone, Copy, Default)]
pub struct StaticOptions<'a> {
    rounds: bool,
    rows: RowOptions<'a>,
}

impl<'a> StaticOptions<'a> {
    /// Rounds what is quantised to the type of x before it is scaled, as if it had been stored. Not
    /// if not called.
    #[must_use]
    pub fn convert_to_input_type(self) -> Self {
        Self { rounds: true, ..self }
    }

    /// Launched so.
    #[must_use]
    pub fn rows(self, rows: RowOptions<'a>) -> Self {
        Self { rows, ..self }
    }
}

/// What can be chosen of [`rmsnorm_dynamic_quant`] and [`fused_add_rmsnorm_dynamic_quant`].
#[derive(Debug, Clone, Copy)]
pub struct RmsnormDynamicOptions<'a> {
    most_amax: f32,
    rows: RowOptions<'a>,
}

impl Default for RmsnormDynamicOptions<'_> {
    /// No bound.
    fn default() -> Self {
        Self { most_amax: f32::INFINITY, rows: RowOptions::default() }
    }
}

impl<'a> RmsnormDynamicOptions<'a> {
    /// Takes a row's largest magnitude for this, if it is more; what is beyond is clamped.
    #[must_use]
    pub fn scale_ub(self, most_amax: f32) -> Self {
        Self { most_amax, ..self }
    }

    /// Launched so.
    #[must_use]
    pub fn rows(self, rows: RowOptions<'a>) -> Self {
        Self { rows, ..self }
    }
}

/// Codes with scales, and the sum.
#[derive(Debug)]
pub struct FusedRmsQuant<T: Real, C: Element, S: Element = f32> {
    /// The codes, in the shape of x.
    pub codes: Tensor<C>,
    /// The scales.
    pub scales: Tensor<S>,
    /// The sum of x and the residual, if there is one.
    pub residual_out: Option<Tensor<T>>,
}

/// Codes, and the sum.
#[derive(Debug)]
pub struct FusedRmsStaticQuant<T: Real, C: Element> {
    /// The codes, in the shape of x.
    pub codes: Tensor<C>,
    /// The sum of x and the residual, if there is one.
    pub residual_out: Option<Tensor<T>>,
}

/// Memory for the sum, if there is one.
fn sum_of<T: Real, W: Real>(input: &RmsInput<'_, T, W>) -> Result<Option<Tensor<T>>> {
    input.residual.map(|_| Tensor::empty(input.x.stream(), input.x.shape())).transpose()
}

/// Where the sum goes.
fn only_sum<T: Real>(residual_out: &mut Option<Tensor<T>>) -> RmsOthers<'_, T> {
    RmsOthers { residual_out: residual_out.as_deref_mut(), ..RmsOthers::default() }
}

/// What an op gives that is run into memory for it, with scales of that shape.
pub(crate) fn allocated<T: Real, W: Real, C: Element, S: Element>(
    input: &RmsInput<'_, T, W>,
    scales: &[usize],
    run: impl FnOnce(QuantisedOut<'_, C, S>, RmsOthers<'_, T>) -> Result<()>,
) -> Result<FusedRmsQuant<T, C, S>> {
    let x = input.x;
    let mut codes = Tensor::empty(x.stream(), x.shape())?;
    let mut scales = Tensor::empty(x.stream(), scales)?;
    let mut residual_out = sum_of(input)?;
    let out = QuantisedOut { codes: &mut *codes, scales: &mut scales };
    run(out, only_sum(&mut residual_out))?;
    Ok(FusedRmsQuant { codes, scales, residual_out })
}

/// Normalises rows, and quantises each group of consecutive elements with a scale of its own, `s =
/// max(max_j |n_j|, 1e-10) / m`, where m is the largest code: 240 or 448. The last group of a row
/// may be shorter.
///
/// # Errors
/// [`Error::Shape`] if `weight` is not as long as a row, the residual has another shape than x, or
/// rows are empty, [`Error::Stride`] if rows are not evenly spaced, [`Error::ArchMismatch`] if the
/// codes are those of another chip, [`Error::Value`] if `eps` is not positive and finite, groups
/// have another size than 32, 64 or 128, scales are to be shuffled, or the tile does not take such
/// rows, and [`Error::NoTile`] if there is no tile of that name.
pub fn fused_rms_fp8_group_quant<T: Real, W: Real, C: Fp8>(
    input: &RmsInput<'_, T, W>,
    options: &GroupOptions<'_>,
) -> Result<FusedRmsQuant<T, C>> {
    let shape = options.layout().shape(input.x.shape(), options.group_size().max(1));
    allocated(input, &shape, |out, others| {
        fused_rms_fp8_group_quant_into(input, options, out, others)
    })
}

/// As [`fused_rms_fp8_group_quant`], into given tensors, with what else is wanted.
///
/// # Errors
/// As [`fused_rms_fp8_group_quant`]; [`Error::Shape`] or [`Error::Stride`] also if an output has
/// not the shape that [`fused_rms_fp8_group_quant`] gives it or [`RmsOthers`] says,
/// [`Error::Value`] if the sum is wanted without a residual, and [`Error::Alias`] if an output
/// overlaps another argument.
pub fn fused_rms_fp8_group_quant_into<T: Real, W: Real, C: Fp8>(
    input: &RmsInput<'_, T, W>,
    options: &GroupOptions<'_>,
    out: QuantisedOut<'_, C>,
    others: RmsOthers<'_, T>,
) -> Result<()> {
    let QuantisedOut { codes, scales } = out;
    launch("fused_rms_fp8_group_quant", input, options.row_options(), others, |args| {
        options.check(args)?;
        let stride = args.output("codes", codes, ROWS).rows()?;
        let group = options.group_size();
        let strides = options.layout().output(args, scales, group)?;
        let groups = GroupScales::new::<C>(scales, strides, group);
        Ok(Codes {
            kind: ScaleKind::Group,
            codes: codes.ptr().any(),
            stride,
            groups,
            ..Codes::NONE
        })
    })
}

/// Normalises rows, and quantises them with a given scale, a tensor of one element.
///
/// # Errors
/// As [`fused_rms_fp8_group_quant`], and [`Error::Shape`] if there is not one scale.
pub fn fused_rms_fp8_per_tensor_static_quant<T: Real, W: Real, C: Fp8>(
    input: &RmsInput<'_, T, W>,
    scale: &TensorSlice<f32>,
    options: &StaticOptions<'_>,
) -> Result<FusedRmsStaticQuant<T, C>> {
    let mut codes = Tensor::empty(input.x.stream(), input.x.shape())?;
    let mut residual_out = sum_of(input)?;
    let others = only_sum(&mut residual_out);
    fused_rms_fp8_per_tensor_static_quant_into(input, scale, options, &mut *codes, others)?;
    Ok(FusedRmsStaticQuant { codes, residual_out })
}

/// As [`fused_rms_fp8_per_tensor_static_quant`], into given tensors, with what else is wanted.
///
/// # Errors
/// As [`fused_rms_fp8_per_tensor_static_quant`] and [`fused_rms_fp8_group_quant_into`].
pub fn fused_rms_fp8_per_tensor_static_quant_into<T: Real, W: Real, C: Fp8>(
    input: &RmsInput<'_, T, W>,
    scale: &TensorSlice<f32>,
    options: &StaticOptions<'_>,
    codes: &mut TensorSlice<C>,
    others: RmsOthers<'_, T>,
) -> Result<()> {
    let op = "fused_rms_fp8_per_tensor_static_quant";
    launch(op, input, &options.rows, others, |args| {
        args.input("scale", scale, &["1"]).contiguous()?;
        let stride = args.output("codes", codes, ROWS).rows()?;
        Ok(Codes {
            kind: ScaleKind::Given,
            codes: codes.ptr().any(),
            stride,
            scale: scale.ptr(),
            rounds: options.rounds,
            ..Codes::NONE
        })
    })
}

/// Normalises rows, and quantises each with a scale of its own, `s[i] = max_j |n[i,j]| / m`, where
/// m is the largest code: 127 of i8, 240 or 448 of e4m3. Rows whose scale would be 0 or subnormal
/// have 1.
///
/// # Errors
/// As [`fused_rms_fp8_group_quant`], without those of groups; [`Error::Value`] also if the bound of
/// magnitudes is not positive.
pub fn rmsnorm_dynamic_quant<T: Real, W: Real, C: ByteCode>(
    x: &TensorSlice<T>,
    weight: &TensorSlice<W>,
    eps: f32,
    options: &RmsnormDynamicOptions<'_>,
) -> Result<FusedRmsQuant<T, C>> {
    dynamic("rmsnorm_dynamic_quant", &RmsInput::new(x, weight, eps), options)
}

/// As [`rmsnorm_dynamic_quant`], into given tensors, with the norm if it is wanted; scales have no
/// gaps.
///
/// # Errors
/// As [`rmsnorm_dynamic_quant`]; [`Error::Shape`] or [`Error::Stride`] also if an output has not
/// the shape that [`rmsnorm_dynamic_quant`] gives it, and [`Error::Alias`] if one overlaps another
/// argument.
pub fn rmsnorm_dynamic_quant_into<T: Real, W: Real, C: ByteCode>(
    x: &TensorSlice<T>,
    weight: &TensorSlice<W>,
    eps: f32,
    options: &RmsnormDynamicOptions<'_>,
    out: QuantisedOut<'_, C>,
    norm: Option<&mut TensorSlice<T>>,
) -> Result<()> {
    let others = RmsOthers { norm, ..RmsOthers::default() };
    let input = RmsInput::new(x, weight, eps);
    dynamic_into("rmsnorm_dynamic_quant", &input, options, out, others)
}

/// As [`rmsnorm_dynamic_quant`], of `x + residual`, which is rounded before and stored.
///
/// # Errors
/// As [`rmsnorm_dynamic_quant`], and [`Error::Shape`] if the residual has another shape than x.
pub fn fused_add_rmsnorm_dynamic_quant<T: Real, W: Real, C: ByteCode>(
    x: &TensorSlice<T>,
    residual: &TensorSlice<T>,
    weight: &TensorSlice<W>,
    eps: f32,
    options: &RmsnormDynamicOptions<'_>,
) -> Result<FusedRmsQuant<T, C>> {
    let input = RmsInput::new(x, weight, eps).residual(residual);
    dynamic("fused_add_rmsnorm_dynamic_quant", &input, options)
}

/// Where [`fused_add_rmsnorm_dynamic_quant_into`] stores.
#[derive(Debug)]
pub struct FusedAddRmsnormDynamicQuantOut<'a, T: Real, C: ByteCode> {
    /// Codes and scales; these have no gaps.
    pub quantised: QuantisedOut<'a, C>,
    /// The sum, rounded, in the shape of x.
    pub residual_out: &'a mut TensorSlice<T>,
    /// The normalised rows, rounded, in the shape of x.
    pub norm: Option<&'a mut TensorSlice<T>>,
}

/// As [`fused_add_rmsnorm_dynamic_quant`], into given tensors.
///
/// # Errors
/// As [`fused_add_rmsnorm_dynamic_quant`] and [`rmsnorm_dynamic_quant_into`].
pub fn fused_add_rmsnorm_dynamic_quant_into<T: Real, W: Real, C: ByteCode>(
    x: &TensorSlice<T>,
    residual: &TensorSlice<T>,
    weight: &TensorSlice<W>,
    eps: f32,
    options: &RmsnormDynamicOptions<'_>,
    out: FusedAddRmsnormDynamicQuantOut<'_, T, C>,
) -> Result<()> {
    let FusedAddRmsnormDynamicQuantOut { quantised, residual_out, norm } = out;
    let others = RmsOthers { norm, residual_out: Some(residual_out), second: None };
    let input = RmsInput::new(x, weight, eps).residual(residual);
    dynamic_into("fused_add_rmsnorm_dynamic_quant", &input, options, quantised, others)
}

fn dynamic<T: Real, W: Real, C: ByteCode>(
    op: &'static str,
    input: &RmsInput<'_, T, W>,
    options: &RmsnormDynamicOptions<'_>,
) -> Result<FusedRmsQuant<T, C>> {
    let rows = input.x.shape().split_last().map_or(&[][..], |(_, rows)| rows);
    allocated(input, rows, |out, others| dynamic_into(op, input, options, out, others))
}

fn dynamic_into<T: Real, W: Real, C: ByteCode>(
    op: &'static str,
    input: &RmsInput<'_, T, W>,
    options: &RmsnormDynamicOptions<'_>,
    out: QuantisedOut<'_, C>,
    others: RmsOthers<'_, T>,
) -> Result<()> {
    let QuantisedOut { codes, scales } = out;
    launch(op, input, &options.rows, others, |args| {
        let most_amax = options.most_amax;
        args.require(most_amax > 0.0, "scale_ub", "positive", most_amax)?;
        let stride = args.output("codes", codes, ROWS).rows()?;
        args.output("scales", scales, &[".."]).contiguous()?;
        Ok(Codes {
            kind: ScaleKind::Row,
            codes: codes.ptr().any(),
            stride,
            row_scales: scales.ptr_mut(),
            format: C::CODE,
            most_amax,
            ..Codes::NONE
        })
    })
}
