//! `fused_gemm_afp4wfp4_split_cat` against its reference, and what it refuses.

use crate::common::devices;
use hk_gemm::parity;

#[test]
fn fused_gemm_afp4wfp4_split_cat_has_parity() {
    hk_ref::run_module("fused_gemm_afp4wfp4_split_cat", &parity::cases(), &devices(), 30_000_000);
}

#[test]
fn fused_gemm_afp4wfp4_split_cat_rejects_wrong_tensors() {
    hk_ref::run_rejections("fused_gemm_afp4wfp4_split_cat", &parity::cases(), &devices());
}
