//! The ops of the module `fused_mxfp4_quant` against their references, and what they refuse.

#[cfg(not(any(feature = "cdna3", feature = "cdna4")))]
compile_error!("tests need kernels: run them with --features cdna3,cdna4, or one of the two");

use hk_core::Device;
use hk_quant::parity;

/// A simulated device of each architecture that there are kernels for.
fn devices() -> Vec<Device> {
    hk_ref::devices_of(parity::kernels()).unwrap()
}

#[test]
fn fused_mxfp4_quant_has_parity() {
    hk_ref::run_module("fused_mxfp4_quant", &parity::cases(), &devices(), 40_000_000);
}

#[test]
fn fused_mxfp4_quant_rejects_wrong_tensors() {
    hk_ref::run_rejections("fused_mxfp4_quant", &parity::cases(), &devices());
}
