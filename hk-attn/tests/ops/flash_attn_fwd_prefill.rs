//! The op of the module `flash_attn_fwd_prefill` against their references, and what they refuse.

use crate::common::devices;
use hk_attn::parity;

#[test]
fn flash_attn_fwd_prefill_has_parity() {
    hk_ref::run_module("flash_attn_fwd_prefill", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn flash_attn_fwd_prefill_rejects_wrong_tensors() {
    hk_ref::run_rejections("flash_attn_fwd_prefill", &parity::cases(), &devices());
}
