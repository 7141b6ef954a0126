//! The decoder of DeepSeek-V3 (arXiv 2412.19437) at reduced size, with seeded weights: a layer with a
//! dense feed-forward part, then layers of experts. Prompts of two sequences at once, by heads with keys
//! and values of their own; then a token of each per step, by heads that all look at the same latent rows,
//! which are all that is remembered of tokens.
//!
//! `cargo run -p hipkittens --example deepseek_v3 --features cdna3,cdna4 [-- DEVICE]`, `sim:mi355x` if no
//! other device is named.

use hipkittens::Device;
use hipkittens::core::Arch;
use hipkittens::moe::{F8E4M3, F8E4M3Fnuz};

mod model;
#[path = "../shared/mod.rs"]
mod shared;
mod step;
mod weights;

fn main() -> hipkittens::Result<()> {
    let device = std::env::args().nth(1);
    let device = Device::open(device.as_deref().unwrap_or(shared::DEVICE))?;
    match device.arch() {
        Arch::Gfx942 => shared::run::<model::Model<F8E4M3Fnuz>>(&device),
        Arch::Gfx950 => shared::run::<model::Model<F8E4M3>>(&device),
    }
}
