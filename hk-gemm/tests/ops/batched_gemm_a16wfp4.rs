//! `batched_gemm_a16wfp4` against its reference, and what it refuses.

use crate::common::devices;
use hk_gemm::parity;

#[test]
fn batched_gemm_a16wfp4_has_parity() {
    hk_ref::run_module("batched_gemm_a16wfp4", &parity::cases(), &devices(), 23_500_000);
}

#[test]
fn batched_gemm_a16wfp4_rejects_wrong_tensors() {
    hk_ref::run_rejections("batched_gemm_a16wfp4", &parity::cases(), &devices());
}
