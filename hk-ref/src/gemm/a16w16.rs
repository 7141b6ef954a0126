//! GEMM
