//! The op of the module `prefill_attn` against their references, and what they refuse.

use crate::common::devices;
use hk_attn::parity;

#[test]
fn prefill_attn_has_parity() {
    hk_ref::run_module("prefill_attn", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn prefill_attn_rejects_wrong_tensors() {
    hk_ref::run_rejections("prefill_attn", &parity::cases(), &devices());
}
