//! The decoder of Qwen3-Next at reduced size, with seeded weights: a layer of the gated delta rule
//! and one of gated attention, each followed by its experts. Prompts of two sequences at once, then a
//! token of each per step, with the rule's states in a pool and keys and values in a paged cache.
//!
//! `cargo run -p hipkittens --example qwen3_next --features cdna3,cdna4 [-- DEVICE]`, `sim:mi355x` if no other
//! device is named.

use hipkittens::Device;

mod model;
#[path = "../shared/paged.rs"]
mod paged;
#[path = "../shared/mod.rs"]
mod shared;
mod step;
mod weights;

fn main() -> hipkittens::Result<()> {
    let device = std::env::args().nth(1);
    shared::run::<model::Model>(&Device::open(device.as_deref().unwrap_or(shared::DEVICE))?)
}
