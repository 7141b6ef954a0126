//! `gemm_a16w8_blockscale` against its reference, and what it refuses.

use crate::common::devices;
use hk_gemm::parity;

#[test]
fn gemm_a16w8_blockscale_has_parity() {
    hk_ref::run_module("gemm_a16w8_blockscale", &parity::cases(), &devices(), 20_000_000);
}

#[test]
fn gemm_a16w8_blockscale_rejects_wrong_tensors() {
    hk_ref::run_rejections("gemm_a16w8_blockscale", &parity::cases(), &devices());
}
