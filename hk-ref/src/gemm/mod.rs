//! References of `hk-gemm`.

pub mod gemm_a16w16;
