//! `causal_conv1d_split_qkv` against its reference, and what it refuses.

mod common;

use hk_gdr::parity;

use common::devices;

#[test]
fn causal_conv1d_split_qkv_has_parity() {
    hk_ref::run_module("causal_conv1d_split_qkv", &parity::cases(), &devices(), 30_000_000);
}

#[test]
fn causal_conv1d_split_qkv_rejects_wrong_tensors() {
    hk_ref::run_rejections("causal_conv1d_split_qkv", &parity::cases(), &devices());
}
