//! `topk` against its reference, what it refuses, and what it moves.

use hk_core::counters::count;
use hk_core::dtype::bf16;
use hk_core::{Error, Tensor};
use hk_norm::{RowOptions, TopkOut, parity, topk, topk_into, topk_values_f32};
use hk_ref::harness::{HELD, rejected};
use hk_ref::{Guarded, Placement};

use crate::common::devices;

#[test]
fn topk_has_parity() {
    hk_ref::run_module("topk", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn topk_rejects_wrong_tensors() {
    hk_ref::run_rejections("topk", &parity::cases(), &devices());
}

#[test]
fn topk_rejects_k_and_widths_and_leaves_output() {
    let options = RowOptions::default();
    for device in devices() {
        let stream = device.default_stream();
        let refused = |width: usize, k: usize| {
            let x = Tensor::<bf16>::empty(&stream, &[2, width]).unwrap();
            let mut indices = Tensor::<i64>::empty(&stream, &[2, k]).unwrap();
            let mut values =
                Guarded::<bf16>::new(&stream, &[2, k.max(1)], Placement::DENSE.gap(8)).unwrap();
            rejected(&mut values, |values| {
                let mut values = values.narrow_mut(1, 0..k)?;
                let out = TopkOut { values: &mut *values, indices: &mut *indices };
                topk_into(&x, k, &options, out)
            })
        };
        for k in [0, 65] {
            let error = refused(64, k);
            assert!(matches!(error, Error::Value { arg: "k", .. }), "{error}");
        }
        for width in [0, (1 << 24) + 1] {
            let error = refused(width, 1);
            assert!(matches!(error, Error::Shape { arg: "x", .. }), "{error}");
        }
    }
}

#[test]
fn topk_takes_only_tiles_that_have_room_for_rows() {
    for device in devices() {
        let stream = device.default_stream();
        let x = Tensor::<bf16>::empty(&stream, &[2, 9000]).unwrap();
        let error = topk(&x, 3, &RowOptions::default().tile("n8192")).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "tile", .. }), "{error}");
        // For few of a short row.
        let error = topk(&x, 3, &RowOptions::default().tile("n1024")).unwrap_err();
        assert!(matches!(error, Error::NoTile { .. }), "{error}");
        let error = topk(&x, 3, &RowOptions::default().workgroups(0)).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "workgroups", .. }), "{error}");
    }
}

#[test]
fn topk_takes_rows_in_any_number_of_dimensions() {
    for device in devices() {
        let stream = device.default_stream();
        let x = [3.0, -1.0, 7.0, 7.0, 0.5, -2.0].map(bf16::from_f32);
        let x = Tensor::from_slice(&stream, &x, &[2, 1, 3]).unwrap();
        let top = topk(&x, 2, &RowOptions::default()).unwrap();
        assert_eq!((top.values.shape(), top.indices.shape()), (&[2, 1, 2][..], &[2, 1, 2][..]));
        assert_eq!(top.values.to_vec().unwrap(), [7.0, 3.0, 7.0, 0.5].map(bf16::from_f32));
        assert_eq!(top.indices.to_vec().unwrap(), [2, 0, 0, 1]);
        let top = topk_values_f32(&x, 2, &RowOptions::default()).unwrap();
        assert_eq!(top.values.to_vec().unwrap(), [7.0, 3.0, 7.0, 0.5]);
        assert_eq!(top.indices.to_vec().unwrap(), [2, 0, 0, 1]);
    }
}

#[test]
fn topk_reads_rows_once_and_writes_results_once() {
    for device in devices() {
        let stream = device.default_stream();
        for (shape, _) in HELD {
            let x: Vec<_> = (0..shape[0] * shape[1])
                .map(|i| bf16::from_f32((i * 7919 % 509 + 1) as f32))
                .collect();
            let x = Tensor::from_slice(&stream, &x, &shape).unwrap();
            // Of short rows, what a workgroup reads of its arguments for each would count too.
            let is_long = shape[1] > 1024;
            for k in if is_long { [8, 64] } else { [8, 16] } {
                let (_, counters) = count(|| {
                    let top = topk(&x, k, &RowOptions::default().workgroups(2)).unwrap();
                    stream.synchronize().map(|()| top).unwrap()
                });
                let (kernel, counters) = counters.into_iter().next().expect("one was launched");
                assert_eq!(counters.written_bytes, (shape[0] * k * (2 + 8)) as u64, "{kernel}");
                assert_eq!(counters.distinct_written_bytes, counters.written_bytes, "{kernel}");
                let read = counters.read_bytes as f64 / (x.len() * 2) as f64;
                assert!((1.0..1.02).contains(&read), "{kernel} reads {read} of what it has to");
            }
        }
    }
}

#[test]
fn topk_does_not_cost_more_as_k_grows() {
    for device in devices() {
        let stream = device.default_stream();
        let x: Vec<_> = (0..60_000).map(|i| ((i * 7919) % 60_013) as f32).collect();
        let x = Tensor::from_slice(&stream, &x, &[2, 30_000]).unwrap();
        let [one, many] = [1, 256].map(|k| {
            let (_, counters) = count(|| {
                let top = topk(&x, k, &RowOptions::default()).unwrap();
                stream.synchronize().map(|()| top).unwrap()
            });
            counters.values().map(|of| of.instructions.total()).sum::<u64>() as f64
        });
        assert!(many < 1.5 * one, "{many} wave-instructions for 256, {one} for 1");
    }
}
