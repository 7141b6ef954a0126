//! Activations against their references, what they refuse, and what they move.

use hk_core::dtype::{F8E4M3, F8E4M3Fnuz, bf16};
use hk_core::op::quant::Fp8;
use hk_core::{Activation, Arch, Error, Stream, Tensor};
use hk_norm::{
    GateLayout, GatedOptions, GroupOptions, MxOptions, Quantised, act_mul_fp8_group_quant,
    act_mul_fp8_group_quant_into, act_mul_mxfp4_quant, act_mul_mxfp4_quant_into,
    fused_clamp_act_mul_into, parity, silu_and_mul_into, silu_into, swiglu_and_mul_into,
};
use hk_ref::harness::{HELD, Moved, Traffic, few_workgroups, rejected};
use hk_ref::{Guarded, Placement};

use crate::common::devices;

#[test]
fn activation_has_parity() {
    hk_ref::run_module("activation", &parity::cases(), &devices(), 42_000_000);
}

#[test]
fn activation_rejects_wrong_tensors() {
    hk_ref::run_rejections("activation", &parity::cases(), &devices());
}

#[test]
fn activation_rejects_numbers_and_odd_rows_and_leaves_output() {
    let options = GatedOptions::default();
    for device in devices() {
        let stream = device.default_stream();
        let [x, odd] =
            [64, 63].map(|width| Tensor::filled(&stream, &[3, width], bf16::ONE).unwrap());
        let place = Placement::DENSE.gap(8);
        let mut y = Guarded::<bf16>::new(&stream, &[3, 32], place).unwrap();
        let error = rejected(&mut y, |y| silu_and_mul_into(&odd, &options, &mut **y));
        assert!(matches!(error, Error::Shape { arg: "x", .. }), "{error}");
        for alpha in [f32::NAN, f32::INFINITY] {
            let error = rejected(&mut y, |y| swiglu_and_mul_into(&x, alpha, 7.0, &options, y));
            assert!(matches!(error, Error::Value { arg: "alpha", .. }), "{error}");
        }
        for limit in [-1.0, f32::NAN] {
            let error = rejected(&mut y, |y| swiglu_and_mul_into(&x, 1.0, limit, &options, y));
            assert!(matches!(error, Error::Value { arg: "limit", .. }), "{error}");
            let error = rejected(&mut y, |y| {
                fused_clamp_act_mul_into(&x, None, Activation::Silu, limit, &options, y)
            });
            assert!(matches!(error, Error::Value { arg: "limit", .. }), "{error}");
        }
        let error = rejected(&mut y, |y| {
            let empty = Tensor::<bf16>::zeros(&stream, &[3, 0])?;
            silu_and_mul_into(&empty, &options, &mut *y.narrow_mut(1, 0..0)?)
        });
        assert!(matches!(error, Error::Shape { arg: "y", .. }), "{error}");
    }
}

/// Quantises rows to the chip's own floating point, with groups of so many elements.
fn act_mul_fp8<C: Fp8>(stream: &Stream, group: usize, activation: Activation) -> Error {
    let x = Tensor::filled(stream, &[3, 128], bf16::ONE).unwrap();
    let options = GroupOptions::default().group(group);
    act_mul_fp8_group_quant::<bf16, C>(&x, activation, GateLayout::Halves, &options).unwrap_err()
}

#[test]
fn act_mul_quant_rejects_what_it_does_not_have() {
    let silu = Activation::Silu;
    for device in devices() {
        let stream = device.default_stream();
        let act_mul_fp8 = match device.arch() {
            Arch::Gfx942 => act_mul_fp8::<F8E4M3Fnuz>,
            Arch::Gfx950 => act_mul_fp8::<F8E4M3>,
        };
        for group in [0, 16, 256] {
            let error = act_mul_fp8(&stream, group, silu);
            assert!(matches!(error, Error::Value { arg: "group", .. }), "{error}");
        }
        let error = act_mul_fp8(&stream, 32, Activation::LeakyRelu(f32::NAN));
        assert!(matches!(error, Error::Value { arg: "activation", .. }), "{error}");
        let (gates, options) = (GateLayout::Halves, MxOptions::default());
        let odd = Tensor::filled(&stream, &[3, 62], bf16::ONE).unwrap();
        let error = act_mul_mxfp4_quant(&odd, silu, gates, &options).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "n", .. }), "{error}");
        let odd = Tensor::filled(&stream, &[3, 65], bf16::ONE).unwrap();
        let error = act_mul_mxfp4_quant(&odd, silu, gates, &options).unwrap_err();
        assert!(matches!(error, Error::Shape { arg: "x", .. }), "{error}");
    }
}

#[test]
fn act_mul_quant_reads_and_writes_rows_once() {
    for device in devices() {
        let stream = device.default_stream();
        for ([rows, width], _) in HELD {
            let x = Tensor::filled(&stream, &[rows, 2 * width], bf16::ONE).unwrap();
            let codes = Tensor::empty(&stream, &[rows, width]).unwrap();
            let scales = Tensor::empty(&stream, &[rows, width / 32]).unwrap();
            let mut quantised = Quantised { codes, scales };
            let moved = Moved::by(&stream, || {
                let options = MxOptions::default().rows(few_workgroups());
                let (silu, gates) = (Activation::Silu, GateLayout::Halves);
                act_mul_mxfp4_quant_into(&x, silu, gates, &options, quantised.out())
            });
            let chunks = rows * width / 8 / 64;
            // Arguments are read again with each chunk.
            let again = 128 * chunks as u64;
            moved.once(4 * rows * width, 0..=again, rows * width / 2 + rows * width / 32);
            // Of each chunk two loads, and two stores.
            moved.in_full_waves(4.0 * chunks as f64);
        }
    }
}

/// With codes of a chip.
fn act_mul_fp8_moves_rows_once<C: Fp8>(stream: &Stream) {
    for ([rows, width], _) in HELD {
        let x = Tensor::filled(stream, &[rows, 2 * width], bf16::ONE).unwrap();
        let codes = Tensor::<C>::empty(stream, &[rows, width]).unwrap();
        let scales = Tensor::empty(stream, &[rows, width / 128]).unwrap();
        let mut quantised = Quantised { codes, scales };
        let moved = Moved::by(stream, || {
            let options = GroupOptions::default().rows(few_workgroups());
            let (silu, gates) = (Activation::Silu, GateLayout::Halves);
            act_mul_fp8_group_quant_into(&x, silu, gates, &options, quantised.out())
        });
        let chunks = rows * width / 8 / 64;
        // Arguments are read again with each chunk.
        let again = 128 * chunks as u64;
        moved.once(4 * rows * width, 0..=again, rows * width + rows * width / 32);
        // Of each chunk two loads, and two stores.
        moved.in_full_waves(4.0 * chunks as f64);
    }
}

#[test]
fn act_mul_fp8_group_quant_reads_and_writes_rows_once() {
    for device in devices() {
        let stream = device.default_stream();
        match device.arch() {
            Arch::Gfx942 => act_mul_fp8_moves_rows_once::<F8E4M3Fnuz>(&stream),
            Arch::Gfx950 => act_mul_fp8_moves_rows_once::<F8E4M3>(&stream),
        }
    }
}

#[test]
fn fused_clamp_act_mul_reads_and_writes_rows_once() {
    let options = GatedOptions::default().rows(few_workgroups());
    for device in devices() {
        let stream = device.default_stream();
        for [rows, width] in [[1024, 128], [64, 2048]] {
            let x = Tensor::filled(&stream, &[rows, 2 * width], bf16::ONE).unwrap();
            let mut y = Tensor::<bf16>::empty(&stream, &[rows, width]).unwrap();
            let (count, chunks) = (rows * width, rows * width / 8 / 64);
            let again = 128 * chunks as u64;
            // Of one weight for a row, each lane reads it with each chunk.
            let one_for_row = 4 * 64 * chunks;
            for (columns, read, beside) in
                [(1, 4 * count, one_for_row as u64), (width, 8 * count, 0)]
            {
                let weights = Tensor::filled(&stream, &[rows, columns], 1.0f32).unwrap();
                let moved = Moved::by(&stream, || {
                    let (weights, silu) = (Some(&*weights), Activation::Silu);
                    fused_clamp_act_mul_into(&x, weights, silu, 7.0, &options, &mut *y)
                });
                moved.once(read, beside..=beside + again, 2 * count);
            }
        }
    }
}

#[test]
fn activation_reads_and_writes_rows_once() {
    for device in devices() {
        let stream = device.default_stream();
        for (shape, rows_at_once) in HELD {
            let x = Tensor::filled(&stream, &shape, bf16::ONE).unwrap();
            let both = Tensor::filled(&stream, &[shape[0], 2 * shape[1]], bf16::ONE).unwrap();
            let mut y = Tensor::<bf16>::empty(&stream, &shape).unwrap();
            let bytes = x.len() * 2;
            let traffic = Traffic { read: bytes, written: bytes, shared: 0, rows_at_once };
            traffic.check(&stream, || silu_into(&x, &few_workgroups(), &mut *y));
            let twice = Traffic { read: 2 * bytes, ..traffic };
            let options = GatedOptions::default().rows(few_workgroups());
            twice.check(&stream, || silu_and_mul_into(&both, &options, &mut *y));
            twice.check(&stream, || swiglu_and_mul_into(&both, 1.702, 7.0, &options, &mut *y));
            twice.check(&stream, || {
                let silu = Activation::Silu;
                fused_clamp_act_mul_into(&both, None, silu, 7.0, &options, &mut *y)
            });
        }
    }
}
