//! CPU references in f64 and the parity harness.
//!
//! Each module of ops has one here, named as its file in the kernel crate: what they compute, in the plainest
//! way, from the same rounded inputs that the device gets, and the error that its specification
//! allows. These know nothing but numbers.
//!
//! The rest is the harness, with the feature `harness`. A kernel crate binds its ops to these in
//! `parity.rs`, as a list of `Case`s; its tests and the command `hipkittens check` run that list.
//!
//! A case says its tensors, one call of the op and one of the reference (`Setup`). What `Case::run`
//! does with it:
//!
//! 1. draws the inputs by a seed that follows from the op, its shape and the tensor's name,
//!    computes the reference, and puts the tensors where the case says and the op takes them;
//! 2. three times: fills outputs, and the memory around them, with a bit pattern that is another
//!    one each time, runs the op under another schedule of waves (on the simulator), and demands
//!    that the memory around is untouched and the outputs have the same bits as the first time;
//! 3. compares with the reference, each element within its own tolerance and, where the op's
//!    specification says so, all together.

pub mod activation;
pub mod attn;
pub mod draw;
pub mod expected;
pub mod gdr;
pub mod gemm;
#[cfg(feature = "harness")]
pub mod guarded;
#[cfg(feature = "harness")]
pub mod harness;
pub mod models;
pub mod moe;
pub mod norm;
pub mod quant;

pub use draw::Draw;
pub use expected::{Expected, Statistics, Steps, unit_roundoff};
#[cfg(feature = "harness")]
pub use guarded::{Edge, Guarded, Placement};
#[cfg(feature = "harness")]
pub use harness::{
    Arg, Case, CaseInfo, Held, HeldScale, HeldTensor, Look, NOT_POSITIVE, NOT_ZERO_OR_MORE, Number,
    Prepared, REALS, Report, RowCase, Setup, Size, Types, devices, devices_of, in_rows, run_cases,
    run_module, run_rejections,
};
