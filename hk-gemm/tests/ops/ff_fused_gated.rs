//! `ff_fused_gated` against its reference, and what it refuses.

use crate::common::devices;
use hk_gemm::parity;

#[test]
fn ff_fused_gated_has_parity() {
    hk_ref::run_module("ff_fused_gated", &parity::cases(), &devices(), 20_000_000);
}

#[test]
fn ff_fused_gated_rejects_wrong_tensors() {
    hk_ref::run_rejections("ff_fused_gated", &parity::cases(), &devices());
}
