//! What may be wrong with a model's files.

use std::fmt::Display;
use std::io;
use std::path::PathBuf;

use hk_core::Error;

/// Why a model cannot be loaded, or not be run.
///
/// Its `Debug` form is its message, so that `?` in `main` shows what a user can read. What it says of a
/// file's text is [on one line](on_one_line).
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A file cannot be read.
    #[error("{}: {source}", on_one_line(file.display()))]
    Read {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },

    /// A file is not of its format.
    #[error("{}: {}", on_one_line(file.display()), on_one_line(what))]
    Format {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        what: String,
    },

    /// A model has a property that is not supported.
    #[error("{}: {key}: must be {expected}, got {}", on_one_line(file.display()), on_one_line(got))]
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
    #[error(
        "{}: tensor {}: must be {expected}, got {got}",
        on_one_line(file.display()),
        on_one_line(tensor)
    )]
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
    #[error(
        "{}: cannot split {sentence:?} into tokens: {}",
        on_one_line(file.display()),
        on_one_line(what)
    )]
    Sentence {
        /// The tokenizer's file.
        file: PathBuf,
        /// The sentence.
        sentence: String,
        /// Why not.
        what: String,
    },

    /// What the model makes of a sentence is no vector: numbers on the way there were beyond the range of
    /// f16.
    #[error(
        "{}: the vector of sentence {} is not finite: the model leaves the range of f16",
        on_one_line(file.display()),
        sentence + 1
    )]
    NotFinite {
        /// The file of the weights.
        file: PathBuf,
        /// Which of the sentences, from 0 on; the message counts from 1 on.
        sentence: usize,
    },

    /// An op cannot be done.
    #[error(transparent)]
    Op(#[from] Error),
}

hk_types::debug_is_message!(ModelError);

/// A text that may be of anybody, as it can be shown on a line of a terminal: with escapes in place of
/// characters that begin another line, steer the terminal or turn the direction of writing.
///
/// ```
/// use hipkittens::models::on_one_line;
///
/// assert_eq!(on_one_line("a\tcat\u{1b}[31m, \u{202e}猫"), r"a\tcat\u{1b}[31m, \u{202e}猫");
/// ```
pub fn on_one_line(text: impl Display) -> String {
    let mut shown = String::new();
    for c in text.to_string().chars() {
        if c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}') {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}
