//! Functional simulator of AMD CDNA3 and CDNA4 GPUs behind the HIP C API.

pub mod exec;
mod fault;
pub mod isa;
pub mod mem;
pub mod object;
mod product;

pub use fault::{FaultKind, FaultReport};
pub use product::{PRODUCTS, Product};
