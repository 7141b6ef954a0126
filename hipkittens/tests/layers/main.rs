//! Layers of models, composed of ops of several crates, against compositions of references.

mod gpt_oss;
