//! `chunk_scaled_dot_kkt` and `recompute_w_u` against their references, and what they refuse.

use hk_core::{Error, Tensor, dtype::bf16, dtype::f16};
use hk_gdr::{
    ChunkKktOptions, ChunkWUOut, PrefillSchedule, RecomputeWUOptions, chunk_scaled_dot_kkt,
    chunk_scaled_dot_kkt_into, parity, recompute_w_u, recompute_w_u_into,
};
use hk_ref::harness::{Moved, rejected};
use hk_ref::{Guarded, Placement};

use crate::common::{WRONG_SIZES, devices, of_arguments};

#[test]
fn wy_representation_has_parity() {
    hk_ref::run_module("wy_representation", &parity::cases(), &devices(), 8_400_000);
}

#[test]
fn wy_representation_rejects_wrong_tensors() {
    hk_ref::run_rejections("wy_representation", &parity::cases(), &devices());
}

#[test]
fn wrong_chunks_heads_and_types_are_refused_and_outputs_left() {
    for device in devices() {
        let stream = device.default_stream();
        let refused = |[h, hv, k, v]: [usize; 4], chunk: usize, of_f16: bool| {
            let keys = Tensor::filled(&stream, &[1, 5, h, k], bf16::ONE).unwrap();
            let values = Tensor::filled(&stream, &[1, 5, hv, v], bf16::ONE).unwrap();
            let tm = Tensor::filled(&stream, &[1, 5, hv, 16], bf16::ONE).unwrap();
            let tm_of_f16 = Tensor::filled(&stream, &[1, 5, hv, 16], f16::ONE).unwrap();
            let mut u = Tensor::zeros(&stream, values.shape()).unwrap();
            let mut w = Guarded::<bf16>::new(&stream, &[1, 5, hv, k], Placement::DENSE).unwrap();
            let options = RecomputeWUOptions::default().chunk_size(chunk);
            rejected(&mut w, |w| {
                let out = ChunkWUOut { w, u: &mut u };
                match of_f16 {
                    true => recompute_w_u_into(&keys, &values, &tm_of_f16, &options, out),
                    false => recompute_w_u_into(&keys, &values, &tm, &options, out),
                }
            })
        };
        let error = refused([1, 2, 4, 4], 16, true);
        assert!(matches!(error, Error::Value { arg: "tm", .. }), "{error}");
        let error = refused([1, 2, 4, 4], 24, false);
        assert!(matches!(error, Error::Value { arg: "chunk_size", .. }), "{error}");
        let error = refused([1, 2, 4, 4], 32, false);
        assert!(matches!(error, Error::Shape { arg: "tm", .. }), "{error}");
        let error = refused([2, 3, 4, 4], 16, false);
        assert!(matches!(error, Error::Value { arg: "hv", .. }), "{error}");
        for (sizes, wrong) in WRONG_SIZES {
            let error = refused(sizes, 16, false);
            assert!(matches!(error, Error::Shape { arg, .. } if arg == wrong), "{error}");
        }
    }
}

#[test]
fn a_chunk_that_its_sequence_lacks_is_left_out() {
    for device in devices() {
        let stream = device.default_stream();
        let k = Tensor::filled(&stream, &[1, 35, 1, 8], bf16::ONE).unwrap();
        let v = Tensor::filled(&stream, &[1, 35, 2, 4], bf16::ONE).unwrap();
        let tm = Tensor::filled(&stream, &[1, 35, 2, 16], 1.0f32).unwrap();
        let mut schedule = PrefillSchedule::new(&stream, &[0, 35], 16).unwrap();
        let mut run = |numbers: [i32; 3]| {
            schedule.chunk_ids.write(&numbers).unwrap();
            let seven = |n: usize| Tensor::filled(&stream, &[1, 35, 2, n], bf16::from_f32(-7.0));
            let (mut w, mut u) = (seven(8).unwrap(), seven(4).unwrap());
            let options = RecomputeWUOptions::default().schedule(&schedule);
            let out = ChunkWUOut { w: &mut *w, u: &mut *u };
            recompute_w_u_into(&k, &v, &tm, &options, out).unwrap();
            let mut a = Tensor::filled(&stream, tm.shape(), -7.0f32).unwrap();
            let options = ChunkKktOptions::default().schedule(&schedule);
            chunk_scaled_dot_kkt_into(&k, &options, &mut *a).unwrap();
            let a: Vec<bf16> = a.to_vec().unwrap().into_iter().map(bf16::from_f32).collect();
            [w.to_vec().unwrap(), u.to_vec().unwrap(), a]
        };
        let all = run([0, 1, 2]);
        for wrong in [-1, i32::MIN, i32::MAX, 3] {
            for (got, all) in run([0, 1, wrong]).iter().zip(&all) {
                let there = all.len() / 35 * 32;
                assert_eq!(got[..there], all[..there]);
                assert!(got[there..].iter().all(|x| x.to_f32() == -7.0), "{wrong}");
            }
        }
    }
}

#[test]
fn heads_may_be_first_in_memory() {
    for device in devices() {
        let stream = device.default_stream();
        let k = Tensor::filled(&stream, &[1, 5, 1, 8], bf16::ONE).unwrap();
        let v = Tensor::filled(&stream, &[1, 5, 2, 4], bf16::ONE).unwrap();
        let tm = Tensor::filled(&stream, &[1, 5, 2, 16], 1.0f32).unwrap();
        let options = RecomputeWUOptions::default().chunk_size(16);
        let plain = recompute_w_u(&k, &v, &tm, &options).unwrap();
        let turned = recompute_w_u(&k, &v, &tm, &options.head_first(true)).unwrap();
        assert_eq!(turned.w.shape(), [1, 5, 2, 8]);
        assert_eq!(turned.w.strides(), [80, 8, 40, 1]);
        assert_eq!(turned.w.to_vec().unwrap(), plain.w.to_vec().unwrap());
        assert_eq!(turned.u.to_vec().unwrap(), plain.u.to_vec().unwrap());
    }
}

#[test]
fn wy_representation_reads_and_writes_everything_once() {
    for device in devices() {
        let stream = device.default_stream();
        let [t, h, hv, keys, values] = [128, 2, 4, 128, 64];
        let k = Tensor::filled(&stream, &[1, t, h, keys], bf16::from_f32(0.0625)).unwrap();
        let v = Tensor::filled(&stream, &[1, t, hv, values], bf16::ONE).unwrap();
        let beta = Tensor::filled(&stream, &[1, t, hv], 0.5f32).unwrap();
        let options = ChunkKktOptions::default().beta(&beta);
        let moved = Moved::by(&stream, || chunk_scaled_dot_kkt(&k, hv, &options));
        moved.once(k.len() * 2 + beta.len() * 4, of_arguments(t / 64 * h * 4), t * hv * 64 * 4);

        let tm = Tensor::filled(&stream, &[1, t, hv, 64], bf16::ONE).unwrap();
        let options = RecomputeWUOptions::default().beta(&beta);
        let moved = Moved::by(&stream, || recompute_w_u(&k, &v, &tm, &options));
        let read = (tm.len() + v.len() + k.len() * (hv / h)) * 2 + beta.len() * 4;
        moved.once(read, of_arguments(t / 64 * hv * 4), t * hv * (keys + values) * 2);
    }
}
