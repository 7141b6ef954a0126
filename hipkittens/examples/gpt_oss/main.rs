//! The decoder of GPT-OSS (arXiv 2508.10925) at reduced size, with seeded weights: prompts of two
//! sequences at once, then a token of each per step, with keys and values in a paged cache.
//!
//! `cargo run -p hipkittens --example gpt_oss --features cdna4`

mod model;
#[path = "../shared/paged.rs"]
mod paged;
#[path = "../shared/mod.rs"]
mod shared;
mod step;
mod weights;

fn main() -> hipkittens::Result<()> {
    shared::run::<model::Model>()
}
