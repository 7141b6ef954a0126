//! `solve_tril` against its reference, what it refuses, and what it moves.

use hk_core::kernel::record_choices;
use hk_core::{Error, Tensor};
use hk_gdr::{SolveTrilOptions, parity, solve_tril, solve_tril_into};
use hk_ref::harness::{BYTES_AT_ONCE, Moved, rejected};
use hk_ref::{Guarded, Placement};

use crate::common::{devices, of_arguments};

#[test]
fn solve_tril_has_parity() {
    hk_ref::run_module("solve_tril", &parity::cases(), &devices(), 3_600_000);
}

#[test]
fn solve_tril_rejects_wrong_tensors() {
    hk_ref::run_rejections("solve_tril", &parity::cases(), &devices());
}

#[test]
fn solve_tril_has_one_tile_for_each_chunk() {
    for device in devices() {
        let stream = device.default_stream();
        for chunk in [16, 32, 64] {
            let a = Tensor::<f32>::zeros(&stream, &[1, 1, 1, chunk]).unwrap();
            let (solved, choices) = record_choices(|| solve_tril(&a, &SolveTrilOptions::default()));
            solved.unwrap();
            let names: Vec<_> = choices[0].candidates().map(|tile| tile.name).collect();
            assert_eq!(names, [chunk.to_string()]);
        }
    }
}

#[test]
fn solve_tril_rejects_wrong_chunks_and_bounds_and_leaves_outputs() {
    for device in devices() {
        let stream = device.default_stream();
        let refused = |shape: [usize; 4], options: &SolveTrilOptions<'_>| {
            let a = Tensor::filled(&stream, &shape, 1.0f32).unwrap();
            let mut ai = Guarded::<f32>::new(&stream, &shape, Placement::DENSE).unwrap();
            rejected(&mut ai, |ai| solve_tril_into(&a, options, &mut **ai))
        };
        let options = SolveTrilOptions::default();
        for chunk in [0, 8, 48, 128] {
            let error = refused([1, 5, 2, chunk], &options);
            assert!(matches!(error, Error::Shape { arg: "a", .. }), "{error}");
        }
        let error = refused([1, 5, 0, 16], &options);
        assert!(matches!(error, Error::Shape { arg: "a", .. }), "{error}");
        for wrong in [&[1, 3, 5][..], &[0, 3, 4], &[0, 4, 3], &[0, 6, 5], &[0]] {
            let bounds = Tensor::from_slice(&stream, wrong, &[wrong.len()]).unwrap();
            let error = refused([1, 5, 2, 16], &options.cu_seqlens(&bounds));
            assert!(matches!(error, Error::Value { arg: "cu_seqlens", .. }), "{error}");
            let error = refused([2, 5, 2, 16], &options.cu_seqlens(&bounds));
            assert!(matches!(error, Error::Shape { arg: "a", .. }), "{error}");
        }
        let none = Tensor::<f32>::zeros(&stream, &[1, 0, 2, 16]).unwrap();
        assert_eq!(solve_tril(&none, &options).unwrap().shape(), [1, 0, 2, 16]);
    }
}

#[test]
fn solve_tril_reads_blocks_on_and_below_the_diagonal_and_writes_everything_once() {
    for device in devices() {
        let stream = device.default_stream();
        for chunk in [16, 32, 64] {
            let a = Tensor::filled(&stream, &[1, 256, 8, chunk], 0.1f32).unwrap();
            let moved = Moved::by(&stream, || solve_tril(&a, &SolveTrilOptions::default()));
            let (bytes, waves) = (a.len() * 4, a.len() / chunk / 64);
            let read = bytes * (chunk / 16 + 1) / (chunk / 16 * 2);
            moved.once(read, of_arguments(waves), bytes);
            moved.in_full_waves((read + bytes) as f64 / BYTES_AT_ONCE);
        }
    }
}
