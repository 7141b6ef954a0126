//! The convolution of sequences that follow each other, as
//! [`causal_conv1d`](mod@crate::causal_conv1d) defines it, whose channels are those of queries, keys and
//! values: of `c = 2 kd + vd` channels the first kd are q, the next kd are k, and the others are v, with
//! tokens as rows.
//!
//! | | |
//! |---|---|
//! | Shapes | x `[c, t]`, weight `[c, w]` with w of 2 to 4, bias `[c]`, states `[lines, c, >= w-1]` -> q, k `[t, kd]`, v `[t, vd]`; any strides of all but weight and bias |
//! | Dtypes | x bf16, f16, f32; weight and bias bf16, f16, f32, whatever x is; q, k, v and states as x; bounds and lines i32, i64; has_initial_state u8 |
//! | Numerics | f32, taps in order by fused multiply-add, rounded once at the store; states are copied bit by bit; bitwise deterministic, however a sequence is split |
//! | Hardware | cdna3, cdna4; 16-byte accesses whether channels of a token of x are adjacent or tokens of a channel, which change lanes in LDS then; of x, only the w - 1 tokens before each chunk are read again, and those of a new state |
//! | Source | Yang, Kautz and Hatamizadeh, "Gated Delta Networks: Improving Mamba2 with Delta Rule" (2024) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gdr::{CausalConv1dOptions, Device, Tensor, causal_conv1d_fwd_split_qkv};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! // Sequences of two tokens and of one, with a channel each of q, k and v.
//! let x = Tensor::from_slice(&stream, &[1.0f32, 2.0, 3.0].repeat(3), &[3, 3])?;
//! let weight = Tensor::from_slice(&stream, &[10.0f32, 1.0].repeat(3), &[3, 2])?;
//! let bounds = Tensor::from_slice(&stream, &[0i32, 2, 3], &[3])?;
//! let options = CausalConv1dOptions::default().silu(false);
//! let qkv = causal_conv1d_fwd_split_qkv(&x, &weight, &bounds, None, 1, 1, &options)?;
//! assert_eq!(qkv.v.to_vec()?, [1.0, 12.0, 3.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::indices::Indices;
use hk_core::{Result, Tensor, TensorSlice};

use crate::CausalConv1dOptions;
use crate::causal_conv1d::{Convolution, Order};
use crate::causal_conv1d_split_qkv::ConvQkv;

/// Where [`causal_conv1d_fwd_split_qkv_into`] stores.
#[derive(Debug)]
pub struct CausalConv1dFwdSplitQkvOut<'a, T: Real> {
    /// Queries, `[t, kd]`.
    pub q: &'a mut TensorSlice<T>,
    /// Keys, `[t, kd]`.
    pub k: &'a mut TensorSlice<T>,
    /// Values, `[t, vd]`.
    pub v: &'a mut TensorSlice<T>,
    /// The states, `[lines, c, >= w - 1]`, which become the new ones, if there are any.
    pub conv_states: Option<&'a mut TensorSlice<T>>,
}

/// The convolution of sequences that follow each other, as
/// [`causal_conv1d_varlen`](crate::causal_conv1d_varlen) has it, with channels split into queries, keys
/// and values, and tokens as rows. Results of skipped sequences are zeros.
///
/// # Errors
/// As [`causal_conv1d_varlen`](crate::causal_conv1d_varlen), and [`Error::Shape`] also if there are not
/// `2 k_dim + v_dim` channels, or no queries or values.
pub fn causal_conv1d_fwd_split_qkv<'a, T: Real, W: Real>(
    x: &TensorSlice<T>,
    weight: &TensorSlice<W>,
    query_start_loc: impl Into<Indices<'a>>,
    conv_states: Option<&mut TensorSlice<T>>,
    k_dim: usize,
    v_dim: usize,
    options: &CausalConv1dOptions<'_, W>,
) -> Result<ConvQkv<T>> {
    let tokens = x.shape().last().copied().unwrap_or_default();
    let part = |channels| Tensor::empty(x.stream(), &[tokens, channels]);
    let (mut q, mut k, mut v) = (part(k_dim)?, part(k_dim)?, part(v_dim)?);
    let out = CausalConv1dFwdSplitQkvOut { q: &mut q, k: &mut k, v: &mut v, conv_states };
    causal_conv1d_fwd_split_qkv_into(x, weight, query_start_loc, k_dim, v_dim, options, out)?;
    Ok(ConvQkv { q, k, v })
}

/// As [`causal_conv1d_fwd_split_qkv`], into given tensors.
///
/// # Errors
/// As [`causal_conv1d_fwd_split_qkv`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`CausalConv1dFwdSplitQkvOut`] says, and [`Error::Alias`] if one overlaps another argument.
pub fn causal_conv1d_fwd_split_qkv_into<'a, T: Real, W: Real>(
    x: &TensorSlice<T>,
    weight: &TensorSlice<W>,
    query_start_loc: impl Into<Indices<'a>>,
    k_dim: usize,
    v_dim: usize,
    options: &CausalConv1dOptions<'_, W>,
    out: CausalConv1dFwdSplitQkvOut<'_, T>,
) -> Result<()> {
    let bounds = query_start_loc.into();
    let x = (x, &["c", "t"][..], Order::Columns);
    let op = "causal_conv1d_fwd_split_qkv";
    let mut conv = Convolution::new(op, x, None, weight, options)?;
    conv.bounds(bounds, out.conv_states.is_some())?;
    conv.lines()?;
    conv.output("q", out.q, &["t", "kd"], Order::Rows)?;
    conv.output("k", out.k, &["t", "kd"], Order::Rows)?;
    conv.output("v", out.v, &["t", "vd"], Order::Rows)?;
    conv.split(k_dim, v_dim)?;
    conv.packed_states(out.conv_states)?;
    conv.launch("bounds-1", "t", true)
}
