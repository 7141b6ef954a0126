//! `batched_gemm_a8w8_ptgq` against its reference, and what it refuses.

use crate::common::devices;
use hk_gemm::parity;

#[test]
fn batched_gemm_a8w8_ptgq_has_parity() {
    hk_ref::run_module("batched_gemm_a8w8_ptgq", &parity::cases(), &devices(), 20_000_000);
}

#[test]
fn batched_gemm_a8w8_ptgq_rejects_wrong_tensors() {
    hk_ref::run_rejections("batched_gemm_a8w8_ptgq", &parity::cases(), &devices());
}
