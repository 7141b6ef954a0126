//! `batched_gemm_bf16` against its reference, and what it refuses.

use crate::common::devices;
use hk_core::dtype::bf16;
use hk_core::{Error, Stream, Tensor, TensorSlice};
use hk_gemm::{GemmOptions, batched_gemm_bf16, batched_gemm_bf16_into, gemm_a16w16_into, parity};
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};

#[test]
fn batched_gemm_bf16_has_parity() {
    hk_ref::run_module("batched_gemm_bf16", &parity::cases(), &devices(), 20_000_000);
}

#[test]
fn batched_gemm_bf16_rejects_wrong_tensors() {
    hk_ref::run_rejections("batched_gemm_bf16", &parity::cases(), &devices());
}

/// A tensor of i / 8, the same on every device.
fn eighths(stream: &Stream, shape: &[usize]) -> Tensor<bf16> {
    let count = shape.iter().product::<usize>();
    let values: Vec<_> = (0..count).map(|i| bf16::from_f32((i * 7 % 31) as f32 / 8.0)).collect();
    Tensor::from_slice(stream, &values, shape).unwrap()
}

#[test]
fn batched_gemm_bf16_returns_rows_of_all_products_together() {
    for device in devices() {
        let stream = device.default_stream();
        let (x, w) = (eighths(&stream, &[3, 5, 40]), eighths(&stream, &[3, 9, 40]));
        let plain: Tensor<f32> = batched_gemm_bf16(&x, &w, &GemmOptions::default()).unwrap();
        let options = GemmOptions::default().transpose_bm();
        let by_rows: Tensor<f32> = batched_gemm_bf16(&x, &w, &options).unwrap();
        assert_eq!(by_rows.shape(), [5, 3, 9]);
        let (plain, by_rows) = (plain.to_vec().unwrap(), by_rows.to_vec().unwrap());
        for (at, number) in plain.into_iter().enumerate() {
            let (batch, row, column) = (at / 45, at / 9 % 5, at % 9);
            assert_eq!(by_rows[(row * 3 + batch) * 9 + column], number);
        }
    }
}

#[test]
fn a_single_product_has_no_batch_to_transpose() {
    for device in devices() {
        let stream = device.default_stream();
        let x = eighths(&stream, &[8, 16]);
        let mut y = Guarded::<bf16>::new(&stream, &[8, 8], Placement::DENSE.gap(8)).unwrap();
        let options = GemmOptions::default().transpose_bm();
        let error = rejected(&mut y, |y| gemm_a16w16_into(&x, &x, &options, y));
        assert!(matches!(error, Error::Value { arg: "transpose_bm", .. }), "{error}");
    }
}

/// A tensor that is added may be the result only if both are in one order, of which square ones do not tell.
#[test]
fn batched_gemm_bf16_rejects_its_output_by_rows_as_residual() {
    for device in devices() {
        let stream = device.default_stream();
        let (x, w) = (eighths(&stream, &[4, 4, 16]), eighths(&stream, &[4, 8, 16]));
        let mut y = Tensor::filled(&stream, &[4, 4, 8], 2.0f32).unwrap();
        let (read, mut write) = y.in_place();
        let options = GemmOptions::default().residual(&read).transpose_bm();
        let error = batched_gemm_bf16_into(&x, &w, &options, &mut write).unwrap_err();
        assert!(matches!(error, Error::Alias { a: "y", b: "residual", .. }), "{error}");
        assert_eq!(y.to_vec().unwrap(), [2.0; 128]);
    }
}

/// A bias may have the dimension of rows, or not.
#[test]
fn batched_gemm_bf16_takes_a_bias_of_two_dimensions() {
    for device in devices() {
        let stream = device.default_stream();
        let (x, w) = (eighths(&stream, &[2, 4, 16]), eighths(&stream, &[2, 24, 16]));
        let bias = eighths(&stream, &[2, 24]);
        let wide = eighths(&stream, &[2, 1, 24]);
        let product = |bias: &Tensor<bf16>| -> Vec<f32> {
            let options = GemmOptions::default().bias(bias);
            batched_gemm_bf16(&x, &w, &options).unwrap().to_vec().unwrap()
        };
        assert_eq!(product(&bias), product(&wide));
    }
}

/// A bias may be one for all matrices, or one number for all columns of a matrix.
#[test]
fn batched_gemm_bf16_takes_a_bias_that_is_repeated() {
    for device in devices() {
        let stream = device.default_stream();
        let (x, w) = (eighths(&stream, &[3, 4, 16]), eighths(&stream, &[3, 24, 16]));
        let product = |bias: &TensorSlice<bf16>| -> Vec<f32> {
            let options = GemmOptions::default().bias(bias);
            batched_gemm_bf16(&x, &w, &options).unwrap().to_vec().unwrap()
        };
        for (one, shape) in [
            (vec![1, 24], vec![3, 24]),
            (vec![1, 1, 24], vec![3, 1, 24]),
            (vec![3, 1], vec![3, 24]),
            (vec![3, 1, 1], vec![3, 1, 24]),
        ] {
            let bias = eighths(&stream, &one);
            let repeated = bias.broadcast(&shape).unwrap();
            let all = repeated.to_contiguous().unwrap();
            assert_eq!(product(&repeated), product(&all), "{one:?} as {shape:?}");
        }
    }
}
