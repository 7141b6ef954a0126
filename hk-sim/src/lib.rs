//! Functional simulator of AMD CDNA3 and CDNA4 GPUs behind the HIP C API.

pub mod exec;
mod fault;
pub mod isa;
mod product;

pub use fault::{FaultKind, FaultReport};
pub use product::{PRODUCTS, Product};
