//! What `reduce_grouped` and `moe_sum` refuse, and what they move. Their cases are those of
//! `moe_routing`.

use hk_core::dtype::bf16;
use hk_core::{Error, Result, Tensor};
use hk_moe::{
    Activation, ReduceGroupedOptions, RowOptions, moe_sum, moe_sum_into, reduce_grouped,
    reduce_grouped_into,
};
use hk_ref::harness::{Moved, rejected};
use hk_ref::{Guarded, Placement};

use crate::common::devices;

#[test]
fn reduce_grouped_rejects_wrong_numbers_and_leaves_outputs() {
    for device in devices() {
        let stream = device.default_stream();
        let x = Tensor::filled(&stream, &[2, 6, 9], bf16::ONE).unwrap();
        let refused = |indices: [i32; 4], options: &ReduceGroupedOptions<'_>| {
            let indx = Tensor::from_slice(&stream, &indices, &[2, 2]).unwrap();
            let mut out = Guarded::<bf16>::new(&stream, &[2, 9], Placement::DENSE).unwrap();
            rejected(&mut out, |out| reduce_grouped_into(&x, Some(&indx), None, options, out))
        };
        let swiglu = |alpha, limit| {
            let (limit, add_residual) = (Some(limit), true);
            ReduceGroupedOptions::new(Activation::Swiglu { alpha, limit, add_residual })
        };
        let plain = ReduceGroupedOptions::new(Activation::None);
        for (indices, options, name) in [
            ([0, 1, 2, 6], plain, "indx"),
            ([0, -2, 2, 3], plain, "indx"),
            ([0, 1, 2, 3], plain.workgroups(0), "workgroups"),
            ([0, 1, 2, 3], ReduceGroupedOptions::new(Activation::SiluAndMul), "N"),
            ([0, 1, 2, 3], swiglu(f32::NAN, 7.0), "activation"),
            ([0, 1, 2, 3], swiglu(1.0, -1.0), "activation"),
            ([0, 1, 2, 3], swiglu(1.0, f32::NAN), "activation"),
        ] {
            let error = refused(indices, &options);
            assert!(matches!(error, Error::Value { arg, .. } if arg == name), "{error}");
        }
        // More shares than the kernel can count.
        let one = Tensor::filled(&stream, &[1, 1, 9], bf16::ONE).unwrap();
        let many = one.broadcast(&[1 << 31, 1, 9]).unwrap();
        let mut out = Guarded::<bf16>::new(&stream, &[1, 9], Placement::DENSE).unwrap();
        let error = rejected(&mut out, |out| reduce_grouped_into(&many, None, None, &plain, out));
        assert!(matches!(error, Error::Shape { arg: "x", .. }), "{error}");
        for shape in [[3, 0, 8], [3, 2, 0]] {
            let c = Tensor::<bf16>::zeros(&stream, &shape).unwrap();
            let result: Result<Tensor<bf16>> = moe_sum(&c, None, &RowOptions::default());
            assert!(matches!(result, Err(Error::Shape { arg: "c", .. })), "{result:?}");
        }
    }
}

#[test]
fn reduced_rows_are_read_once_and_written_once() {
    for device in devices() {
        let stream = device.default_stream();
        for [tokens, k, width] in [[64, 8, 2048], [96, 4, 512]] {
            let c = Tensor::filled(&stream, &[tokens, k, width], bf16::ONE).unwrap();
            let mut out = Tensor::<bf16>::empty(&stream, &[tokens, width]).unwrap();
            let options = RowOptions::default().workgroups(2);
            let moved = Moved::by(&stream, || moe_sum_into(&c, None, &options, &mut out));
            let beside = moved.counters.scalar_read_bytes;
            moved.once(2 * tokens * k * width, 0..=beside, 2 * tokens * width);
            moved.in_full_waves((2 * tokens * (k + 1) * width) as f64 / 1024.0);
        }
        let x = Tensor::filled(&stream, &[4, 32, 1024], 1.0f32).unwrap();
        let options = ReduceGroupedOptions::new(Activation::None).workgroups(2);
        let moved = Moved::by(&stream, || -> Result<Tensor<bf16>> {
            reduce_grouped(&x, None, None, &options)
        });
        let beside = moved.counters.scalar_read_bytes;
        moved.once(4 * 4 * 32 * 1024, 0..=beside, 2 * 32 * 1024);
    }
}
