//! Latent attention's queries and keys in one launch: queries are multiplied with the matrix of their
//! head, which the keys have absorbed, and second parts are rotated and put beside; keys go into the
//! cache.
//! `q_out[b, h] = [sum_p q(q_nope[h, b, p]) w_k[h, ., p], rope(q_pe[b, h])]`, where q is what x becomes
//! by quantisation; the rest is [`fused_qk_rope_cat_and_cache_mla`](crate::fused_qk_rope_cat_and_cache_mla).
//!
//! | | |
//! |---|---|
//! | Shapes | q_nope `[qh, b, p]`, w_k `[qh, n, p]`, q_pe `[b, qh, r]`, k_nope `[bk, kh, n]`, k_pe `[bk, kh, r]`, slot_mapping `[bs]`, positions `[>= b]`, bk >= b and bs, kv_cache `[slots, kh, n + r]` -> q_out `[b, qh, n + r]`; rows anywhere; w_k_scale one number or `[qh]` for w_k of 8 bits, `[qh, n, p / 32]` for 4, of which p is a multiple of 32 |
//! | Dtypes | q, k bf16, f16; w_k e4m3 in the flavour of the chip with scales of f32, or e2m1 with scales of e8m0; caches bf16, f16, f32, or e4m3; tables bf16, f16, f32; results as q and k, queries of the `_into` form any; k_scale, y_scale f32; indices i32, i64 |
//! | Numerics | q_nope is quantised first, bit for bit as for [`batched_gemm_a8w8_ptgq`] and [`batched_gemm_a16wfp4`]; f32 sums, rounded once; the other parts as [`fused_kv_cache`](crate::fused_kv_cache) says; bitwise deterministic |
//! | Hardware | cdna3, which expands operands of 4 bits to bf16, and cdna4 |
//! | Source | DeepSeek-V2 (2024); AITER `fused_fp8_bmm_rope_cat_and_cache_mla`, `fused_fp4_bmm_rope_cat_and_cache_mla`, which multiply by 1 / k_scale |
//!
//! [`batched_gemm_a8w8_ptgq`]: https://docs.rs/hk-gemm/latest/hk_gemm/batched_gemm_a8w8_ptgq/
//! [`batched_gemm_a16wfp4`]: https://docs.rs/hk-gemm/latest/hk_gemm/batched_gemm_a16wfp4/
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_attn::{
//!     Angles, BmmRopeOptions, Device, F8E4M3Fnuz, Tensor, bf16, fused_fp8_bmm_rope_cat_and_cache_mla,
//! };
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let x = |shape: &[usize], value| Tensor::filled(&stream, shape, bf16::from_f32(value));
//! // One token, one head: p is 2, n is 1, r is 2.
//! let q_nope = x(&[1, 1, 2], 3.0)?;
//! let w_k = Tensor::filled(&stream, &[1, 1, 2], F8E4M3Fnuz::from_f32(2.0))?;
//! let w_k_scale = Tensor::filled(&stream, &[1], 0.5f32)?;
//! let (q_pe, k_nope, k_pe) = (x(&[1, 1, 2], 1.0)?, x(&[1, 1, 1], 5.0)?, x(&[1, 1, 2], 4.0)?);
//! let slots = Tensor::from_slice(&stream, &[1i32], &[1])?;
//! // A quarter turn.
//! let (cos, sin) = (x(&[1, 1], 0.0)?, x(&[1, 1], 1.0)?);
//! let angles = Angles::tables(&cos, &sin);
//! let mut kv_cache = Tensor::<bf16>::zeros(&stream, &[2, 1, 3])?;
//! let out = fused_fp8_bmm_rope_cat_and_cache_mla(
//!     &q_nope, &w_k, &w_k_scale, &q_pe, &k_nope, &k_pe, &slots, &angles,
//!     &BmmRopeOptions::default(), &mut kv_cache,
//! )?;
//! assert_eq!(out.q.to_vec()?, [6.0, -1.0, 1.0].map(bf16::from_f32));
//! assert_eq!(kv_cache.to_vec()?, [0.0, 0.0, 0.0, 5.0, -4.0, 4.0].map(bf16::from_f32));
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{E8M0, Element, F4x2E2M1, Real, Real16};
use hk_core::op::Arguments;
use hk_core::op::epilogue::Lowered;
use hk_core::op::indices::Indices;
use hk_core::op::prequant::Prequant;
use hk_core::op::product::{GroupScales, Matrices, Names, Product};
use hk_core::op::quant::Fp8;
use hk_core::op::tiling::{MAX_CHAIN, Problem};
use hk_core::{DevicePtr, Result, Tensor, TensorSlice};

use crate::KERNELS;
use crate::angles::{Angles, RopeOptions, RopeStyle};
use crate::cache::CacheElement;
use crate::fused_kv_cache::{
    Declared, FusedQkRopeCatAndCacheMla, FusedQkRopeCatAndCacheMlaOut, KvCacheOptions, Latent,
};
use crate::heads::Heads;
use crate::product_heads::{self, ProductHeads};

/// Rows of w that have one scale: more than there are.
const ALL_ROWS: u32 = 1 << 31;
/// p of a block of 4-bit elements, and how many there are, as they are declared.
const BLOCK: usize = 32;
const BLOCKS: &str = "p / 32";

/// How queries are multiplied, and what becomes of the rest.
#[derive(Debug, Clone, Copy)]
pub struct BmmRopeOptions<'a> {
    cache: KvCacheOptions<'a>,
    group_size: usize,
    y_scale: Option<&'a TensorSlice<f32>>,
}

impl Default for BmmRopeOptions<'_> {
    fn default() -> Self {
        let rope = RopeOptions::default().style(RopeStyle::Gptj);
        Self { cache: KvCacheOptions::default().rope(rope), group_size: 128, y_scale: None }
    }
}

impl<'a> BmmRopeOptions<'a> {
    /// How rows are rotated and put into the cache, and how the kernel is launched. If not given,
    /// pairs are those of [`RopeStyle::Gptj`].
    #[must_use]
    pub fn cache(self, cache: KvCacheOptions<'a>) -> Self {
        Self { cache, ..self }
    }

    /// For how many p of a row of q_nope a scale is, with w_k of 8 bits: 128 or 256. 128 if not given.
    #[must_use]
    pub fn group_size(self, p: usize) -> Self {
        Self { group_size: p, ..self }
    }

    /// What the products are divided by, before they are rounded: a tensor of one element.
    #[must_use]
    pub fn y_scale(self, scale: &'a TensorSlice<f32>) -> Self {
        Self { y_scale: Some(scale), ..self }
    }
}

/// Queries' first parts and the matrices they are multiplied with, declared.
struct Bmm {
    args: Arguments,
    x: Matrices,
    w: Matrices,
    groups: Option<GroupScales>,
    w_blocks: Option<Matrices>,
    prequant: Prequant,
    variant: &'static str,
    /// Bits of an element of both.
    bits: u64,
}

impl Bmm {
    fn declare<T: Real16, W: Element>(
        op: &'static str,
        q_nope: &TensorSlice<T>,
        w_k: &TensorSlice<W>,
    ) -> Result<(Arguments, Matrices, Matrices)> {
        let mut args = Arguments::new(op);
        let [head, row, _] = args.input("q_nope", q_nope, &["qh", "b", "p"]).adjacent()?;
        let most = Problem::MAX_SIZE as usize;
        args.limit("qh", 1..=most)?;
        args.limit("p", 1..=MAX_CHAIN as usize)?;
        let x = Matrices::of(q_nope, [head, row]);
        let [head, row, _] = args.input("w_k", w_k, &["qh", "n", "p"]).adjacent()?;
        args.limit("n", 1..=most)?;
        Ok((args, x, Matrices::of(w_k, [head, row])))
    }

    fn of_fp8<T: Real16, W: Fp8>(
        q_nope: &TensorSlice<T>,
        w_k: &TensorSlice<W>,
        w_k_scale: &TensorSlice<f32>,
        group: usize,
    ) -> Result<Self> {
        let (mut args, x, w) = Self::declare("fused_fp8_bmm_rope_cat_and_cache_mla", q_nope, w_k)?;
        args.require([128, 256].contains(&group), "group_size", "128 or 256", group)?;
        let batch = match w_k_scale.shape() {
            [1] => args.input("w_k_scale", w_k_scale, &["1"]).strides::<1>().map(|_| 0)?,
            _ => args.input("w_k_scale", w_k_scale, &["qh"]).strides::<1>()?[0],
        };
        let groups = GroupScales {
            tensors: [DevicePtr::NULL, w_k_scale.ptr()],
            batch: [0, batch],
            sizes: [ALL_ROWS, group as u32],
            ..GroupScales::NONE
        };
        let prequant = Prequant::Groups { k: group as u32, reciprocal: true };
        let (groups, w_blocks, variant) = (Some(groups), None, "e4m3");
        Ok(Self { args, x, w, groups, w_blocks, prequant, variant, bits: 8 })
    }

    fn of_fp4<T: Real16>(
        q_nope: &TensorSlice<T>,
        w_k: &TensorSlice<F4x2E2M1>,
        w_k_scale: &TensorSlice<E8M0>,
    ) -> Result<Self> {
        let (mut args, x, w) = Self::declare("fused_fp4_bmm_rope_cat_and_cache_mla", q_nope, w_k)?;
        let [p] = args.sizes(["p"])?;
        args.require(p.is_multiple_of(BLOCK), "q_nope", "p a multiple of 32", p)?;
        args.define(BLOCKS, p / BLOCK);
        let [head, row, _] = args.input("w_k_scale", w_k_scale, &["qh", "n", BLOCKS]).adjacent()?;
        let w_blocks = Some(Matrices::of(w_k_scale, [head, row]));
        let (groups, prequant, variant) = (None, Prequant::Mx, "e2m1");
        Ok(Self { args, x, w, groups, w_blocks, prequant, variant, bits: 4 })
    }

    /// Declares what is left, and launches everything.
    fn launch<T: Real16, O: Real, W: Real, C: CacheElement>(
        self,
        latent: Latent<'_, T, W>,
        y_scale: Option<&TensorSlice<f32>>,
        mut out: FusedQkRopeCatAndCacheMlaOut<'_, T, O, C>,
    ) -> Result<()> {
        let Self { mut args, x, w, groups, w_blocks, prequant, variant, bits } = self;
        let declared = latent.declare(&mut args, true, &mut out)?;
        if let Some(scale) = y_scale {
            args.input("y_scale", scale, &["1"]).contiguous()?;
        }
        let sizes = args.sizes(["qh", "b", "n", "p"])?;
        let [batch, m, n, k] = sizes.map(|size| size as u64);
        let call = args.check()?;
        latent.validate(&call, &declared)?;

        let Declared { parts, rope, q_out: [row, head, _], .. } = declared;
        let product = Product {
            kernels: &KERNELS,
            core: product_heads::CORE,
            variant,
            scaled: false,
            names: Names::PLAIN,
            x,
            w,
            y: Matrices::of(out.q, [head, row]).with_shape([m, n]),
            groups,
            blocks: [None, w_blocks],
            prequant: Some(prequant),
            gate: None,
            accumulate: None,
            split_cat: None,
            encode: None,
            problem: Problem {
                batch,
                m,
                n,
                k,
                transposed: [false; 2],
                bits: [bits; 2],
                group: groups.map_or(1, |groups| groups.sizes[1].into()),
            },
            steps: Lowered::batched(),
            splits: Some(1),
            tile: None,
        };
        let heads = Heads::of_type::<T>(parts, rope);
        let y_scale = y_scale.map(TensorSlice::ptr);
        let both = ProductHeads { product, heads, y_scale };
        // SAFETY: the parts have the shapes and strides of the arguments, which were checked.
        unsafe { both.launch(call, &latent.options.rope.rows) }
    }
}

/// Allocates queries and rotated keys, and has them filled.
fn allocate<T: Real16, C: CacheElement>(
    n: usize,
    [q_pe, k_pe]: [&TensorSlice<T>; 2],
    kv_cache: &mut TensorSlice<C>,
    fill: impl FnOnce(FusedQkRopeCatAndCacheMlaOut<'_, T, T, C>) -> Result<()>,
) -> Result<FusedQkRopeCatAndCacheMla<T>> {
    let mut shape = q_pe.shape().to_vec();
    if let Some(width) = shape.last_mut() {
        *width += n;
    }
    let mut q = Tensor::empty(q_pe.stream(), &shape)?;
    let mut out_k_pe = Tensor::empty(k_pe.stream(), k_pe.shape())?;
    let (decode_q_pe, q_nope_zeros) = (None, None);
    let k_pe = Some(&mut *out_k_pe);
    fill(FusedQkRopeCatAndCacheMlaOut { q: &mut *q, k_pe, decode_q_pe, q_nope_zeros, kv_cache })?;
    Ok(FusedQkRopeCatAndCacheMla { q, k_pe: out_k_pe })
}

/// Multiplies the first parts of queries, quantised to e4m3 in groups of p, with the matrix of e4m3 of
/// their head, rotates the second parts of queries and keys, puts them behind the first, and keys into
/// the cache.
///
/// # Errors
/// As [`fused_qk_rope_cat_and_cache_mla`](crate::fused_qk_rope_cat_and_cache_mla); [`Error::Shape`]
/// also if the matrices or scales do not fit, p is 0 or above 65,536, [`Error::ArchMismatch`] if the
/// elements of `w_k` are those of another chip, and [`Error::Value`] if the group size is not 128 or
/// 256, or a stride is too long.
#[expect(clippy::too_many_arguments, reason = "both parts of queries and keys are tensors")]
pub fn fused_fp8_bmm_rope_cat_and_cache_mla<'s, T: Real16, F: Fp8, W: Real, C: CacheElement>(
    q_nope: &TensorSlice<T>,
    w_k: &TensorSlice<F>,
    w_k_scale: &TensorSlice<f32>,
    q_pe: &TensorSlice<T>,
    k_nope: &TensorSlice<T>,
    k_pe: &TensorSlice<T>,
    slot_mapping: impl Into<Indices<'s>>,
    angles: &Angles<'_, W>,
    options: &BmmRopeOptions<'_>,
    kv_cache: &mut TensorSlice<C>,
) -> Result<FusedQkRopeCatAndCacheMla<T>> {
    allocate(k_nope.row_len(), [q_pe, k_pe], kv_cache, |out| {
        fused_fp8_bmm_rope_cat_and_cache_mla_into(
            q_nope,
            w_k,
            w_k_scale,
            q_pe,
            k_nope,
            k_pe,
            slot_mapping,
            angles,
            options,
            out,
        )
    })
}

/// As [`fused_fp8_bmm_rope_cat_and_cache_mla`], into given tensors; queries may get another element
/// type.
///
/// # Errors
/// As [`fused_fp8_bmm_rope_cat_and_cache_mla`]; [`Error::Shape`] or [`Error::Stride`] also if an output
/// is not as [`FusedQkRopeCatAndCacheMlaOut`] says, or there are more of nd than of the queries,
/// and [`Error::Alias`] if one overlaps another argument otherwise.
#[expect(clippy::too_many_arguments, reason = "both parts of queries and keys are tensors")]
pub fn fused_fp8_bmm_rope_cat_and_cache_mla_into<
    's,
    T: Real16,
    F: Fp8,
    O: Real,
    W: Real,
    C: CacheElement,
>(
    q_nope: &TensorSlice<T>,
    w_k: &TensorSlice<F>,
    w_k_scale: &TensorSlice<f32>,
    q_pe: &TensorSlice<T>,
    k_nope: &TensorSlice<T>,
    k_pe: &TensorSlice<T>,
    slot_mapping: impl Into<Indices<'s>>,
    angles: &Angles<'_, W>,
    options: &BmmRopeOptions<'_>,
    out: FusedQkRopeCatAndCacheMlaOut<'_, T, O, C>,
) -> Result<()> {
    let bmm = Bmm::of_fp8(q_nope, w_k, w_k_scale, options.group_size)?;
    let (slots, options, y_scale) = (slot_mapping.into(), &options.cache, options.y_scale);
    bmm.launch(Latent { q_pe, k_nope, k_pe, slots, angles, options }, y_scale, out)
}

/// As [`fused_fp8_bmm_rope_cat_and_cache_mla`], with first parts of queries quantised to e2m1 in MX
/// blocks, and matrices of such.
///
/// # Errors
/// As [`fused_qk_rope_cat_and_cache_mla`](crate::fused_qk_rope_cat_and_cache_mla); [`Error::Shape`]
/// also if the matrices or scales do not fit, or p is 0 or above 65,536, and [`Error::Value`] if p is no
/// multiple of 32, or a stride is too long.
#[expect(clippy::too_many_arguments, reason = "both parts of queries and keys are tensors")]
pub fn fused_fp4_bmm_rope_cat_and_cache_mla<'s, T: Real16, W: Real, C: CacheElement>(
    q_nope: &TensorSlice<T>,
    w_k: &TensorSlice<F4x2E2M1>,
    w_k_scale: &TensorSlice<E8M0>,
    q_pe: &TensorSlice<T>,
    k_nope: &TensorSlice<T>,
    k_pe: &TensorSlice<T>,
    slot_mapping: impl Into<Indices<'s>>,
    angles: &Angles<'_, W>,
    options: &BmmRopeOptions<'_>,
    kv_cache: &mut TensorSlice<C>,
) -> Result<FusedQkRopeCatAndCacheMla<T>> {
    allocate(k_nope.row_len(), [q_pe, k_pe], kv_cache, |out| {
        fused_fp4_bmm_rope_cat_and_cache_mla_into(
            q_nope,
            w_k,
            w_k_scale,
            q_pe,
            k_nope,
            k_pe,
            slot_mapping,
            angles,
            options,
            out,
        )
    })
}

/// As [`fused_fp4_bmm_rope_cat_and_cache_mla`], into given tensors; queries may get another element
/// type.
///
/// # Errors
/// As [`fused_fp4_bmm_rope_cat_and_cache_mla`]; [`Error::Shape`] or [`Error::Stride`] also if an output
/// is not as [`FusedQkRopeCatAndCacheMlaOut`] says, or there are more of nd than of the queries,
/// and [`Error::Alias`] if one overlaps another argument otherwise.
#[expect(clippy::too_many_arguments, reason = "both parts of queries and keys are tensors")]
pub fn fused_fp4_bmm_rope_cat_and_cache_mla_into<
    's,
    T: Real16,
    O: Real,
    W: Real,
    C: CacheElement,
>(
    q_nope: &TensorSlice<T>,
    w_k: &TensorSlice<F4x2E2M1>,
    w_k_scale: &TensorSlice<E8M0>,
    q_pe: &TensorSlice<T>,
    k_nope: &TensorSlice<T>,
    k_pe: &TensorSlice<T>,
    slot_mapping: impl Into<Indices<'s>>,
    angles: &Angles<'_, W>,
    options: &BmmRopeOptions<'_>,
    out: FusedQkRopeCatAndCacheMlaOut<'_, T, O, C>,
) -> Result<()> {
    let bmm = Bmm::of_fp4(q_nope, w_k, w_k_scale)?;
    let (slots, options, y_scale) = (slot_mapping.into(), &options.cache, options.y_scale);
    bmm.launch(Latent { q_pe, k_nope, k_pe, slots, angles, options }, y_scale, out)
}
