//! The device headers on both simulated chips, one module per header.

mod cache;
mod gpu;
mod hip;
mod lds;
mod math;
mod memory;
mod mma;
mod operand;
mod order;
mod quant;
mod rope;
mod row;
mod types;
mod wave;
