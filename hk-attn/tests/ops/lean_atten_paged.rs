//! The ops of the module `lean_atten_paged` against their references, and what they refuse.

use crate::common::devices;
use hk_attn::parity;

#[test]
fn lean_atten_paged_has_parity() {
    hk_ref::run_module("lean_atten_paged", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn lean_atten_paged_rejects_wrong_tensors() {
    hk_ref::run_rejections("lean_atten_paged", &parity::cases(), &devices());
}
