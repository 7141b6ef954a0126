//! Problems of hk-norm and hk-quant that work on rows.

use hk_core::dtype::{E8M0, F4x2E2M1, F8E4M3, bf16};
use hk_core::op::quant::Fp8;
use hk_core::op::rows::RowOptions;
use hk_core::{Result, Stream, Tensor, TensorSlice};
use hk_norm::{
    Activation, FusedAddLayernormOut, FusedAddRmsnormOut, FusedAddRmsnormPadOut, GateLayout,
    GatedOptions, L2normOut, RmsnormOptions, RmsnormPadOptions, act_mul_fp8_group_quant_into,
    act_mul_mxfp4_quant_into, fused_add_layernorm_into, fused_add_rmsnorm_into,
    fused_add_rmsnorm_pad_into, fused_clamp_act_mul_into, fused_mul_add_into, gelu_and_mul_into,
    gelu_into, gelu_tanh_and_mul_into, gelu_tanh_into, l2norm_bwd_into, l2norm_into, relu_into,
    rmsnorm_pad_into, silu_into, swiglu_and_mul_into, tanh_into,
};
use hk_quant::{
    DequantizeMxOptions, DowncastOptions, FusedAddRmsnormDynamicQuantOut, GatedRmsInput,
    GatedRmsOptions, GroupOptions, MxOptions, Quantised, QuantisedOut, RmsInput, RmsOthers,
    RmsnormDynamicOptions, StaticOptions, dequantize_mxfp4_into, dequantize_mxfp8_into,
    dequantize_per_block_into, dequantize_per_group_into, dequantize_per_tensor_into,
    dequantize_per_token_into, downcast_to_mxfp_into, downcast_to_static_fp8_into,
    dynamic_mxfp4_quant_into, dynamic_mxfp8_quant_into, dynamic_per_tensor_quant_into,
    fused_add_rmsnorm_dynamic_quant_into, fused_flatten_fp8_group_quant_into,
    fused_flatten_mxfp4_quant_into, fused_rms_fp8_group_quant_into,
    fused_rms_fp8_per_tensor_static_quant_into, fused_rms_gated_fp8_group_quant_into,
    fused_rms_mxfp4_quant_into, fused_silu_mul_fp8_per_tensor_static_quant_into,
    per_block_quant_into, per_group_quant_into, rmsnorm_dynamic_quant_into,
    smooth_per_token_quant_into, static_per_tensor_quant_into, upcast_from_mxfp_into,
};

use super::gemm::{codes, powers};
use super::{Family, Launch, MX_BLOCK, normal, of_sizes};

/// Elements that share a scale.
const GROUP: usize = 128;
/// Rows that become one.
const PARTS: usize = 4;

type Prepare = fn(&Stream, [usize; 2]) -> Result<Launch>;

/// Ops that move so many bytes per element, and calculate so often with each.
fn rows(op: &'static str, kind: &'static str, [flops, bytes]: [f64; 2], of: Prepare) -> Family {
    let sizes = [("rows", PARTS, 128), ("width", GROUP, 4096)];
    let amount = move |[rows, width]: [f64; 2]| [flops * rows * width, bytes * rows * width];
    of_sizes(op, kind, sizes, amount, of)
}

pub(super) fn families() -> Vec<Family> {
    /// Bytes of scales for each element, of groups and of blocks, and of codes and scales of 4 bits.
    const GROUPS: f64 = 4.0 / GROUP as f64;
    const POWERS: f64 = 1.0 / MX_BLOCK as f64;
    const MX: f64 = 0.5 + POWERS;
    let shape = [16_384, 7168];
    vec![
        rows("fused_add_rmsnorm", "bf16", [5.0, 8.0], add_rmsnorm).at([16_384, 8192], &[]),
        rows("rmsnorm_pad", "bf16", [4.0, 4.0], pad).at([16_384, 2880], &[]),
        rows("fused_add_rmsnorm_pad", "bf16", [5.0, 8.0], add_rmsnorm_pad).at([16_384, 2880], &[]),
        rows("fused_add_layernorm", "bf16", [7.0, 8.0], add_layernorm).at([16_384, 8192], &[]),
        rows("l2norm", "bf16", [3.0, 4.0], l2norm).at([262_144, 128], &[]),
        rows("l2norm_bwd", "bf16", [5.0, 6.0], l2norm_bwd).at([262_144, 128], &[]),
        rows("silu", "bf16", [4.0, 4.0], |s, sizes| activated(s, sizes, silu_into))
            .at([16_384, 8192], &[]),
        rows("gelu", "bf16", [4.0, 4.0], |s, sizes| activated(s, sizes, gelu_into))
            .at([16_384, 8192], &[]),
        rows("gelu_tanh", "bf16", [8.0, 4.0], |s, sizes| activated(s, sizes, gelu_tanh_into))
            .at([16_384, 8192], &[]),
        rows("relu", "bf16", [1.0, 4.0], |s, sizes| activated(s, sizes, relu_into))
            .at([16_384, 8192], &[]),
        rows("tanh", "bf16", [4.0, 4.0], |s, sizes| activated(s, sizes, tanh_into))
            .at([16_384, 8192], &[]),
        rows("gelu_and_mul", "bf16", [5.0, 6.0], |s, sizes| gated(s, sizes, gelu_and_mul_into))
            .at([16_384, 14_336], &[]),
        rows("gelu_tanh_and_mul", "bf16", [9.0, 6.0], |s, sizes| {
            gated(s, sizes, gelu_tanh_and_mul_into)
        })
        .at([16_384, 14_336], &[]),
        rows("swiglu_and_mul", "bf16, interleaved", [6.0, 6.0], |s, sizes| {
            gated(s, sizes, |x, options, y| {
                let options = options.layout(GateLayout::Interleaved);
                swiglu_and_mul_into(x, 1.702, 7.0, &options, y)
            })
        })
        .at([16_384, 2880], &[]),
        rows("fused_clamp_act_mul", "bf16, weights of rows", [6.0, 6.0], clamp_act_mul)
            .at([16_384, 7168], &[]),
        rows("fused_mul_add", "bf16", [2.0, 4.0], mul_add).at([16_384, 8192], &[]),
        rows("act_mul_mxfp4_quant", "bf16", [5.0, 4.0 + MX], act_mul).at(shape, &[]),
        rows("act_mul_fp8_group_quant", "bf16 to fp8", [6.0, 5.0 + GROUPS], |stream, sizes| {
            native!(act_mul_fp8(stream, sizes))
        })
        .at(shape, &[]),
        rows("dynamic_per_tensor_quant", "bf16 to i8", [2.0, 5.0], per_tensor).at(shape, &[]),
        rows("static_per_tensor_quant", "bf16 to i8", [1.0, 3.0], static_per_tensor).at(shape, &[]),
        rows("smooth_per_token_quant", "bf16 to i8", [3.0, 3.0], smooth).at(shape, &[]),
        rows("per_block_quant", "bf16 to i8", [2.0, 3.0], per_block).at(shape, &[]),
        rows("per_group_quant", "bf16 to i8", [2.0, 3.0], per_group).at(shape, &[]),
        rows("dynamic_mxfp4_quant", "bf16", [2.0, 2.0 + MX], mxfp4).at(shape, &[]),
        rows("dynamic_mxfp8_quant", "bf16", [2.0, 3.0 + POWERS], mxfp8).at(shape, &[]),
        rows("rmsnorm_dynamic_quant", "bf16 to fp8", [6.0, 3.0], |stream, sizes| {
            native!(rmsnorm_dynamic(stream, sizes))
        })
        .at(shape, &[]),
        rows("fused_add_rmsnorm_dynamic_quant", "bf16 to fp8", [7.0, 7.0], |stream, sizes| {
            native!(add_rmsnorm_dynamic(stream, sizes))
        })
        .at(shape, &[]),
        rows("fused_rms_fp8_group_quant", "bf16 to fp8", [6.0, 3.0 + GROUPS], |stream, sizes| {
            native!(rms_groups(stream, sizes))
        })
        .at(shape, &[]),
        rows(
            "fused_rms_fp8_per_tensor_static_quant",
            "bf16 to fp8",
            [5.0, 3.0],
            |stream, sizes| native!(rms_static(stream, sizes)),
        )
        .at(shape, &[]),
        rows("fused_rms_gated_fp8_group_quant", "bf16 to fp8", [10.0, 5.0], |stream, sizes| {
            native!(rms_gated(stream, sizes))
        })
        .at([262_144, 128], &[]),
        rows(
            "fused_silu_mul_fp8_per_tensor_static_quant",
            "bf16 to fp8",
            [5.0, 5.0],
            |stream, sizes| native!(silu_mul(stream, sizes)),
        )
        .at(shape, &[]),
        rows("fused_flatten_fp8_group_quant", "bf16 to fp8", [2.0, 3.0], |stream, sizes| {
            native!(flatten(stream, sizes))
        })
        .at(shape, &[]),
        rows("fused_rms_mxfp4_quant", "bf16", [6.0, 2.0 + MX], rms_mxfp4).at(shape, &[]),
        rows("fused_flatten_mxfp4_quant", "bf16", [2.0, 2.0 + MX], flatten_mxfp4).at(shape, &[]),
        rows("downcast_to_mxfp", "bf16 by columns", [2.0, 2.0 + MX], downcast).at(shape, &[]),
        rows("upcast_from_mxfp", "mxfp4 to bf16", [1.0, 2.0 + MX], upcast).at(shape, &[]),
        rows("downcast_to_static_fp8", "bf16 to fp8", [1.0, 3.0], |stream, sizes| {
            native!(static_fp8(stream, sizes))
        })
        .at(shape, &[]),
        rows("dequantize_per_token", "i8 to bf16", [1.0, 3.0], of_tokens).at(shape, &[]),
        rows("dequantize_per_tensor", "i8 to bf16", [1.0, 3.0], of_tensor).at(shape, &[]),
        rows("dequantize_per_group", "i8 to bf16", [1.0, 3.0 + GROUPS], of_groups).at(shape, &[]),
        rows("dequantize_per_block", "i8 to bf16", [1.0, 3.0], of_blocks).at(shape, &[]),
        rows("dequantize_mxfp4", "bf16", [1.0, 2.0 + MX], of_mxfp4).at(shape, &[]),
        rows("dequantize_mxfp8", "bf16", [1.0, 3.0 + POWERS], of_mxfp8).at(shape, &[]),
    ]
}

fn matrix(stream: &Stream, shape: &[usize]) -> Result<Tensor<bf16>> {
    normal(stream, shape)
}

fn add_rmsnorm(stream: &Stream, sizes: [usize; 2]) -> Result<Launch> {
    let of = || matrix(stream, &sizes);
    let (x, residual, mut y, mut sum) = (of()?, of()?, of()?, of()?);
    let weight = matrix(stream, &sizes[1..])?;
    Ok(Box::new(move || {
        let out = FusedAddRmsnormOut { y: &mut *y, residual_out: &mut *sum, rstd: None };
        fused_add_rmsnorm_into(&x, &residual, &weight, 1e-6, &RmsnormOptions::default(), out)
    }))
}

fn pad(stream: &Stream, [rows, width]: [usize; 2]) -> Result<Launch> {
    let (x, weight) = (matrix(stream, &[rows, width])?, matrix(stream, &[width])?);
    let mut y = matrix(stream, &[rows, width.next_multiple_of(256)])?;
    let options = RmsnormPadOptions::default().pad_to_multiple(256);
    Ok(Box::new(move || rmsnorm_pad_into(&x, &weight, 1e-6, &options, &mut *y)))
}

fn l2norm(stream: &Stream, sizes: [usize; 2]) -> Result<Launch> {
    let (x, mut y) = (matrix(stream, &sizes)?, matrix(stream, &sizes)?);
    Ok(Box::new(move || {
        let out = L2normOut { y: &mut *y, rstd: None };
        l2norm_into(&x, 1e-6, &RowOptions::default(), out)
    }))
}

fn mul_add(stream: &Stream, sizes: [usize; 2]) -> Result<Launch> {
    let (x, mut y) = (matrix(stream, &sizes)?, matrix(stream, &sizes)?);
    Ok(Box::new(move || fused_mul_add_into(&x, 2.0, 1.0, &RowOptions::default(), &mut *y)))
}

fn act_mul(stream: &Stream, [rows, width]: [usize; 2]) -> Result<Launch> {
    let x = matrix(stream, &[rows, 2 * width])?;
    let codes = Tensor::empty(stream, &[rows, width])?;
    let scales = Tensor::empty(stream, &[rows, width / MX_BLOCK])?;
    let mut to = Quantised { codes, scales };
    Ok(Box::new(move || {
        let (gates, options) = (GateLayout::Halves, MxOptions::default());
        act_mul_mxfp4_quant_into(&x, Activation::Silu, gates, &options, to.out())
    }))
}

fn per_tensor(stream: &Stream, sizes: [usize; 2]) -> Result<Launch> {
    let x = matrix(stream, &sizes)?;
    let mut to = Quantised::<i8>::empty(&x, &[1])?;
    Ok(Box::new(move || dynamic_per_tensor_quant_into(&x, &RowOptions::default(), to.out())))
}

fn per_block(stream: &Stream, sizes: [usize; 2]) -> Result<Launch> {
    let x = matrix(stream, &sizes)?;
    let mut to = Quantised::<i8>::empty(&x, &sizes.map(|size| size.div_ceil(GROUP)))?;
    Ok(Box::new(move || per_block_quant_into(&x, &RowOptions::default(), to.out())))
}

fn per_group(stream: &Stream, [rows, width]: [usize; 2]) -> Result<Launch> {
    let x = matrix(stream, &[rows, width])?;
    let mut to = Quantised::<i8>::empty(&x, &[rows, width / GROUP])?;
    Ok(Box::new(move || per_group_quant_into(&x, &GroupOptions::default(), to.out())))
}

fn mxfp4(stream: &Stream, [rows, width]: [usize; 2]) -> Result<Launch> {
    let x = matrix(stream, &[rows, width])?;
    let mut to = Quantised::empty(&x, &[rows, width / MX_BLOCK])?;
    Ok(Box::new(move || dynamic_mxfp4_quant_into(&x, &MxOptions::default(), to.out())))
}

fn rmsnorm_dynamic<C: Fp8>(stream: &Stream, [rows, width]: [usize; 2]) -> Result<Launch> {
    let (x, weight) = (matrix(stream, &[rows, width])?, matrix(stream, &[width])?);
    let mut to = Quantised::<C>::empty(&x, &[rows])?;
    Ok(Box::new(move || {
        let options = RmsnormDynamicOptions::default();
        rmsnorm_dynamic_quant_into(&x, &weight, 1e-6, &options, to.out(), None)
    }))
}

fn rms_gated<C: Fp8>(stream: &Stream, [rows, width]: [usize; 2]) -> Result<Launch> {
    let of = || matrix(stream, &[rows, width]);
    let (x, z, weight) = (of()?, of()?, matrix(stream, &[width])?);
    let mut to = Quantised::<C>::empty(&x, &[rows])?;
    Ok(Box::new(move || {
        let input = GatedRmsInput { x: &x, z: &z, weight: &weight, bias: None, eps: 1e-6 };
        fused_rms_gated_fp8_group_quant_into(&input, &GatedRmsOptions::default(), to.out())
    }))
}

fn silu_mul<C: Fp8>(stream: &Stream, [rows, width]: [usize; 2]) -> Result<Launch> {
    let (x, scale) = (matrix(stream, &[rows, 2 * width])?, Tensor::filled(stream, &[1], 0.01f32)?);
    let mut codes = Tensor::<C>::empty(stream, &[rows, width])?;
    Ok(Box::new(move || {
        let options = StaticOptions::default();
        fused_silu_mul_fp8_per_tensor_static_quant_into(&x, &scale, &options, &mut *codes)
    }))
}

fn flatten<C: Fp8>(stream: &Stream, [rows, width]: [usize; 2]) -> Result<Launch> {
    let x = matrix(stream, &[rows / PARTS, PARTS, width])?;
    let mut codes = Tensor::<C>::empty(stream, &[rows / PARTS, PARTS * width])?;
    let mut scales = Tensor::empty(stream, &[rows / PARTS, PARTS * width / GROUP])?;
    Ok(Box::new(move || {
        let out = QuantisedOut { codes: &mut *codes, scales: &mut *scales };
        fused_flatten_fp8_group_quant_into(&x, &GroupOptions::default(), out)
    }))
}

fn rms_mxfp4(stream: &Stream, [rows, width]: [usize; 2]) -> Result<Launch> {
    let (x, weight) = (matrix(stream, &[rows, width])?, matrix(stream, &[width])?);
    let mut to = Quantised::empty(&x, &[rows, width / MX_BLOCK])?;
    Ok(Box::new(move || {
        let input = RmsInput::new(&x, &weight, 1e-6);
        fused_rms_mxfp4_quant_into(&input, &MxOptions::default(), to.out(), RmsOthers::default())
    }))
}

fn flatten_mxfp4(stream: &Stream, [rows, width]: [usize; 2]) -> Result<Launch> {
    let x = matrix(stream, &[rows / PARTS, PARTS, width])?;
    let mut codes = Tensor::empty(stream, &[rows / PARTS, PARTS * width])?;
    let mut scales = Tensor::empty(stream, &[rows / PARTS, PARTS * width / MX_BLOCK])?;
    Ok(Box::new(move || {
        let out = QuantisedOut { codes: &mut *codes, scales: &mut *scales };
        fused_flatten_mxfp4_quant_into(&x, &MxOptions::default(), out)
    }))
}

/// Blocks of columns.
fn downcast(stream: &Stream, [rows, width]: [usize; 2]) -> Result<Launch> {
    let x = matrix(stream, &[rows, width])?;
    let codes = Tensor::zeros(stream, &[width, rows])?;
    let scales = Tensor::zeros(stream, &[width, rows.div_ceil(MX_BLOCK)])?;
    let mut to = Quantised::<F4x2E2M1, E8M0> { codes, scales };
    Ok(Box::new(move || downcast_to_mxfp_into(&x, 0, &DowncastOptions::default(), to.out())))
}

/// As [`pad`], of a sum.
fn add_rmsnorm_pad(stream: &Stream, [rows, width]: [usize; 2]) -> Result<Launch> {
    let of = || matrix(stream, &[rows, width]);
    let (x, residual, mut sum, weight) = (of()?, of()?, of()?, matrix(stream, &[width])?);
    let mut y = matrix(stream, &[rows, width.next_multiple_of(256)])?;
    let options = RmsnormPadOptions::default().pad_to_multiple(256);
    Ok(Box::new(move || {
        let out = FusedAddRmsnormPadOut { y: &mut *y, residual_out: &mut *sum };
        fused_add_rmsnorm_pad_into(&x, &residual, &weight, 1e-6, &options, out)
    }))
}

fn add_layernorm(stream: &Stream, sizes: [usize; 2]) -> Result<Launch> {
    let of = || matrix(stream, &sizes);
    let (x, residual, mut y, mut sum) = (of()?, of()?, of()?, of()?);
    let (weight, bias) = (matrix(stream, &sizes[1..])?, matrix(stream, &sizes[1..])?);
    Ok(Box::new(move || {
        let (y, residual_out) = (&mut *y, &mut *sum);
        let out = FusedAddLayernormOut { y, residual_out, mean: None, rstd: None };
        let (weight, bias) = (Some(&*weight), Some(&*bias));
        fused_add_layernorm_into(&x, &residual, weight, bias, 1e-6, &RowOptions::default(), out)
    }))
}

fn l2norm_bwd(stream: &Stream, sizes: [usize; 2]) -> Result<Launch> {
    let of = || matrix(stream, &sizes);
    let (y, dy, mut dx) = (of()?, of()?, of()?);
    let rstd = Tensor::filled(stream, &sizes[..1], 0.1f32)?;
    Ok(Box::new(move || l2norm_bwd_into(&y, &rstd, &dy, &RowOptions::default(), &mut dx)))
}

/// An activation.
type Activated = fn(&TensorSlice<bf16>, &RowOptions<'_>, &mut TensorSlice<bf16>) -> Result<()>;

fn activated(stream: &Stream, sizes: [usize; 2], of: Activated) -> Result<Launch> {
    let (x, mut y) = (matrix(stream, &sizes)?, matrix(stream, &sizes)?);
    Ok(Box::new(move || of(&x, &RowOptions::default(), &mut y)))
}

/// An activation of gates, times what they let through.
type Gated = fn(&TensorSlice<bf16>, &GatedOptions<'_>, &mut TensorSlice<bf16>) -> Result<()>;

fn gated(stream: &Stream, [rows, width]: [usize; 2], of: Gated) -> Result<Launch> {
    let (x, mut y) = (matrix(stream, &[rows, 2 * width])?, matrix(stream, &[rows, width])?);
    Ok(Box::new(move || of(&x, &GatedOptions::default(), &mut y)))
}

fn clamp_act_mul(stream: &Stream, [rows, width]: [usize; 2]) -> Result<Launch> {
    let (x, mut y) = (matrix(stream, &[rows, 2 * width])?, matrix(stream, &[rows, width])?);
    let weights = Tensor::filled(stream, &[rows, 1], 0.5f32)?;
    Ok(Box::new(move || {
        let (weights, options) = (Some(&*weights), GatedOptions::default());
        fused_clamp_act_mul_into(&x, weights, Activation::Silu, 7.0, &options, &mut y)
    }))
}

fn act_mul_fp8<C: Fp8>(stream: &Stream, [rows, width]: [usize; 2]) -> Result<Launch> {
    let x = matrix(stream, &[rows, 2 * width])?;
    let codes = Tensor::<C>::empty(stream, &[rows, width])?;
    let scales = Tensor::empty(stream, &[rows, width / GROUP])?;
    let mut to = Quantised { codes, scales };
    Ok(Box::new(move || {
        let (gates, options) = (GateLayout::Halves, GroupOptions::default());
        act_mul_fp8_group_quant_into(&x, Activation::Silu, gates, &options, to.out())
    }))
}

fn static_per_tensor(stream: &Stream, sizes: [usize; 2]) -> Result<Launch> {
    let (x, scale) = (matrix(stream, &sizes)?, Tensor::filled(stream, &[1], 0.01f32)?);
    let mut codes = Tensor::<i8>::empty(stream, &sizes)?;
    Ok(Box::new(move || {
        static_per_tensor_quant_into(&x, &scale, &RowOptions::default(), &mut codes)
    }))
}

fn smooth(stream: &Stream, sizes: [usize; 2]) -> Result<Launch> {
    let (x, smooth) = (matrix(stream, &sizes)?, matrix(stream, &sizes[1..])?);
    let mut to = Quantised::<i8>::empty(&x, &sizes[..1])?;
    Ok(Box::new(move || smooth_per_token_quant_into(&x, &smooth, &RowOptions::default(), to.out())))
}

fn mxfp8(stream: &Stream, [rows, width]: [usize; 2]) -> Result<Launch> {
    let x = matrix(stream, &[rows, width])?;
    let mut to = Quantised::<F8E4M3, E8M0>::empty(&x, &[rows, width / MX_BLOCK])?;
    Ok(Box::new(move || dynamic_mxfp8_quant_into(&x, &MxOptions::default(), to.out())))
}

fn add_rmsnorm_dynamic<C: Fp8>(stream: &Stream, sizes: [usize; 2]) -> Result<Launch> {
    let of = || matrix(stream, &sizes);
    let (x, residual, mut sum) = (of()?, of()?, of()?);
    let weight = matrix(stream, &sizes[1..])?;
    let mut to = Quantised::<C>::empty(&x, &sizes[..1])?;
    Ok(Box::new(move || {
        let options = RmsnormDynamicOptions::default();
        let (quantised, residual_out) = (to.out(), &mut *sum);
        let out = FusedAddRmsnormDynamicQuantOut { quantised, residual_out, norm: None };
        fused_add_rmsnorm_dynamic_quant_into(&x, &residual, &weight, 1e-6, &options, out)
    }))
}

fn rms_groups<C: Fp8>(stream: &Stream, [rows, width]: [usize; 2]) -> Result<Launch> {
    let (x, weight) = (matrix(stream, &[rows, width])?, matrix(stream, &[width])?);
    let mut to = Quantised::<C>::empty(&x, &[rows, width / GROUP])?;
    Ok(Box::new(move || {
        let (input, others) = (RmsInput::new(&x, &weight, 1e-6), RmsOthers::default());
        fused_rms_fp8_group_quant_into(&input, &GroupOptions::default(), to.out(), others)
    }))
}

fn rms_static<C: Fp8>(stream: &Stream, [rows, width]: [usize; 2]) -> Result<Launch> {
    let (x, weight) = (matrix(stream, &[rows, width])?, matrix(stream, &[width])?);
    let scale = Tensor::filled(stream, &[1], 0.01f32)?;
    let mut codes = Tensor::<C>::empty(stream, &[rows, width])?;
    Ok(Box::new(move || {
        let (input, others) = (RmsInput::new(&x, &weight, 1e-6), RmsOthers::default());
        let options = StaticOptions::default();
        fused_rms_fp8_per_tensor_static_quant_into(&input, &scale, &options, &mut *codes, others)
    }))
}

fn static_fp8<C: Fp8>(stream: &Stream, sizes: [usize; 2]) -> Result<Launch> {
    let (x, scale) = (matrix(stream, &sizes)?, Tensor::filled(stream, &[1], 0.01f32)?);
    let mut codes = Tensor::<C>::empty(stream, &sizes)?;
    Ok(Box::new(move || {
        downcast_to_static_fp8_into(&x, &scale, &RowOptions::default(), &mut *codes)
    }))
}

fn upcast(stream: &Stream, sizes: [usize; 2]) -> Result<Launch> {
    let (codes, scales) = (codes(stream, &sizes)?, powers(stream, &sizes)?);
    let mut y = matrix(stream, &sizes)?;
    Ok(Box::new(move || upcast_from_mxfp_into(&codes, &scales, 1, &RowOptions::default(), &mut y)))
}

/// Codes of bytes, where their numbers go, and so many scales.
type Coded = (Tensor<i8>, Tensor<bf16>, Tensor<f32>);

fn coded(stream: &Stream, sizes: [usize; 2], scales: &[usize]) -> Result<Coded> {
    let scales = Tensor::filled(stream, scales, 0.01f32)?;
    Ok((normal(stream, &sizes)?, matrix(stream, &sizes)?, scales))
}

fn of_tokens(stream: &Stream, sizes: [usize; 2]) -> Result<Launch> {
    let (codes, mut y, scales) = coded(stream, sizes, &sizes[..1])?;
    Ok(Box::new(move || dequantize_per_token_into(&codes, &scales, &RowOptions::default(), &mut y)))
}

fn of_tensor(stream: &Stream, sizes: [usize; 2]) -> Result<Launch> {
    let (codes, mut y, scale) = coded(stream, sizes, &[1])?;
    Ok(Box::new(move || dequantize_per_tensor_into(&codes, &scale, &RowOptions::default(), &mut y)))
}

fn of_groups(stream: &Stream, [rows, width]: [usize; 2]) -> Result<Launch> {
    let (codes, mut y, scales) = coded(stream, [rows, width], &[rows, width / GROUP])?;
    Ok(Box::new(move || {
        dequantize_per_group_into(&codes, &scales, &GroupOptions::default(), &mut y)
    }))
}

fn of_blocks(stream: &Stream, sizes: [usize; 2]) -> Result<Launch> {
    let tiles = sizes.map(|size| size.div_ceil(GROUP));
    let (codes, mut y, scales) = coded(stream, sizes, &tiles)?;
    Ok(Box::new(move || dequantize_per_block_into(&codes, &scales, &RowOptions::default(), &mut y)))
}

fn of_mxfp4(stream: &Stream, sizes: [usize; 2]) -> Result<Launch> {
    let (codes, scales) = (codes(stream, &sizes)?, powers(stream, &sizes)?);
    let mut y = matrix(stream, &sizes)?;
    Ok(Box::new(move || {
        dequantize_mxfp4_into(&codes, &scales, &DequantizeMxOptions::default(), &mut y)
    }))
}

fn of_mxfp8(stream: &Stream, sizes: [usize; 2]) -> Result<Launch> {
    let (codes, scales) = (normal::<F8E4M3>(stream, &sizes)?, powers(stream, &sizes)?);
    let mut y = matrix(stream, &sizes)?;
    Ok(Box::new(move || {
        dequantize_mxfp8_into(&codes, &scales, &DequantizeMxOptions::default(), &mut y)
    }))
}
