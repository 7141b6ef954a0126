//! Heads of queries, keys and values, taken apart from rows that have them side by side, with
//! queries and keys rotated; and also normalised before, with keys and values put into a cache.
//!
//! A row is `[q heads | k heads | v heads]`. With a gate for each query head, it is `[q and gate
//! heads | k heads | v heads]`: each query head is followed by its gate, or all are by all gates.
//! Normalised heads are `x r (w + weight_offset)` with `r = 1 / sqrt(mean x^2 + eps)` of the head's
//! elements.
//!
//! | | |
//! |---|---|
//! | Shapes | qkv `[t, (qh + 2 kh) d]`, or `[t, (2 qh + 2 kh) d]` with gates -> q, gate `[t, qh, d]`, k, v `[t, kh, d]`; weights `[d]`; tables `[p, w]`; positions, offsets, slot_mapping `[t]`; caches as [`CacheLayout`](crate::CacheLayout) says; rows any distance apart |
//! | Dtypes | qkv bf16, f16, f32; results as qkv; tables and weights bf16, f16, f32; caches bf16, f16, f32, or e4m3 in the flavour of the chip |
//! | Numerics | f32, rounded once at each store; v, gates and what is not rotated, unless it is normalised, are copied bit by bit; bitwise deterministic |
//! | Hardware | cdna3, cdna4 |
//! | Source | Su et al., "RoFormer" (2021); Henry et al., "Query-Key Normalization for Transformers" (2020) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_attn::{Angles, Device, RopeOptions, Tensor, fused_qkv_split_qk_rope};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! // A query head, a key head and a value head of two elements, turned by a right angle.
//! let qkv = Tensor::from_slice(&stream, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[1, 6])?;
//! let cos = Tensor::from_slice(&stream, &[0.0f32], &[1, 1])?;
//! let sin = Tensor::from_slice(&stream, &[1.0f32], &[1, 1])?;
//! let angles = Angles::tables(&cos, &sin);
//! let split = fused_qkv_split_qk_rope(&qkv, [1, 1, 2], &angles, &RopeOptions::default())?;
//! assert_eq!(split.q.to_vec()?, [-2.0, 1.0]);
//! assert_eq!(split.k.to_vec()?, [-4.0, 3.0]);
//! assert_eq!(split.v.to_vec()?, [5.0, 6.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

mod norm;

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::Arguments;
use hk_core::{Result, Tensor, TensorSlice};

use crate::angles::{Angles, Order, RopeOptions, require_counts, require_groups};
use crate::fused_kv_cache::rows_of_tokens;
use crate::heads::{HeadPart, HeadRows, Heads, part_of};

pub use norm::{
    FusedQkvSplitQkNormRopeCache, FusedQkvSplitQkNormRopeCacheOut, GateOrder, QkNormOptions,
    QkWeights, fused_qkv_split_qk_norm_rope_cache, fused_qkv_split_qk_norm_rope_cache_into,
};

/// What [`fused_qkv_split_qk_rope`] returns.
#[derive(Debug)]
pub struct FusedQkvSplitQkRope<T: Real> {
    /// The rotated queries.
    pub q: Tensor<T>,
    /// The rotated keys.
    pub k: Tensor<T>,
    /// The values.
    pub v: Tensor<T>,
}

/// Where [`fused_qkv_split_qk_rope_into`] stores.
#[derive(Debug)]
pub struct FusedQkvSplitQkRopeOut<'a, T: Real> {
    /// The rotated queries, `[t, qh, d]`.
    pub q: &'a mut TensorSlice<T>,
    /// The rotated keys, `[t, kh, d]`.
    pub k: &'a mut TensorSlice<T>,
    /// The values, `[t, kh, d]`.
    pub v: &'a mut TensorSlice<T>,
}

/// The size of a row of heads of all kinds.
const ROW: &str = "heads x d";

/// Takes `[qh, kh, d]` query heads, key heads, of which there are as many value heads, and elements
/// of each, apart from the rows of `qkv`, and rotates queries and keys: each token's by the angles
/// at its position or, if these are not given, its index.
///
/// # Errors
/// [`Error::Shape`] if rows are not of so many heads, [`Error::Stride`] if they are not evenly
/// spaced, [`Error::Value`] if the query heads are not a multiple of the key heads, or there are
/// none, and as [`rope`](crate::rope()) for the tables and the tile.
pub fn fused_qkv_split_qk_rope<T: Real, W: Real>(
    qkv: &TensorSlice<T>,
    [qh, kh, d]: [usize; 3],
    angles: &Angles<'_, W>,
    options: &RopeOptions<'_>,
) -> Result<FusedQkvSplitQkRope<T>> {
    let t = qkv.shape().first().copied().unwrap_or_default();
    let mut q = Tensor::empty(qkv.stream(), &[t, qh, d])?;
    let mut k = Tensor::empty(qkv.stream(), &[t, kh, d])?;
    let mut v = Tensor::empty(qkv.stream(), &[t, kh, d])?;
    let out = FusedQkvSplitQkRopeOut { q: &mut q, k: &mut k, v: &mut v };
    fused_qkv_split_qk_rope_into(qkv, angles, options, out)?;
    Ok(FusedQkvSplitQkRope { q, k, v })
}

/// As [`fused_qkv_split_qk_rope`], into given tensors, whose shapes tell heads and elements.
///
/// # Errors
/// As [`fused_qkv_split_qk_rope`]; [`Error::Shape`] or [`Error::Stride`] also if outputs are not as
/// [`FusedQkvSplitQkRopeOut`] says, and [`Error::Alias`] if one overlaps another argument.
pub fn fused_qkv_split_qk_rope_into<T: Real, W: Real>(
    qkv: &TensorSlice<T>,
    angles: &Angles<'_, W>,
    options: &RopeOptions<'_>,
    out: FusedQkvSplitQkRopeOut<'_, T>,
) -> Result<()> {
    let mut args = Arguments::new("fused_qkv_split_qk_rope");
    let FusedQkvSplitQkRopeOut { q, k, v } = out;
    let [q, k, v] = declare_split(&mut args, qkv, [q, k, v], 1)?;
    let [t] = args.sizes(["t"])?;
    let order = Order { repeat: 1, length: t };
    let rope = angles.declare(&mut args, &["t"], order, None, options)?;
    let call = args.check()?;
    angles.validate(&call, options, &rope)?;
    let heads = Heads::of_type::<T>(vec![q.rotated(t), k.rotated(t), v], rope);
    // SAFETY: the parts have the shapes and strides of the arguments, which were checked.
    unsafe { heads.launch(call, &options.rows) }
}

/// Declares rows and the heads of three kinds in them, and gives the parts that copy these; queries
/// have so many heads each.
fn declare_split<T: Real>(
    args: &mut Arguments,
    qkv: &TensorSlice<T>,
    [q, k, v]: [&mut TensorSlice<T>; 3],
    of_query: usize,
) -> Result<[HeadPart; 3]> {
    let q_rows = rows_of_tokens(args.output("q", q, &["t", "qh", "d"]).adjacent()?);
    let k_rows = rows_of_tokens(args.output("k", k, &["t", "kh", "d"]).adjacent()?);
    let v_rows = rows_of_tokens(args.output("v", v, &["t", "kh", "d"]).adjacent()?);
    let [t, qh, kh, d] = args.sizes(["t", "qh", "kh", "d"])?;
    let heads = qh.saturating_mul(of_query).saturating_add(kh.saturating_mul(2));
    args.define(ROW, heads.saturating_mul(d));
    let stride = args.input("qkv", qkv, &["t", ROW]).rows()?;
    require_counts(args, &["t"])?;
    args.limit("d", 1..=i32::MAX as usize)?;
    require_groups(args, "qh", "kh")?;
    let part = |before: usize, heads, to: &TensorSlice<T>, rows| {
        let from = part_of(qkv.ptr(), before.saturating_mul(d));
        let x_rows = HeadRows::of_tokens(stride, d as i64);
        HeadPart::new([t, 1], heads, d).from(from, x_rows).to(to.ptr().any(), rows, T::CODE)
    };
    let queries = qh.saturating_mul(of_query);
    Ok([
        part(0, qh, q, q_rows),
        part(queries, kh, k, k_rows),
        part(queries.saturating_add(kh), kh, v, v_rows),
    ])
}
