//! `l2norm_bwd` against its reference, and what it refuses.

use crate::common::devices;
use hk_norm::parity;

#[test]
fn l2norm_bwd_has_parity() {
    hk_ref::run_module("l2norm_bwd", &parity::cases(), &devices(), 13_000_000);
}

#[test]
fn l2norm_bwd_rejects_wrong_tensors() {
    hk_ref::run_rejections("l2norm_bwd", &parity::cases(), &devices());
}
