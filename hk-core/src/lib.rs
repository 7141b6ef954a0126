//! Host API of hipkittens: devices, streams, tensors, element types, and launching kernels.
//!
//! Everything talks to one thing, a table of HIP entry points. It is filled from the system's HIP
//! library, opened at run time, or from the embedded simulator (feature `sim`, on by default); so
//! the code that runs without a GPU is the code that runs on one, and nothing of ROCm is needed to
//! build.
//!
//! ```
//! use hk_core::{Device, Tensor};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let x = Tensor::upload(&stream, ndarray::array![[1.0f32, 2.0], [3.0, 4.0]].view())?;
//! assert_eq!(x.reshape(&[4])?.download()?.into_raw_vec_and_offset().0, [1.0, 2.0, 3.0, 4.0]);
//! # Ok::<(), hk_core::Error>(())
//! ```
//!
//! # Environment
//!
//! | variable | meaning |
//! |---|---|
//! | `HIPKITTENS_DEVICE` | the device of [`Device::auto`], such as `hip:0` or `sim:mi355x` |
//! | `HIPKITTENS_HIP_LIBRARY` | path of `libamdhip64.so`; else the loaded one, or ROCm's |
//! | `HIPKITTENS_CAPTURE` | folder into which every launch is [captured](capture) |
//! | `HIPKITTENS_TILES` | file that overrides the choice of [tiles](kernel::overrides) |

mod allocator;
pub mod capture;
mod device;
mod error;
mod graph;
mod hip;
pub mod kernel;
mod launch;
pub mod metadata;
pub mod op;
mod order;
mod scoped;
/// What every user of a kernel crate needs; each kernel crate re-exports it.
pub mod prelude {
    pub use crate::dtype::{self, bf16, f16};
    pub use crate::{Arch, Device, Error, Event, Result, Stream, Tensor, TensorSlice};
}
mod stream;
mod tensor;
mod workspace;

pub use allocator::Allocator;
pub use device::{Device, DeviceInfo, HipLibrary, hip_library};
pub use error::{Error, HipVersion, Result, Tried};
pub use graph::Graph;
#[cfg(feature = "sim")]
pub use hk_sim::counters;
pub use hk_types::{Activation, Arch, FaultKind, FaultReport, FindingKind, dtype};
pub use launch::{
    AnyPtr, ArgValue, DevicePtr, Function, KernelArgs, LaunchConfig, Module, TileFunction,
    record_tiles, with_code,
};
pub use order::Use;
pub use stream::{Event, Stream};
pub use tensor::{MAX_RANK, Tensor, TensorSlice, TensorView, TensorViewMut};

/// Folder of the device headers, for kernels that are compiled at run time. A build script gets it
/// as the variable `DEP_HK_CORE_INCLUDE`.
pub const INCLUDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/include");
