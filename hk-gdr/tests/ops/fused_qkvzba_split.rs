//! `fused_qkvzba_split` against its reference, what it refuses, and what it moves.

use hk_core::dtype::{Real, bf16};
use hk_core::{Error, Tensor};
use hk_gdr::{
    QkvzbaHeads, QkvzbaSplitOptions, QkvzbaSplitOut, fused_qkvzba_split, fused_qkvzba_split_into,
    parity,
};
use hk_ref::harness::{BYTES_AT_ONCE, Moved, rejected};
use hk_ref::{Guarded, Placement};

use crate::common::devices;

#[test]
fn fused_qkvzba_split_has_parity() {
    hk_ref::run_module("fused_qkvzba_split", &parity::cases(), &devices(), 15_000_000);
}

#[test]
fn fused_qkvzba_split_rejects_wrong_tensors() {
    hk_ref::run_rejections("fused_qkvzba_split", &parity::cases(), &devices());
}

#[test]
fn fused_qkvzba_split_rejects_wrong_numbers_and_leaves_outputs() {
    for device in devices() {
        let stream = device.default_stream();
        let right = QkvzbaHeads { num_heads_qk: 2, num_heads_v: 4, head_qk: 3, head_v: 5 };
        let mixed_qkvz = Tensor::filled(&stream, &[7, 52], bf16::ONE).unwrap();
        let mixed_ba = Tensor::filled(&stream, &[7, 8], bf16::ONE).unwrap();
        let refused = |heads: QkvzbaHeads, options: &QkvzbaSplitOptions| {
            let mut z = Tensor::<bf16>::empty(&stream, &[7, 4, 5]).unwrap();
            let [mut b, mut a] = [0; 2].map(|_| Tensor::<bf16>::empty(&stream, &[7, 4]).unwrap());
            let mut mixed_qkv = Guarded::<bf16>::new(&stream, &[7, 32], Placement::DENSE).unwrap();
            rejected(&mut mixed_qkv, |mixed_qkv| {
                let out = QkvzbaSplitOut { mixed_qkv, z: &mut z, b: &mut b, a: &mut a };
                fused_qkvzba_split_into(&mixed_qkvz, &mixed_ba, heads, options, out)
            })
        };
        let options = QkvzbaSplitOptions::default();
        for (heads, name) in [
            (QkvzbaHeads { num_heads_qk: 0, ..right }, "num_heads_qk"),
            (QkvzbaHeads { num_heads_v: 0, ..right }, "num_heads_v"),
            (QkvzbaHeads { num_heads_v: 5, ..right }, "num_heads_v"),
            (QkvzbaHeads { head_qk: 0, ..right }, "head_qk"),
            (QkvzbaHeads { head_v: 0, ..right }, "head_v"),
            (QkvzbaHeads { head_v: 1 << 28, ..right }, "head_v"),
            (QkvzbaHeads { head_v: usize::MAX, ..right }, "head_v"),
        ] {
            let error = refused(heads, &options);
            assert!(matches!(error, Error::Value { arg, .. } if arg == name), "{error}");
        }
        let error = refused(QkvzbaHeads { head_qk: 4, ..right }, &options);
        assert!(matches!(error, Error::Shape { arg: "mixed_qkvz", .. }), "{error}");
        let error = refused(QkvzbaHeads { num_heads_v: 2, head_v: 10, ..right }, &options);
        assert!(matches!(error, Error::Shape { arg: "mixed_ba", .. }), "{error}");
        let error = refused(right, &options.workgroups(0));
        assert!(matches!(error, Error::Value { arg: "workgroups", .. }), "{error}");
        let heads = QkvzbaHeads { head_v: 1 << 27, ..right };
        let error = fused_qkvzba_split(&mixed_qkvz, &mixed_ba, heads, &options).unwrap_err();
        assert!(matches!(error, Error::Shape { arg: "mixed_qkvz", .. }), "{error}");
    }
}

/// Requires that nothing is read or written twice, and that full waves access 16 bytes a lane.
fn check_traffic<T: Real>(tokens: usize, heads: QkvzbaHeads) {
    let QkvzbaHeads { num_heads_qk, num_heads_v, head_qk, head_v } = heads;
    let qkvz = 2 * (num_heads_qk * head_qk + num_heads_v * head_v);
    for device in devices() {
        let stream = device.default_stream();
        let mixed_qkvz = Tensor::filled(&stream, &[tokens, qkvz], T::from_f64(1.0)).unwrap();
        let mixed_ba =
            Tensor::filled(&stream, &[tokens, 2 * num_heads_v], T::from_f64(1.0)).unwrap();
        // So few that what each wave reads of the kernel's arguments hardly counts.
        let options = QkvzbaSplitOptions::default().workgroups(8);
        let moved =
            Moved::by(&stream, || fused_qkvzba_split(&mixed_qkvz, &mixed_ba, heads, &options));
        let bytes = tokens * (qkvz + 2 * num_heads_v) * size_of::<T>();
        moved.once(bytes, 0..=0, bytes);
        moved.in_full_waves(2.0 * bytes as f64 / BYTES_AT_ONCE);
        assert_eq!(moved.counters.lds_accesses, 0);
    }
}

#[test]
fn fused_qkvzba_split_moves_everything_once() {
    let next = QkvzbaHeads { num_heads_qk: 16, num_heads_v: 32, head_qk: 128, head_v: 128 };
    check_traffic::<bf16>(128, next);
    check_traffic::<f32>(64, next);
    let of_8_chips = QkvzbaHeads { num_heads_qk: 2, num_heads_v: 4, ..next };
    check_traffic::<bf16>(512, of_8_chips);
}
