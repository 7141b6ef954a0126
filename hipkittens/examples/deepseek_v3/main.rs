//! The decoder of DeepSeek-V3 (arXiv 2412.19437) at reduced size, with seeded weights: a layer with a
//! dense feed-forward part, then layers of experts. Prompts of two sequences at once, by heads with keys
//! and values of their own; then a token of each per step, by heads that all look at the same latent rows,
//! which are all that is remembered of tokens.
//!
//! `cargo run -p hipkittens --example deepseek_v3 --features cdna4`

use hipkittens::moe::F8E4M3;

mod model;
#[path = "../shared/mod.rs"]
mod shared;
mod step;
mod weights;

fn main() -> hipkittens::Result<()> {
    shared::run::<model::Model<F8E4M3>>()
}
