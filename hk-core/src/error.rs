//! The one error type of the host API.

use std::fmt;
use std::path::PathBuf;

use hk_types::UnknownArch;

use crate::dtype::{DType, UnknownDType};
use crate::kernel::TileFileError;
use crate::{Arch, FaultReport};

/// `Result` with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong. Each variant is one kind of mistake or failure; an op that returns one has
/// launched nothing and left its outputs as they were, except for [`Error::Fault`] and
/// [`Error::Hip`], which come from work that was already under way.
///
/// The page of an op says what is its own. What is the same for every op stands here:
///
/// - [`Error::Device`] or [`Error::Stream`] if an argument is on another device, or on another stream,
///   than the first one;
/// - [`Error::ArchMismatch`] if an argument is of 8-bit floating point in another chip's flavour, except
///   where the op takes OCP's types on both chips, as those of MX blocks;
/// - [`Error::Stride`] if an output has one element at several indices;
/// - [`Error::OutOfMemory`] if there is no room for results or a workspace, [`Error::StreamCapture`] if
///   results would have to be allocated while the stream is being captured (forms with `_into` take
///   them as they are);
/// - [`Error::NoCodeObject`] if the binary was built without the device's feature, [`Error::TileFile`] if
///   the file of `HIPKITTENS_TILES` is wrong.
///
/// Its `Debug` form is its message, so that `?` in `main` shows what a user can read.
#[derive(thiserror::Error)]
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

    /// Something that a graph cannot hold was asked of a stream that is being captured in one.
    #[error("{op}: {why} while the stream is being captured in a graph")]
    StreamCapture {
        /// The op.
        op: &'static str,
        /// What it needs that is not possible.
        why: &'static str,
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
    #[error("{op}: {arg} is of {dtype}, which {arch} has not; use {use_instead}")]
    ArchMismatch {
        /// The op.
        op: &'static str,
        /// The argument.
        arg: &'static str,
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

    /// The user's file of tile configurations is wrong.
    #[error(transparent)]
    TileFile(#[from] TileFileError),

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

impl From<UnknownArch> for Error {
    fn from(UnknownArch(arch): UnknownArch) -> Self {
        Self::UnsupportedArch { arch }
    }
}

impl From<UnknownDType> for Error {
    fn from(UnknownDType(got): UnknownDType) -> Self {
        Self::value("DType::from_str", "name", "one of the names of DType::ALL", got)
    }
}

hk_types::debug_is_message!(Error);

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FaultKind;

    /// One error of each variant with the message that a user sees. The match makes the compiler
    /// ask for a new variant's message.
    fn samples() -> Vec<(Error, &'static str)> {
        let op = "rmsnorm";
        let strided = vec![8, 64];
        let fault = FaultReport {
            kind: FaultKind::WriteViolation,
            detail: "write of 4 bytes".into(),
            kernel: "axpy".into(),
            pc: 0x1200,
            offset: 0x40,
            instruction: "global_store_dword v[0:1], v2, off".into(),
            source: Some("axpy.hip:7".into()),
            workgroup: [1, 0, 0],
            wave: 2,
            lane: Some(63),
            address: Some(0xdead_0000),
            allocation: Some("64 bytes beyond the end of an allocation of 1024 bytes".into()),
        };
        let path = PathBuf::from("dir/launch.json");
        let tried =
            vec![Tried { path: "/opt/rocm/lib/libamdhip64.so".into(), reason: "no".into() }];
        vec![
            (
                Error::shape(op, "weight", &[4096], &[2048], "must equal the last dimension of x"),
                "rmsnorm: weight: expected [4096], got [2048] (must equal the last dimension of x)",
            ),
            (
                Error::DType { op, arg: "x", expected: DType::Bf16, got: DType::F32 },
                "rmsnorm: x: expected elements of type bf16, got f32",
            ),
            (
                Error::Stride {
                    op,
                    arg: "x",
                    expected: "contiguous rows",
                    shape: strided.clone(),
                    got: vec![1, 8],
                },
                "rmsnorm: x: expected contiguous rows, got strides [1, 8] of shape [8, 64]",
            ),
            (
                Error::Alias { op, a: "x", b: "out" },
                "rmsnorm: x and out overlap in memory (an output must not share memory with them)",
            ),
            (
                Error::value(op, "eps", "at least 0", -1.0),
                "rmsnorm: eps: must be at least 0, got -1",
            ),
            (
                Error::Device { op, a: "x on hip:0".into(), b: "out on hip:1".into() },
                "rmsnorm: x on hip:0 and out on hip:1 are on different devices",
            ),
            (
                Error::Stream { op, a: "x", b: "out" },
                "rmsnorm: x and out are on different streams (move one with Tensor::into_stream)",
            ),
            (
                Error::StreamCapture { op, why: "memory cannot be allocated" },
                "rmsnorm: memory cannot be allocated while the stream is being captured in a graph",
            ),
            (
                Error::NoCodeObject { op, arch: Arch::Gfx950, feature: "cdna4" },
                "rmsnorm: this binary has no code for gfx950; build with the feature `cdna4`",
            ),
            (
                Error::ArchMismatch {
                    op,
                    arg: "x",
                    dtype: DType::F8E4M3,
                    arch: Arch::Gfx942,
                    use_instead: "F8E4M3Fnuz",
                },
                "rmsnorm: x is of F8E4M3, which gfx942 has not; use F8E4M3Fnuz",
            ),
            (
                Error::NoTile {
                    op,
                    problem: "n = 3".into(),
                    arch: Arch::Gfx942,
                    nearest: "wide: needs n >= 64".into(),
                },
                "rmsnorm: no tile configuration for n = 3 on gfx942 (nearest: wide: needs n >= 64)",
            ),
            (
                Error::OutOfMemory { requested: 10, free: 4 },
                "out of device memory: 10 bytes requested, 4 bytes free",
            ),
            (
                Error::Hip { call: "hipSetDevice", code: 101, name: "hipErrorX: bad".into() },
                "hipSetDevice failed: hipErrorX: bad (101)",
            ),
            (
                Error::Library { tried, hint: "install ROCm" },
                "no HIP library could be opened; tried:\n  /opt/rocm/lib/libamdhip64.so: no\n\
                 install ROCm",
            ),
            (
                Error::Symbol { library: "libx.so".into(), name: "hipFreeAsync", hint: "update" },
                "libx.so has no function `hipFreeAsync`; update",
            ),
            (
                Error::Version {
                    library: "libx.so".into(),
                    found: HipVersion(40_321_422),
                    required: HipVersion(50_000_000),
                },
                "libx.so is HIP 4.3.21422, older than 5.0.0; install a newer ROCm",
            ),
            (
                Error::NoDevice { wanted: "sim:x".into(), available: vec!["a".into(), "b".into()] },
                "no device `sim:x`; available: a, b",
            ),
            (
                Error::UnsupportedArch { arch: "gfx1100".into() },
                "architecture `gfx1100` is not supported (supported: gfx942, gfx950)",
            ),
            (
                Error::CodeObject { reason: "it has no metadata note".into() },
                "code object: it has no metadata note",
            ),
            (
                Error::NoKernel { kernel: "f".into(), available: vec!["g".into()] },
                "no kernel `f` in the code object; it has: g",
            ),
            (Error::Layout { kernel: "f".into(), reason: "why".into() }, "f: argument layout: why"),
            (
                Error::Launch {
                    kernel: "f".into(),
                    what: "grid.x",
                    constraint: "at least 1".into(),
                    got: 0,
                },
                "f: grid.x must be at least 1, got 0",
            ),
            (
                Error::Fault(Box::new(fault)),
                "write-violation: write of 4 bytes\n  kernel axpy at pc 0x1200 (entry+0x40): \
                 global_store_dword v[0:1], v2, off\n  source axpy.hip:7\n  \
                 workgroup (1, 0, 0), wave 2, lane 63, address 0xdead0000\n  \
                 64 bytes beyond the end of an allocation of 1024 bytes",
            ),
            (
                Error::TileFile(TileFileError::Unreadable {
                    path: "t.toml".into(),
                    reason: "gone".into(),
                }),
                "HIPKITTENS_TILES: cannot read t.toml: gone",
            ),
            (
                Error::Io { path: path.clone(), source: std::io::ErrorKind::NotFound.into() },
                "dir/launch.json: entity not found",
            ),
            (Error::Capture { path, reason: "cut off".into() }, "dir/launch.json: cut off"),
        ]
    }

    /// Which variant it is; listed without a wildcard, so that a new one cannot be forgotten.
    fn position(error: &Error) -> usize {
        match error {
            Error::Shape { .. } => 0,
            Error::DType { .. } => 1,
            Error::Stride { .. } => 2,
            Error::Alias { .. } => 3,
            Error::Value { .. } => 4,
            Error::Device { .. } => 5,
            Error::Stream { .. } => 6,
            Error::StreamCapture { .. } => 7,
            Error::NoCodeObject { .. } => 8,
            Error::ArchMismatch { .. } => 9,
            Error::NoTile { .. } => 10,
            Error::OutOfMemory { .. } => 11,
            Error::Hip { .. } => 12,
            Error::Library { .. } => 13,
            Error::Symbol { .. } => 14,
            Error::Version { .. } => 15,
            Error::NoDevice { .. } => 16,
            Error::UnsupportedArch { .. } => 17,
            Error::CodeObject { .. } => 18,
            Error::NoKernel { .. } => 19,
            Error::Layout { .. } => 20,
            Error::Launch { .. } => 21,
            Error::Fault(_) => 22,
            Error::TileFile(_) => 23,
            Error::Io { .. } => 24,
            Error::Capture { .. } => 25,
        }
    }

    #[test]
    fn every_variant_says_what_is_wrong() {
        let samples = samples();
        for (index, (error, message)) in samples.iter().enumerate() {
            assert_eq!(error.to_string(), *message);
            assert_eq!(position(error), index);
        }
        assert_eq!(samples.len(), 26);
    }

    #[test]
    fn errors_cross_threads_and_stay_small() {
        fn assert_send_sync<E: Send + Sync + 'static>() {}
        assert_send_sync::<Error>();
        assert!(size_of::<Error>() <= 128, "{}", size_of::<Error>());
    }
}
