//! Batches of products with scales of MX blocks: each as one.

pub use super::gemm_afp4wfp4::dequantised;
