//! The ops of the module `fused_bmm_rope_kv_cache` against their references, and what they refuse.

use crate::common::devices;
use hk_attn::{
    Angles, BmmRopeOptions, E8M0, F4x2E2M1, F8E4M3, F8E4M3Fnuz, Tensor, bf16,
    fused_fp4_bmm_rope_cat_and_cache_mla, fused_fp8_bmm_rope_cat_and_cache_mla, parity,
};
use hk_core::op::quant::Fp8;
use hk_core::{Arch, Device, Error, Result};
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};

#[test]
fn fused_bmm_rope_kv_cache_has_parity() {
    hk_ref::run_module("fused_bmm_rope_kv_cache", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn fused_bmm_rope_kv_cache_rejects_wrong_tensors() {
    hk_ref::run_rejections("fused_bmm_rope_kv_cache", &parity::cases(), &devices());
}

/// The error of a call with one token and one head of p elements, whose matrix has the element.
fn error_of<F: Fp8>(device: &Device, one: F, [p, group]: [usize; 2]) -> Error {
    let stream = device.default_stream();
    let x = |width| Tensor::filled(&stream, &[1, 1, width], bf16::ONE).unwrap();
    let slots = Tensor::from_slice(&stream, &[0], &[1]).unwrap();
    let table = Tensor::filled(&stream, &[1, 1], bf16::ONE).unwrap();
    let angles = Angles::tables(&table, &table);
    let mut cache = Guarded::<bf16>::new(&stream, &[1, 1, 3], Placement::DENSE).unwrap();
    let options = BmmRopeOptions::default().group_size(group);
    let (q, q_pe, k) = (x(p), x(2), x(1));
    rejected(&mut cache, |cache| {
        if group == 0 {
            let w = Tensor::filled(&stream, &[1, 1, p], F4x2E2M1::from_bits(0x22)).unwrap();
            let scale = Tensor::filled(&stream, &[1, 1, p / 32], E8M0::from_f32(1.0)).unwrap();
            return fused_fp4_bmm_rope_cat_and_cache_mla(
                &q, &w, &scale, &q_pe, &k, &q_pe, &slots, &angles, &options, cache,
            )
            .map(|_| ());
        }
        let w = Tensor::filled(&stream, &[1, 1, p], one).unwrap();
        let scale = Tensor::filled(&stream, &[1], 1.0).unwrap();
        fused_fp8_bmm_rope_cat_and_cache_mla(
            &q, &w, &scale, &q_pe, &k, &q_pe, &slots, &angles, &options, cache,
        )
        .map(|_| ())
    })
}

#[test]
fn fused_bmm_rope_kv_cache_rejects_other_groups_and_rows() {
    for device in devices() {
        let of = |sizes| match device.arch() {
            Arch::Gfx942 => error_of(&device, F8E4M3Fnuz::from_f32(1.0), sizes),
            _ => error_of(&device, F8E4M3::from_f32(1.0), sizes),
        };
        for (sizes, arg) in
            [([64, 32], "group_size"), ([64, 512], "group_size"), ([48, 0], "q_nope")]
        {
            let error = of(sizes);
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
        }
        // Longer than a chain of sums may be.
        let error = of([65_537, 128]);
        assert!(matches!(error, Error::Shape { arg: "q_nope", .. }), "{error}");
    }
}

/// Queries of two tokens with these positions, of tables of four rows.
fn rotated(device: &Device, positions: &[i32]) -> Result<Vec<bf16>> {
    let stream = device.default_stream();
    let of = |shape: &[usize]| Tensor::filled(&stream, shape, bf16::ONE);
    let w = Tensor::filled(&stream, &[1, 1, 32], F4x2E2M1::from_bits(0x22))?;
    let scale = Tensor::filled(&stream, &[1, 1, 1], E8M0::from_f32(1.0))?;
    let table = Tensor::from_slice(&stream, &[0.0, 0.25, 0.5, 0.75].map(bf16::from_f32), &[4, 1])?;
    let positions = Tensor::from_slice(&stream, positions, &[positions.len()])?;
    let angles = Angles::tables(&table, &table).positions(&positions);
    let slots = Tensor::from_slice(&stream, &[1i32, 0], &[2])?;
    let (q, q_pe, k_nope, k_pe) =
        (of(&[1, 2, 32])?, of(&[2, 1, 2])?, of(&[2, 1, 1])?, of(&[2, 1, 2])?);
    let mut cache = Tensor::<bf16>::zeros(&stream, &[2, 1, 3])?;
    let options = BmmRopeOptions::default();
    let out = fused_fp4_bmm_rope_cat_and_cache_mla(
        &q, &w, &scale, &q_pe, &k_nope, &k_pe, &slots, &angles, &options, &mut cache,
    )?;
    out.q.to_vec()
}

#[test]
fn there_may_be_more_positions_than_queries() {
    for device in devices() {
        let expected = rotated(&device, &[3, 1]).unwrap();
        // Those behind the queries' need not be rows of the tables.
        assert_eq!(rotated(&device, &[3, 1, 99, -1]).unwrap(), expected);
        assert_ne!(rotated(&device, &[1, 3, 1]).unwrap(), expected);
        let error = rotated(&device, &[3]).unwrap_err();
        assert!(matches!(error, Error::Shape { arg: "positions", .. }), "{error}");
        let error = rotated(&device, &[3, 4, 0]).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "positions", .. }), "{error}");
    }
}
