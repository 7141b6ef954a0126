//! The op of the module `hstu_attn` against its reference, and what it refuses.

use crate::common::devices;
use hk_attn::{HstuOptions, Tensor, bf16, hstu_attn_fwd, parity};
use hk_core::Error;

#[test]
fn hstu_attn_has_parity() {
    hk_ref::run_module("hstu_attn", &parity::cases(), &devices(), 40_000_000);
}

#[test]
fn hstu_attn_rejects_wrong_tensors() {
    hk_ref::run_rejections("hstu_attn", &parity::cases(), &devices());
}

#[test]
fn hstu_attn_names_the_argument_that_is_wrong() {
    for device in devices() {
        let stream = device.default_stream();
        let list = |list: [i32; 2]| Tensor::from_slice(&stream, &list, &[2]).unwrap();
        let call = |bounds: [i32; 3], longest, alpha, options: &HstuOptions<'_>| {
            let x = Tensor::filled(&stream, &[7, 2, 16], bf16::ONE)?;
            let bounds = Tensor::from_slice(&stream, &bounds, &[3])?;
            hstu_attn_fwd(&x, &x, &x, &bounds, longest, alpha, options).map(|_| ())
        };
        let (options, good) = (HstuOptions::default(), [0, 3, 7]);
        let (few, many) = (list([3, 4]), list([3, 5]));
        let (order, twice, beyond) = (list([1, 0]), list([1, 1]), list([0, 2]));
        let lists = options.num_targets(&few).sort_by_length_indices(&order);
        assert!(call(good, 4, 1.0, &lists).is_ok());
        let both = options.causal(false);
        for (arg, bounds, longest, alpha, options) in [
            ("alpha", good, 4, f32::NAN, options),
            ("max_seq_len", good, 3, 1.0, options),
            ("max_seq_len", good, 0, 1.0, options),
            ("seq_offsets", [0, 3, 6], 4, 1.0, options),
            ("seq_offsets", [0, 8, 7], 4, 1.0, options),
            ("contextual_seq_len", good, 4, 1.0, both.contextual_seq_len(1)),
            ("num_targets", good, 4, 1.0, options.num_targets(&many)),
            ("sort_by_length_indices", good, 4, 1.0, options.sort_by_length_indices(&twice)),
            ("sort_by_length_indices", good, 4, 1.0, options.sort_by_length_indices(&beyond)),
        ] {
            let error = call(bounds, longest, alpha, &options).unwrap_err();
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
            // Indices do no harm, whatever they are.
            if matches!(arg, "seq_offsets" | "num_targets" | "sort_by_length_indices") {
                let blind = options.validate_indices(false);
                let done = call(bounds, longest, alpha, &blind);
                assert!(done.and_then(|()| stream.synchronize()).is_ok());
            }
        }
    }
}
