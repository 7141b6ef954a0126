//! `chunk_fwd_o` against its reference, and what it refuses.

use hk_core::{Error, Tensor, dtype::bf16};
use hk_gdr::{ChunkOOptions, PrefillSchedule, chunk_fwd_o, chunk_fwd_o_into, parity};
use hk_ref::harness::{Moved, rejected};
use hk_ref::{Guarded, Placement};

use crate::common::{devices, of_arguments};

#[test]
fn chunk_o_has_parity() {
    hk_ref::run_module("chunk_o", &parity::cases(), &devices(), 12_400_000);
}

#[test]
fn chunk_o_rejects_wrong_tensors() {
    hk_ref::run_rejections("chunk_o", &parity::cases(), &devices());
}

#[test]
fn wrong_sizes_and_scales_are_refused_and_results_left() {
    for device in devices() {
        let stream = device.default_stream();
        let refused = |[h, hv, k, v]: [usize; 4], chunk: usize, scale: f32| {
            let keys = Tensor::filled(&stream, &[2, 5, h, k], bf16::ONE).unwrap();
            let values = Tensor::filled(&stream, &[2, 5, hv, v], bf16::ONE).unwrap();
            let states = Tensor::filled(&stream, &[2, hv, k, v], 1.0f32).unwrap();
            let mut o = Guarded::<bf16>::new(&stream, &[2, 5, hv, v], Placement::DENSE).unwrap();
            let options = ChunkOOptions::default().chunk_size(chunk).scale(scale);
            rejected(&mut o, |o| {
                chunk_fwd_o_into(&keys, &keys, &values, &states, &options, &mut **o)
            })
        };
        for scale in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            let error = refused([1, 2, 4, 4], 64, scale);
            assert!(matches!(error, Error::Value { arg: "scale", .. }), "{error}");
        }
        let error = refused([1, 2, 4, 4], 128, 1.0);
        assert!(matches!(error, Error::Value { arg: "chunk_size", .. }), "{error}");
        let error = refused([2, 3, 4, 4], 64, 1.0);
        assert!(matches!(error, Error::Value { arg: "hv", .. }), "{error}");
        for (sizes, wrong) in [
            ([0, 1, 4, 4], "q"),
            ([1, 0, 4, 4], "v"),
            ([1, 2, 0, 4], "q"),
            ([1, 2, 4, 0], "v"),
            ([1, 2, 257, 4], "q"),
            ([1, 2, 4, 513], "v"),
        ] {
            let error = refused(sizes, 64, 1.0);
            assert!(matches!(error, Error::Shape { arg, .. } if arg == wrong), "{error}");
        }
    }
}

#[test]
fn a_chunk_that_its_sequence_lacks_is_left_out() {
    for device in devices() {
        let stream = device.default_stream();
        let q = Tensor::filled(&stream, &[1, 35, 1, 8], bf16::ONE).unwrap();
        let v = Tensor::filled(&stream, &[1, 35, 2, 4], bf16::ONE).unwrap();
        let states = Tensor::filled(&stream, &[3, 2, 8, 4], 1.0f32).unwrap();
        let mut schedule = PrefillSchedule::new(&stream, &[0, 35], 16).unwrap();
        let mut run = |numbers: [i32; 3]| {
            schedule.chunk_ids.write(&numbers).unwrap();
            let mut o = Tensor::filled(&stream, v.shape(), bf16::from_f32(-7.0)).unwrap();
            let options = ChunkOOptions::default().schedule(&schedule);
            chunk_fwd_o_into(&q, &q, &v, &states, &options, &mut *o).unwrap();
            o.to_vec().unwrap()
        };
        let all = run([0, 1, 2]);
        for wrong in [-1, i32::MIN, i32::MAX, 3] {
            let o = run([0, 1, wrong]);
            assert_eq!(o[..32 * 8], all[..32 * 8]);
            assert!(o[32 * 8..].iter().all(|o| o.to_f32() == -7.0), "{wrong}");
        }
    }
}

#[test]
fn chunk_o_reads_and_writes_everything_once() {
    for device in devices() {
        let stream = device.default_stream();
        let [t, h, hv, keys, values] = [128, 2, 4, 128, 64];
        let q = Tensor::filled(&stream, &[1, t, h, keys], bf16::from_f32(0.0625)).unwrap();
        let v = Tensor::filled(&stream, &[1, t, hv, values], bf16::ONE).unwrap();
        let states = Tensor::filled(&stream, &[t / 64, hv, keys, values], bf16::ONE).unwrap();
        let options = ChunkOOptions::default();
        let moved = Moved::by(&stream, || chunk_fwd_o(&q, &q, &v, &states, &options));
        // A head of values reads the queries and keys of its head.
        let read = (2 * q.len() * (hv / h) + v.len() + states.len()) * 2;
        moved.once(read, of_arguments(t / 64 * hv * 4), v.len() * 2);
    }
}
