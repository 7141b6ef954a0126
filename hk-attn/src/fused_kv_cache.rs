//! Keys and values, written to the slots of their tokens in a cache, on the way from rotary
//! embedding: `cache[slot[t]] = round(rope(k[t]) (1 / scale))`, in f32 up to that rounding.
//!
//! Tokens whose slot is -1, or is not in the cache, are not written there; slots of no token stay
//! as they are. Of tokens with the same slot, each element is one of theirs. Tokens that there are
//! more of keys than of queries are put into the cache as they are, not rotated.
//!
//! | | |
//! |---|---|
//! | Shapes | q `[t, qh, d]`, k, v `[ts, kh, d]`, slot_mapping `[ts]`, ts >= t, caches as [`CacheLayout`] says; q_nope `[b, qh, n]`, q_pe `[b, qh, r]`, k_nope `[bk, kh, n]`, k_pe `[bk, kh, r]`, slot_mapping `[bs]`, bk >= b and bs, kv_cache `[slots, kh, n + r]`; rows anywhere |
//! | Dtypes | q, k, v bf16, f16, f32; caches bf16, f16, f32, or e4m3 in the flavour of the chip; tables bf16, f16, f32; results as q and k, queries of the `_into` form any; scales f32; indices i32, i64 |
//! | Numerics | f32, rounded once at each store, to nearest, ties to even; codes of e4m3 never leave the finite numbers; what is neither rotated nor scaled nor of another type is copied bit by bit |
//! | Hardware | cdna3, cdna4 |
//! | Source | Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention" (2023); DeepSeek-V2 (2024) for latent caches |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_attn::{Device, KvCacheOptions, KvCaches, Tensor, bf16, reshape_and_cache};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let one_two = [1.0, 2.0].map(bf16::from_f32);
//! // Two tokens with one head of an element: the first has no slot, the second has slot 3.
//! let x = Tensor::from_slice(&stream, &one_two, &[2, 1, 1])?;
//! let slots = Tensor::from_slice(&stream, &[-1i32, 3], &[2])?;
//! let mut key = Tensor::<bf16>::zeros(&stream, &[2, 2, 1, 1])?;
//! let mut value = Tensor::<bf16>::zeros(&stream, &[2, 2, 1, 1])?;
//! let caches = KvCaches { key: &mut *key, value: &mut *value };
//! reshape_and_cache(&x, &x, &slots, &KvCacheOptions::default(), caches)?;
//! assert_eq!(key.to_vec()?, [0.0, 0.0, 0.0, 2.0].map(bf16::from_f32));
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

mod mla;

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::indices::{IndexList, Indices};
use hk_core::op::{Arguments, Call};
use hk_core::{DevicePtr, Result, Tensor, TensorSlice};

use crate::angles::{Angles, Order, RopeArgs, RopeOptions, require_counts, require_groups};
use crate::cache::{CacheElement, CacheLayout};
use crate::heads::{HeadPart, HeadRows, Heads, SlotMap};

pub(crate) use mla::{Declared, Latent};
pub use mla::{
    FusedQkRopeCatAndCacheMla, FusedQkRopeCatAndCacheMlaOut, cat_and_cache_mla,
    fused_qk_rope_cat_and_cache_mla, fused_qk_rope_cat_and_cache_mla_into,
};

/// How keys and values are put into caches.
#[derive(Debug, Clone, Copy, Default)]
pub struct KvCacheOptions<'a> {
    layout: CacheLayout,
    k_scale: Option<&'a TensorSlice<f32>>,
    v_scale: Option<&'a TensorSlice<f32>>,
    pub(crate) rope: RopeOptions<'a>,
}

impl<'a> KvCacheOptions<'a> {
    /// The layout of paged caches; [`CacheLayout::Nhd`] if not given.
    #[must_use]
    pub fn layout(self, layout: CacheLayout) -> Self {
        Self { layout, ..self }
    }

    /// What keys, or latent rows, are divided by in the cache: a tensor of one element.
    #[must_use]
    pub fn k_scale(self, scale: &'a TensorSlice<f32>) -> Self {
        Self { k_scale: Some(scale), ..self }
    }

    /// What values are divided by in the cache: a tensor of one element.
    #[must_use]
    pub fn v_scale(self, scale: &'a TensorSlice<f32>) -> Self {
        Self { v_scale: Some(scale), ..self }
    }

    /// How rows are rotated, by ops that do so; whether indices are looked at, and how the kernel
    /// is launched.
    #[must_use]
    pub fn rope(self, rope: RopeOptions<'a>) -> Self {
        Self { rope, ..self }
    }

    /// Declares the scales.
    pub(crate) fn declare_scales(
        &self,
        args: &mut Arguments,
    ) -> Result<[Option<DevicePtr<f32>>; 2]> {
        let mut declare = |name, scale: Option<&TensorSlice<f32>>| {
            scale.map_or(Ok(()), |scale| args.input(name, scale, &["1"]).contiguous())
        };
        declare("k_scale", self.k_scale)?;
        declare("v_scale", self.v_scale)?;
        Ok([self.k_scale, self.v_scale].map(|scale| scale.map(TensorSlice::ptr)))
    }

    /// Requires slots to be in the cache, each once, if indices are to be looked at.
    pub(crate) fn validate(&self, call: &Call, slots: Indices<'_>, count: u32) -> Result<()> {
        if !call.validates_indices(self.rope.validate_indices)? {
            return Ok(());
        }
        call.require_slots("slot_mapping", &slots.to_vec()?, count as usize)
    }

    /// Declares both caches and their scales, and gives the places of slots of keys and of values.
    pub(crate) fn declare<C: CacheElement>(
        &self,
        args: &mut Arguments,
        slots: IndexList,
        caches: &mut KvCaches<'_, C>,
    ) -> Result<[SlotMap; 2]> {
        let [key, value] = self.layout.declare(args, caches.key, caches.value)?;
        let [k_scale, v_scale] = self.declare_scales(args)?;
        Ok([key.with(slots, k_scale), value.with(slots, v_scale)])
    }
}

/// The caches that an op writes to, in the layout of its options.
#[derive(Debug)]
pub struct KvCaches<'a, C: CacheElement> {
    /// Of keys.
    pub key: &'a mut TensorSlice<C>,
    /// Of values.
    pub value: &'a mut TensorSlice<C>,
}

/// What [`fused_qk_rope_reshape_and_cache`] returns.
#[derive(Debug)]
pub struct FusedQkRopeReshapeAndCache<T: Real> {
    /// The rotated queries.
    pub q: Tensor<T>,
    /// The rotated keys, and those that are not, of all tokens, whether they have slots or not.
    pub k: Tensor<T>,
}

/// Where [`fused_qk_rope_reshape_and_cache_into`] stores.
#[derive(Debug)]
pub struct FusedQkRopeReshapeAndCacheOut<'a, T: Real, O: Real, C: CacheElement> {
    /// The rotated queries, in the shape of q; may be q, if it is of the same type.
    pub q: &'a mut TensorSlice<O>,
    /// The keys, in the shape of k; may be k.
    pub k: Option<&'a mut TensorSlice<T>>,
    /// Zeros in the shape of q.
    pub zeros: Option<&'a mut TensorSlice<O>>,
    /// The caches.
    pub caches: KvCaches<'a, C>,
}

/// Writes keys and values to the slots of their tokens.
///
/// # Errors
/// [`Error::Shape`] if heads or elements differ, tokens are not as many as slots, or a cache is not
/// as the layout says, [`Error::Stride`] if the elements of a row are not adjacent,
/// [`Error::ArchMismatch`] if the codes of a cache are those of another chip, [`Error::Value`] if
/// rows or blocks are not of whole 16 bytes where the layout has these, slots are not in the cache
/// or the same and [looked at](RopeOptions::validate_indices), or the tile does not take such rows,
/// [`Error::NoTile`] if there is no tile of that name, and [`Error::Alias`] if a cache overlaps
/// another argument.
pub fn reshape_and_cache<'s, T: Real, C: CacheElement>(
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    slot_mapping: impl Into<Indices<'s>>,
    options: &KvCacheOptions<'_>,
    mut caches: KvCaches<'_, C>,
) -> Result<()> {
    let mut args = Arguments::new("reshape_and_cache");
    let k_rows = rows_of_tokens(args.input("k", k, &["ts", "kh", "d"]).adjacent()?);
    let v_rows = rows_of_tokens(args.input("v", v, &["ts", "kh", "d"]).adjacent()?);
    let slot_mapping = slot_mapping.into();
    let slots = slot_mapping.declare(&mut args, "slot_mapping", &["ts"])?;
    let [keys, values] = options.declare(&mut args, slots, &mut caches)?;
    require_counts(&args, &["ts"])?;
    args.limit("kh", 1..=i32::MAX as usize)?;
    args.limit("d", 1..=i32::MAX as usize)?;
    let [tokens, heads, width] = args.sizes(["ts", "kh", "d"])?;
    let call = args.check()?;
    options.validate(&call, slot_mapping, keys.count)?;

    let part = |x, rows| HeadPart::new([tokens, 1], heads, width).from(x, rows);
    let parts = vec![
        part(k.ptr().any(), k_rows).into_cache(keys),
        part(v.ptr().any(), v_rows).into_cache(values),
    ];
    let heads = Heads::of_type::<T>(parts, RopeArgs::NONE);
    // SAFETY: the parts have the shapes and strides of the arguments, which were checked.
    unsafe { heads.launch(call, &options.rope.rows) }
}

/// Rotates queries and keys, and writes keys and values to the slots of their tokens. Positions of
/// the queries' tokens are those of the first keys; keys of further tokens are not rotated.
///
/// # Errors
/// As [`reshape_and_cache`], and as [`rope_2c`](crate::rope_2c) for the queries and the tables;
/// [`Error::Shape`] also if there are more queries than keys.
pub fn fused_qk_rope_reshape_and_cache<'s, T: Real, W: Real, C: CacheElement>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    slot_mapping: impl Into<Indices<'s>>,
    angles: &Angles<'_, W>,
    options: &KvCacheOptions<'_>,
    caches: KvCaches<'_, C>,
) -> Result<FusedQkRopeReshapeAndCache<T>> {
    let mut out_q = Tensor::empty(q.stream(), q.shape())?;
    let mut out_k = Tensor::empty(k.stream(), k.shape())?;
    let out =
        FusedQkRopeReshapeAndCacheOut { q: &mut *out_q, k: Some(&mut *out_k), zeros: None, caches };
    fused_qk_rope_reshape_and_cache_into(q, k, v, slot_mapping, angles, options, out)?;
    Ok(FusedQkRopeReshapeAndCache { q: out_q, k: out_k })
}

/// As [`fused_qk_rope_reshape_and_cache`], of the queries alone: keys only go into the cache.
///
/// # Errors
/// As [`fused_qk_rope_reshape_and_cache`].
pub fn fused_qk_rope_cosine_cache_llama<'s, T: Real, W: Real, C: CacheElement>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    slot_mapping: impl Into<Indices<'s>>,
    angles: &Angles<'_, W>,
    options: &KvCacheOptions<'_>,
    caches: KvCaches<'_, C>,
) -> Result<Tensor<T>> {
    let mut out_q = Tensor::empty(q.stream(), q.shape())?;
    let out = FusedQkRopeReshapeAndCacheOut { q: &mut *out_q, k: None, zeros: None, caches };
    fused_qk_rope_reshape_and_cache_into(q, k, v, slot_mapping, angles, options, out)?;
    Ok(out_q)
}

/// As [`fused_qk_rope_reshape_and_cache`], into given tensors; queries may get another element
/// type.
///
/// # Errors
/// As [`fused_qk_rope_reshape_and_cache`]; [`Error::Shape`] or [`Error::Stride`] also if an output
/// is not as [`FusedQkRopeReshapeAndCacheOut`] says, and [`Error::Alias`] if one overlaps another
/// argument otherwise.
pub fn fused_qk_rope_reshape_and_cache_into<'s, T: Real, O: Real, W: Real, C: CacheElement>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    slot_mapping: impl Into<Indices<'s>>,
    angles: &Angles<'_, W>,
    options: &KvCacheOptions<'_>,
    mut out: FusedQkRopeReshapeAndCacheOut<'_, T, O, C>,
) -> Result<()> {
    let mut args = Arguments::new("fused_qk_rope_reshape_and_cache");
    const QUERIES: &[&str] = &["t", "qh", "d"];
    const KEYS: &[&str] = &["ts", "kh", "d"];
    let mut queries = args.input("q", q, QUERIES);
    if T::DTYPE == O::DTYPE {
        queries = queries.may_be("q_out");
    }
    let q_rows = rows_of_tokens(queries.adjacent()?);
    let k_rows = rows_of_tokens(args.input("k", k, KEYS).may_be("k_out").adjacent()?);
    let v_rows = rows_of_tokens(args.input("v", v, KEYS).adjacent()?);
    let slot_mapping = slot_mapping.into();
    let slots = slot_mapping.declare(&mut args, "slot_mapping", &["ts"])?;
    let [t] = args.sizes(["t"])?;
    let order = Order { repeat: 1, length: t };
    let q_out_rows = rows_of_tokens(args.output("q_out", out.q, QUERIES).adjacent()?);
    let rope = angles.declare(&mut args, &["t"], order, None, &options.rope)?;
    let mut parts = Vec::new();
    let [keys, values] = options.declare(&mut args, slots, &mut out.caches)?;
    let k_out = match &mut out.k {
        Some(k) => {
            let rows = rows_of_tokens(args.output("k_out", k, KEYS).adjacent()?);
            Some((k.ptr().any(), rows))
        }
        None => None,
    };
    let zeros = match &mut out.zeros {
        Some(zeros) => {
            let rows = rows_of_tokens(args.output("zeros", zeros, QUERIES).adjacent()?);
            Some((zeros.ptr().any(), rows))
        }
        None => None,
    };
    require_counts(&args, &["t", "ts"])?;
    require_groups(&args, "qh", "kh")?;
    args.limit("ts", t..=i32::MAX as usize)?;
    let [ts, query_heads, key_heads, width] = args.sizes(["ts", "qh", "kh", "d"])?;
    let call = args.check()?;
    angles.validate(&call, &options.rope, &rope)?;
    options.validate(&call, slot_mapping, keys.count)?;

    let queries = HeadPart::new([t, 1], query_heads, width);
    let of_keys = HeadPart::new([ts, 1], key_heads, width);
    let q_out = (out.q.ptr().any(), q_out_rows);
    parts.push(queries.from(q.ptr().any(), q_rows).to(q_out.0, q_out.1, O::CODE).rotated(t));
    let k = of_keys.from(k.ptr().any(), k_rows).into_cache(keys).rotated(t);
    parts.push(k_out.into_iter().fold(k, |k, (to, rows)| k.to(to, rows, T::CODE)));
    parts.push(of_keys.from(v.ptr().any(), v_rows).into_cache(values));
    parts.extend(zeros.map(|(to, rows)| queries.to(to, rows, O::CODE)));
    let heads = Heads::of_type::<T>(parts, rope);
    // SAFETY: the parts have the shapes and strides of the arguments, which were checked.
    unsafe { heads.launch(call, &options.rope.rows) }
}

/// Distances between rows of `[tokens, heads, elements]`.
pub(crate) fn rows_of_tokens([token, head, _]: [i64; 3]) -> HeadRows {
    HeadRows::of_tokens(token, head)
}
