//! The ops of the module `pod_attn` against their references, and what they refuse.

use crate::common::devices;
use hk_attn::parity;

#[test]
fn pod_attn_has_parity() {
    hk_ref::run_module("pod_attn", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn pod_attn_rejects_wrong_tensors() {
    hk_ref::run_rejections("pod_attn", &parity::cases(), &devices());
}
