//! Comparisons, conversions, reductions and `l2_normalize` against their references, what they refuse,
//! and what they move.

use hk_core::{Error, Tensor};
use hk_gdr::{abs_diff, err_ratio, float_to_bf16, l2_normalize, max_reduce, parity, sum_reduce};
use hk_ref::harness::{BYTES_AT_ONCE, Moved};

use crate::common::devices;

#[test]
fn gdr_utils_has_parity() {
    hk_ref::run_module("gdr_utils", &parity::cases(), &devices(), 1_500_000);
}

#[test]
fn gdr_utils_rejects_wrong_tensors_and_numbers() {
    hk_ref::run_rejections("gdr_utils", &parity::cases(), &devices());
}

#[test]
fn nothing_has_a_sum_but_no_maximum_and_no_error() {
    for device in devices() {
        let stream = device.default_stream();
        let none = Tensor::<f32>::zeros(&stream, &[0]).unwrap();
        assert_eq!(sum_reduce(&none).unwrap().to_vec().unwrap(), [0.0]);
        for error in [max_reduce(&none).unwrap_err(), err_ratio(&none, &none).unwrap_err()] {
            assert!(matches!(error, Error::Shape { arg: "x", .. }), "{error}");
        }
        assert_eq!(abs_diff(&none, &none).unwrap().shape(), [0]);
    }
}

#[test]
fn l2_normalize_rejects_empty_rows() {
    for device in devices() {
        let none = Tensor::<f32>::zeros(&device.default_stream(), &[2, 0]).unwrap();
        let error = l2_normalize(&none, 1e-6).unwrap_err();
        assert!(matches!(error, Error::Shape { arg: "x", .. }), "{error}");
    }
}

#[test]
fn gdr_utils_read_and_write_everything_once() {
    for device in devices() {
        let stream = device.default_stream();
        let x = Tensor::filled(&stream, &[512, 2048], 1.0f32).unwrap();
        let bytes = x.len() * 4;
        for (read, written, moved) in [
            (2 * bytes, bytes, Moved::by(&stream, || abs_diff(&x, &x).map(|_| ()))),
            (bytes, bytes / 2, Moved::by(&stream, || float_to_bf16(&x).map(|_| ()))),
            (bytes, bytes, Moved::by(&stream, || l2_normalize(&x, 1e-6).map(|_| ()))),
        ] {
            // Beside them, what each wave reads of the kernel's arguments.
            moved.once(read, 0..=1 << 20, written);
            moved.in_full_waves((read + written) as f64 / BYTES_AT_ONCE);
        }
    }
}
