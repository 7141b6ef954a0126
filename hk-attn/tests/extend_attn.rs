//! The op of the module `extend_attn` against their references, and what they refuse.

mod common;

use common::devices;
use hk_attn::parity;

#[test]
fn extend_attn_has_parity() {
    hk_ref::run_module("extend_attn", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn extend_attn_rejects_wrong_tensors() {
    hk_ref::run_rejections("extend_attn", &parity::cases(), &devices());
}
