#![doc = include_str!("../README.md")]

mod activation;
mod arch;
mod arg;
pub mod dtype;
mod fault;
mod message;
mod mx;
mod range;

pub use activation::Activation;
pub use arch::{Arch, UnknownArch};
pub use arg::{ArgKind, Pointee};
pub use fault::{FaultKind, FaultReport, FindingKind};
pub use mx::MxRound;
pub use range::Range;
