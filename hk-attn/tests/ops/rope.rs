//! The ops of the module `rope` against their references, what they refuse, and what they move.

use crate::common::{Traffic, devices, few_workgroups};
use hk_attn::{
    Angles, Rope2cOut, RopeLayout, RopeOptions, RopeStyle, RowOptions, Tensor, bf16, parity, rope,
    rope_2c, rope_2c_into, rope_into, rope_thd, rope_thd_into,
};
use hk_core::Error;
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};

#[test]
fn rope_has_parity() {
    hk_ref::run_module("rope", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn rope_rejects_wrong_tensors() {
    hk_ref::run_rejections("rope", &parity::cases(), &devices());
}

#[test]
fn rope_rejects_wrong_arguments_and_leaves_output() {
    for device in devices() {
        let stream = device.default_stream();
        let x = Tensor::filled(&stream, &[5, 2, 16], 1.0f32).unwrap();
        let table = |columns| Tensor::filled(&stream, &[7, columns], 0.5f32).unwrap();
        let (odd, narrow, half, wide) = (table(3), table(2), table(8), table(9));
        let list = |values: [i64; 5]| Tensor::from_slice(&stream, &values, &[5]).unwrap();
        let (inside, outside) = (list([0, 1, 2, 6, 0]), list([0, 1, 7, 9, 0]));
        let tables = |table| Angles::tables(table, table);
        let options = RopeOptions::default();
        let mut y = Guarded::<f32>::new(&stream, &[5, 2, 16], Placement::DENSE).unwrap();
        let mut refuses = |angles: Angles<'_, f32>, options: RopeOptions<'_>, arg: &str| {
            let error =
                rejected(&mut y, |y| rope_into(&x, RopeLayout::Thd, &angles, &options, &mut *y));
            let text = error.to_string();
            assert!(text.contains(arg), "{text}");
            matches!(error, Error::Value { .. })
        };
        assert!(refuses(tables(&odd), options.reuse_freqs_front_part(false), "rotary_dim"));
        assert!(refuses(tables(&half), options.rotary_dim(8), "rotary_dim"));
        assert!(!refuses(tables(&wide), options, "cos"));
        assert!(refuses(tables(&half).offsets(&inside), options, "offsets"));
        assert!(refuses(tables(&half).positions(&outside), options, "7 at 2"));
        let shifted = tables(&half).positions(&inside).offsets(&inside);
        assert!(refuses(shifted, options, "12 at 3"));
        let tile = options.rows(RowOptions::default().tile("run4"));
        assert!(refuses(tables(&narrow), tile.rotary_dim(4), "tile"));
        assert!(!refuses(tables(&half), tile.rows(RowOptions::default().tile("run9")), "run9"));
    }
}

#[test]
fn rope_2c_rejects_parts_of_groups() {
    for device in devices() {
        let stream = device.default_stream();
        let x = |heads| Tensor::filled(&stream, &[5, heads, 16], 1.0f32).unwrap();
        let table = Tensor::filled(&stream, &[5, 8], 0.5f32).unwrap();
        let angles = Angles::tables(&table, &table);
        let options = RopeOptions::default();
        let call = |heads| rope_2c(&x(heads), &x(2), RopeLayout::Thd, &angles, &options);
        assert!(call(4).is_ok());
        let error = call(3).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "h", .. }), "{error}");
    }
}

#[test]
fn rope_thd_rejects_wrong_bounds() {
    for device in devices() {
        let stream = device.default_stream();
        let x = Tensor::filled(&stream, &[5, 2, 16], 1.0f32).unwrap();
        let table = Tensor::filled(&stream, &[3, 8], 0.5f32).unwrap();
        let angles = Angles::tables(&table, &table);
        for (bounds, wrong) in [
            (&[1, 3, 5][..], "1 at 0"),
            (&[0, 3, 2, 5], "2 at 2"),
            (&[0, 3, 4], "4 at 2"),
            (&[0, 4, 5], "4 at 1"),
        ] {
            let bounds = Tensor::from_slice(&stream, bounds, &[bounds.len()]).unwrap();
            let error = rope_thd(&x, &bounds, &angles, &RopeOptions::default()).unwrap_err();
            assert!(error.to_string().contains(wrong), "{error}");
        }
    }
}

#[test]
fn rope_moves_rows_once() {
    for device in devices() {
        let stream = device.default_stream();
        // A wave has `at_once` heads at once, each of which reads cosines and sines of its token.
        for ([tokens, heads, width], columns, at_once) in
            [([64, 64, 128], 64, 8), ([256, 8, 64], 32, 8), ([64, 16, 256], 32, 4)]
        {
            let x = Tensor::filled(&stream, &[tokens, heads, width], bf16::ONE).unwrap();
            let mut y = Tensor::empty(&stream, &[tokens, heads, width]).unwrap();
            let table = Tensor::filled(&stream, &[tokens, columns], bf16::ONE).unwrap();
            let bytes = x.len() * 2;
            let tables = tokens * at_once * 2 * columns * 2;
            let angles = Angles::tables(&table, &table);
            let options = RopeOptions::default().rows(few_workgroups());
            let traffic = Traffic { read: bytes, written: bytes, tables, slots: 0 };
            traffic.check(&stream, || rope_into(&x, RopeLayout::Thd, &angles, &options, &mut y));
        }
    }
}

#[test]
fn rope_by_angles_moves_rows_once() {
    for device in devices() {
        let stream = device.default_stream();
        let [tokens, heads, width] = [64, 64, 128];
        let x = Tensor::filled(&stream, &[tokens, heads, width], bf16::ONE).unwrap();
        let mut y = Tensor::empty(&stream, &[tokens, heads, width]).unwrap();
        let freqs = Tensor::filled(&stream, &[tokens, width / 2], 0.5f32).unwrap();
        let options = RopeOptions::default().style(RopeStyle::Gptj).rows(few_workgroups());
        // Eight heads at once read the angles of their token.
        let (bytes, tables) = (x.len() * 2, tokens * 8 * (width / 2) * 4);
        let traffic = Traffic { read: bytes, written: bytes, tables, slots: 0 };
        traffic.check(&stream, || {
            rope_into(&x, RopeLayout::Thd, &Angles::freqs(&freqs), &options, &mut y)
        });
    }
}

#[test]
fn rope_2c_moves_rows_once() {
    for device in devices() {
        let stream = device.default_stream();
        let [tokens, qh, kh, width] = [64, 32, 8, 128];
        let x = |heads| Tensor::filled(&stream, &[tokens, heads, width], bf16::ONE).unwrap();
        let (q, k, mut q_out, mut k_out) = (x(qh), x(kh), x(qh), x(kh));
        let table = Tensor::filled(&stream, &[tokens, width / 2], bf16::ONE).unwrap();
        let options = RopeOptions::default().rows(few_workgroups());
        // Eight query heads at once read cosines and sines of their token, and eight key heads.
        let tables = tokens * (8 + 8) * 2 * (width / 2) * 2;
        let bytes = 2 * (q.len() + k.len());
        let traffic = Traffic { read: bytes, written: bytes, tables, slots: 0 };
        traffic.check(&stream, || {
            let angles = Angles::tables(&table, &table);
            let out = Rope2cOut { q: &mut q_out, k: &mut k_out };
            rope_2c_into(&q, &k, RopeLayout::Thd, &angles, &options, out)
        });
    }
}

#[test]
fn rope_thd_moves_rows_once() {
    for device in devices() {
        let stream = device.default_stream();
        let [tokens, heads, width] = [64, 64, 128];
        let x = Tensor::filled(&stream, &[tokens, heads, width], bf16::ONE).unwrap();
        let mut y = Tensor::empty(&stream, &[tokens, heads, width]).unwrap();
        let table = Tensor::filled(&stream, &[tokens, width / 2], bf16::ONE).unwrap();
        let bounds = Tensor::from_slice(&stream, &[0, 24, tokens as i32], &[3]).unwrap();
        let options = RopeOptions::default().rows(few_workgroups());
        let (bytes, tables) = (x.len() * 2, tokens * 8 * 2 * (width / 2) * 2);
        // Each lane reads where the second sequence begins, and then where its own does.
        let slots = tokens * 64 * 2 * 4;
        let traffic = Traffic { read: bytes, written: bytes, tables, slots };
        traffic.check(&stream, || {
            let angles = Angles::tables(&table, &table);
            rope_thd_into(&x, &bounds, &angles, &options, &mut y)
        });
    }
}

#[test]
fn ropes_of_nothing_do_nothing() {
    for device in devices() {
        let stream = device.default_stream();
        let x = Tensor::<f32>::empty(&stream, &[0, 2, 16]).unwrap();
        let table = Tensor::filled(&stream, &[3, 8], 0.5f32).unwrap();
        let angles = Angles::tables(&table, &table);
        let y = rope(&x, RopeLayout::Thd, &angles, &RopeOptions::default()).unwrap();
        assert!(y.is_empty());
    }
}
