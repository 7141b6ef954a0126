//! References of `hk-gemm`.

pub mod a16w16;
