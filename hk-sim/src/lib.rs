//! Functional simulator of AMD CDNA3 and CDNA4 GPUs behind the HIP C API.

pub mod alter;
pub mod capi;
pub mod counters;
mod environment;
pub mod equal;
pub mod exec;
pub mod flow;
pub mod isa;
pub mod mem;
pub mod object;
mod product;
mod runtime;
pub mod sanitize;
pub mod trace;

pub use capi::forget_contents;
pub use environment::environment_problems;
pub use hk_types::{FaultKind, FaultReport};
pub use product::{PRODUCTS, Product};
pub use runtime::occupancy::{self, Limit, Occupancy, occupancy};
pub use runtime::{
    HipError, device_ordinal, last_fault, last_message, options, set_capture, set_options,
    set_timing,
};
pub use sanitize::Options;
