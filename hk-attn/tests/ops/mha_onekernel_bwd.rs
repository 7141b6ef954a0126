//! The ops of the module `mha_onekernel_bwd` against their references, and what they refuse.

use crate::common::devices;
use hk_attn::parity;

#[test]
fn mha_onekernel_bwd_has_parity() {
    hk_ref::run_module("mha_onekernel_bwd", &parity::cases(), &devices(), 40_000_000);
}

#[test]
fn mha_onekernel_bwd_rejects_wrong_tensors() {
    hk_ref::run_rejections("mha_onekernel_bwd", &parity::cases(), &devices());
}
