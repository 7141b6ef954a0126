//! `l2norm_fwd` and `l2norm_bwd`, which are those of `hk-norm`, with their kernels.

use approx::assert_abs_diff_eq;
use hk_core::Tensor;
use hk_gdr::{L2normOut, RowOptions, l2norm_bwd, l2norm_fwd, l2norm_fwd_into};

use crate::common::devices;

#[test]
fn rows_get_a_length_of_one_and_have_derivatives() {
    for device in devices() {
        let stream = device.default_stream();
        let options = RowOptions::default();
        let x = Tensor::from_slice(&stream, &[3.0f32, 4.0, 0.0, 0.0], &[2, 2]).unwrap();
        let mut y = l2norm_fwd(&x, 1e-6, &options).unwrap();
        assert_abs_diff_eq!(y.to_vec().unwrap()[..], [0.6, 0.8, 0.0, 0.0], epsilon = 1e-6);

        let mut rstd = Tensor::<f32>::empty(&stream, &[2]).unwrap();
        let out = L2normOut { y: &mut *y, rstd: Some(&mut *rstd) };
        l2norm_fwd_into(&x, 1e-6, &options, out).unwrap();
        let dx = l2norm_bwd(&y, &rstd, &x, &options).unwrap();
        // A step along x changes nothing.
        assert_abs_diff_eq!(dx.to_vec().unwrap()[..], [0.0; 4], epsilon = 1e-6);
    }
}
