//! Functional simulator of AMD CDNA3 and CDNA4 GPUs behind the HIP C API.

pub mod exec;
pub mod isa;
