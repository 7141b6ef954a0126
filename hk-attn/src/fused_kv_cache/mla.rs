//! Latent caches, whose rows are keys' parts that are not rotated and those that are.

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::indices::{IndexList, Indices};
use hk_core::op::{Arguments, Call};
use hk_core::{Result, Tensor, TensorSlice};

use super::{KvCacheOptions, rows_of_tokens};
use crate::angles::{Angles, Order, RopeArgs, require_counts, require_groups};
use crate::cache::CacheElement;
use crate::heads::{HeadPart, Heads, SlotMap, part_of};

/// What [`fused_qk_rope_cat_and_cache_mla`] returns.
#[derive(Debug)]
pub struct FusedQkRopeCatAndCacheMla<T: Real> {
    /// The queries `[b, qh, n + r]`: what is not rotated, then what is.
    pub q: Tensor<T>,
    /// The keys' rotated parts, and those that are not, of all tokens, `[bk, kh, r]`.
    pub k_pe: Tensor<T>,
}

/// Where [`fused_qk_rope_cat_and_cache_mla_into`] stores.
#[derive(Debug)]
pub struct FusedQkRopeCatAndCacheMlaOut<'a, T: Real, O: Real, C: CacheElement> {
    /// The queries `[b, qh, n + r]`: what is not rotated, then what is.
    pub q: &'a mut TensorSlice<O>,
    /// The keys' rotated parts, in the shape of k_pe; may be k_pe.
    pub k_pe: Option<&'a mut TensorSlice<T>>,
    /// The queries' rotated parts of the first nd tokens, `[nd, qh, r]`.
    pub decode_q_pe: Option<&'a mut TensorSlice<O>>,
    /// Zeros `[nd, qh, n]`.
    pub q_nope_zeros: Option<&'a mut TensorSlice<O>>,
    /// The cache, `[slots, kh, n + r]`.
    pub kv_cache: &'a mut TensorSlice<C>,
}

/// The size of a row of the cache.
const WIDTH: &str = "n + r";

/// The keys of a latent cache, as an op has declared them.
struct LatentKeys {
    nope: HeadPart,
    pe: HeadPart,
}

/// Keys `[bk, kh, n]` and `[bk, kh, r]` into a cache by slots.
fn declare_keys<T: Real, C: CacheElement>(
    args: &mut Arguments,
    [k_nope, k_pe]: [&TensorSlice<T>; 2],
    slot_mapping: Indices<'_>,
    options: &KvCacheOptions<'_>,
    kv_cache: &mut TensorSlice<C>,
) -> Result<LatentKeys> {
    let nope_rows = rows_of_tokens(args.input("k_nope", k_nope, &["bk", "kh", "n"]).adjacent()?);
    let pe = args.input("k_pe", k_pe, &["bk", "kh", "r"]).may_be("k_pe_out");
    let pe_rows = rows_of_tokens(pe.adjacent()?);
    let slots = slot_mapping.declare(args, "slot_mapping", &["bs"])?;
    let [tokens, heads, n, r] = args.sizes(["bk", "kh", "n", "r"])?;
    args.define(WIDTH, n.saturating_add(r));
    let [block_stride, head_stride, _] =
        args.output("kv_cache", kv_cache, &["slots", "kh", WIDTH]).adjacent()?;
    let [scale, _] = options.declare_scales(args)?;
    require_counts(args, &["bk", "bs"])?;
    for name in ["kh", "n", "r", "slots"] {
        args.limit(name, 1..=i32::MAX as usize)?;
    }
    let [listed, count] = args.sizes(["bs", "slots"])?;
    args.limit("bk", listed..=i32::MAX as usize)?;
    let count = count as u32;
    let map = SlotMap { block_stride, head_stride, count, r#type: C::CODE, ..SlotMap::NONE };
    let map = |column: usize| {
        let base = part_of(kv_cache.ptr(), column);
        SlotMap { base, ..map }.with(slots, scale)
    };
    let part = |width| HeadPart::new([tokens, 1], heads, width);
    Ok(LatentKeys {
        nope: part(n).from(k_nope.ptr().any(), nope_rows).into_cache(map(0)),
        pe: part(r).from(k_pe.ptr().any(), pe_rows).into_cache(map(n)),
    })
}

/// Writes both parts of keys, side by side, to the slots of their tokens: those of the first bs
/// tokens that slots are given for.
///
/// # Errors
/// As [`reshape_and_cache`](crate::reshape_and_cache); [`Error::Shape`] also if there are more
/// slots than keys.
pub fn cat_and_cache_mla<'s, T: Real, C: CacheElement>(
    k_nope: &TensorSlice<T>,
    k_pe: &TensorSlice<T>,
    slot_mapping: impl Into<Indices<'s>>,
    options: &KvCacheOptions<'_>,
    kv_cache: &mut TensorSlice<C>,
) -> Result<()> {
    let mut args = Arguments::new("cat_and_cache_mla");
    let slots = slot_mapping.into();
    let keys = declare_keys(&mut args, [k_nope, k_pe], slots, options, kv_cache)?;
    let [count] = args.sizes(["slots"])?;
    let call = args.check()?;
    options.validate(&call, slots, count as u32)?;
    let heads = Heads::of_type::<T>(vec![keys.nope, keys.pe], RopeArgs::NONE);
    // SAFETY: the parts have the shapes and strides of the arguments, which were checked.
    unsafe { heads.launch(call, &options.rope.rows) }
}

/// Rotates the second parts of queries and keys, and puts them behind the first: queries into a
/// tensor, keys into the cache, at the slots of their tokens. Positions of the queries' tokens are
/// those of the first keys; keys of further tokens are not rotated. Keys that slots are not given
/// for have none.
///
/// # Errors
/// As [`cat_and_cache_mla`], and as [`rope_2c`](crate::rope_2c) for the queries and the tables,
/// which are for rows of r elements; [`Error::Shape`] also if there are more queries than keys.
#[expect(clippy::too_many_arguments, reason = "both parts of queries and keys are tensors")]
pub fn fused_qk_rope_cat_and_cache_mla<'s, T: Real, W: Real, C: CacheElement>(
    q_nope: &TensorSlice<T>,
    q_pe: &TensorSlice<T>,
    k_nope: &TensorSlice<T>,
    k_pe: &TensorSlice<T>,
    slot_mapping: impl Into<Indices<'s>>,
    angles: &Angles<'_, W>,
    options: &KvCacheOptions<'_>,
    kv_cache: &mut TensorSlice<C>,
) -> Result<FusedQkRopeCatAndCacheMla<T>> {
    let mut shape = q_nope.shape().to_vec();
    if let Some(width) = shape.last_mut() {
        *width += q_pe.row_len();
    }
    let mut q = Tensor::empty(q_nope.stream(), &shape)?;
    let mut out_k_pe = Tensor::empty(k_pe.stream(), k_pe.shape())?;
    let out = FusedQkRopeCatAndCacheMlaOut {
        q: &mut *q,
        k_pe: Some(&mut *out_k_pe),
        decode_q_pe: None,
        q_nope_zeros: None,
        kv_cache,
    };
    fused_qk_rope_cat_and_cache_mla_into(
        q_nope,
        q_pe,
        k_nope,
        k_pe,
        slot_mapping,
        angles,
        options,
        out,
    )?;
    Ok(FusedQkRopeCatAndCacheMla { q, k_pe: out_k_pe })
}

/// As [`fused_qk_rope_cat_and_cache_mla`], into given tensors; queries may get another element
/// type.
///
/// # Errors
/// As [`fused_qk_rope_cat_and_cache_mla`]; [`Error::Shape`] or [`Error::Stride`] also if an output
/// is not as [`FusedQkRopeCatAndCacheMlaOut`] says, or there are more of nd than of the queries,
/// and [`Error::Alias`] if one overlaps another argument otherwise.
#[expect(clippy::too_many_arguments, reason = "both parts of queries and keys are tensors")]
pub fn fused_qk_rope_cat_and_cache_mla_into<'s, T: Real, O: Real, W: Real, C: CacheElement>(
    q_nope: &TensorSlice<T>,
    q_pe: &TensorSlice<T>,
    k_nope: &TensorSlice<T>,
    k_pe: &TensorSlice<T>,
    slot_mapping: impl Into<Indices<'s>>,
    angles: &Angles<'_, W>,
    options: &KvCacheOptions<'_>,
    mut out: FusedQkRopeCatAndCacheMlaOut<'_, T, O, C>,
) -> Result<()> {
    let mut args = Arguments::new("fused_qk_rope_cat_and_cache_mla");
    let q_nope_rows = args.input("q_nope", q_nope, &["b", "qh", "n"]).adjacent()?;
    let slots = slot_mapping.into();
    let latent = Latent { q_pe, k_nope, k_pe, slots, angles, options };
    let declared = latent.declare(&mut args, false, &mut out)?;
    let [b, heads, n] = args.sizes(["b", "qh", "n"])?;
    let call = args.check()?;
    latent.validate(&call, &declared)?;

    let nope =
        HeadPart::new([b, 1], heads, n).from(q_nope.ptr().any(), rows_of_tokens(q_nope_rows));
    let Declared { mut parts, rope, q_out, .. } = declared;
    parts.push(nope.to(out.q.ptr().any(), rows_of_tokens(q_out), O::CODE));
    let heads = Heads::of_type::<T>(parts, rope);
    // SAFETY: the parts have the shapes and strides of the arguments, which were checked.
    unsafe { heads.launch(call, &options.rope.rows) }
}

/// Second parts of queries, and keys, of an op that rotates and puts them behind the first, with all
/// that it takes for that.
pub(crate) struct Latent<'a, T: Real, W: Real> {
    pub(crate) q_pe: &'a TensorSlice<T>,
    pub(crate) k_nope: &'a TensorSlice<T>,
    pub(crate) k_pe: &'a TensorSlice<T>,
    pub(crate) slots: Indices<'a>,
    pub(crate) angles: &'a Angles<'a, W>,
    pub(crate) options: &'a KvCacheOptions<'a>,
}

/// These, declared.
pub(crate) struct Declared {
    /// All rows that are moved.
    pub(crate) parts: Vec<HeadPart>,
    pub(crate) rope: RopeArgs,
    /// Strides of the queries that are stored.
    pub(crate) q_out: [i64; 3],
    /// Slots of the cache.
    count: u32,
    /// Tokens that have queries.
    tokens: usize,
}

impl<T: Real, W: Real> Latent<'_, T, W> {
    /// Declares them and all outputs; there may be `more_positions` than queries. The queries' first parts
    /// are declared before.
    pub(crate) fn declare<O: Real, C: CacheElement>(
        &self,
        args: &mut Arguments,
        more_positions: bool,
        out: &mut FusedQkRopeCatAndCacheMlaOut<'_, T, O, C>,
    ) -> Result<Declared> {
        let Self { q_pe, k_nope, k_pe, slots, angles, options } = *self;
        let q_pe_rows = args.input("q_pe", q_pe, &["b", "qh", "r"]).adjacent()?;
        let keys = declare_keys(args, [k_nope, k_pe], slots, options, out.kv_cache)?;
        let [b, n, r] = args.sizes(["b", "n", "r"])?;
        let q_out = args.output("q_out", out.q, &["b", "qh", WIDTH]).adjacent()?;
        let order = Order { repeat: 1, length: b };
        let listed: &[_] = if more_positions { &["positions"] } else { &["b"] };
        let rope = angles.declare_for(args, "r", [&["b"], listed], order, None, &options.rope)?;
        if more_positions && angles.has_positions() {
            args.limit("positions", b..=u32::MAX as usize)?;
        }
        let mut k_pe_part = keys.pe.rotated(b);
        if let Some(k_pe) = &mut out.k_pe {
            let rows = args.output("k_pe_out", k_pe, &["bk", "kh", "r"]).adjacent()?;
            k_pe_part = k_pe_part.to(k_pe.ptr().any(), rows_of_tokens(rows), T::CODE);
        }
        let mut decoded = SlotMap::NONE;
        if let Some(decode) = &mut out.decode_q_pe {
            let [block_stride, head_stride, _] =
                args.output("decode_q_pe_out", decode, &["nd", "qh", "r"]).adjacent()?;
            let base = decode.ptr().any();
            // The slots of tokens are their numbers.
            let slots = IndexList::NONE;
            let (count, r#type) = (args.sizes(["nd"])?[0] as u32, O::CODE);
            decoded =
                SlotMap { base, block_stride, head_stride, slots, count, r#type, ..SlotMap::NONE };
        }
        let mut zeros = None;
        if let Some(tensor) = &mut out.q_nope_zeros {
            let rows = args.output("q_nope_zeros", tensor, &["nd", "qh", "n"]).adjacent()?;
            zeros = Some((tensor.ptr().any(), rows_of_tokens(rows), args.sizes(["nd"])?[0]));
        }
        require_counts(args, &["b"])?;
        require_groups(args, "qh", "kh")?;
        args.limit("bk", b..=i32::MAX as usize)?;
        if out.decode_q_pe.is_some() || out.q_nope_zeros.is_some() {
            args.limit("nd", 0..=b)?;
        }
        let [heads, count] = args.sizes(["qh", "slots"])?;

        let part = |tokens, width| HeadPart::new([tokens, 1], heads, width);
        let pe = part(b, r).from(q_pe.ptr().any(), rows_of_tokens(q_pe_rows)).rotated(b);
        let pe = pe.to(part_of(out.q.ptr(), n), rows_of_tokens(q_out), O::CODE);
        let mut parts = vec![pe.into_cache(decoded), keys.nope, k_pe_part];
        parts.extend(zeros.map(|(y, rows, tokens)| part(tokens, n).to(y, rows, O::CODE)));
        Ok(Declared { parts, rope, q_out, count: count as u32, tokens: b })
    }

    /// Requires positions and slots to be right, if indices are to be looked at.
    pub(crate) fn validate(&self, call: &Call, declared: &Declared) -> Result<()> {
        let Declared { ref rope, tokens, .. } = *declared;
        self.angles.validate_first(call, &self.options.rope, rope, tokens)?;
        self.options.validate(call, self.slots, declared.count)
    }
}
