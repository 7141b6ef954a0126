//! The ops of the module `sage_attention` against their references, and what they refuse.

use crate::common::devices;
use hk_attn::{F8E4M3, F8E4M3Fnuz, SageLut, SageOptions, Tensor, bf16, parity, sage_attn};
use hk_attn::{SageQuant, sage_attn_fwd, sage_quant};
use hk_core::op::dry_run;
use hk_core::{Arch, Error, Result};

#[test]
fn sage_attention_has_parity() {
    hk_ref::run_module("sage_attention", &parity::cases(), &devices(), 40_000_000);
}

#[test]
fn sage_attention_rejects_wrong_tensors() {
    hk_ref::run_rejections("sage_attention", &parity::cases(), &devices());
}

#[test]
fn sage_attention_names_the_option_that_is_wrong() {
    for device in devices() {
        let stream = device.default_stream();
        let x = |rows, heads| Tensor::filled(&stream, &[1, rows, heads, 16], bf16::ONE).unwrap();
        let (q, k) = (x(70, 4), x(130, 2));
        let call = |options: &SageOptions<'_>| -> Result<()> {
            match device.arch() {
                Arch::Gfx942 => sage_attn::<_, F8E4M3Fnuz>(&q, &k, &k, options).map(|_| ()),
                Arch::Gfx950 => sage_attn::<_, F8E4M3>(&q, &k, &k, options).map(|_| ()),
            }
        };
        let options = SageOptions::default();
        assert!(call(&options).is_ok());
        let list = |list: &[i32]| Tensor::from_slice(&stream, list, &[list.len()]).unwrap();
        let (blocks, starts, counts) = (list(&[0, 1]), list(&[0; 4]), list(&[2; 4]));
        let lut = SageLut {
            kv_block_indices: (&blocks).into(),
            lut_start: (&starts).into(),
            lut_count: (&counts).into(),
        };
        assert!(call(&options.block_lut(lut)).is_ok());
        let (past, few) = (list(&[0, 2]), list(&[0, 0, 1, 0]));
        for (arg, options) in [
            ("blk_q", options.blocks(96, 64)),
            ("blk_q", options.blocks(0, 64)),
            ("blk_k", options.blocks(64, 32)),
            ("blk_k", options.blocks(64, 1 << 21)),
            ("scale", options.scale(f32::NAN)),
            ("block_lut", options.block_lut(lut).causal(true)),
            ("block_lut", options.block_lut(lut).window(3, None)),
            (
                "kv_block_indices",
                options.block_lut(SageLut { kv_block_indices: (&past).into(), ..lut }),
            ),
            ("lut_count", options.block_lut(SageLut { lut_start: (&few).into(), ..lut })),
        ] {
            let error = call(&options).unwrap_err();
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{arg}: {error}");
        }
        // Blocks that are not there do no harm.
        let lut = SageLut { kv_block_indices: (&past).into(), ..lut };
        let blind = options.block_lut(lut).validate_indices(false);
        assert!(call(&blind).and_then(|()| stream.synchronize()).is_ok());
    }
}

#[test]
fn products_of_means_count_only_if_they_are_asked_for() {
    for device in devices() {
        let stream = device.default_stream();
        let x = |rows, heads| Tensor::<bf16>::empty(&stream, &[1, rows, heads, 1]).unwrap();
        let (q, k) = (x(1, 4096), x(1 << 17, 1));
        let call = |options: &SageOptions<'_>| -> Result<()> {
            let call = || match device.arch() {
                Arch::Gfx942 => sage_quant::<_, F8E4M3Fnuz>(&q, &k, &k, options).map(|_| ()),
                Arch::Gfx950 => sage_quant::<_, F8E4M3>(&q, &k, &k, options).map(|_| ()),
            };
            dry_run(call).0
        };
        let options = SageOptions::default().blocks(64, 64);
        call(&options).unwrap();
        let error = call(&options.q_smooth(true)).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "q", .. }), "{error}");
    }
}

#[test]
fn sage_attention_of_another_chips_values_is_refused() {
    for device in devices() {
        let stream = device.default_stream();
        let x = Tensor::filled(&stream, &[1, 4, 1, 16], bf16::ONE).unwrap();
        let options = SageOptions::default();
        let error = match device.arch() {
            Arch::Gfx942 => sage_attn::<_, F8E4M3>(&x, &x, &x, &options).unwrap_err(),
            Arch::Gfx950 => sage_attn::<_, F8E4M3Fnuz>(&x, &x, &x, &options).unwrap_err(),
        };
        assert!(matches!(error, Error::ArchMismatch { .. }), "{error}");
    }
}

#[test]
fn equal_keys_make_no_difference_once_they_have_lost_their_mean() {
    for device in devices() {
        let stream = device.default_stream();
        let rows: Vec<bf16> = (0..64).map(|i| bf16::from_f32((i / 16) as f32)).collect();
        let q = Tensor::from_slice(&stream, &rows, &[1, 4, 1, 16]).unwrap();
        let k = Tensor::filled(&stream, &[1, 4, 1, 16], bf16::from_f32(5.0)).unwrap();
        let options = SageOptions::default();
        let lse = match device.arch() {
            Arch::Gfx942 => {
                let codes: SageQuant<F8E4M3Fnuz> = sage_quant(&q, &k, &k, &options).unwrap();
                assert_eq!(codes.k.to_vec().unwrap(), vec![0; 64]);
                sage_attn_fwd(&codes.codes(true), &options).unwrap().lse
            }
            Arch::Gfx950 => {
                let codes: SageQuant<F8E4M3> = sage_quant(&q, &k, &k, &options).unwrap();
                assert_eq!(codes.k.to_vec().unwrap(), vec![0; 64]);
                sage_attn_fwd(&codes.codes(true), &options).unwrap().lse
            }
        };
        // Four keys, each with the score q k / 4.
        for (i, lse) in lse.to_vec().unwrap().into_iter().enumerate() {
            let wanted = 4f32.ln() + 20.0 * i as f32;
            assert!((lse - wanted).abs() < 1e-4 * (1.0 + wanted), "{lse} and {wanted}");
        }
    }
}
