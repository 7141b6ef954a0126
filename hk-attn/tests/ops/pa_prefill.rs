//! The op of the module `pa_prefill` against their references, and what they refuse.

use crate::common::devices;
use hk_attn::parity;

#[test]
fn pa_prefill_has_parity() {
    hk_ref::run_module("pa_prefill", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn pa_prefill_rejects_wrong_tensors() {
    hk_ref::run_rejections("pa_prefill", &parity::cases(), &devices());
}
