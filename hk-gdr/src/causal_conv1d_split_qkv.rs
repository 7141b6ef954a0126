//! The convolution of new tokens, as [`causal_conv1d`](mod@crate::causal_conv1d) defines it, whose
//! channels are those of queries, keys and values: of `c = 2 kd + vd` channels the first kd are q, the
//! next kd are k, and the others are v.
//!
//! | | |
//! |---|---|
//! | Shapes | x `[n, c]` or `[n, c, s]`, weight `[c, w]` with w of 2 to 4, bias `[c]`, states `[lines, c, >= w-1]` -> q, k `[n, kd]` or `[n, kd, s]`, v `[n, vd]` or `[n, vd, s]`; any strides of all but weight and bias |
//! | Dtypes | x bf16, f16, f32; weight and bias bf16, f16, f32, whatever x is; q, k, v and states as x; lines i32, i64 |
//! | Numerics | f32, taps in order by fused multiply-add, rounded once at the store; states are copied bit by bit; bitwise deterministic |
//! | Hardware | cdna3, cdna4; 16-byte accesses where channels of a token are adjacent |
//! | Source | Yang, Kautz and Hatamizadeh, "Gated Delta Networks: Improving Mamba2 with Delta Rule" (2024) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gdr::{CausalConv1dOptions, Device, Tensor, causal_conv1d_update_split_qkv};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[1.0f32, 2.0, 3.0, 4.0], &[1, 4])?;
//! let weight = Tensor::from_slice(&stream, &[10.0f32, 1.0].repeat(4), &[4, 2])?;
//! let mut state = Tensor::from_slice(&stream, &[5.0f32, 6.0, 7.0, 8.0], &[1, 4, 1])?;
//! let options = CausalConv1dOptions::default().silu(false);
//! let qkv = causal_conv1d_update_split_qkv(&x, &weight, &mut state, 1, 2, &options)?;
//! assert_eq!(qkv.q.to_vec()?, [51.0]);
//! assert_eq!(qkv.k.to_vec()?, [62.0]);
//! assert_eq!(qkv.v.to_vec()?, [73.0, 84.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::{Result, Tensor, TensorSlice};

use crate::CausalConv1dOptions;
use crate::causal_conv1d::{Convolution, Order, new_tokens};

/// Queries, keys and values, of convolutions that split their channels.
#[derive(Debug)]
pub struct ConvQkv<T: Real> {
    /// Queries.
    pub q: Tensor<T>,
    /// Keys.
    pub k: Tensor<T>,
    /// Values.
    pub v: Tensor<T>,
}

/// Where [`causal_conv1d_update_split_qkv_into`] stores.
#[derive(Debug)]
pub struct CausalConv1dUpdateSplitQkvOut<'a, T: Real> {
    /// Queries, `[n, kd]` or `[n, kd, s]`.
    pub q: &'a mut TensorSlice<T>,
    /// Keys, in the shape of q.
    pub k: &'a mut TensorSlice<T>,
    /// Values, `[n, vd]` or `[n, vd, s]`.
    pub v: &'a mut TensorSlice<T>,
    /// The states, `[lines, c, >= w - 1]`, which become the new ones.
    pub conv_state: &'a mut TensorSlice<T>,
}

/// The convolution of new tokens of n sequences after their states, which become the new ones, as
/// [`causal_conv1d_update`](crate::causal_conv1d_update) has it, with channels split into queries, keys
/// and values. Results of skipped sequences are zeros.
///
/// # Errors
/// As [`causal_conv1d_update`](crate::causal_conv1d_update), and [`Error::Shape`] also if there are not
/// `2 key_dim + value_dim` channels, or no queries or values.
pub fn causal_conv1d_update_split_qkv<T: Real, W: Real>(
    x: &TensorSlice<T>,
    weight: &TensorSlice<W>,
    conv_state: &mut TensorSlice<T>,
    key_dim: usize,
    value_dim: usize,
    options: &CausalConv1dOptions<'_, W>,
) -> Result<ConvQkv<T>> {
    let part = |channels| {
        let mut shape = x.shape().to_vec();
        shape.iter_mut().skip(1).take(1).for_each(|size| *size = channels);
        Tensor::empty(x.stream(), &shape)
    };
    let (mut q, mut k, mut v) = (part(key_dim)?, part(key_dim)?, part(value_dim)?);
    let out = CausalConv1dUpdateSplitQkvOut { q: &mut q, k: &mut k, v: &mut v, conv_state };
    causal_conv1d_update_split_qkv_into(x, weight, key_dim, value_dim, options, out)?;
    Ok(ConvQkv { q, k, v })
}

/// As [`causal_conv1d_update_split_qkv`], into given tensors.
///
/// # Errors
/// As [`causal_conv1d_update_split_qkv`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not
/// as [`CausalConv1dUpdateSplitQkvOut`] says, and [`Error::Alias`] if one overlaps another argument.
pub fn causal_conv1d_update_split_qkv_into<T: Real, W: Real>(
    x: &TensorSlice<T>,
    weight: &TensorSlice<W>,
    key_dim: usize,
    value_dim: usize,
    options: &CausalConv1dOptions<'_, W>,
    out: CausalConv1dUpdateSplitQkvOut<'_, T>,
) -> Result<()> {
    let (dims, order) = new_tokens(x);
    let (keys, values): (&[_], &[_]) = match order {
        Order::Sequences => (&["n", "kd", "s"], &["n", "vd", "s"]),
        _ => (&["n", "kd"], &["n", "vd"]),
    };
    let op = "causal_conv1d_update_split_qkv";
    let mut conv = Convolution::new(op, (x, dims, order), None, weight, options)?;
    conv.is_whole = true;
    conv.without_bounds()?;
    conv.lines()?;
    conv.output("q", out.q, keys, order)?;
    conv.output("k", out.k, keys, order)?;
    conv.output("v", out.v, values, order)?;
    conv.split(key_dim, value_dim)?;
    conv.states("conv_state", out.conv_state)?;
    conv.launch("n", order.tokens(), true)
}
