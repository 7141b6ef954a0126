//! The one error type of the host API.

use std::fmt;
use std::path::PathBuf;

use crate::Arch;
use crate::dtype::DType;
use crate::fault::FaultReport;

/// `Result` with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong. Each variant is one kind of mistake or failure; an op that returns one has
/// launched nothing and left its outputs as they were, except for [`Error::Fault`] and
/// [`Error::Hip`], which come from work that was already under way.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument has the wrong shape.
    #[error("{op}: {arg}: expected {expected}, got {got:?} ({why})")]
    Shape {
        /// The op.
        op: &'static str,
        /// Its argument.
        arg: &'static str,
        /// The shape that was expected, e.g. `[4096]` or `[.., 128]`.
        expected: String,
        /// The shape that came.
        got: Vec<usize>,
        /// The rule.
        why: String,
    },

    /// An argument has the wrong element type.
    #[error("{op}: {arg}: expected elements of type {expected}, got {got}")]
    DType {
        /// The op.
        op: &'static str,
        /// Its argument.
        arg: &'static str,
        /// The type that was expected.
        expected: DType,
        /// The type that came.
        got: DType,
    },

    /// An argument's memory layout is not supported.
    #[error("{op}: {arg}: expected {expected}, got strides {got:?} of shape {shape:?}")]
    Stride {
        /// The op.
        op: &'static str,
        /// Its argument.
        arg: &'static str,
        /// The layout that was expected, e.g. `contiguous rows`.
        expected: &'static str,
        /// The argument's shape.
        shape: Vec<usize>,
        /// Its strides, in elements.
        got: Vec<usize>,
    },

    /// An output overlaps another argument in memory.
    #[error("{op}: {a} and {b} overlap in memory (an output must not share memory with them)")]
    Alias {
        /// The op.
        op: &'static str,
        /// One argument.
        a: &'static str,
        /// The other.
        b: &'static str,
    },

    /// An argument has a value outside its range.
    #[error("{op}: {arg}: must be {constraint}, got {got}")]
    Value {
        /// The op.
        op: &'static str,
        /// Its argument.
        arg: &'static str,
        /// What the value must be.
        constraint: String,
        /// What it was.
        got: String,
    },

    /// Two arguments are on different devices.
    #[error("{op}: {a} and {b} are on different devices")]
    Device {
        /// The op.
        op: &'static str,
        /// One argument with its device.
        a: String,
        /// The other with its device.
        b: String,
    },

    /// Two arguments are on different streams of one device.
    #[error("{op}: {a} and {b} are on different streams (move one with Tensor::into_stream)")]
    Stream {
        /// The op.
        op: &'static str,
        /// One argument.
        a: &'static str,
        /// The other.
        b: &'static str,
    },

    /// The binary holds no code object of an op for the device's architecture.
    #[error("{op}: this binary has no code for {arch}; build with the feature `{feature}`")]
    NoCodeObject {
        /// The op.
        op: &'static str,
        /// The device's architecture.
        arch: Arch,
        /// The cargo feature that would build it.
        feature: &'static str,
    },

    /// The element type is not one that the architecture computes with.
    #[error("{op}: {dtype} is not a format of {arch}; use {use_instead}, after a conversion")]
    ArchMismatch {
        /// The op.
        op: &'static str,
        /// The element type.
        dtype: DType,
        /// The device's architecture.
        arch: Arch,
        /// The type to convert to.
        use_instead: &'static str,
    },

    /// No tile configuration of an op serves the problem.
    #[error("{op}: no tile configuration for {problem} on {arch} (nearest: {nearest})")]
    NoTile {
        /// The op.
        op: &'static str,
        /// The problem's sizes.
        problem: String,
        /// The device's architecture.
        arch: Arch,
        /// The configuration that comes nearest.
        nearest: String,
    },

    /// The device has not enough free memory.
    #[error("out of device memory: {requested} bytes requested, {free} bytes free")]
    OutOfMemory {
        /// Bytes asked for.
        requested: usize,
        /// Bytes that the device reports as free.
        free: usize,
    },

    /// A HIP call failed.
    #[error("{call} failed: {name} ({code})")]
    Hip {
        /// The HIP function.
        call: &'static str,
        /// Its error code.
        code: i32,
        /// The code's name and explanation.
        name: String,
    },

    /// The HIP library could not be opened.
    #[error("no HIP library could be opened; tried:{}\n{hint}", list(.tried))]
    Library {
        /// Every path with the loader's complaint.
        tried: Vec<Tried>,
        /// What to do.
        hint: &'static str,
    },

    /// The HIP library lacks a function.
    #[error("{} has no function `{name}`; {hint}", .library.display())]
    Symbol {
        /// The library.
        library: PathBuf,
        /// The function.
        name: &'static str,
        /// What to do.
        hint: &'static str,
    },

    /// The HIP library is too old.
    #[error("{} is HIP {found}, older than {required}; install a newer ROCm", .library.display())]
    Version {
        /// The library.
        library: PathBuf,
        /// Its version.
        found: HipVersion,
        /// The oldest version that serves.
        required: HipVersion,
    },

    /// There is no device of that name.
    #[error("no device `{wanted}`; available: {}", .available.join(", "))]
    NoDevice {
        /// The name that was asked for.
        wanted: String,
        /// Names that can be opened.
        available: Vec<String>,
    },

    /// The device's architecture is not one this library has kernels for.
    #[error("architecture `{arch}` is not supported (supported: gfx942, gfx950)")]
    UnsupportedArch {
        /// The architecture.
        arch: String,
    },

    /// A code object cannot be read.
    #[error("code object: {reason}")]
    CodeObject {
        /// What is wrong with it.
        reason: String,
    },

    /// A code object holds no kernel of that name.
    #[error("no kernel `{kernel}` in the code object; it has: {}", .available.join(", "))]
    NoKernel {
        /// The name that was asked for.
        kernel: String,
        /// The kernels that it has.
        available: Vec<String>,
    },

    /// The argument struct does not match the kernel's parameters.
    #[error("{kernel}: argument layout: {reason}")]
    Layout {
        /// The kernel.
        kernel: String,
        /// The first difference, both sides named.
        reason: String,
    },

    /// A launch exceeds a limit of the kernel or the device.
    #[error("{kernel}: {what} must be {constraint}, got {got}")]
    Launch {
        /// The kernel.
        kernel: String,
        /// The quantity.
        what: &'static str,
        /// Its limit.
        constraint: String,
        /// What was asked for.
        got: u64,
    },

    /// A kernel did something illegal while it ran on the simulator.
    #[error("{0}")]
    Fault(Box<FaultReport>),

    /// A file could not be read or written.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },

    /// A captured launch cannot be written or read back.
    #[error("{}: {reason}", .path.display())]
    Capture {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl Error {
    /// An [`Error::Shape`] with an exact expected shape.
    pub fn shape(
        op: &'static str,
        arg: &'static str,
        expected: &[usize],
        got: &[usize],
        why: impl Into<String>,
    ) -> Self {
        let expected = format!("{expected:?}");
        Self::Shape { op, arg, expected, got: got.to_vec(), why: why.into() }
    }

    /// An [`Error::Value`].
    pub fn value(
        op: &'static str,
        arg: &'static str,
        constraint: impl Into<String>,
        got: impl fmt::Display,
    ) -> Self {
        Self::Value { op, arg, constraint: constraint.into(), got: got.to_string() }
    }
}

/// A library path that was tried, with the reason why it did not serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// The path or the bare name handed to the loader.
    pub path: PathBuf,
    /// The loader's complaint.
    pub reason: String,
}

fn list(tried: &[Tried]) -> String {
    tried.iter().map(|t| format!("\n  {}: {}", t.path.display(), t.reason)).collect()
}

/// A version of the HIP runtime, as `hipRuntimeGetVersion` encodes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HipVersion(pub i32);

impl fmt::Display for HipVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(code) = self;
        write!(f, "{}.{}.{}", code / 10_000_000, code / 100_000 % 100, code % 100_000)
    }
}
