//! Queries, keys and values as codes.

use hk_core::dtype::Real;
use hk_core::op::Arguments;
use hk_core::op::quant::Fp8;
use hk_core::{AnyPtr, DevicePtr, Error, Result, Tensor, TensorSlice, TileFunction, kernel_args};

use super::{K_BLOCKS, KEYS, Q_BLOCKS, QUERIES, SageCodes, SageOptions, VALUES, dims, in_order};
use crate::KERNELS;
use crate::attention::{MOST_GROUPS, MOST_WIDTH};
use crate::mha::shape;

/// What [`sage_quant`] returns.
#[derive(Debug)]
pub struct SageQuant<F: Fp8> {
    /// Codes of queries.
    pub q: Tensor<i8>,
    /// Codes of keys.
    pub k: Tensor<i8>,
    /// Codes of values.
    pub v: Tensor<F>,
    /// Scales of blocks of queries, `[b, hq, ceil(sq / blk_q)]`.
    pub q_descale: Tensor<f32>,
    /// Scales of blocks of keys, `[b, hk, ceil(sk / blk_k)]`.
    pub k_descale: Tensor<f32>,
    /// Scales of channels of values, `[b, hk, dv]`.
    pub v_descale: Tensor<f32>,
    /// What is added to scores if queries lose their means, `[b, hq, ceil(sq / blk_q), sk]`.
    pub delta_s: Option<Tensor<f32>>,
    /// What logarithms of sums lose with the means of keys, `[b, hq, sq]`.
    pub delta_lse: Tensor<f32>,
}

impl<F: Fp8> SageQuant<F> {
    /// The codes, for [`sage_attn_fwd`](super::sage_attn_fwd); with what makes up for the means of keys, or
    /// without.
    pub fn codes(&self, makes_up: bool) -> SageCodes<'_, F> {
        SageCodes {
            q: &self.q,
            k: &self.k,
            v: &self.v,
            q_descale: &self.q_descale,
            k_descale: &self.k_descale,
            v_descale: &self.v_descale,
            delta_s: self.delta_s.as_deref(),
            delta_lse: makes_up.then_some(&*self.delta_lse),
        }
    }
}

/// Where [`sage_quant_into`] stores: as in [`SageQuant`], scales and the rest without gaps.
#[derive(Debug)]
pub struct SageQuantOut<'a, F: Fp8> {
    /// Codes of queries.
    pub q: &'a mut TensorSlice<i8>,
    /// Codes of keys.
    pub k: &'a mut TensorSlice<i8>,
    /// Codes of values.
    pub v: &'a mut TensorSlice<F>,
    /// Scales of blocks of queries.
    pub q_descale: &'a mut TensorSlice<f32>,
    /// Scales of blocks of keys.
    pub k_descale: &'a mut TensorSlice<f32>,
    /// Scales of channels of values.
    pub v_descale: &'a mut TensorSlice<f32>,
    /// What is added to scores, if and only if queries lose their means.
    pub delta_s: Option<&'a mut TensorSlice<f32>>,
    /// What logarithms of sums lose with the means of keys, if it is wanted.
    pub delta_lse: Option<&'a mut TensorSlice<f32>>,
}

kernel_args! {
    /// A tensor of rows of heads: `SageRows` in `kernels/sage_quant.hip`.
    pub(crate) struct SageRows {
        base: AnyPtr,
        sequence: i64,
        row: i64,
        head: i64,
    }
}

impl SageRows {
    fn new(base: AnyPtr, [sequence, row, head]: [i64; 3]) -> Self {
        Self { base, sequence, row, head }
    }
}

kernel_args! {
    /// Arguments of the kernels, as `kernels/sage_quant.hip` declares them.
    pub(crate) struct SageQuantArgs {
        q: SageRows,
        k: SageRows,
        v: SageRows,
        q_codes: SageRows,
        k_codes: SageRows,
        v_codes: SageRows,
        q_scales: DevicePtr<f32>,
        k_scales: DevicePtr<f32>,
        v_scales: DevicePtr<f32>,
        shares: DevicePtr<f32>,
        means: DevicePtr<f32>,
        q_means: DevicePtr<f32>,
        delta: DevicePtr<f32>,
        delta_lse: DevicePtr<f32>,
        r#type: u32,
        sequences: u32,
        q_heads: u32,
        kv_heads: u32,
        q_rows: u32,
        k_rows: u32,
        width: u32,
        value_width: u32,
        q_block: u32,
        k_block: u32,
        q_blocks: u32,
        k_blocks: u32,
        share_count: u32,
        share_rows: u32,
        smooths_keys: u32,
        factor: f32,
        scale: f32,
        reserved: u32,
    }
}

/// Columns of what lies in the workspace.
const COLUMNS: usize = MOST_WIDTH;
/// Rows of a share, and how many shares there are at most.
const SHARE_ROWS: usize = 256;
const MOST_SHARES: usize = 64;
/// Rows of values of a workgroup, and keys of one for products with means of queries.
const VALUE_ROWS: usize = 64;
const DELTA_KEYS: usize = 64;
const DELTA_BLOCKS: usize = 16;

/// Quantises queries, keys and values.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other or to what there may be, [`Error::Stride`] if
/// elements of a row are not adjacent, [`Error::ArchMismatch`] if F is not the chip's, and
/// [`Error::Value`] if hq is no multiple of hk, blocks are not multiples of 64, the scale is not finite,
/// or there is a list of blocks and a mask.
pub fn sage_quant<T: Real, F: Fp8>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    options: &SageOptions<'_>,
) -> Result<SageQuant<F>> {
    let stream = q.stream();
    let of = |x: &[usize]| {
        let [b, first, second, _] = shape(x);
        if options.heads_first { [b, first, second] } else { [b, second, first] }
    };
    let ([b, hq, sq], [_, hk, sk], [.., dv]) =
        (of(q.shape()), of(k.shape()), shape::<4>(v.shape()));
    let [blk_q, blk_k] = options.blocks.map(|rows| rows.max(1));
    let (q_blocks, k_blocks) = (sq.div_ceil(blk_q), sk.div_ceil(blk_k));
    let delta_s = options.q_smooth.then(|| Tensor::empty(stream, &[b, hq, q_blocks, sk]));
    let mut all = SageQuant {
        q: Tensor::empty(stream, q.shape())?,
        k: Tensor::empty(stream, k.shape())?,
        v: Tensor::empty(stream, v.shape())?,
        q_descale: Tensor::empty(stream, &[b, hq, q_blocks])?,
        k_descale: Tensor::empty(stream, &[b, hk, k_blocks])?,
        v_descale: Tensor::empty(stream, &[b, hk, dv])?,
        delta_s: delta_s.transpose()?,
        delta_lse: Tensor::empty(stream, &[b, hq, sq])?,
    };
    let out = SageQuantOut {
        q: &mut all.q,
        k: &mut all.k,
        v: &mut all.v,
        q_descale: &mut all.q_descale,
        k_descale: &mut all.k_descale,
        v_descale: &mut all.v_descale,
        delta_s: all.delta_s.as_deref_mut(),
        delta_lse: Some(&mut all.delta_lse),
    };
    sage_quant_into(q, k, v, options, out)?;
    Ok(all)
}

/// Checks sizes and options, and gives the factor of scores.
pub(super) fn check(args: &Arguments, options: &SageOptions<'_>) -> Result<f32> {
    for name in ["hq", "hk"] {
        args.limit(name, 1..=i32::MAX as usize)?;
    }
    for name in ["d", "dv"] {
        args.limit(name, 1..=MOST_WIDTH)?;
    }
    for name in ["b", "sq", "sk"] {
        args.limit(name, 0..=i32::MAX as usize / 2)?;
    }
    options.check(args)?;
    let [d] = args.sizes(["d"])?;
    let scale = options.scale.unwrap_or_else(|| 1.0 / (d as f32).sqrt());
    args.require(scale.is_finite(), "scale", "finite", scale)?;
    Ok(scale)
}

/// As [`sage_quant`], into given tensors.
///
/// # Errors
/// As [`sage_quant`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as [`SageQuantOut`]
/// says, [`Error::Value`] if `delta_s` is there and queries keep their means, or the other way round, and
/// [`Error::Alias`] if an output overlaps another argument.
pub fn sage_quant_into<T: Real, F: Fp8>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    options: &SageOptions<'_>,
    out: SageQuantOut<'_, F>,
) -> Result<()> {
    let first = options.heads_first;
    let mut args = Arguments::new("sage_quant");
    let of_q = in_order(first, args.input("q", q, dims(first, QUERIES)).adjacent()?);
    let of_k = in_order(first, args.input("k", k, dims(first, KEYS)).adjacent()?);
    let of_v = in_order(first, args.input("v", v, dims(first, VALUES)).adjacent()?);
    let scale = check(&args, options)?;
    let [b, sq, sk, hq, hk, d, dv] = args.sizes(["b", "sq", "sk", "hq", "hk", "d", "dv"])?;
    let [blk_q, blk_k] = options.blocks;
    let (q_blocks, k_blocks) = (sq.div_ceil(blk_q), sk.div_ceil(blk_k));
    args.define(Q_BLOCKS, q_blocks);
    args.define(K_BLOCKS, k_blocks);
    let to_q = in_order(first, args.output("q8", out.q, dims(first, QUERIES)).adjacent()?);
    let to_k = in_order(first, args.output("k8", out.k, dims(first, KEYS)).adjacent()?);
    let to_v = in_order(first, args.output("v8", out.v, dims(first, VALUES)).adjacent()?);
    args.output("q_descale", out.q_descale, &["b", "hq", Q_BLOCKS]).contiguous()?;
    args.output("k_descale", out.k_descale, &["b", "hk", K_BLOCKS]).contiguous()?;
    args.output("v_descale", out.v_descale, &["b", "hk", "dv"]).contiguous()?;
    let (wanted, given) = if options.q_smooth { ("some", "none") } else { ("none", "some") };
    args.require(out.delta_s.is_some() == options.q_smooth, "delta_s", wanted, given)?;
    let (mut delta, mut delta_lse) = (DevicePtr::NULL, DevicePtr::NULL);
    if let Some(of) = out.delta_s {
        args.output("delta_s", of, &["b", "hq", Q_BLOCKS, "sk"]).contiguous()?;
        delta = of.ptr_mut();
    }
    if let Some(of) = out.delta_lse {
        args.output("delta_lse", of, &["b", "hq", "sq"]).contiguous()?;
        delta_lse = of.ptr_mut();
    }
    args.require(hq % hk == 0, "hq", format!("a multiple of hk, {hk}"), hq)?;
    let mut call = args.check()?;
    if b == 0 {
        return Ok(());
    }

    let share_rows = SHARE_ROWS.max(sk.div_ceil(MOST_SHARES));
    let share_count = sk.div_ceil(share_rows).max(1);
    let of_shares = (2 * b * hk).saturating_mul(share_count * COLUMNS * size_of::<f32>());
    let of_means = (b * hk).saturating_mul(COLUMNS * size_of::<f32>());
    let of_blocks = (b * hq).saturating_mul(q_blocks).saturating_mul(COLUMNS * size_of::<f32>());
    let of_blocks = if options.q_smooth { of_blocks } else { 0 };
    let kernel = |variant| -> Result<TileFunction<SageQuantArgs>> {
        KERNELS.function(call.device(), call.op(), "sage_quant", variant, &[])
    };
    let (shares, channels, codes, products) =
        (kernel("shares")?, kernel("channels")?, kernel("codes")?, kernel("delta")?);
    let groups = [
        2 * b * hk * share_count,
        b * (hq * q_blocks + hk * k_blocks + hk * sk.div_ceil(VALUE_ROWS)),
        if options.q_smooth {
            b * hq * q_blocks.div_ceil(DELTA_BLOCKS) * sk.div_ceil(DELTA_KEYS)
        } else {
            0
        },
    ];
    if groups.iter().any(|groups| *groups as u64 >= MOST_GROUPS) {
        return Err(Error::value(call.op(), "q", "fewer rows", b.saturating_mul(sq)));
    }
    let [at_shares, at_means, at_blocks] = call.workspace([of_shares, of_means, of_blocks])?;
    let args = SageQuantArgs {
        q: SageRows::new(q.ptr().any(), of_q),
        k: SageRows::new(k.ptr().any(), of_k),
        v: SageRows::new(v.ptr().any(), of_v),
        q_codes: SageRows::new(out.q.ptr_mut().any(), to_q),
        k_codes: SageRows::new(out.k.ptr_mut().any(), to_k),
        v_codes: SageRows::new(out.v.ptr_mut().any(), to_v),
        q_scales: out.q_descale.ptr_mut(),
        k_scales: out.k_descale.ptr_mut(),
        v_scales: out.v_descale.ptr_mut(),
        shares: at_shares.cast(),
        means: at_means.cast(),
        q_means: if options.q_smooth { at_blocks.cast() } else { DevicePtr::NULL },
        delta,
        delta_lse,
        r#type: T::CODE,
        sequences: b as u32,
        q_heads: hq as u32,
        kv_heads: hk as u32,
        q_rows: sq as u32,
        k_rows: sk as u32,
        width: d as u32,
        value_width: dv as u32,
        q_block: blk_q as u32,
        k_block: blk_k as u32,
        q_blocks: q_blocks as u32,
        k_blocks: k_blocks as u32,
        share_count: share_count as u32,
        share_rows: share_rows as u32,
        smooths_keys: options.smooth_k.into(),
        factor: scale * std::f32::consts::LOG2_E,
        scale,
        reserved: 0,
    };
    let [of_shares, of_codes, of_products] = groups.map(|groups| [groups as u32, 1, 1]);
    let of_channels = [(2 * b * hk) as u32, 1, 1];
    call.submit(|stream| {
        // SAFETY: the kernels stay within the tensors whose shapes and strides were checked, and within
        // the workspace.
        unsafe {
            shares.launch(stream, of_shares, &args)?;
            channels.launch(stream, of_channels, &args)?;
            if of_codes[0] > 0 {
                codes.launch(stream, of_codes, &args)?;
            }
            if of_products[0] > 0 {
                products.launch(stream, of_products, &args)?;
            }
        }
        Ok(())
    })
}
