//! The op of the module `unified_attn_sparse_mla` against its reference, and what it refuses.

use crate::common::devices;
use hk_attn::{
    Device, IndexSpace, Result, SparseMlaOptions, Tensor, bf16, parity, sparse_mla_attn_fwd,
};
use hk_core::Error;

#[test]
fn sparse_mla_has_parity() {
    hk_ref::run_module("unified_attn_sparse_mla", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn sparse_mla_rejects_wrong_tensors() {
    hk_ref::run_rejections("unified_attn_sparse_mla", &parity::cases(), &devices());
}

/// What is given to a call: of two queries, the indices; of two sequences of them, bounds, lengths and
/// rows of a table of pages of two slots, of which there are four.
#[derive(Clone, Copy)]
struct Given {
    indices: [i32; 4],
    sequences: Option<([i32; 3], [i32; 2], [i32; 4])>,
    rank: usize,
    options: SparseMlaOptions<'static>,
}

fn call(device: &Device, given: Given) -> Result<()> {
    let stream = device.default_stream();
    let q = Tensor::filled(&stream, &[2, 3, 40], bf16::ONE)?;
    let kv = Tensor::filled(&stream, &[4, 2, 1, 40], bf16::ONE)?;
    let topk = Tensor::from_slice(&stream, &given.indices, &[2, 2])?;
    let run = |index_space| {
        let options = SparseMlaOptions { index_space, ..given.options };
        sparse_mla_attn_fwd(&q, &kv, &topk, given.rank, &options)?;
        stream.synchronize()
    };
    let Some((bounds, lengths, table)) = given.sequences else {
        return run(IndexSpace::Physical);
    };
    let cu_seqlens_q = Tensor::from_slice(&stream, &bounds, &[3])?;
    let seqused_k = Tensor::from_slice(&stream, &lengths, &[2])?;
    let block_table = Tensor::from_slice(&stream, &table, &[2, 2])?;
    run(IndexSpace::Logical {
        cu_seqlens_q: (&cu_seqlens_q).into(),
        seqused_k: (&seqused_k).into(),
        block_table: (&block_table).into(),
    })
}

#[test]
fn sparse_mla_names_what_is_wrong() {
    for device in devices() {
        let options = SparseMlaOptions::default();
        let right = Given { indices: [7, -1, 0, 0], sequences: None, rank: 32, options };
        let (bounds, lengths, table) = ([0, 1, 2], [3, 2], [3, 0, 1, i32::MAX]);
        let of = |bounds, lengths, table| Some((bounds, lengths, table));
        let logical = Given { sequences: of(bounds, lengths, table), ..right };
        for given in [right, logical, Given { rank: 8, ..right }] {
            call(&device, given).unwrap();
        }
        for (arg, given) in [
            ("topk_indices", Given { indices: [8, 0, 0, 0], ..right }),
            ("topk_indices", Given { indices: [0, 0, -2, 0], ..right }),
            ("topk_indices", Given { indices: [0, 0, 0, i32::MIN], ..logical }),
            ("cu_seqlens_q", Given { sequences: of([0, 2, 1], lengths, table), ..logical }),
            ("cu_seqlens_q", Given { sequences: of([0, 1, 3], lengths, table), ..logical }),
            ("cu_seqlens_q", Given { sequences: of([5, -7, 9], lengths, table), ..logical }),
            ("seqused_k", Given { sequences: of(bounds, [5, 0], table), ..logical }),
            ("seqused_k", Given { sequences: of(bounds, [-1, 0], table), ..logical }),
            ("block_table", Given { sequences: of(bounds, lengths, [4, 0, 0, 0]), ..logical }),
            ("block_table", Given { sequences: of(bounds, lengths, [0, -1, 0, 0]), ..logical }),
        ] {
            let error = call(&device, given).unwrap_err();
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
            // Nothing is read where it should not be, even so.
            let options = SparseMlaOptions { validate_indices: Some(false), ..options };
            assert!(call(&device, Given { options, ..given }).is_ok());
        }
        let of = |options| Given { options, ..right };
        for (arg, given) in [
            ("kv_lora_rank", Given { rank: 0, ..right }),
            ("kv_lora_rank", Given { rank: 513, ..right }),
            ("softmax_scale", of(SparseMlaOptions { softmax_scale: Some(f32::NAN), ..options })),
            ("num_splits", of(SparseMlaOptions { num_splits: Some(0), ..options })),
        ] {
            let error = call(&device, given).unwrap_err();
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
        }
        let error = call(&device, Given { rank: 40, ..right }).unwrap_err();
        assert!(matches!(error, Error::Shape { .. }), "{error}");
    }
}
