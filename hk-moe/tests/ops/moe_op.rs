//! `moe_op` against its reference, and what it refuses.

use hk_moe::parity;

use crate::common::devices;

#[test]
fn moe_op_has_parity() {
    hk_ref::run_module("moe_op", &parity::cases(), &devices(), 40_000_000);
}

#[test]
fn moe_op_rejects_wrong_tensors() {
    hk_ref::run_rejections("moe_op", &parity::cases(), &devices());
}
