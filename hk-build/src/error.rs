//! What can go wrong between a kernel's source and its checked code object.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use hk_types::Arch;

use crate::budget::Violation;

/// A failed build step. The text is written for the person who runs `cargo build`.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No usable compiler was found, nor could one be installed.
    #[error("no clang for AMD GPUs was found; tried:\n{}{fix}", Lines(tried))]
    NoCompiler {
        /// Every candidate that was looked at, in order, with why it was not taken.
        tried: Vec<Attempt>,
        /// What the user can do about it.
        fix: &'static str,
    },
    /// A file or folder could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was attempted, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A program could not be started.
    #[error("cannot run {}: {source}", program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The compiler's command line could not be put together.
    #[error("cannot set up {}: {reason}", program.display())]
    Setup {
        /// The compiler.
        program: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The compiler refused a source file.
    #[error("{source_name}: compilation for {arch} failed:\n{messages}")]
    Compile {
        /// The source file, or a description of generated source.
        source_name: String,
        /// The architecture that it was compiled for.
        arch: Arch,
        /// The compiler's messages.
        messages: String,
    },
    /// The assembler refused lines of an assembly text.
    #[error("assembly for {arch} failed:\n{messages}")]
    Assemble {
        /// The architecture that it was assembled for.
        arch: Arch,
        /// One entry per error that names a line.
        diagnostics: Vec<Diagnostic>,
        /// The assembler's messages in full.
        messages: String,
    },
    /// A code object is not what the compiler should have written.
    #[error("{name}: unreadable code object: {reason}")]
    CodeObject {
        /// The kernel core or file.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A tile file says something impossible.
    #[error("{}: {reason}", path.display())]
    Tiles {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        reason: String,
    },
    /// Kernels exceed what they may occupy.
    #[error("over budget:\n{}", Lines(violations))]
    Budget {
        /// Each figure above its limit.
        violations: Vec<Violation>,
    },
    /// An argument struct cannot be shared by host and device.
    #[error("arguments: {reason}")]
    Arguments {
        /// Which, and why.
        reason: String,
    },
    /// The build script was not started by cargo.
    #[error("{variable} is not set; cargo sets it for build scripts")]
    NoCargo {
        /// The variable that is missing.
        variable: &'static str,
    },
    /// A variable of the environment has no meaning.
    #[error("{variable}: expected {expected}, got `{}`", got.display())]
    Variable {
        /// The variable.
        variable: &'static str,
        /// What it may be.
        expected: &'static str,
        /// What it is.
        got: OsString,
    },
    /// Several kernels failed.
    #[error("{}", Paragraphs(errors))]
    Several {
        /// One error per failure.
        errors: Vec<BuildError>,
    },
}

hk_types::debug_is_message!(BuildError);

impl BuildError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }
}

/// A compiler candidate that was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Where it was looked for.
    pub place: String,
    /// Why it was not taken.
    pub reason: String,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.reason)
    }
}

/// An error of the assembler about one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The line in the text that was assembled, counted from 1.
    pub line: usize,
    /// The column, counted from 1.
    pub column: usize,
    /// What the assembler said, without the place.
    pub message: String,
}

/// Displays each item on an indented line of its own.
pub(crate) struct Lines<'a, T>(pub(crate) &'a [T]);

impl<T: fmt::Display> fmt::Display for Lines<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|item| writeln!(f, "  {item}"))
    }
}

/// Displays each item from the start of a line.
struct Paragraphs<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for Paragraphs<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<_> = self.0.iter().map(|item| item.to_string()).collect();
        let texts: Vec<_> = texts.iter().map(|text| text.trim_end()).collect();
        f.write_str(&texts.join("\n"))
    }
}
