//! `gmm` against its reference, and what it refuses.

use crate::common::devices;
use hk_core::{Error, Tensor, record_tiles};
use hk_gemm::{GmmOptions, GroupedForm, bf16, gmm, gmm_into, parity, ptgmm};

#[test]
fn gmm_has_parity() {
    hk_ref::run_module("gmm", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn gmm_rejects_wrong_tensors() {
    hk_ref::run_rejections("gmm", &parity::cases(), &devices());
}

/// Sizes that no rows have are as those that they stand for: negative ones none, and rows behind the last
/// are nobody's.
#[test]
fn wrong_sizes_reach_no_rows_that_there_are_not() {
    let options = GmmOptions::default().form(GroupedForm::Transposed).validate(false);
    for device in devices() {
        let stream = device.default_stream();
        let numbers = |count: usize| -> Vec<_> {
            (0..count).map(|i| bf16::from_f32((i * 7 % 11) as f32 - 5.0)).collect()
        };
        let (m, k, n) = (10, 24, 16);
        let lhs = Tensor::from_slice(&stream, &numbers(m * k), &[m, k]).unwrap();
        let rhs = Tensor::from_slice(&stream, &numbers(5 * n * k), &[5, n, k]).unwrap();
        let of_rows = Tensor::from_slice(&stream, &numbers(m * n), &[m, n]).unwrap();
        let results = |sizes: [i64; 5]| {
            let sizes = Tensor::from_slice(&stream, &sizes, &[5]).unwrap();
            let out: Tensor<f32> = gmm(&lhs, &rhs, &sizes, &options).unwrap();
            let sums = ptgmm::<_, f32>(&lhs, &of_rows, &sizes, &options).unwrap();
            [out.to_vec(), sums.out.to_vec(), sums.bias_grad.to_vec()].map(|all| all.unwrap())
        };
        let right = results([3, 0, 7, 0, 0]);
        for wrong in [
            [3, -7, i64::from(i32::MAX), i64::from(i32::MAX), 2],
            [3, i64::MIN, i64::MAX, 1, -1],
            [3, 0, 8, 1 << 31, 1 << 32],
        ] {
            assert_eq!(results(wrong), right, "{wrong:?}");
        }
    }
}

#[test]
fn gmm_refuses_sizes_that_are_no_numbers_of_rows() {
    for device in devices() {
        let stream = device.default_stream();
        let lhs = Tensor::filled(&stream, &[4, 16], bf16::ONE).unwrap();
        let rhs = Tensor::filled(&stream, &[2, 16, 8], bf16::ONE).unwrap();
        for sizes in [[1, -1], [1, i64::MIN], [1, i64::MAX], [i64::MIN, i64::MAX], [1, 4]] {
            let of = Tensor::from_slice(&stream, &sizes, &[2]).unwrap();
            let options = GmmOptions::default().validate(true);
            let error = gmm::<_, f32>(&lhs, &rhs, &of, &options).unwrap_err();
            assert!(matches!(error, Error::Value { arg: "group_sizes", .. }), "{sizes:?} {error}");
        }
    }
}

/// What a kernel cannot reach is called as the op calls it.
#[test]
fn gmm_names_the_operand_whose_rows_are_too_long() {
    for device in devices() {
        let stream = device.default_stream();
        // Stored as (k, n): of as many rows as a step has.
        let rhs = Tensor::<bf16>::empty(&stream, &[1, 1, 40_000_000]).unwrap();
        let lhs = Tensor::filled(&stream, &[1, 1], bf16::ONE).unwrap();
        let sizes = Tensor::from_slice(&stream, &[1i32], &[1]).unwrap();
        let mut out = Tensor::<bf16>::empty(&stream, &[1, 40_000_000]).unwrap();
        let options = GmmOptions::default();
        let (result, launched) = record_tiles(|| gmm_into(&lhs, &rhs, &sizes, &options, &mut out));
        let error = result.unwrap_err();
        assert!(launched.is_empty(), "{launched:?}");
        assert!(matches!(error, Error::Value { arg: "rhs", .. }), "{error}");
    }
}
