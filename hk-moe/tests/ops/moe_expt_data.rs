//! `expt_data_compute` and its stages against their reference, what they refuse, and what they
//! write.

use hk_core::{Error, Stream, Tensor};
use hk_moe::{
    ExptDataOptions, ExptDataOut, expt_data_compute_into, expt_data_stage2_fused_into,
    max_num_tiles, parity,
};
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};

use crate::common::devices;

#[test]
fn moe_expt_data_has_parity() {
    hk_ref::run_module("moe_expt_data", &parity::cases(), &devices(), 6_000_000);
}

#[test]
fn moe_expt_data_rejects_wrong_tensors() {
    hk_ref::run_rejections("moe_expt_data", &parity::cases(), &devices());
}

/// Makes a call, which must be refused, of four experts and a map of six tiles.
fn refused(
    stream: &Stream,
    counts: [i32; 4],
    gates: usize,
    log2: u32,
    options: &ExptDataOptions,
) -> Error {
    let hist = Tensor::from_slice(stream, &counts, &[4]).unwrap();
    let [mut raw, mut pad] = [0; 2].map(|_| Tensor::empty(stream, &[5]).unwrap());
    let mut map = Guarded::<i32>::new(stream, &[6], Placement::DENSE).unwrap();
    rejected(&mut map, |map| {
        let out =
            ExptDataOut { token_offs_raw: &mut raw, token_offs_pad: &mut pad, block_pid_map: map };
        expt_data_compute_into(&hist, gates, log2, options, out)
    })
}

#[test]
fn moe_expt_data_rejects_wrong_numbers_and_leaves_outputs() {
    let plain = ExptDataOptions::default();
    for device in devices() {
        let stream = device.default_stream();
        for (counts, gates, log2, name) in [
            ([1, 2, 3, 4], 10, 3, "tile_dim_log2"),
            ([1, 2, 3, 4], 10, 9, "tile_dim_log2"),
            ([1, 2, 3, 4], 32_767 * 16 + 1, 4, "n_gates"),
            ([1, 2, 3, 4], 11, 4, "hist"),
            ([1, 2, -3, 4], 4, 4, "hist"),
            ([1, 2, 3, 100], 106, 4, "max_num_tiles"),
        ] {
            let error = refused(&stream, counts, gates, log2, &plain);
            assert!(matches!(error, Error::Value { arg, .. } if arg == name), "{error}");
        }
        let error = refused(&stream, [1, 2, 3, 4], 10, 4, &plain.max_num_tiles(7));
        assert!(matches!(error, Error::Shape { arg: "block_pid_map", .. }), "{error}");

        let hist = Tensor::from_slice(&stream, &[16, 17, 0, 0], &[4]).unwrap();
        let offs = Tensor::from_slice(&stream, &[0, 1, 3, 3, 3], &[5]).unwrap();
        let mut map = Guarded::<i32>::new(&stream, &[6], Placement::DENSE).unwrap();
        let error =
            rejected(&mut map, |map| expt_data_stage2_fused_into(&hist, &offs, 4, &plain, map));
        assert!(matches!(error, Error::Value { arg: "hist", .. }), "{error}");
    }
}

#[test]
fn gates_need_as_many_tiles_as_the_bound_says() {
    for (gates, experts, log2) in [(0, 8, 4), (5, 8, 4), (8, 8, 5), (9, 8, 4), (1000, 8, 6)] {
        // One gate for each expert but the first, which has all others.
        let most = usize::min(gates, experts);
        let rest = if most == 0 { 0 } else { gates - (most - 1) };
        let needed = most.saturating_sub(1) + rest.div_ceil(1 << log2);
        assert_eq!(max_num_tiles(gates, experts, log2), needed);
    }
}
