//! What may be wrong with a model's files.

use std::io;
use std::path::PathBuf;

use hk_core::Error;

/// Why a model cannot be loaded, or not be run.
///
/// Its `Debug` form is its message, so that `?` in `main` shows what a user can read.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A file cannot be read.
    #[error("{}: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },

    /// A file is not of its format.
    #[error("{}: {what}", file.display())]
    Format {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        what: String,
    },

    /// A model has a property that is not supported.
    #[error("{}: {key}: must be {expected}, got {got}", file.display())]
    Setting {
        /// The file.
        file: PathBuf,
        /// Which of its settings.
        key: &'static str,
        /// What it must be.
        expected: String,
        /// What it is.
        got: String,
    },

    /// A weight is not what the model's settings ask for.
    #[error("{}: tensor {tensor}: must be {expected}, got {got}", file.display())]
    Tensor {
        /// The file.
        file: PathBuf,
        /// The tensor.
        tensor: String,
        /// What it must be.
        expected: String,
        /// What it is.
        got: String,
    },

    /// A sentence cannot be made into tokens.
    #[error("{}: cannot split {sentence:?} into tokens: {what}", file.display())]
    Sentence {
        /// The tokenizer's file.
        file: PathBuf,
        /// The sentence.
        sentence: String,
        /// Why not.
        what: String,
    },

    /// An op cannot be done.
    #[error(transparent)]
    Op(#[from] Error),
}

hk_types::debug_is_message!(ModelError);
