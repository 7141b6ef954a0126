//! `embedding` against its reference, and what it refuses.

use crate::common::devices;
use hk_core::{Error, Tensor};
use hk_norm::{EmbeddingOptions, embedding_into, parity};
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};

#[test]
fn embedding_has_parity() {
    hk_ref::run_module("embedding", &parity::cases(), &devices(), 1_500_000);
}

#[test]
fn embedding_rejects_wrong_tensors() {
    hk_ref::run_rejections("embedding", &parity::cases(), &devices());
}

#[test]
fn embedding_rejects_wrong_ids_and_too_many_tables_and_leaves_output() {
    for device in devices() {
        let stream = device.default_stream();
        let refused = |width, further: &[[i32; 2]]| {
            let mut y = Guarded::<f32>::new(&stream, &[2, width], Placement::DENSE.gap(8)).unwrap();
            let table = Tensor::filled(&stream, &[5, width], 1.0f32).unwrap();
            let of = |ids: &[i32; 2]| Tensor::from_slice(&stream, ids, &[2]).unwrap();
            let [ids, further] =
                [&[[0, 4]], further].map(|ids| ids.iter().map(of).collect::<Vec<_>>());
            let options = further
                .iter()
                .fold(EmbeddingOptions::default(), |options, ids| options.plus(&table, ids));
            rejected(&mut y, |y| embedding_into(&table, &ids[0], &options, y))
        };
        for (ids, got) in [([5, 0], "5 at 0"), ([4, -1], "-1 at 1")] {
            let error = refused(64, &[[0, 0], ids]);
            assert!(
                matches!(&error, Error::Value { arg: "third_ids", got: g, .. } if g == got),
                "{error}"
            );
        }
        let error = refused(64, &[[0, 0]; 3]);
        assert!(matches!(error, Error::Value { arg: "tables", .. }), "{error}");
        let error = refused(0, &[]);
        assert!(matches!(error, Error::Shape { arg: "table", .. }), "{error}");
        let ids = Tensor::from_slice(&stream, &[0_i32, 0], &[2]).unwrap();
        let [none, some] = [0, 5].map(|rows| Tensor::<f32>::empty(&stream, &[rows, 64]).unwrap());
        let options = EmbeddingOptions::default();
        let both = options.clone().plus(&none, &ids);
        for (table, options, of) in [(&none, options, "table"), (&some, both, "second_table")] {
            let mut y = Guarded::<f32>::new(&stream, &[2, 64], Placement::DENSE.gap(8)).unwrap();
            let error = rejected(&mut y, |y| embedding_into(table, &ids, &options, y));
            assert!(matches!(error, Error::Shape { arg, .. } if arg == of), "{of}: {error}");
        }
    }
}
