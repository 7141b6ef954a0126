//! The ops of the module `fused_fp8_quant` against their references, what they refuse, and what they
//! move.

use hk_core::dtype::{F8E4M3, F8E4M3Fnuz, bf16};
use hk_core::op::quant::{Fp8, Quantised};
use hk_core::{Arch, Device, Error, Tensor};
use hk_quant::{
    FusedAddRmsnormDynamicQuantOut, FusedRmsQuant, GatedRmsInput, GatedRmsOptions, GroupOptions,
    QuantisedOut, RmsInput, RmsOthers, RmsnormDynamicOptions, RowOptions, ScaleLayout, SecondRms,
    StaticOptions, fused_add_rmsnorm_dynamic_quant, fused_add_rmsnorm_dynamic_quant_into,
    fused_flatten_fp8_group_quant_into, fused_rms_fp8_group_quant_into,
    fused_rms_fp8_per_tensor_static_quant_into, fused_rms_gated_fp8_group_quant_into,
    fused_silu_mul_fp8_per_tensor_static_quant_into, parity, rmsnorm_dynamic_quant,
    rmsnorm_dynamic_quant_into,
};
use hk_ref::harness::{HELD, rejected};
use hk_ref::{Guarded, Placement};

use crate::common::{FEW, devices, moves, moves_in_turns};

#[test]
fn fused_fp8_quant_has_parity() {
    hk_ref::run_module("fused_fp8_quant", &parity::cases(), &devices(), 40_000_000);
}

#[test]
fn fused_fp8_quant_rejects_wrong_tensors() {
    hk_ref::run_rejections("fused_fp8_quant", &parity::cases(), &devices());
}

#[test]
fn rmsnorm_dynamic_quant_rejects_wrong_numbers_and_leaves_output() {
    for device in devices() {
        let stream = device.default_stream();
        let mut codes = Guarded::<i8>::new(&stream, &[3, 64], Placement::DENSE.gap(8)).unwrap();
        let x = Tensor::filled(&stream, &[3, 64], 1.0f32).unwrap();
        let weight = Tensor::filled(&stream, &[64], 1.0f32).unwrap();
        let mut refused = |eps, options: RmsnormDynamicOptions<'_>| {
            let mut scales = Tensor::zeros(&stream, &[3]).unwrap();
            rejected(&mut codes, |codes| {
                let out = QuantisedOut { codes, scales: &mut scales };
                rmsnorm_dynamic_quant_into(&x, &weight, eps, &options, out, None)
            })
        };
        let options = RmsnormDynamicOptions::default();
        for eps in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            let error = refused(eps, options);
            assert!(matches!(error, Error::Value { arg: "eps", .. }), "{error}");
        }
        for bound in [0.0, -1.0, f32::NAN] {
            let error = refused(1e-6, options.scale_ub(bound));
            assert!(matches!(error, Error::Value { arg: "scale_ub", .. }), "{error}");
        }
    }
}

/// With codes of a chip.
fn reject_groups<C: Fp8>(device: &Device) {
    let stream = device.default_stream();
    let x = Tensor::filled(&stream, &[3, 64], 1.0f32).unwrap();
    let weight = Tensor::filled(&stream, &[64], 1.0f32).unwrap();
    let input = RmsInput::new(&x, &weight, 1e-6);
    let mut codes = Guarded::<C>::new(&stream, &[3, 64], Placement::DENSE).unwrap();
    let mut refused = |options: GroupOptions<'_>, others| {
        let mut scales = Tensor::zeros(&stream, &[3, 1]).unwrap();
        rejected(&mut codes, |codes| {
            let out = QuantisedOut { codes, scales: &mut scales };
            fused_rms_fp8_group_quant_into(&input, &options, out, others)
        })
    };
    let options = GroupOptions::default();
    for group in [0, 16, 48, 256] {
        let error = refused(options.group(group), RmsOthers::default());
        assert!(matches!(error, Error::Value { arg: "group", .. }), "{error}");
    }
    let shuffled = options.scale_layout(ScaleLayout::Shuffled32x8);
    let error = refused(shuffled, RmsOthers::default());
    assert!(matches!(error, Error::Value { arg: "scale_layout", .. }), "{error}");
    let mut sum = Tensor::zeros(&stream, &[3, 64]).unwrap();
    let others = RmsOthers { residual_out: Some(&mut *sum), ..RmsOthers::default() };
    let error = refused(options, others);
    assert!(matches!(error, Error::Value { arg: "residual_out", .. }), "{error}");
}

#[test]
fn fused_rms_fp8_group_quant_rejects_wrong_options_and_leaves_output() {
    for device in devices() {
        match device.arch() {
            Arch::Gfx942 => reject_groups::<F8E4M3Fnuz>(&device),
            _ => reject_groups::<F8E4M3>(&device),
        }
    }
}

#[test]
fn rows_of_zeros_have_scale_one() {
    for device in devices() {
        let stream = device.default_stream();
        let x = Tensor::<f32>::zeros(&stream, &[2, 64]).unwrap();
        let weight = Tensor::filled(&stream, &[64], 1.0f32).unwrap();
        let options = RmsnormDynamicOptions::default();
        let alone: FusedRmsQuant<f32, i8> =
            rmsnorm_dynamic_quant(&x, &weight, 1e-6, &options).unwrap();
        let added: FusedRmsQuant<f32, i8> =
            fused_add_rmsnorm_dynamic_quant(&x, &x, &weight, 1e-6, &options).unwrap();
        for quantised in [&alone, &added] {
            assert_eq!(quantised.scales.to_vec().unwrap(), [1.0; 2]);
            assert_eq!(quantised.codes.to_vec().unwrap(), [0; 128]);
        }
        assert!(alone.residual_out.is_none());
        assert_eq!(added.residual_out.unwrap().to_vec().unwrap(), [0.0; 128]);
    }
}

/// With codes of a chip.
fn reject_gated<C: Fp8>(device: &Device) {
    let stream = device.default_stream();
    let x = Tensor::filled(&stream, &[3, 64], 1.0f32).unwrap();
    let weight = Tensor::filled(&stream, &[64], 1.0f32).unwrap();
    let mut codes = Guarded::<C>::new(&stream, &[3, 64], Placement::DENSE).unwrap();
    let mut refused = |eps, options: GatedRmsOptions<'_>| {
        let mut scales = Tensor::zeros(&stream, &[3, 2]).unwrap();
        let input = GatedRmsInput { x: &x, z: &x, weight: &weight, bias: None, eps };
        rejected(&mut codes, |codes| {
            let out = QuantisedOut { codes, scales: &mut scales };
            fused_rms_gated_fp8_group_quant_into(&input, &options, out)
        })
    };
    let options = GatedRmsOptions::default();
    for group in [0, 3, 65, 128] {
        let error = refused(1e-6, options.group(group));
        assert!(matches!(error, Error::Value { arg: "group", .. }), "{error}");
    }
    for most in [0.0, -1.0, f32::NAN, 2.0 * C::MOST] {
        let error = refused(1e-6, options.qmax(most));
        assert!(matches!(error, Error::Value { arg: "qmax", .. }), "{error}");
    }
    for eps in [0.0, f32::NAN] {
        let error = refused(eps, options.group(32));
        assert!(matches!(error, Error::Value { arg: "eps", .. }), "{error}");
    }
}

#[test]
fn fused_rms_gated_fp8_group_quant_rejects_wrong_options_and_leaves_output() {
    for device in devices() {
        match device.arch() {
            Arch::Gfx942 => reject_gated::<F8E4M3Fnuz>(&device),
            _ => reject_gated::<F8E4M3>(&device),
        }
    }
}

/// Rows of at most 8,192 elements are read and written once, with codes of a chip.
fn check_traffic<C: Fp8>(device: &Device) {
    let stream = device.default_stream();
    let rows = RowOptions::default().workgroups(FEW);
    for ([held, width], rows_at_once) in HELD {
        // So many that loads of weights hardly count.
        let shape = [2 * held, width];
        let x = Tensor::filled(&stream, &shape, bf16::ONE).unwrap();
        let weight = Tensor::filled(&stream, &shape[1..], bf16::ONE).unwrap();
        let (count, chunks) = (x.len(), x.len() / 8 / 64);
        let weights = FEW as usize * rows_at_once * 2 * width;
        // In which waves with several rows read arguments again.
        let turns = if width == 128 { shape[0] / 4 } else { 0 };
        let scale = Tensor::filled(&stream, &[1], 1.0f32).unwrap();
        let mut sum = Tensor::<bf16>::empty(&stream, &shape).unwrap();
        let mut groups = Quantised::<C>::empty(&x, &[shape[0], width / 128]).unwrap();
        let mut each = Quantised::<C>::empty(&x, &shape[..1]).unwrap();
        // Scales of rows are stored by a wave with several of them at once.
        let of_rows = shape[0] / if width == 128 { 4 } else { 1 };

        let input = RmsInput::new(&x, &weight, 1e-6).residual(&x);
        let bytes = [4 * count + weights, 3 * count + count / 32, 5 * chunks];
        moves_in_turns(turns, &stream, bytes, || {
            let others = RmsOthers { residual_out: Some(&mut *sum), ..RmsOthers::default() };
            let options = GroupOptions::default().rows(rows);
            fused_rms_fp8_group_quant_into(&input, &options, groups.out(), others)
        });
        let input = RmsInput::new(&x, &weight, 1e-6);
        moves(&stream, [2 * count + weights, count, 2 * chunks], || {
            let options = StaticOptions::default().rows(rows);
            let (codes, others) = (&mut *groups.codes, RmsOthers::default());
            fused_rms_fp8_per_tensor_static_quant_into(&input, &scale, &options, codes, others)
        });
        let bytes = [2 * count + weights, count + 4 * shape[0], 2 * chunks + of_rows];
        moves(&stream, bytes, || {
            let options = RmsnormDynamicOptions::default().rows(rows);
            rmsnorm_dynamic_quant_into(&x, &weight, 1e-6, &options, each.out(), None)
        });
        let gated = GatedRmsInput { x: &x, z: &x, weight: &weight, bias: None, eps: 1e-6 };
        let bytes = [4 * count + weights, count + 4 * shape[0], 3 * chunks + of_rows];
        moves_in_turns(turns, &stream, bytes, || {
            let options = GatedRmsOptions::default().rows(rows);
            fused_rms_gated_fp8_group_quant_into(&gated, &options, each.out())
        });
        if width > 128 {
            let bytes = [4 * count + weights, count + count / 32, 4 * chunks];
            moves(&stream, bytes, || {
                let options = GatedRmsOptions::default().group(128).rows(rows);
                fused_rms_gated_fp8_group_quant_into(&gated, &options, groups.out())
            });
        }
        let both = Tensor::filled(&stream, &[shape[0], 2 * width], bf16::ONE).unwrap();
        moves(&stream, [4 * count, count, 3 * chunks], || {
            let options = StaticOptions::default().rows(rows);
            let codes = &mut *groups.codes;
            fused_silu_mul_fp8_per_tensor_static_quant_into(&both, &scale, &options, codes)
        });
        // Stored by the second dimension.
        let (m, h) = (shape[0] / 4, 4);
        let x = Tensor::filled(&stream, &[h, m, width], bf16::ONE).unwrap();
        let x = x.permute(&[1, 0, 2]).unwrap();
        let mut codes = Tensor::<C>::empty(&stream, &[m, h * width]).unwrap();
        let mut scales = Tensor::empty(&stream, &[m, h * width / 128]).unwrap();
        moves(&stream, [2 * count, count + count / 32, 3 * chunks], || {
            let options = GroupOptions::default().rows(rows);
            let out = QuantisedOut { codes: &mut *codes, scales: &mut scales };
            fused_flatten_fp8_group_quant_into(&x, &options, out)
        });
    }
}

#[test]
fn fused_fp8_quant_reads_and_writes_rows_once() {
    for device in devices() {
        match device.arch() {
            Arch::Gfx942 => check_traffic::<F8E4M3Fnuz>(&device),
            _ => check_traffic::<F8E4M3>(&device),
        }
    }
}

/// Sums, and other rows beside, with codes of a chip.
fn check_more_traffic<C: Fp8>(device: &Device) {
    let stream = device.default_stream();
    let rows = RowOptions::default().workgroups(FEW);
    for (shape, rows_at_once) in [([512, 128], 16), ([32, 2048], 1)] {
        let x = Tensor::filled(&stream, &shape, bf16::ONE).unwrap();
        let weight = Tensor::filled(&stream, &shape[1..], bf16::ONE).unwrap();
        let (count, chunks) = (x.len(), x.len() / 8 / 64);
        let weights = FEW as usize * rows_at_once * 2 * shape[1];
        let [mut sum, mut y] = [(); 2].map(|()| Tensor::<bf16>::empty(&stream, &shape).unwrap());
        let mut groups = Quantised::<C>::empty(&x, &[shape[0], shape[1] / 128]).unwrap();
        let mut each = Quantised::<C>::empty(&x, &shape[..1]).unwrap();
        // Scales of rows are stored by a wave with several of them at once, which reads arguments
        // again in each turn.
        let (turns, of_rows) =
            if shape[1] == 128 { (shape[0] / 4, shape[0] / 4) } else { (0, shape[0]) };
        let bytes = [4 * count + weights, 3 * count + 4 * shape[0], 4 * chunks + of_rows];
        moves_in_turns(turns, &stream, bytes, || {
            let options = RmsnormDynamicOptions::default().rows(rows);
            let (quantised, residual_out) = (each.out(), &mut *sum);
            let out = FusedAddRmsnormDynamicQuantOut { quantised, residual_out, norm: None };
            fused_add_rmsnorm_dynamic_quant_into(&x, &x, &weight, 1e-6, &options, out)
        });
        // Twice rows and weights.
        let read = 2 * (2 * count + weights);
        let input = RmsInput::new(&x, &weight, 1e-6);
        moves(&stream, [read, 3 * count + count / 32, 5 * chunks], || {
            let second = Some(SecondRms::new(&x, &weight, 1e-6, &mut *y));
            let others = RmsOthers { second, ..RmsOthers::default() };
            let options = GroupOptions::default().rows(rows);
            fused_rms_fp8_group_quant_into(&input, &options, groups.out(), others)
        });
        let scale = Tensor::filled(&stream, &[1], 1.0f32).unwrap();
        moves(&stream, [read, 3 * count, 4 * chunks], || {
            let second = Some(SecondRms::new(&x, &weight, 1e-6, &mut *y));
            let others = RmsOthers { second, ..RmsOthers::default() };
            let options = StaticOptions::default().rows(rows);
            let codes = &mut *groups.codes;
            fused_rms_fp8_per_tensor_static_quant_into(&input, &scale, &options, codes, others)
        });
    }
}

#[test]
fn fused_fp8_quant_reads_and_writes_other_rows_once() {
    for device in devices() {
        match device.arch() {
            Arch::Gfx942 => check_more_traffic::<F8E4M3Fnuz>(&device),
            Arch::Gfx950 => check_more_traffic::<F8E4M3>(&device),
        }
    }
}
