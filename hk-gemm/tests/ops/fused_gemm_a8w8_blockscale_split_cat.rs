//! `fused_gemm_a8w8_blockscale_split_cat` against its reference, and what it refuses.

use crate::common::devices;
use hk_core::op::quant::Fp8;
use hk_core::{Arch, Device, Error, Tensor};
use hk_gemm::{
    BlockscaleOptions, F8E4M3, F8E4M3Fnuz, GemmOptions, Layout,
    fused_gemm_a8w8_blockscale_split_cat, parity,
};

#[test]
fn fused_gemm_a8w8_blockscale_split_cat_has_parity() {
    hk_ref::run_module(
        "fused_gemm_a8w8_blockscale_split_cat",
        &parity::cases(),
        &devices(),
        20_000_000,
    );
}

/// Operands that are stored with adjacent rows give what others do, bit for bit.
#[test]
fn fused_gemm_a8w8_blockscale_split_cat_takes_transposed_operands() {
    fn test<T: Fp8>(device: &Device) {
        let stream = device.default_stream();
        let [m, heads, s1, k] = [5, 2, 8, 70];
        let n = heads * (s1 + 16);
        let of = |rows: usize, is_transposed: bool| -> Tensor<T> {
            let at = |i: usize| if is_transposed { i % rows * k + i / rows } else { i };
            let number = |i: usize| (at(i) * 7 % 31) as f64 / 8.0 - 2.0;
            let values = T::encode(&(0..rows * k).map(number).collect::<Vec<_>>());
            let shape = if is_transposed { [k, rows] } else { [rows, k] };
            Tensor::from_slice(&stream, &values, &shape).unwrap()
        };
        let ones = |shape: &[usize]| Tensor::filled(&stream, shape, 1.0f32).unwrap();
        let (x_scale, w_scale, y) = (ones(&[m, 1]), ones(&[1, 1]), ones(&[m, heads, 3]));
        let results = |layout: Layout| {
            let x = of(m, layout.x_is_transposed());
            let w = of(n, layout.w_is_transposed());
            let options = BlockscaleOptions::default().gemm(GemmOptions::default().layout(layout));
            let both = fused_gemm_a8w8_blockscale_split_cat::<_, _, f32>(
                &x, &w, &x_scale, &w_scale, &y, s1, &options,
            )
            .unwrap();
            [both.c1.to_vec().unwrap(), both.c2.to_vec().unwrap()]
        };
        let expected = results(Layout::Tn);
        for layout in [Layout::Tt, Layout::Nn, Layout::Nt] {
            assert_eq!(results(layout), expected, "{layout:?} on {}", device.name());
        }
    }
    for device in devices() {
        match device.arch() {
            Arch::Gfx950 => test::<F8E4M3>(&device),
            _ => test::<F8E4M3Fnuz>(&device),
        }
    }
}

#[test]
fn fused_gemm_a8w8_blockscale_split_cat_rejects_wrong_tensors() {
    hk_ref::run_rejections("fused_gemm_a8w8_blockscale_split_cat", &parity::cases(), &devices());
}

/// There is no batch that rows could be before.
#[test]
fn fused_gemm_a8w8_blockscale_split_cat_rejects_results_by_rows() {
    fn test<T: Fp8>(device: &Device) {
        let stream = device.default_stream();
        let one = T::encode(&[1.0])[0];
        let [x, w] = [5, 8].map(|rows| Tensor::filled(&stream, &[rows, 32], one).unwrap());
        let ones = |shape: &[usize]| Tensor::filled(&stream, shape, 1.0f32).unwrap();
        let (x_scale, w_scale, y) = (ones(&[5, 1]), ones(&[1, 1]), ones(&[5, 2, 3]));
        let options = BlockscaleOptions::default().gemm(GemmOptions::default().transpose_bm());
        let error = fused_gemm_a8w8_blockscale_split_cat::<_, _, f32>(
            &x, &w, &x_scale, &w_scale, &y, 1, &options,
        )
        .unwrap_err();
        assert!(matches!(error, Error::Value { arg: "transpose_bm", .. }), "{error}");
    }
    for device in devices() {
        match device.arch() {
            Arch::Gfx950 => test::<F8E4M3>(&device),
            _ => test::<F8E4M3Fnuz>(&device),
        }
    }
}
