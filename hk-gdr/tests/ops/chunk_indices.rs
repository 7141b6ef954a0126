//! Indices of tokens and chunks, on the host and on the device, and what is refused.

use hk_core::{Error, Tensor};
use hk_gdr::{
    PrefillSchedule, get_max_num_splits, parity, prepare_chunk_indices,
    prepare_chunk_indices_on_device, prepare_chunk_offsets, prepare_chunk_offsets_on_device_into,
    prepare_cu_seqlens_from_lens, prepare_lens, prepare_num_chunks, prepare_position_ids,
    prepare_rebased_cu_seqlens, prepare_sequence_ids, prepare_sequence_ids_on_device,
    prepare_token_indices,
};
use hk_ref::draw::Random;
use hk_ref::gdr::chunk_indices as reference;
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};

use crate::common::devices;

#[test]
fn index_has_parity() {
    hk_ref::run_module("index", &parity::cases(), &devices(), 700_000);
}

#[test]
fn index_rejects_wrong_tensors() {
    hk_ref::run_rejections("index", &parity::cases(), &devices());
}

#[test]
fn indices_on_the_host_are_those_of_the_reference() {
    let mut random = Random::new(7);
    let many: Vec<usize> = (0..10_000).map(|_| random.below(9)).collect();
    let small: [&[usize]; 6] = [&[], &[0], &[128, 192, 128], &[0, 5, 0, 65], &[1, 64, 65], &[7]];
    for lens in small.into_iter().chain([&many[..500]]) {
        let lengths: Vec<i64> = lens.iter().map(|len| *len as i64).collect();
        let bounds = prepare_cu_seqlens_from_lens(&lengths).unwrap();
        assert_eq!(prepare_lens(&bounds).unwrap(), lengths);
        let tokens = reference::token_indices(lens);
        assert_eq!(prepare_token_indices(&bounds).unwrap(), tokens);
        let column = |at: usize| tokens.iter().map(|row| row[at]).collect::<Vec<_>>();
        assert_eq!(prepare_sequence_ids(&bounds).unwrap(), column(0));
        assert_eq!(prepare_position_ids(&bounds).unwrap(), column(1));
        for chunk in [1, 3, 64, 1000] {
            let chunks = reference::chunk_indices(lens, chunk);
            assert_eq!(prepare_chunk_indices(&bounds, chunk).unwrap(), chunks);
            assert_eq!(prepare_num_chunks(&bounds, chunk).unwrap(), chunks.len());
            let offsets = reference::chunk_offsets(lens, chunk);
            assert_eq!(prepare_chunk_offsets(&bounds, chunk).unwrap(), offsets);
            let most = lens.iter().map(|len| len.div_ceil(chunk)).max();
            assert_eq!(get_max_num_splits(&bounds, chunk).ok(), most);
        }
    }
    let bounds: Vec<i64> =
        prepare_cu_seqlens_from_lens(&many.iter().map(|len| *len as i64).collect::<Vec<_>>())
            .unwrap();
    let chunks = prepare_chunk_indices(&bounds, 4).unwrap();
    assert_eq!(chunks, reference::chunk_indices(&many, 4));
}

#[test]
fn bounds_may_be_above_31_bits() {
    let bounds = [0, 3 << 31, (3 << 31) + 5, 1 << 40];
    assert_eq!(prepare_lens(&bounds).unwrap(), [3 << 31, 5, (1 << 40) - (3 << 31) - 5]);
    let offsets = prepare_chunk_offsets(&bounds, 1 << 30).unwrap();
    assert_eq!(offsets, [0, 6, 7, 7 + 1018]);
    for device in devices() {
        let stream = device.default_stream();
        let on_device = Tensor::from_slice(&stream, &bounds, &[4]).unwrap();
        let mut of_device = Tensor::<i64>::empty(&stream, &[4]).unwrap();
        prepare_chunk_offsets_on_device_into(&on_device, 1 << 30, &mut of_device).unwrap();
        assert_eq!(of_device.to_vec().unwrap(), offsets);
    }
}

#[test]
fn wrong_bounds_and_sizes_are_refused() {
    let wrong = |error: Error, arg: &str| {
        assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
    };
    for bounds in [&[][..], &[1], &[1, 2], &[0, 2, 1], &[-1, 0], &[0, -1]] {
        wrong(prepare_lens::<i32>(bounds).unwrap_err(), "cu_seqlens");
        wrong(prepare_chunk_indices::<i32>(bounds, 4).unwrap_err(), "cu_seqlens");
        wrong(prepare_sequence_ids::<i32>(bounds).unwrap_err(), "cu_seqlens");
    }
    wrong(prepare_chunk_offsets(&[0, 1], 0).unwrap_err(), "chunk_size");
    wrong(get_max_num_splits(&[0], 4).unwrap_err(), "cu_seqlens");
    wrong(prepare_cu_seqlens_from_lens(&[1, -1]).unwrap_err(), "lens");
    wrong(prepare_cu_seqlens_from_lens(&[i32::MAX, 1]).unwrap_err(), "lens");
    wrong(prepare_cu_seqlens_from_lens(&[i64::MAX, 1, 1]).unwrap_err(), "lens");
    wrong(prepare_rebased_cu_seqlens(&[0, 1, 3], 3, 3).unwrap_err(), "num_decodes");
    wrong(prepare_rebased_cu_seqlens(&[0, 1, 3], 1, 2).unwrap_err(), "num_decode_tokens");
}

#[test]
fn a_schedule_has_the_chunks_after_the_decodes() {
    let device = devices().remove(0);
    let stream = device.default_stream();
    let bounds = [0i64, 1, 2, 2, 67, 131];
    let schedule = PrefillSchedule::after_decodes(&stream, &bounds, 64, 2, 2).unwrap();
    assert_eq!(schedule.cu_seqlens.to_vec().unwrap(), [0, 0, 65, 129]);
    assert_eq!(schedule.sequence_ids.to_vec().unwrap(), [1, 1, 2]);
    assert_eq!(schedule.chunk_ids.to_vec().unwrap(), [0, 1, 0]);
    assert_eq!(schedule.chunk_offsets.to_vec().unwrap(), [0, 0, 2, 3]);
    let PrefillSchedule { chunk_size, sequences, tokens, chunks, most_chunks, .. } = schedule;
    assert_eq!([chunk_size, sequences, tokens, chunks, most_chunks], [64, 3, 129, 3, 2]);
    let none = PrefillSchedule::new(&stream, &[0i32], 64).unwrap();
    assert_eq!([none.sequences, none.chunks, none.most_chunks], [0; 3]);
    let error = PrefillSchedule::new(&stream, &[0, 1i64 << 31], 64).unwrap_err();
    assert!(matches!(error, Error::Value { arg: "cu_seqlens", .. }), "{error}");
}

#[test]
fn wrong_sizes_on_the_device_are_refused() {
    for device in devices() {
        let stream = device.default_stream();
        let bounds = Tensor::from_slice(&stream, &[0i32, 5], &[2]).unwrap();
        let mut out = Guarded::<i32>::new(&stream, &[2], Placement::DENSE).unwrap();
        let error = rejected(&mut out, |out| prepare_chunk_offsets_on_device_into(&bounds, 0, out));
        assert!(matches!(error, Error::Value { arg: "chunk_size", .. }), "{error}");
        let none = Tensor::from_slice(&stream, &[0i32; 0], &[0]).unwrap();
        let error = prepare_sequence_ids_on_device(&none, 3).unwrap_err();
        assert!(matches!(error, Error::Shape { arg: "cu_seqlens", .. }), "{error}");
        assert_eq!(prepare_chunk_indices_on_device(&bounds, 4, 0).unwrap().shape(), [0, 2]);
    }
}
