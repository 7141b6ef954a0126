//! What the tests of the instruction set share: LLVM's own reading of assembly text, and the
//! forms in which an instruction may come.

pub(crate) mod coverage;
pub(crate) mod forms;
pub(crate) mod llvm;
