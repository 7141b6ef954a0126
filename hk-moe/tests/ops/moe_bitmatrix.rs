//! `sum_bitmatrix_rows` and `sum_bitmatrix_rows_fused` against their reference, what they refuse,
//! and what they move.

use hk_core::{Error, Tensor};
use hk_moe::{
    BitmatrixOptions, BitmatrixSumsOut, parity, sum_bitmatrix_rows, sum_bitmatrix_rows_into,
};
use hk_ref::harness::{Moved, rejected};
use hk_ref::{Guarded, Placement};

use crate::common::devices;

#[test]
fn moe_bitmatrix_has_parity() {
    hk_ref::run_module("moe_bitmatrix", &parity::cases(), &devices(), 12_000_000);
}

#[test]
fn moe_bitmatrix_rejects_wrong_tensors() {
    hk_ref::run_rejections("moe_bitmatrix", &parity::cases(), &devices());
}

#[test]
fn moe_bitmatrix_rejects_wrong_numbers_and_leaves_outputs() {
    for device in devices() {
        let stream = device.default_stream();
        let bits = Tensor::<u32>::zeros(&stream, &[64, 3]).unwrap();
        let plain = BitmatrixOptions::default();
        for (columns, block, options, name) in [
            (0, 32, plain, "n_cols"),
            (97, 32, plain, "n_cols"),
            (96, 4, plain, "partials_block_size"),
            (96, 24, plain, "partials_block_size"),
            (96, 256, plain, "partials_block_size"),
            (96, 0, plain, "partials_block_size"),
            (96, 32, plain.workgroups(0), "workgroups"),
        ] {
            let mut partials = Tensor::empty(&stream, &[2, 96]).unwrap();
            let mut hist = Guarded::<i32>::new(&stream, &[96], Placement::DENSE).unwrap();
            let error = rejected(&mut hist, |hist| {
                let out = BitmatrixSumsOut { hist, partials: &mut partials };
                sum_bitmatrix_rows_into(&bits, columns, block, &options, out)
            });
            assert!(matches!(error, Error::Value { arg, .. } if arg == name), "{error}");
        }
    }
}

#[test]
fn moe_bitmatrix_reads_bits_once_for_each_launch() {
    for device in devices() {
        let stream = device.default_stream();
        let (rows, words) = (4096, 8);
        let by_column = Tensor::filled(&stream, &[words, rows], u32::MAX).unwrap();
        let bits = by_column.permute(&[1, 0]).unwrap();
        let options = BitmatrixOptions::default();
        let moved = Moved::by(&stream, || sum_bitmatrix_rows(&bits, 256, 32, &options));
        let (bytes, columns, chunks) = (4 * rows * words, 32 * words, 8);
        // Chunks add up what those before them have.
        let before = (4 * columns * chunks * (chunks - 1) / 2) as u64;
        let written = 4 * columns * (rows / 32 + 1 + chunks);
        moved.once(2 * bytes, before..=before + moved.counters.scalar_read_bytes, written);
    }
}
