//! Tests of the ops, one file per module: parity with references, refusals, and what else a module
//! promises.

mod common;

mod fused_fp8_quant;
mod fused_mxfp4_quant;
mod quant;
mod quant_moe;
