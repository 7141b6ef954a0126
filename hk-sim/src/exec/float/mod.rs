//! Float formats and arithmetic that the host does not have.

mod mini;

pub use mini::{MiniFloat, Specials, e8m0_decode};
