//! What can be chosen of attention.

use hk_core::dtype::bf16;
use hk_core::op::Arguments;
use hk_core::{AnyPtr, Result, Tensor, TensorSlice};

/// Which keys a query sees, by their distance: `left` before its position and `right` behind it; all
/// of a side if it is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    /// Keys before the query's position.
    pub left: Option<u32>,
    /// Keys behind it.
    pub right: Option<u32>,
}

/// How the distances between positions of a query and of a key count, times the slope; the enum
/// `alibi_form` of `hk/attention_arguments.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AlibiForm {
    /// Less where they are far apart, on either side.
    Distance = 1,
    /// From the query to the key.
    Relative = 2,
    /// From the sequence's first query to the key.
    ToContext = 3,
}

/// Weights that are dropped, each with probability `p`, and the rest divided by `1 - p`: weight (i, j)
/// of head h and sequence b if word `j % 4` of Philox4x32-10 of the counter `(j / 4, i, b hq + h,
/// offset % 2^32)` and the key `(seed % 2^32, seed / 2^32 XOR offset / 2^32)` is below `p 2^32`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dropout {
    /// Probability, from 0 to below 1.
    pub p: f32,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Which of the seed's random numbers.
    pub offset: u64,
}

/// A tensor of f32 or bf16.
#[derive(Debug, Clone, Copy)]
pub enum RealNumbers<'a> {
    /// Of f32.
    F32(&'a TensorSlice<f32>),
    /// Of bf16.
    Bf16(&'a TensorSlice<bf16>),
}

impl RealNumbers<'_> {
    /// Declares them, and gives where they are, their type as kernels name it, and their strides.
    pub(super) fn declare<const N: usize>(
        self,
        arguments: &mut Arguments,
        name: &'static str,
        dims: &'static [&'static str],
    ) -> Result<(AnyPtr, u32, [i64; N])> {
        match self {
            Self::F32(x) => Ok((x.ptr().any(), 2, arguments.input(name, x, dims).strides()?)),
            Self::Bf16(x) => Ok((x.ptr().any(), 0, arguments.input(name, x, dims).strides()?)),
        }
    }

    /// The shape.
    pub(super) fn shape(&self) -> &[usize] {
        match self {
            Self::F32(x) => x.shape(),
            Self::Bf16(x) => x.shape(),
        }
    }
}

macro_rules! numbers {
    ($($variant:ident: $element:ty),*) => {$(
        impl<'a> From<&'a TensorSlice<$element>> for RealNumbers<'a> {
            fn from(tensor: &'a TensorSlice<$element>) -> Self {
                Self::$variant(tensor)
            }
        }

        impl<'a> From<&'a Tensor<$element>> for RealNumbers<'a> {
            fn from(tensor: &'a Tensor<$element>) -> Self {
                Self::$variant(tensor)
            }
        }
    )*};
}

numbers!(F32: f32, Bf16: bf16);

/// What can be chosen of an attention. By default, scores are the products of queries and keys divided
/// by the root of the width of keys, and all keys are visible.
///
/// Of scores `s = scale (q k)`, in this order: they are capped, `cap tanh(s / cap)`; slopes times
/// distances and the bias are added; those of keys that are not visible become -inf.
#[derive(Debug, Clone, Copy, Default)]
pub struct AttentionOptions<'a> {
    pub(crate) scale: Option<f32>,
    pub(crate) causal: bool,
    pub(crate) window: Window,
    pub(crate) softcap: f32,
    pub(crate) alibi_slopes: Option<&'a TensorSlice<f32>>,
    pub(crate) bias: Option<RealNumbers<'a>>,
    pub(crate) sink: Option<RealNumbers<'a>>,
    pub(crate) dropout: Option<Dropout>,
    pub(crate) q_descale: Option<&'a TensorSlice<f32>>,
    pub(crate) k_descale: Option<&'a TensorSlice<f32>>,
    pub(crate) v_descale: Option<&'a TensorSlice<f32>>,
    pub(crate) output_scale: Option<&'a TensorSlice<f32>>,
    pub(crate) num_splits: Option<u32>,
    pub(crate) validate_indices: Option<bool>,
}

impl<'a> AttentionOptions<'a> {
    /// Factor of scores; `1 / sqrt(d)` if not given.
    #[must_use]
    pub fn scale(self, scale: f32) -> Self {
        Self { scale: Some(scale), ..self }
    }

    /// Whether queries see no keys behind their positions. The last query is at the position of the
    /// last key.
    #[must_use]
    pub fn causal(self, causal: bool) -> Self {
        Self { causal, ..self }
    }

    /// Which keys are visible by their distance; [`causal`](Self::causal) replaces its right side by 0.
    #[must_use]
    pub fn window(self, left: impl Into<Option<u32>>, right: impl Into<Option<u32>>) -> Self {
        Self { window: Window { left: left.into(), right: right.into() }, ..self }
    }

    /// What scores are capped to softly; not at all if 0.
    #[must_use]
    pub fn softcap(self, cap: f32) -> Self {
        Self { softcap: cap, ..self }
    }

    /// Slopes of heads, `[hq]` or `[b, hq]`, by which distances between positions count.
    #[must_use]
    pub fn alibi_slopes(self, slopes: &'a TensorSlice<f32>) -> Self {
        Self { alibi_slopes: Some(slopes), ..self }
    }

    /// What is added to scores, `[b, hq, sq, sk]`, of which b and hq may be 1.
    #[must_use]
    pub fn bias(self, bias: impl Into<RealNumbers<'a>>) -> Self {
        Self { bias: Some(bias.into()), ..self }
    }

    /// Scores of heads, `[hq]`, that join the denominator as if of a key whose value is zero.
    #[must_use]
    pub fn sink(self, sink: impl Into<RealNumbers<'a>>) -> Self {
        Self { sink: Some(sink.into()), ..self }
    }

    /// Which weights are dropped.
    #[must_use]
    pub fn dropout(self, dropout: Dropout) -> Self {
        Self { dropout: Some(dropout), ..self }
    }

    /// What queries are multiplied by, `[b, hq]`, or `[b, hk]` for all of a key head's, or `[1]`.
    #[must_use]
    pub fn q_descale(self, scale: &'a TensorSlice<f32>) -> Self {
        Self { q_descale: Some(scale), ..self }
    }

    /// What keys are multiplied by, `[b, hk]` or `[1]`.
    #[must_use]
    pub fn k_descale(self, scale: &'a TensorSlice<f32>) -> Self {
        Self { k_descale: Some(scale), ..self }
    }

    /// What values are multiplied by, `[b, hk]` or `[1]`.
    #[must_use]
    pub fn v_descale(self, scale: &'a TensorSlice<f32>) -> Self {
        Self { v_descale: Some(scale), ..self }
    }

    /// What results are divided by, `[1]`.
    #[must_use]
    pub fn output_scale(self, scale: &'a TensorSlice<f32>) -> Self {
        Self { output_scale: Some(scale), ..self }
    }

    /// Into how many parts the keys are split, whose results are merged; chosen if not given. More
    /// parts fill a chip with few queries.
    #[must_use]
    pub fn num_splits(self, splits: u32) -> Self {
        Self { num_splits: Some(splits), ..self }
    }

    /// Whether indices are looked at before the launch, which waits for the stream, to tell which are
    /// wrong. If not given, they are on the simulator and in builds with debug assertions.
    #[must_use]
    pub fn validate_indices(self, validate: bool) -> Self {
        Self { validate_indices: Some(validate), ..self }
    }
}
