//! The decoder of GPT-OSS (arXiv 2508.10925) at reduced size, with seeded weights: prompts of two
//! sequences at once, then a token of each per step, with keys and values in a paged cache.
//!
//! `cargo run -p hipkittens --example gpt_oss --features cdna3,cdna4 [-- DEVICE]`, `sim:mi355x` if no other
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
