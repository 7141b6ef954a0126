//! The op of the module `flash_attn_fwd_prefill` against their references, and what they refuse.

use crate::common::devices;
use hk_attn::{AttentionOptions, FlashLayout, FlashOptions, Tensor, VarlenOptions, bf16};
use hk_attn::{flash_attn_fwd_prefill, parity};
use hk_core::Error;

#[test]
fn flash_attn_fwd_prefill_has_parity() {
    hk_ref::run_module("flash_attn_fwd_prefill", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn flash_attn_fwd_prefill_rejects_wrong_tensors() {
    hk_ref::run_rejections("flash_attn_fwd_prefill", &parity::cases(), &devices());
}

#[test]
fn flash_attn_fwd_prefill_names_the_option_that_is_wrong() {
    for device in devices() {
        let stream = device.default_stream();
        let x = |rows, heads, d| Tensor::filled(&stream, &[2, rows, heads, d], bf16::ONE).unwrap();
        let (q, odd, k, wide) = (x(3, 4, 16), x(3, 3, 16), x(5, 2, 16), x(5, 2, 24));
        let used = |values: [i32; 2]| Tensor::from_slice(&stream, &values, &[2]).unwrap();
        let (fits, negative) = (used([3, 2]), used([3, -1]));
        let options = FlashOptions::default().seqused_q(&fits).seqused_k(&fits);
        let attention = AttentionOptions::default();
        assert!(flash_attn_fwd_prefill(&q, &k, &k, &options).is_ok());
        for (arg, q, v, options) in [
            ("hq", &odd, &k, options),
            ("scale", &q, &k, options.attention(attention.scale(f32::INFINITY))),
            ("softcap", &q, &k, options.attention(attention.softcap(-1.0))),
            ("num_splits", &q, &k, options.attention(attention.num_splits(0))),
            ("seqused_q", &q, &k, options.seqused_q(&negative)),
            ("seqused_k", &q, &k, options.seqused_k(&negative)),
        ] {
            let error = flash_attn_fwd_prefill(q, &k, v, &options).unwrap_err();
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
        }
        let error = flash_attn_fwd_prefill(&q, &k, &wide, &options).unwrap_err();
        assert!(error.to_string().contains("dv"), "{error}");
    }
}

#[test]
fn flash_attn_fwd_prefill_looks_at_bounds_of_packed_sequences() {
    for device in devices() {
        let stream = device.default_stream();
        let x = Tensor::filled(&stream, &[6, 2, 16], bf16::ONE).unwrap();
        let bias = Tensor::filled(&stream, &[1, 2, 6, 6], 1.0f32).unwrap();
        let call = |of_q: [i32; 3], of_k: [i32; 3], most: usize, attention| {
            let [of_q, of_k] = [of_q, of_k].map(|of| Tensor::from_slice(&stream, &of, &[3]));
            let (of_q, of_k) = (of_q?, of_k?);
            let layout = FlashLayout::Thd(VarlenOptions {
                cu_seqlens_q: (&of_q).into(),
                cu_seqlens_k: (&of_k).into(),
                max_seqlen_q: most,
                max_seqlen_k: 4,
            });
            let options = FlashOptions::default().layout(layout).attention(attention);
            flash_attn_fwd_prefill(&x, &x, &x, &options).map(|_| ())
        };
        let (bounds, plain) = ([0, 2, 6], AttentionOptions::default());
        assert!(call(bounds, bounds, 4, plain).is_ok());
        for (arg, of_q, of_k, most, attention) in [
            ("cu_seqlens_q", [1, 2, 6], bounds, 4, plain),
            ("cu_seqlens_q", [0, 4, 2], bounds, 4, plain),
            ("cu_seqlens_q", [0, 2, 7], bounds, 5, plain),
            ("max_seqlen_q", bounds, bounds, 3, plain),
            ("cu_seqlens_k", bounds, [0, 2, 7], 4, plain),
            ("max_seqlen_k", bounds, [0, 5, 6], 4, plain),
            ("bias", bounds, bounds, 4, plain.bias(&bias)),
        ] {
            let error = call(of_q, of_k, most, attention).unwrap_err();
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
        }
    }
}
