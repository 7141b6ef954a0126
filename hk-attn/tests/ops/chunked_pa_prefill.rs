//! The op of the module `chunked_pa_prefill` against their references, and what they refuse.

use crate::common::devices;
use hk_attn::parity;

#[test]
fn chunked_pa_prefill_has_parity() {
    hk_ref::run_module("chunked_pa_prefill", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn chunked_pa_prefill_rejects_wrong_tensors() {
    hk_ref::run_rejections("chunked_pa_prefill", &parity::cases(), &devices());
}
