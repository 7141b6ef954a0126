//! Problems of hk-norm and hk-quant that work on rows.

use hk_core::dtype::{E8M0, F4x2E2M1, bf16};
use hk_core::op::quant::Fp8;
use hk_core::op::rows::RowOptions;
use hk_core::{Result, Stream, Tensor};
use hk_norm::{
    Activation, FusedAddRmsnormOut, GateLayout, L2normOut, RmsnormOptions, RmsnormPadOptions,
    act_mul_mxfp4_quant_into, fused_add_rmsnorm_into, fused_mul_add_into, l2norm_into,
    rmsnorm_pad_into,
};
use hk_quant::{
    DowncastOptions, GatedRmsInput, GatedRmsOptions, GroupOptions, MxOptions, Quantised,
    QuantisedOut, RmsInput, RmsOthers, RmsnormDynamicOptions, StaticOptions, downcast_to_mxfp_into,
    dynamic_mxfp4_quant_into, dynamic_per_tensor_quant_into, fused_flatten_fp8_group_quant_into,
    fused_flatten_mxfp4_quant_into, fused_rms_gated_fp8_group_quant_into,
    fused_rms_mxfp4_quant_into, fused_silu_mul_fp8_per_tensor_static_quant_into,
    per_block_quant_into, per_group_quant_into, rmsnorm_dynamic_quant_into,
};

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
    const MX: f64 = 17.0 / 32.0;
    let shape = [16_384, 7168];
    vec![
        rows("fused_add_rmsnorm", "bf16", [5.0, 8.0], add_rmsnorm).at([16_384, 8192], &[]),
        rows("rmsnorm_pad", "bf16", [4.0, 4.0], pad).at([16_384, 2880], &[]),
        rows("l2norm", "bf16", [3.0, 4.0], l2norm).at([262_144, 128], &[]),
        rows("fused_mul_add", "bf16", [2.0, 4.0], mul_add).at([16_384, 8192], &[]),
        rows("act_mul_mxfp4_quant", "bf16", [5.0, 4.0 + MX], act_mul).at(shape, &[]),
        rows("dynamic_per_tensor_quant", "bf16 to i8", [2.0, 5.0], per_tensor).at(shape, &[]),
        rows("per_block_quant", "bf16 to i8", [2.0, 3.0], per_block).at(shape, &[]),
        rows("per_group_quant", "bf16 to i8", [2.0, 3.0], per_group).at(shape, &[]),
        rows("dynamic_mxfp4_quant", "bf16", [2.0, 2.0 + MX], mxfp4).at(shape, &[]),
        rows("rmsnorm_dynamic_quant", "bf16 to fp8", [6.0, 3.0], |stream, sizes| {
            native!(rmsnorm_dynamic(stream, sizes))
        })
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
