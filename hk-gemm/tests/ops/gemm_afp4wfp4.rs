//! `gemm_afp4wfp4` against its reference, and what it refuses.

use crate::common::devices;
use hk_core::{Error, Tensor};
use hk_gemm::{E8M0, F4x2E2M1, GemmOptions, Shuffled, gemm_afp4wfp4, parity};

#[test]
fn gemm_afp4wfp4_has_parity() {
    hk_ref::run_module("gemm_afp4wfp4", &parity::cases(), &devices(), 20_000_000);
}

#[test]
fn gemm_afp4wfp4_rejects_wrong_tensors() {
    hk_ref::run_rejections("gemm_afp4wfp4", &parity::cases(), &devices());
}

#[test]
fn gemm_afp4wfp4_rejects_parts_of_tiles() {
    for device in devices() {
        let stream = device.default_stream();
        let codes =
            |shape: &[usize]| Tensor::filled(&stream, shape, F4x2E2M1::from_bits(0x12)).unwrap();
        let scales = |shape: &[usize]| Tensor::filled(&stream, shape, E8M0::ONE).unwrap();
        let options = GemmOptions::default();
        // Rows of w, k, and rows of tiles of its scales.
        let refused = |n: usize, k: usize, tiled: usize| {
            let w = Shuffled::new(codes(&[n / 16, 16 * k]));
            let w_scale = Shuffled::new(scales(&[tiled, k / 32]));
            let (x, x_scale) = (codes(&[3, k]), scales(&[3, k / 32]));
            gemm_afp4wfp4::<f32>(&x, &w, &x_scale, &w_scale, &options).unwrap_err()
        };
        let error = refused(16, 96, 32);
        assert!(matches!(error, Error::Value { arg: "w", .. }), "{error}");
        let error = refused(16, 320, 32);
        assert!(matches!(error, Error::Value { arg: "w_scale", .. }), "{error}");
        for (n, tiled) in [(16, 48), (48, 32), (32, 0)] {
            let error = refused(n, 256, tiled);
            assert!(matches!(error, Error::Shape { arg: "w_scale", .. }), "{error}");
        }
    }
}
