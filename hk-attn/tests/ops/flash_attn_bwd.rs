//! The ops of the module `flash_attn_bwd` against their references, and what they refuse.

use crate::common::devices;
use hk_attn::{
    AttentionOptions, AttnForward, AttnGradientsOut, BackwardOptions, Dropout, Result, Tensor,
    bf16, flash_attn_bwd, flash_attn_bwd_into, parity,
};
use hk_core::Error;

#[test]
fn flash_attn_bwd_has_parity() {
    hk_ref::run_module("flash_attn_bwd", &parity::cases(), &devices(), 40_000_000);
}

#[test]
fn flash_attn_bwd_rejects_wrong_tensors() {
    hk_ref::run_rejections("flash_attn_bwd", &parity::cases(), &devices());
}

#[test]
fn flash_attn_bwd_names_the_option_that_is_wrong() {
    for device in devices() {
        let stream = device.default_stream();
        let one = Tensor::filled(&stream, &[1], 1.0f32).unwrap();
        let bias = Tensor::filled(&stream, &[2, 4, 3, 5], 1.0f32).unwrap();
        let call = |options: &AttentionOptions<'_>| -> Result<()> {
            let x = |rows, heads| Tensor::filled(&stream, &[2, rows, heads, 16], bf16::ONE);
            let (q, k, dout) = (x(3, 4)?, x(5, 2)?, x(3, 4)?);
            let lse = Tensor::filled(&stream, &[2, 4, 3], 1.0f32)?;
            let forward = AttnForward { q: &q, k: &k, v: &k, out: &dout, lse: &lse };
            let options = BackwardOptions::default().attention(*options);
            flash_attn_bwd(&dout, &forward, &options).map(|_| ())
        };
        let options = AttentionOptions::default();
        assert!(call(&options).is_ok());
        for (arg, options) in [
            ("scale", options.scale(f32::NAN)),
            ("softcap", options.softcap(-1.0)),
            ("dropout", options.dropout(Dropout { p: 1.0, seed: 0, offset: 0 })),
            ("bias", options.bias(&bias)),
            ("q_descale", options.q_descale(&one)),
            ("output_scale", options.output_scale(&one)),
            ("num_splits", options.num_splits(2)),
        ] {
            let error = call(&options).unwrap_err();
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
        }
    }
}

#[test]
fn flash_attn_bwd_has_gradients_of_sinks_if_there_are_any() {
    for device in devices() {
        let stream = device.default_stream();
        let x = || Tensor::filled(&stream, &[1, 4, 2, 16], bf16::ONE).unwrap();
        let (q, mut dq, mut dk, mut dv) = (x(), x(), x(), x());
        let lse = Tensor::filled(&stream, &[1, 2, 4], 1.0f32).unwrap();
        let mut delta = Tensor::filled(&stream, &[1, 2, 4], 1.0f32).unwrap();
        let mut dsink = Tensor::filled(&stream, &[2], 1.0f32).unwrap();
        let sink = Tensor::filled(&stream, &[2], 1.0f32).unwrap();
        for (has_sink, is_wanted) in [(true, false), (false, true)] {
            let forward = AttnForward { q: &q, k: &q, v: &q, out: &q, lse: &lse };
            let out = AttnGradientsOut {
                dq: &mut dq,
                dk: &mut dk,
                dv: &mut dv,
                delta: &mut delta,
                dsink: is_wanted.then_some(&mut *dsink),
            };
            let options = AttentionOptions::default();
            let options = if has_sink { options.sink(&sink) } else { options };
            let options = BackwardOptions::default().attention(options);
            let error = flash_attn_bwd_into(&q, &forward, &options, out).unwrap_err();
            assert!(matches!(error, Error::Value { arg: "dsink", .. }), "{error}");
        }
        assert_eq!(dq.to_vec().unwrap(), vec![bf16::ONE; 128], "nothing is written");
    }
}
