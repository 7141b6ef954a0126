//! The ops of the module `fused_fp8_quant` against their references, and what they refuse.

#[cfg(not(any(feature = "cdna3", feature = "cdna4")))]
compile_error!("tests need kernels: run them with --features cdna3,cdna4, or one of the two");

use hk_core::{Device, Error, Tensor};
use hk_quant::{
    FusedRmsQuant, GroupOptions, QuantisedOut, RmsInput, RmsOthers, RmsnormDynamicOptions,
    ScaleLayout, fused_add_rmsnorm_dynamic_quant, parity, rmsnorm_dynamic_quant,
    rmsnorm_dynamic_quant_into,
};
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};

/// A simulated device of each architecture that there are kernels for.
fn devices() -> Vec<Device> {
    hk_ref::devices_of(parity::kernels()).unwrap()
}

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
fn reject_groups<C: hk_core::op::quant::Fp8>(device: &Device) {
    let stream = device.default_stream();
    let x = Tensor::filled(&stream, &[3, 64], 1.0f32).unwrap();
    let weight = Tensor::filled(&stream, &[64], 1.0f32).unwrap();
    let input = RmsInput::new(&x, &weight, 1e-6);
    let mut codes = Guarded::<C>::new(&stream, &[3, 64], Placement::DENSE).unwrap();
    let mut refused = |options: GroupOptions<'_>, others| {
        let mut scales = Tensor::zeros(&stream, &[3, 1]).unwrap();
        rejected(&mut codes, |codes| {
            let out = QuantisedOut { codes, scales: &mut scales };
            hk_quant::fused_rms_fp8_group_quant_into(&input, &options, out, others)
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
            hk_core::Arch::Gfx942 => reject_groups::<hk_core::dtype::F8E4M3Fnuz>(&device),
            _ => reject_groups::<hk_core::dtype::F8E4M3>(&device),
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
