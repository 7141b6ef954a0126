//! `gemm_a16w16_gated` against its reference, and what it refuses.

use crate::common::devices;
use hk_gemm::parity;

#[test]
fn gemm_a16w16_gated_has_parity() {
    hk_ref::run_module("gemm_a16w16_gated", &parity::cases(), &devices(), 24_000_000);
}

#[test]
fn gemm_a16w16_gated_rejects_wrong_tensors() {
    hk_ref::run_rejections("gemm_a16w16_gated", &parity::cases(), &devices());
}
