//! The ops of the module `mha` against their references, and what they refuse.

use crate::common::devices;
use hk_attn::{
    AttentionOptions, Device, Dropout, Mha, Result, Tensor, VarlenOptions, bf16, parity,
};
use hk_attn::{mha_fwd, mha_varlen_fwd};
use hk_core::Error;

#[test]
fn mha_has_parity() {
    hk_ref::run_module("mha", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn mha_rejects_wrong_tensors() {
    hk_ref::run_rejections("mha", &parity::cases(), &devices());
}

/// Two sequences of three queries and five keys, of four heads and two.
fn call(device: &Device, options: &AttentionOptions<'_>) -> Result<()> {
    let stream = device.default_stream();
    let x = |rows, heads| Tensor::filled(&stream, &[2, rows, heads, 16], bf16::ONE);
    mha_fwd(&x(3, 4)?, &x(5, 2)?, &x(5, 2)?, options).map(|_| ())
}

#[test]
fn mha_names_the_option_that_is_wrong() {
    for device in devices() {
        let options = AttentionOptions::default();
        assert!(call(&device, &options).is_ok());
        let drop = |p| options.dropout(Dropout { p, seed: 0, offset: 0 });
        for (arg, wrong) in [
            ("scale", options.scale(f32::NAN)),
            ("scale", options.scale(f32::INFINITY)),
            ("softcap", options.softcap(-1.0)),
            ("softcap", options.softcap(f32::INFINITY)),
            ("dropout", drop(-0.1)),
            ("dropout", drop(1.0)),
            ("dropout", drop(1.5)),
            ("dropout", drop(f32::NAN)),
            ("num_splits", options.num_splits(0)),
            ("num_splits", options.num_splits(129)),
        ] {
            let error = call(&device, &wrong).unwrap_err();
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
        }
    }
}

#[test]
fn mha_takes_biases_of_all_heads_and_no_others() {
    for device in devices() {
        let stream = device.default_stream();
        let with = |shape: [usize; 4]| {
            let bias = Tensor::filled(&stream, &shape, 1.0f32).unwrap();
            call(&device, &AttentionOptions::default().bias(&bias))
        };
        for (b, hq) in [(2, 4), (1, 4), (2, 1), (1, 1)] {
            assert!(with([b, hq, 3, 5]).is_ok());
        }
        for wrong in [[3, 4, 3, 5], [2, 2, 3, 5], [2, 4, 1, 5], [2, 4, 3, 1]] {
            let error = with(wrong).unwrap_err();
            assert!(matches!(error, Error::Shape { arg: "bias", .. }), "{error}");
        }
    }
}

#[test]
fn mha_varlen_looks_at_bounds() {
    for device in devices() {
        let stream = device.default_stream();
        let x = Tensor::filled(&stream, &[6, 2, 16], bf16::ONE).unwrap();
        let call = |of_q: [i32; 3], most: usize, options: &AttentionOptions<'_>| {
            let of_q = Tensor::from_slice(&stream, &of_q, &[3])?;
            let of_k = Tensor::from_slice(&stream, &[0, 4, 6], &[3])?;
            let varlen = VarlenOptions {
                cu_seqlens_q: (&of_q).into(),
                cu_seqlens_k: (&of_k).into(),
                max_seqlen_q: most,
                max_seqlen_k: 4,
            };
            mha_varlen_fwd(&x, &x, &x, &varlen, options).map(|_| ())
        };
        let options = AttentionOptions::default();
        assert!(call([0, 3, 6], 3, &options).is_ok());
        for (arg, bounds, most) in [
            ("cu_seqlens_q", [1, 3, 6], 3),
            ("cu_seqlens_q", [0, 3, 5], 3),
            ("cu_seqlens_q", [0, 7, 6], 3),
            ("max_seqlen_q", [0, 3, 6], 2),
        ] {
            let error = call(bounds, most, &options).unwrap_err();
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
            // Nothing is read or written where it should not be, even so.
            let blind = options.validate_indices(false);
            assert!(call(bounds, most, &blind).and_then(|()| stream.synchronize()).is_ok());
        }
        let bias = Tensor::filled(&stream, &[2, 2, 3, 4], 1.0f32).unwrap();
        let error = call([0, 3, 6], 3, &options.bias(&bias)).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "bias", .. }), "{error}");
    }
}

#[test]
fn mha_keeps_a_sink_that_is_no_number() {
    for device in devices() {
        let stream = device.default_stream();
        let sinks = Tensor::from_slice(&stream, &[f32::NAN, f32::NEG_INFINITY], &[2]).unwrap();
        // By waves that share keys, and by waves that share rows.
        for rows in [3, 150] {
            let x = Tensor::filled(&stream, &[1, rows, 2, 16], bf16::ONE).unwrap();
            let options = AttentionOptions::default().sink(&sinks);
            for options in [options, options.num_splits(2)] {
                let Mha { out, lse } = mha_fwd(&x, &x, &x, &options).unwrap();
                for (at, of_row) in out.to_vec().unwrap().chunks(16).enumerate() {
                    let is_nan = |o: &bf16| f32::from(*o).is_nan();
                    let is_first = at.is_multiple_of(2);
                    assert!(of_row.iter().all(|o| is_nan(o) == is_first), "{at} of {rows}");
                }
                for (at, sum) in lse.to_vec().unwrap().into_iter().enumerate() {
                    assert_eq!(sum.is_nan(), at < rows, "{at} of {rows}");
                }
            }
        }
    }
}
