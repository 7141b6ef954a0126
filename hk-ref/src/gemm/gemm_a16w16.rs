//! Products of 16-bit matrices with an epilogue.

pub use super::product::{Operands, Step, Term, expect};
