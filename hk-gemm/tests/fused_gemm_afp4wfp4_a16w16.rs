//! `fused_gemm_afp4wfp4_a16w16` against its reference, and what it refuses.

#[cfg(not(any(feature = "cdna3", feature = "cdna4")))]
compile_error!("tests need kernels: run them with --features cdna3,cdna4, or one of the two");

use hk_core::Device;
use hk_gemm::parity;

/// A simulated device of each architecture that there are kernels for.
fn devices() -> Vec<Device> {
    hk_ref::devices_of(parity::kernels()).unwrap()
}

#[test]
fn fused_gemm_afp4wfp4_a16w16_has_parity() {
    hk_ref::run_module("fused_gemm_afp4wfp4_a16w16", &parity::cases(), &devices(), 20_000_000);
}

#[test]
fn fused_gemm_afp4wfp4_a16w16_rejects_wrong_tensors() {
    hk_ref::run_rejections("fused_gemm_afp4wfp4_a16w16", &parity::cases(), &devices());
}
