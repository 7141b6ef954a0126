//! Whole models, from the files that they are published as: every step on the device is an op of a
//! kernel crate.
//!
//! ```no_run
//! use hipkittens::Device;
//! use hipkittens::models::SentenceEncoder;
//!
//! let stream = Device::open("sim:mi355x")?.default_stream();
//! let encoder = SentenceEncoder::load("all-MiniLM-L6-v2".as_ref(), &stream)?;
//! let sentences = [encoder.tokenize("A cat sleeps.")?, encoder.tokenize("A kitten naps.")?];
//! let vectors = encoder.embed(&sentences, None)?;
//! let cosine: f32 = vectors[0].iter().zip(&vectors[1]).map(|(a, b)| a * b).sum();
//! # Ok::<(), hipkittens::models::ModelError>(())
//! ```

mod bert;
mod error;
mod sentences;
mod settings;
mod weights;

pub use bert::{Batch, Bert, BertConfig};
pub use error::{ModelError, on_one_line};
pub use sentences::{Sentence, SentenceEncoder};
pub use weights::{Weights, read_header};
