//! The ops of the module `flash_attn_bwd` against their references, and what they refuse.

use crate::common::devices;
use hk_attn::{
    AttentionOptions, AttnForward, AttnGradientsOut, BackwardOptions, Device, Dropout, Mha, Result,
    Tensor, bf16, flash_attn_bwd, flash_attn_bwd_into, mha_fwd, parity,
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

/// The first `width` elements of the rows of gradients, where rows have so many, and where they have zeros up to
/// `to` besides. Both of the same results.
fn padded(device: &Device, width: usize, to: usize) -> Result<[Vec<bf16>; 2]> {
    let stream = device.default_stream();
    let cut = |x: &Tensor<bf16>| -> Result<Vec<bf16>> {
        Ok(x.to_vec()?.chunks(to).flat_map(|row| row[..width].to_vec()).collect())
    };
    let x = |rows: usize, phase: usize| {
        let of = |i: usize| match i % to {
            column if column < width => {
                bf16::from_f32(((i * 7919 + phase) % 509) as f32 / 256.0 - 1.0)
            }
            _ => bf16::ZERO,
        };
        Tensor::from_slice(&stream, &(0..rows * to).map(of).collect::<Vec<_>>(), &[1, rows, 1, to])
    };
    let (q, k, v, dout) = (x(33, 1)?, x(70, 100)?, x(70, 200)?, x(33, 300)?);
    let options = AttentionOptions::default().scale(0.3);
    let Mha { out, lse } = mha_fwd(&q, &k, &v, &options)?;
    let options = BackwardOptions::default().attention(options);
    let gradients = |[q, k, v, out, dout]: [&Tensor<bf16>; 5]| {
        let forward = AttnForward { q, k, v, out, lse: &lse };
        flash_attn_bwd(dout, &forward, &options)
    };
    let whole = gradients([&q, &k, &v, &out, &dout])?;
    let narrow =
        |x: &Tensor<bf16>| Tensor::from_slice(&stream, &cut(x)?, &[1, x.shape()[1], 1, width]);
    let [q, k, v, out, dout] = [&q, &k, &v, &out, &dout].map(narrow);
    let own = gradients([&q?, &k?, &v?, &out?, &dout?])?;
    let own = [own.dq.to_vec()?, own.dk.to_vec()?, own.dv.to_vec()?].concat();
    Ok([own, [cut(&whole.dq)?, cut(&whole.dk)?, cut(&whole.dv)?].concat()])
}

#[test]
fn flash_attn_bwd_pads_widths_with_zeros() {
    for device in devices() {
        for (width, to) in [(1, 8), (7, 16), (61, 64), (121, 128), (255, 256)] {
            let [own, whole] = padded(&device, width, to).unwrap();
            assert!(own == whole, "{width} on {device:?}");
        }
    }
}
