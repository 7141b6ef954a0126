//! `solve_tril` against its reference, what it refuses, and what it moves.

use hk_core::kernel::record_choices;
use hk_core::{Error, Tensor};
use hk_gdr::{SolveTrilOptions, parity, solve_tril, solve_tril_into};
use hk_ref::gdr::fused_recurrent::normalized;
use hk_ref::harness::{BYTES_AT_ONCE, Moved, rejected};
use hk_ref::{Draw, Guarded, Placement};

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

/// Below the diagonal of each chunk: small numbers, products as models have them, and one number on the
/// first subdiagonal; NaN elsewhere.
fn contents(chunk: usize) -> [Vec<f64>; 3] {
    let drawn: Vec<f32> = Draw::Normal.values(7, chunk * (chunk + 9));
    let drawn: Vec<f64> = drawn.into_iter().map(f64::from).collect();
    let key = |i: usize| normalized(&drawn[i * 8..][..8]);
    let product = |i: usize, j: usize| key(i).iter().zip(key(j)).map(|(x, y)| x * y).sum::<f64>();
    let strength = |i: usize| 1.0 / (1.0 + (-drawn[chunk * 8 + i]).exp());
    let fill = |number: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
        let element = |at: usize| match (at / chunk, at % chunk) {
            (i, j) if j < i => f64::from(number(i, j) as f32),
            _ => f64::NAN,
        };
        (0..chunk * chunk).map(element).collect()
    };
    [
        fill(&|i, j| 0.1 * drawn[i * chunk + j]),
        fill(&|i, j| product(i, j) * strength(i) * (-0.05 * (i - j) as f64).exp()),
        fill(&|i, j| if j + 1 == i { 0.75 } else { 0.0 }),
    ]
}

#[test]
fn the_product_with_the_inverse_is_the_identity() {
    for device in devices() {
        let stream = device.default_stream();
        for chunk in [16, 32, 64] {
            for a in contents(chunk) {
                let elements: Vec<f32> = a.iter().map(|x| *x as f32).collect();
                let given = Tensor::from_slice(&stream, &elements, &[1, chunk, 1, chunk]).unwrap();
                let inverse = solve_tril(&given, &SolveTrilOptions::default()).unwrap();
                let inverse = inverse.to_vec().unwrap();
                let (mut most, mut norm) = (0.0, 0.0);
                for i in 0..chunk {
                    let row = &a[i * chunk..][..i];
                    norm = f64::max(norm, row.iter().map(|x| x.abs()).sum());
                    for j in 0..chunk {
                        let of = |m: usize| f64::from(inverse[m * chunk + j]);
                        let sum: f64 = row.iter().enumerate().map(|(m, x)| x * of(m)).sum();
                        let identity = if i == j { 1.0 } else { 0.0 };
                        most = f64::max(most, (sum + of(i) - identity).abs());
                    }
                }
                assert!(norm > 0.0);
                let largest = inverse.iter().fold(0.0f32, |most, x| most.max(x.abs()));
                let allowed = 2e-6 * (1.0 + norm * f64::from(largest));
                assert!(most <= allowed, "chunks of {chunk}: {most:.2e} is above {allowed:.2e}");
            }
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
