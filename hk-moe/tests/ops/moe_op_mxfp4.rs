//! `moe_op_mxfp4` against its reference, and what it refuses.

use hk_moe::parity;

use crate::common::devices;

#[test]
fn moe_op_mxfp4_has_parity() {
    hk_ref::run_module("moe_op_mxfp4", &parity::cases(), &devices(), 40_000_000);
}

#[test]
fn moe_op_mxfp4_rejects_wrong_tensors() {
    hk_ref::run_rejections("moe_op_mxfp4", &parity::cases(), &devices());
}
