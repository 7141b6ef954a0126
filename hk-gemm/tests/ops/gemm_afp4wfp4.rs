//! `gemm_afp4wfp4` against its reference, and what it refuses.

use crate::common::devices;
use hk_gemm::parity;

#[test]
fn gemm_afp4wfp4_has_parity() {
    hk_ref::run_module("gemm_afp4wfp4", &parity::cases(), &devices(), 20_000_000);
}

#[test]
fn gemm_afp4wfp4_rejects_wrong_tensors() {
    hk_ref::run_rejections("gemm_afp4wfp4", &parity::cases(), &devices());
}
