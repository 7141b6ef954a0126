//! `l2norm_bwd` against its reference, what it refuses, and what it moves.

use crate::common::devices;
use hk_core::Tensor;
use hk_core::dtype::bf16;
use hk_norm::{l2norm_bwd_into, parity};
use hk_ref::harness::{Moved, few_workgroups};

#[test]
fn l2norm_bwd_has_parity() {
    hk_ref::run_module("l2norm_bwd", &parity::cases(), &devices(), 13_000_000);
}

#[test]
fn l2norm_bwd_rejects_wrong_tensors() {
    hk_ref::run_rejections("l2norm_bwd", &parity::cases(), &devices());
}

#[test]
fn l2norm_bwd_reads_and_writes_rows_once() {
    for device in devices() {
        let stream = device.default_stream();
        // Each of the lanes that have a row reads its number.
        for (shape, lanes) in
            [([2048, 128], 16), ([512, 512], 64), ([64, 2048], 256), ([24, 8192], 512)]
        {
            let y = Tensor::filled(&stream, &shape, bf16::ONE).unwrap();
            let rstd = Tensor::filled(&stream, &shape[..1], 1.0f32).unwrap();
            let mut dx = Tensor::<bf16>::empty(&stream, &shape).unwrap();
            let moved =
                Moved::by(&stream, || l2norm_bwd_into(&y, &rstd, &y, &few_workgroups(), &mut dx));
            let (bytes, numbers) = (y.len() * 2, shape[0] * lanes);
            let least = (4 * numbers) as u64;
            moved.once(2 * bytes, least..=least, bytes);
            moved.in_full_waves((3 * bytes / 16 + numbers) as f64 / 64.0);
        }
    }
}
