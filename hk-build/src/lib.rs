//! Build-script library of hipkittens: finds a clang that can compile for AMD GPUs, compiles HIP
//! kernels and assembly with it, and checks every kernel's resource budget.
//!
//! No ROCm installation is needed. [`clang`] looks, in order, at `HIPKITTENS_CLANG`, at ROCm
//! (`ROCM_PATH`, `/opt/rocm`), at `clang++` and `zig` on `PATH`, at the PyPI package `ziglang` that
//! `python3` can import, and at last installs that package, pinned by version and hash, into the
//! user's cache folder. `HIPKITTENS_OFFLINE=1` forbids that last step.
//!
//! ```no_run
//! use hk_build::{Arch, CompileOptions, compile_source};
//!
//! let source = r#"extern "C" __attribute__((global)) void nothing() {}"#;
//! let code_object = compile_source(source, Arch::Gfx950, &CompileOptions::default())?;
//! assert!(code_object.image.starts_with(b"\x7fELF"));
//! # Ok::<(), hk_build::BuildError>(())
//! ```

mod arch;
mod assembler;
mod budget;
mod cache;
mod codegen;
mod compiler;
mod discover;
mod error;
mod kernels;
mod layout;
mod plan;
mod pool;
mod provision;

pub use arch::{Arch, UnknownArch};
pub use assembler::{
    Assembly, assemble, assemble_code_object, assemble_lines, assemble_with_symbols,
};
pub use budget::Violation;
pub use compiler::{Clang, CodeObject, CompileOptions, compile_hip, compile_source};
pub use discover::{Origin, SearchEnv, clang};
pub use error::{Attempt, BuildError, Diagnostic};
pub use kernels::{Kernels, Report, build};
