//! `gemm_a8w8` against its reference, and what it refuses.

use crate::common::devices;
use hk_core::Tensor;
use hk_gemm::{GemmOptions, gemm_a8w8, parity};
use hk_ref::Draw;

#[test]
fn gemm_a8w8_has_parity() {
    hk_ref::run_module("gemm_a8w8", &parity::cases(), &devices(), 20_000_000);
}

#[test]
fn gemm_a8w8_rejects_wrong_tensors() {
    hk_ref::run_rejections("gemm_a8w8", &parity::cases(), &devices());
}

/// However k is cut, sums of integers are exact.
#[test]
fn gemm_a8w8_of_i8_does_not_depend_on_splits() {
    for device in devices() {
        let stream = device.default_stream();
        let k = 5000;
        let values = |seed| -> Vec<i8> { Draw::Integers(-9, 10).values(seed, 8 * k) };
        let [x, w] =
            [1, 2].map(|seed| Tensor::from_slice(&stream, &values(seed), &[8, k]).unwrap());
        let scale = Tensor::filled(&stream, &[1], 0.125f32).unwrap();
        let product = |splits| -> Vec<f32> {
            let options = GemmOptions::default().splits(splits);
            gemm_a8w8(&x, &w, &scale, &scale, &options).unwrap().to_vec().unwrap()
        };
        let (x, w) = (values(1), values(2));
        let sum = |i: usize, j: usize| -> i32 {
            (0..k).map(|at| i32::from(x[i * k + at]) * i32::from(w[j * k + at])).sum()
        };
        let expected: Vec<f32> = (0..64).map(|at| sum(at / 8, at % 8) as f32 / 64.0).collect();
        for splits in [1, 2, 3, 9] {
            assert_eq!(product(splits), expected, "{} {splits}", device.name());
        }
    }
}
