//! `cumsum_scalar` and `cumsum_vector` against their reference, what they refuse, and what they move.

use hk_core::{Error, Tensor};
use hk_gdr::{
    CumsumOptions, cumsum_scalar, cumsum_scalar_into, cumsum_vector, cumsum_vector_into, parity,
};
use hk_ref::harness::{Moved, rejected};
use hk_ref::{Guarded, Placement};

use crate::common::devices;

#[test]
fn cumsum_has_parity() {
    hk_ref::run_module("cumsum", &parity::cases(), &devices(), 4_000_000);
}

#[test]
fn cumsum_rejects_wrong_tensors() {
    hk_ref::run_rejections("cumsum", &parity::cases(), &devices());
}

#[test]
fn cumsum_rejects_wrong_options_bounds_and_sizes_and_leaves_outputs() {
    for device in devices() {
        let stream = device.default_stream();
        let refused = |shape: [usize; 3], chunk: usize, options: &CumsumOptions<'_>| {
            let s = Tensor::filled(&stream, &shape, 1.0f32).unwrap();
            let mut o = Guarded::<f32>::new(&stream, &shape, Placement::DENSE).unwrap();
            rejected(&mut o, |o| cumsum_scalar_into(&s, chunk, options, &mut **o))
        };
        let options = CumsumOptions::default();
        for chunk in [0, 8, 48, 512] {
            let error = refused([1, 5, 2], chunk, &options);
            assert!(matches!(error, Error::Value { arg: "chunk_size", .. }), "{error}");
        }
        for scale in [f32::NAN, f32::INFINITY] {
            let error = refused([1, 5, 2], 64, &options.scale(scale));
            assert!(matches!(error, Error::Value { arg: "scale", .. }), "{error}");
        }
        let error = refused([1, 5, 0], 64, &options);
        assert!(matches!(error, Error::Shape { arg: "s", .. }), "{error}");
        for shape in [[1, 5, 2, 0], [1, 5, 0, 3]] {
            let s = Tensor::filled(&stream, &shape, 1.0f32).unwrap();
            let mut o = Guarded::<f32>::new(&stream, &shape, Placement::DENSE).unwrap();
            let error = rejected(&mut o, |o| cumsum_vector_into(&s, 64, &options, &mut **o));
            assert!(matches!(error, Error::Shape { arg: "s", .. }), "{error}");
        }
        for wrong in [&[1, 3, 5][..], &[0, 3, 4], &[0, 4, 3], &[0, 6, 5], &[0]] {
            let bounds = Tensor::from_slice(&stream, wrong, &[wrong.len()]).unwrap();
            let error = refused([1, 5, 2], 64, &options.cu_seqlens(&bounds));
            assert!(matches!(error, Error::Value { arg: "cu_seqlens", .. }), "{error}");
            let error = refused([2, 5, 2], 64, &options.cu_seqlens(&bounds));
            assert!(matches!(error, Error::Shape { arg: "s", .. }), "{error}");
        }
        let none = Tensor::from_slice(&stream, &[0i32; 0], &[0]).unwrap();
        let error = refused([1, 5, 2], 64, &options.cu_seqlens(&none));
        assert!(matches!(error, Error::Shape { arg: "cu_seqlens", .. }), "{error}");
    }
}

#[test]
fn of_no_tokens_there_are_no_sums() {
    for device in devices() {
        let stream = device.default_stream();
        for shape in [[0, 5, 2], [2, 0, 2]] {
            let s = Tensor::<f32>::zeros(&stream, &shape).unwrap();
            let o = cumsum_scalar(&s, 64, &CumsumOptions::default()).unwrap();
            assert_eq!(o.shape(), shape);
        }
        let s = Tensor::<f32>::zeros(&stream, &[1, 3, 2, 5]).unwrap();
        let options = CumsumOptions::default().output_head_first(true);
        assert_eq!(cumsum_vector(&s, 64, &options).unwrap().shape(), [1, 2, 3, 5]);
    }
}

#[test]
fn cumsum_reads_and_writes_everything_once() {
    for device in devices() {
        let stream = device.default_stream();
        for head_first in [false, true] {
            let shape = if head_first { [1, 32, 2048] } else { [1, 2048, 32] };
            let s = Tensor::filled(&stream, &shape, 1.0f32).unwrap();
            let options = CumsumOptions::default().head_first(head_first);
            let moved = Moved::by(&stream, || cumsum_scalar(&s, 64, &options));
            let bytes = 2048 * 32 * 4;
            // Beside it, what each wave reads of the kernel's arguments.
            moved.once(bytes, 0..=256 * 512, bytes);
        }
    }
}
