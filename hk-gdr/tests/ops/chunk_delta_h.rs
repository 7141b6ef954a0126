//! `chunk_delta_h_fwd` against its reference, and what it refuses.

use hk_core::{Error, Tensor, dtype::bf16};
use hk_gdr::{
    ChunkDeltaHOptions, ChunkDeltaHOut, ChunkStates, PrefillSchedule, chunk_delta_h_fwd,
    chunk_delta_h_fwd_into, parity,
};
use hk_ref::harness::{Moved, rejected};
use hk_ref::{Draw, Guarded, Placement};

use crate::common::{devices, of_arguments};

#[test]
fn chunk_delta_h_has_parity() {
    hk_ref::run_module("chunk_delta_h", &parity::cases(), &devices(), 13_000_000);
}

#[test]
fn chunk_delta_h_rejects_wrong_tensors() {
    hk_ref::run_rejections("chunk_delta_h", &parity::cases(), &devices());
}

#[test]
fn wrong_sizes_and_slots_are_refused_and_states_left() {
    for device in devices() {
        let stream = device.default_stream();
        let refused = |[h, hv, k, v]: [usize; 4], slots: [i32; 2], chunk: usize| {
            let keys = Tensor::filled(&stream, &[2, 5, h, k], bf16::ONE).unwrap();
            let w = Tensor::filled(&stream, &[2, 5, hv, k], bf16::ONE).unwrap();
            let u = Tensor::filled(&stream, &[2, 5, hv, v], bf16::ONE).unwrap();
            let slots = Tensor::from_slice(&stream, &slots, &[2]).unwrap();
            let mut pool = Guarded::<f32>::new(&stream, &[3, hv, k, v], Placement::DENSE).unwrap();
            let options = ChunkDeltaHOptions::default().chunk_size(chunk);
            rejected(&mut pool, |states| {
                let indices = Some((&slots).into());
                let states = ChunkStates::Pool { states, indices, has_initial_state: None };
                let out = ChunkDeltaHOut::<_, bf16, _> { h: None, v_new: None, states };
                chunk_delta_h_fwd_into(&keys, &w, &u, &options, out)
            })
        };
        for slots in [[0, 3], [1, 1]] {
            let error = refused([1, 2, 4, 4], slots, 64);
            assert!(matches!(error, Error::Value { arg: "state_indices", .. }), "{error}");
        }
        let error = refused([1, 2, 4, 4], [0, 1], 128);
        assert!(matches!(error, Error::Value { arg: "chunk_size", .. }), "{error}");
        let error = refused([2, 3, 4, 4], [0, 1], 64);
        assert!(matches!(error, Error::Value { arg: "hv", .. }), "{error}");
        for (sizes, wrong) in [
            ([0, 1, 4, 4], "k"),
            ([1, 0, 4, 4], "w"),
            ([1, 2, 0, 4], "k"),
            ([1, 2, 4, 0], "u"),
            ([1, 2, 257, 4], "k"),
            ([1, 2, 4, 513], "u"),
        ] {
            let error = refused(sizes, [0, 1], 64);
            assert!(matches!(error, Error::Shape { arg, .. } if arg == wrong), "{error}");
        }
    }
}

#[test]
fn wrong_slots_are_refused_where_there_are_no_chunks() {
    for device in devices() {
        let stream = device.default_stream();
        let schedule = PrefillSchedule::new(&stream, &[0, 0], 16).unwrap();
        let rows = Tensor::<bf16>::empty(&stream, &[1, 0, 1, 4]).unwrap();
        let slots = Tensor::from_slice(&stream, &[3i32], &[1]).unwrap();
        let mut pool = Guarded::<f32>::new(&stream, &[3, 1, 4, 4], Placement::DENSE).unwrap();
        let options = ChunkDeltaHOptions::default().schedule(&schedule);
        let error = rejected(&mut pool, |states| {
            let indices = Some((&slots).into());
            let states = ChunkStates::Pool { states, indices, has_initial_state: None };
            let out = ChunkDeltaHOut::<_, bf16, _> { h: None, v_new: None, states };
            chunk_delta_h_fwd_into(&rows, &rows, &rows, &options, out)
        });
        assert!(matches!(error, Error::Value { arg: "state_indices", .. }), "{error}");
    }
}

#[test]
fn states_of_slots_are_those_of_sequences() {
    for device in devices() {
        let stream = device.default_stream();
        let ([b, t, keys, values], slots) = ([3, 37, 24, 20], [4i32, 0, 2]);
        let rows = |seed: u64, n: usize| {
            let elements: Vec<bf16> = Draw::Scaled(-2).values(seed, b * t * 2 * n);
            Tensor::from_slice(&stream, &elements, &[b, t, 2, n]).unwrap()
        };
        let (k, w, u) = (rows(1, keys), rows(2, keys), rows(3, values));
        let len = 2 * keys * values;
        let of_slots: Vec<f32> = Draw::Normal.values(4, 5 * len);
        let mut pool = Tensor::from_slice(&stream, &of_slots, &[5, 2, keys, values]).unwrap();
        let slot = |of: &[f32], slot: i32| of[slot as usize * len..][..len].to_vec();
        let initial: Vec<f32> = slots.iter().flat_map(|at| slot(&of_slots, *at)).collect();
        let initial = Tensor::from_slice(&stream, &initial, &[b, 2, keys, values]).unwrap();
        let options = ChunkDeltaHOptions::default().chunk_size(16).output_final_state(true);
        let each = chunk_delta_h_fwd::<_, bf16, f32>(&k, &w, &u, Some(&*initial), &options);
        let each = each.unwrap();

        let mut h = Tensor::<bf16>::zeros(&stream, each.h.shape()).unwrap();
        let mut v_new = Tensor::<bf16>::zeros(&stream, u.shape()).unwrap();
        let indices = Tensor::from_slice(&stream, &slots, &[b]).unwrap();
        let indices = Some((&indices).into());
        let states = ChunkStates::Pool { states: &mut *pool, indices, has_initial_state: None };
        let (h_of, v_of) = (Some(&mut *h), Some(&mut *v_new));
        let out = ChunkDeltaHOut::<_, bf16, _> { h: h_of, v_new: v_of, states };
        chunk_delta_h_fwd_into(&k, &w, &u, &options, out).unwrap();
        assert_eq!(h.to_vec().unwrap(), each.h.to_vec().unwrap());
        assert_eq!(v_new.to_vec().unwrap(), each.v_new.to_vec().unwrap());
        let after = pool.to_vec().unwrap();
        let finals: Vec<f32> = slots.iter().flat_map(|at| slot(&after, *at)).collect();
        assert_eq!(finals, each.final_state.expect("it is wanted").to_vec().unwrap());
        for other in [1, 3] {
            assert_eq!(slot(&after, other), slot(&of_slots, other));
        }
    }
}

/// Every 16 values of a head read its keys and the rows of which it learns again, from a cache.
#[test]
fn chunk_delta_h_reads_states_once_and_writes_everything_once() {
    for device in devices() {
        let stream = device.default_stream();
        let [t, h, hv, keys, values] = [128, 2, 4, 128, 64];
        let k = Tensor::filled(&stream, &[1, t, h, keys], bf16::from_f32(0.0625)).unwrap();
        let w = Tensor::filled(&stream, &[1, t, hv, keys], bf16::from_f32(0.0625)).unwrap();
        let u = Tensor::filled(&stream, &[1, t, hv, values], bf16::ONE).unwrap();
        let mut pool = Tensor::filled(&stream, &[1, hv, keys, values], 1.0f32).unwrap();
        let states = pool.len();
        let options = ChunkDeltaHOptions::default();
        let moved = Moved::by(&stream, || {
            let states =
                ChunkStates::Pool { states: &mut pool, indices: None, has_initial_state: None };
            let out = ChunkDeltaHOut::<_, bf16, _> { h: None, v_new: None, states };
            chunk_delta_h_fwd_into(&k, &w, &u, &options, out)
        });
        let read = (k.len() * (hv / h) + w.len()) * (values / 16) * 2 + u.len() * 2 + states * 4;
        moved.once(read, of_arguments(hv * values / 16 * 4), states * 4);
    }
}
