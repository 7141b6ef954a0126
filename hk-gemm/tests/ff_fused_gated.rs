//! `ff_fused_gated` against its reference, and what it refuses.

#[cfg(not(any(feature = "cdna3", feature = "cdna4")))]
compile_error!("tests need kernels: run them with --features cdna3,cdna4, or one of the two");

use hk_core::Device;
use hk_gemm::parity;

/// A simulated device of each architecture that there are kernels for.
fn devices() -> Vec<Device> {
    hk_ref::devices_of(parity::kernels()).unwrap()
}

#[test]
fn ff_fused_gated_has_parity() {
    hk_ref::run_module("ff_fused_gated", &parity::cases(), &devices(), 20_000_000);
}

#[test]
fn ff_fused_gated_rejects_wrong_tensors() {
    hk_ref::run_rejections("ff_fused_gated", &parity::cases(), &devices());
}
