//! Host API of hipkittens.

mod arch;
pub mod dtype;
mod error;
mod fault;
pub mod kernel;

pub use arch::Arch;
pub use error::{Error, HipVersion, Result, Tried};
pub use fault::FaultReport;
