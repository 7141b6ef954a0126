#![doc = include_str!("../README.md")]

mod assembler;
mod budget;
mod codegen;
mod compiler;
mod discover;
mod error;
mod includes;
mod kernels;
mod layout;
mod maker;
mod note;
mod objects;
mod plan;
mod pool;
mod provision;

pub use assembler::{
    Assembly, assemble, assemble_code_object, assemble_lines, assemble_with_symbols,
};
pub use budget::Violation;
pub use compiler::{Clang, CodeObject, CompileOptions, compile_hip, compile_source};
pub use discover::{Origin, SearchEnv, clang};
pub use error::{Attempt, BuildError, Diagnostic};
pub use hk_types::Arch;
pub use kernels::{CoreCost, Kernels, Report, build};
pub use objects::{ObjectCache, Usage};
