//! What can be chosen of a convolution.

use hk_core::TensorSlice;
use hk_core::dtype::Real;
use hk_core::op::indices::Indices;

/// The filter of the convolution in a layer.
#[derive(Debug, Clone, Copy)]
pub struct ConvFilter<'a, W: Real> {
    /// `[c, w]`.
    pub weight: &'a TensorSlice<W>,
    /// `[c]`.
    pub bias: Option<&'a TensorSlice<W>>,
}

/// What can be chosen of the convolutions of this crate. Default is none of it, but for the activation.
#[derive(Debug, Clone, Copy)]
pub struct CausalConv1dOptions<'a, W: Real> {
    pub(crate) bias: Option<&'a TensorSlice<W>>,
    pub(crate) silu: Option<bool>,
    pub(crate) cache_indices: Option<Indices<'a>>,
    pub(crate) pad_slot_id: i64,
    pub(crate) has_initial_state: Option<&'a TensorSlice<u8>>,
    pub(crate) num_accepted_tokens: Option<&'a TensorSlice<i32>>,
    pub(crate) validate_indices: Option<bool>,
    pub(crate) chunk: Option<usize>,
}

impl<W: Real> Default for CausalConv1dOptions<'_, W> {
    fn default() -> Self {
        Self {
            bias: None,
            silu: None,
            cache_indices: None,
            pad_slot_id: -1,
            has_initial_state: None,
            num_accepted_tokens: None,
            validate_indices: None,
            chunk: None,
        }
    }
}

impl<'a, W: Real> CausalConv1dOptions<'a, W> {
    /// Adds a number to each channel, `[c]`.
    #[must_use]
    pub fn bias(self, bias: &'a TensorSlice<W>) -> Self {
        Self { bias: Some(bias), ..self }
    }

    /// Whether `v / (1 + e^-v)`, also called swish, is applied at last. If not said, it is by the ops
    /// that split channels into queries, keys and values, and is not by the others.
    #[must_use]
    pub fn silu(self, silu: bool) -> Self {
        Self { silu: Some(silu), ..self }
    }

    /// The line of the states that each sequence has, `[n]`, each another; if not given, those of its
    /// number. A sequence with the [padding](Self::pad_slot_id), or a line that there is not, is
    /// skipped: no state is touched. Not for dense sequences, which have states of their own.
    #[must_use]
    pub fn cache_indices(self, lines: impl Into<Indices<'a>>) -> Self {
        Self { cache_indices: Some(lines.into()), ..self }
    }

    /// The line of sequences that are to be skipped; -1 if not given.
    #[must_use]
    pub fn pad_slot_id(self, slot: i64) -> Self {
        Self { pad_slot_id: slot, ..self }
    }

    /// Whether each of the sequences that follow each other begins with its state, `[n]`, 0 or 1; if
    /// not given, all begin with zeros. Only for ops that take bounds of sequences.
    #[must_use]
    pub fn has_initial_state(self, has: &'a TensorSlice<u8>) -> Self {
        Self { has_initial_state: Some(has), ..self }
    }

    /// How many of the tokens that each sequence was given last were accepted, `[n]`, so that new ones
    /// follow these: of speculative decoding. No op takes it yet, and all refuse it by its name.
    #[must_use]
    pub fn num_accepted_tokens(self, accepted: &'a TensorSlice<i32>) -> Self {
        Self { num_accepted_tokens: Some(accepted), ..self }
    }

    /// Whether bounds and lines are looked at before the launch, which waits for the stream, to tell
    /// which are wrong. If not given, they are on the simulator and in builds with debug assertions.
    #[must_use]
    pub fn validate_indices(self, validate: bool) -> Self {
        Self { validate_indices: Some(validate), ..self }
    }

    /// Gives each wave so many tokens of a sequence at most, a power of two from 16 on; as many as are
    /// expected to be fastest if not given. Results are the same bits.
    #[must_use]
    pub fn chunk(self, tokens: usize) -> Self {
        Self { chunk: Some(tokens), ..self }
    }
}
