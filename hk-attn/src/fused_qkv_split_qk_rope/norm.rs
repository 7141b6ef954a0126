//! Heads that are normalised before they are rotated, and put into a cache.

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::Arguments;
use hk_core::op::indices::Indices;
use hk_core::{Result, Tensor, TensorSlice};

use super::declare_split;
use crate::angles::{Angles, Order};
use crate::cache::CacheElement;
use crate::fused_kv_cache::{KvCacheOptions, KvCaches, rows_of_tokens};
use crate::heads::Heads;

/// Where the gates of query heads are in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GateOrder {
    /// Each behind its query head.
    Interleaved,
    /// All behind all query heads.
    Blocked,
}

/// The weights by which normalised query and key heads are scaled, `[d]` each.
#[derive(Debug, Clone, Copy)]
pub struct QkWeights<'a, N: Real> {
    /// Of queries.
    pub q: &'a TensorSlice<N>,
    /// Of keys.
    pub k: &'a TensorSlice<N>,
}

/// How heads are normalised, and where gates are.
#[derive(Debug, Clone, Copy)]
pub struct QkNormOptions<'a> {
    eps: f32,
    weight_offset: f32,
    gate: Option<GateOrder>,
    cache: KvCacheOptions<'a>,
}

impl Default for QkNormOptions<'_> {
    fn default() -> Self {
        let cache = KvCacheOptions::default();
        Self { eps: 1e-5, weight_offset: 1.0, gate: None, cache }
    }
}

impl<'a> QkNormOptions<'a> {
    /// What is added to the mean of squares; 1e-5 if not given.
    #[must_use]
    pub fn eps(self, eps: f32) -> Self {
        Self { eps, ..self }
    }

    /// What is added to each weight: 1, for weights that are stored centred at zero, if not given.
    #[must_use]
    pub fn weight_offset(self, weight_offset: f32) -> Self {
        Self { weight_offset, ..self }
    }

    /// That each query head has a gate, and where it is.
    #[must_use]
    pub fn gate(self, order: GateOrder) -> Self {
        Self { gate: Some(order), ..self }
    }

    /// How rows are rotated and put into caches.
    #[must_use]
    pub fn cache(self, cache: KvCacheOptions<'a>) -> Self {
        Self { cache, ..self }
    }
}

/// What [`fused_qkv_split_qk_norm_rope_cache`] returns.
#[derive(Debug)]
pub struct FusedQkvSplitQkNormRopeCache<T: Real> {
    /// The normalised and rotated queries.
    pub q: Tensor<T>,
    /// The normalised and rotated keys.
    pub k: Tensor<T>,
    /// The values.
    pub v: Tensor<T>,
    /// The gates, if there are any.
    pub gate: Option<Tensor<T>>,
}

/// Where [`fused_qkv_split_qk_norm_rope_cache_into`] stores.
#[derive(Debug)]
pub struct FusedQkvSplitQkNormRopeCacheOut<'a, T: Real, C: CacheElement> {
    /// The normalised and rotated queries, `[t, qh, d]`.
    pub q: &'a mut TensorSlice<T>,
    /// The normalised and rotated keys, `[t, kh, d]`.
    pub k: &'a mut TensorSlice<T>,
    /// The values, `[t, kh, d]`.
    pub v: &'a mut TensorSlice<T>,
    /// The gates, `[t, qh, d]`, if the options say that there are any.
    pub gate: Option<&'a mut TensorSlice<T>>,
    /// The caches.
    pub caches: KvCaches<'a, C>,
}

/// As [`fused_qkv_split_qk_rope`](super::fused_qkv_split_qk_rope()), of heads that are normalised
/// before they are rotated; keys and values are also written to the slots of their tokens.
///
/// # Errors
/// As [`fused_qkv_split_qk_rope`](super::fused_qkv_split_qk_rope()), and as
/// [`reshape_and_cache`](crate::reshape_and_cache) for slots and caches; [`Error::Shape`] also if
/// weights are not as long as a head, and [`Error::Value`] if eps is not positive and finite.
pub fn fused_qkv_split_qk_norm_rope_cache<'s, T: Real, N: Real, W: Real, C: CacheElement>(
    qkv: &TensorSlice<T>,
    [qh, kh, d]: [usize; 3],
    weights: QkWeights<'_, N>,
    angles: &Angles<'_, W>,
    slot_mapping: impl Into<Indices<'s>>,
    options: &QkNormOptions<'_>,
    caches: KvCaches<'_, C>,
) -> Result<FusedQkvSplitQkNormRopeCache<T>> {
    let t = qkv.shape().first().copied().unwrap_or_default();
    let empty = |heads| Tensor::empty(qkv.stream(), &[t, heads, d]);
    let (mut q, mut k, mut v) = (empty(qh)?, empty(kh)?, empty(kh)?);
    let mut gate = options.gate.map(|_| empty(qh)).transpose()?;
    let out = FusedQkvSplitQkNormRopeCacheOut {
        q: &mut q,
        k: &mut k,
        v: &mut v,
        gate: gate.as_deref_mut(),
        caches,
    };
    fused_qkv_split_qk_norm_rope_cache_into(qkv, weights, angles, slot_mapping, options, out)?;
    Ok(FusedQkvSplitQkNormRopeCache { q, k, v, gate })
}

/// As [`fused_qkv_split_qk_norm_rope_cache`], into given tensors, whose shapes tell heads and
/// elements.
///
/// # Errors
/// As [`fused_qkv_split_qk_norm_rope_cache`]; [`Error::Shape`] or [`Error::Stride`] also if outputs
/// are not as [`FusedQkvSplitQkNormRopeCacheOut`] says, [`Error::Value`] if there is a gate and the
/// options do not say where, or the other way round, and [`Error::Alias`] if an output overlaps
/// another argument.
pub fn fused_qkv_split_qk_norm_rope_cache_into<'s, T: Real, N: Real, W: Real, C: CacheElement>(
    qkv: &TensorSlice<T>,
    weights: QkWeights<'_, N>,
    angles: &Angles<'_, W>,
    slot_mapping: impl Into<Indices<'s>>,
    options: &QkNormOptions<'_>,
    mut out: FusedQkvSplitQkNormRopeCacheOut<'_, T, C>,
) -> Result<()> {
    let QkNormOptions { eps, weight_offset, gate: order, cache } = *options;
    let mut args = Arguments::new("fused_qkv_split_qk_norm_rope_cache");
    let of_query = if order.is_some() { 2 } else { 1 };
    let [mut q, k, v] = declare_split(&mut args, qkv, [out.q, out.k, out.v], of_query)?;
    args.input("q_weight", weights.q, &["d"]).contiguous()?;
    args.input("k_weight", weights.k, &["d"]).contiguous()?;
    let [t, qh, d] = args.sizes(["t", "qh", "d"])?;
    let mut parts = Vec::new();
    if let Some(gate) = &mut out.gate {
        let rows = rows_of_tokens(args.output("gate", gate, &["t", "qh", "d"]).adjacent()?);
        let (step, at) = match order {
            Some(GateOrder::Interleaved) => (2, d),
            _ => (1, qh.saturating_mul(d)),
        };
        q = q.every(step);
        parts.push(q.at(qkv, at).to(gate.ptr().any(), rows, T::CODE));
    }
    let fits = out.gate.is_some() == order.is_some();
    let given = if out.gate.is_some() { "given" } else { "none" };
    args.require(fits, "gate", "given if the options say where gates are", given)?;
    let slot_mapping = slot_mapping.into();
    let slots = slot_mapping.declare(&mut args, "slot_mapping", &["t"])?;
    let order = Order { repeat: 1, length: t };
    let rope = angles.declare(&mut args, &["t"], order, None, &cache.rope)?;
    let [keys, values] = cache.declare(&mut args, slots, &mut out.caches)?;
    args.require(eps > 0.0 && eps.is_finite(), "eps", "positive and finite", eps)?;
    let call = args.check()?;
    angles.validate(&call, &cache.rope, &rope)?;
    cache.validate(&call, slot_mapping, keys.count)?;

    parts.push(q.rotated(t).normalised(weights.q.ptr()));
    parts.push(k.rotated(t).normalised(weights.k.ptr()).into_cache(keys));
    parts.push(v.into_cache(values));
    let variant = format!("norm_{}", T::DTYPE.name());
    let heads = Heads { variant: &variant, parts, rope, norm: (eps, weight_offset) };
    // SAFETY: the parts have the shapes and strides of the arguments, which were checked.
    unsafe { heads.launch(call, &cache.rope.rows) }
}
