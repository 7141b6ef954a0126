//! Attention of 8-bit codes of queries and keys, in blocks of rows with a scale each:
//!
//! ```text
//! q8, qs = codes of c q - mean of the block's rows, and amax / 127 of those, with c = scale log2(e)
//! k8, ks = codes of k - mean of all rows
//! v8, vs = codes of v, and amax / most of each channel
//! s[i, j] = qs ks (q8[i] k8[j]) + delta_s[block(i), j],   in units of log2
//! o[i]    = vs sum_j 2^(s[i, j] - m[i]) v8[j] / sum_j 2^(s[i, j] - m[i])
//! ```
//!
//! where both means are left out unless they are wanted, and `delta_s` is the product of the mean of a block
//! of queries with keys. The logarithm of a row's sum is that of the scores of codes; what queries lose with
//! the mean of keys, `delta_lse = scale q mean(k)`, makes up for it in [`sage_attn`].
//!
//! | | |
//! |---|---|
//! | Shapes | q `[b, sq, hq, d]`, k `[b, sk, hk, d]`, v `[b, sk, hk, dv]`, or heads before rows -> out as q with dv columns, lse `[b, hq, sq]`; q_descale `[b, hq, ceil(sq / blk_q)]`, k_descale `[b, hk, ceil(sk / blk_k)]`, v_descale `[b, hk, dv]`, delta_s `[b, hq, ceil(sq / blk_q), sk]`; d and dv from 1 to 256, dv at most d, hq a multiple of hk, blk_q and blk_k multiples of 64, at most 2^20 |
//! | Dtypes | q, k, v bf16, f16 or f32; codes i8, of values e4m3 in the flavour of the chip; out bf16; lse, scales and delta_s f32 |
//! | Numerics | products of codes exact, of i8 by i8; weights `2^7 2^(s - max s)` rounded to e4m3 and multiplied by values as such, their sums and those of products in f32; codes of ties away from zero, of values to even; a block or channel of zeros has the scale 0; bitwise deterministic |
//! | Hardware | cdna3, cdna4 |
//! | Source | Zhang et al., "SageAttention: Accurate 8-Bit Attention for Plug-and-play Inference Acceleration" (2024), and "SageAttention2" (2024) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_attn::{Device, F8E4M3Fnuz, SageOptions, Tensor, bf16, sage_attn};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! // A query that matches the second of two keys.
//! let of = |numbers: &[f32]| -> hk_attn::Result<Tensor<bf16>> {
//!     let numbers: Vec<_> = numbers.iter().map(|number| bf16::from_f32(*number)).collect();
//!     Tensor::from_slice(&stream, &numbers, &[1, numbers.len(), 1, 1])
//! };
//! let (q, k, v) = (of(&[30.0])?, of(&[0.0, 1.0])?, of(&[1.0, 2.0])?);
//! let options = SageOptions::default().smooth_k(false);
//! let out = sage_attn::<_, F8E4M3Fnuz>(&q, &k, &v, &options)?;
//! assert_eq!(out.out.to_vec()?, [bf16::from_f32(2.0)]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

pub(crate) mod quant;

use hk_core::dtype::{Real, bf16};
use hk_core::op::indices::{IndexList, Indices};
use hk_core::op::quant::Fp8;
use hk_core::op::{Arguments, Call};
use hk_core::{DevicePtr, Error, Result, Tensor, TensorSlice, TileFunction, kernel_args};

use crate::KERNELS;
use crate::attention::{
    AttentionArgs, AttentionElement, AttentionOptions, KeySource, MOST_GROUPS, Problem, Window,
};
use crate::mha::shape;

pub use quant::{SageQuant, SageQuantOut, sage_quant, sage_quant_into};

/// Rows of which blocks are multiples.
const BLOCK: usize = 64;

/// Which blocks of keys each block of queries sees: of entry `(sequence hq + head) blocks + block`, those
/// that the list has from a start on.
#[derive(Debug, Clone, Copy)]
pub struct SageLut<'a> {
    /// Blocks of keys.
    pub kv_block_indices: Indices<'a>,
    /// Where an entry's begin, `[b hq ceil(sq / blk_q)]`.
    pub lut_start: Indices<'a>,
    /// How many an entry has.
    pub lut_count: Indices<'a>,
}

/// What can be chosen of quantised attention.
#[derive(Debug, Clone, Copy)]
pub struct SageOptions<'a> {
    scale: Option<f32>,
    causal: bool,
    window: Window,
    smooth_k: bool,
    q_smooth: bool,
    blocks: [usize; 2],
    heads_first: bool,
    block_lut: Option<SageLut<'a>>,
    validate_indices: Option<bool>,
}

impl Default for SageOptions<'_> {
    fn default() -> Self {
        Self {
            scale: None,
            causal: false,
            window: Window::default(),
            smooth_k: true,
            q_smooth: false,
            blocks: [256, 128],
            heads_first: false,
            block_lut: None,
            validate_indices: None,
        }
    }
}

impl<'a> SageOptions<'a> {
    /// Factor of scores; `1 / sqrt(d)` if not given. Codes of queries have it.
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

    /// Whether keys lose the mean of each channel before they are codes; true if not given.
    #[must_use]
    pub fn smooth_k(self, smooth: bool) -> Self {
        Self { smooth_k: smooth, ..self }
    }

    /// Whether blocks of queries lose the mean of each channel.
    #[must_use]
    pub fn q_smooth(self, smooth: bool) -> Self {
        Self { q_smooth: smooth, ..self }
    }

    /// Rows of a block of queries, and of one of keys, multiples of 64 up to 2^20; 256 and 128 if not
    /// given.
    #[must_use]
    pub fn blocks(self, blk_q: usize, blk_k: usize) -> Self {
        Self { blocks: [blk_q, blk_k], ..self }
    }

    /// Whether heads lie before rows.
    #[must_use]
    pub fn heads_first(self, first: bool) -> Self {
        Self { heads_first: first, ..self }
    }

    /// Which blocks of keys are seen, instead of all.
    #[must_use]
    pub fn block_lut(self, lut: SageLut<'a>) -> Self {
        Self { block_lut: Some(lut), ..self }
    }

    /// Whether indices are looked at before the launch, which waits for the stream, to tell which are
    /// wrong. If not given, they are on the simulator and in builds with debug assertions.
    #[must_use]
    pub fn validate_indices(self, validate: bool) -> Self {
        Self { validate_indices: Some(validate), ..self }
    }

    /// Checks what does not depend on tensors.
    fn check(&self, arguments: &Arguments) -> Result<()> {
        for (name, rows) in ["blk_q", "blk_k"].into_iter().zip(self.blocks) {
            let is_whole = rows > 0 && rows.is_multiple_of(BLOCK) && rows <= 1 << 20;
            arguments.require(is_whole, name, "a multiple of 64, at most 2^20", rows)?;
        }
        let is_plain = !self.causal && self.window == Window::default();
        let fits = self.block_lut.is_none() || is_plain;
        arguments.require(fits, "block_lut", "none, of keys that are hidden otherwise", "some")
    }

    /// Declares the list of blocks, if there is one, once sizes are known.
    fn declare_lut(&self, arguments: &mut Arguments) -> Result<[IndexList; 3]> {
        let Some(SageLut { kv_block_indices, lut_start, lut_count }) = self.block_lut else {
            return Ok([IndexList::NONE; 3]);
        };
        let [b, hq, sq] = arguments.sizes(["b", "hq", "sq"])?;
        let blocks = sq.div_ceil(self.blocks[0]);
        arguments.define(ENTRIES, b.saturating_mul(hq).saturating_mul(blocks));
        Ok([
            kv_block_indices.declare(arguments, "kv_block_indices", &["listed"])?,
            lut_start.declare(arguments, "lut_start", &[ENTRIES])?,
            lut_count.declare(arguments, "lut_count", &[ENTRIES])?,
        ])
    }
}

impl SageLut<'_> {
    /// Looks at the list, of so many blocks of keys.
    fn check(&self, call: &Call, k_blocks: usize) -> Result<()> {
        let constraint = format!("blocks below {k_blocks}");
        let blocks = self.kv_block_indices.to_vec()?;
        call.require_each("kv_block_indices", &blocks, &constraint, |_, block| {
            (0..k_blocks as i64).contains(&block)
        })?;
        let (starts, most) = (self.lut_start.to_vec()?, blocks.len() as i64);
        let constraint = format!("from 0 to {most}");
        let is_place = |place| (0..=most).contains(&place);
        call.require_each("lut_start", &starts, &constraint, |_, start| is_place(start))?;
        call.require_each("lut_count", &self.lut_count.to_vec()?, &constraint, |at, count| {
            count >= 0 && is_place(starts[at] + count)
        })
    }
}

/// Dimensions of a tensor of rows of heads.
fn dims(heads_first: bool, of: [&'static [&'static str]; 2]) -> &'static [&'static str] {
    of[usize::from(heads_first)]
}

const QUERIES: [&[&str]; 2] = [&["b", "sq", "hq", "d"], &["b", "hq", "sq", "d"]];
const KEYS: [&[&str]; 2] = [&["b", "sk", "hk", "d"], &["b", "hk", "sk", "d"]];
const VALUES: [&[&str]; 2] = [&["b", "sk", "hk", "dv"], &["b", "hk", "sk", "dv"]];
const RESULTS: [&[&str]; 2] = [&["b", "sq", "hq", "dv"], &["b", "hq", "sq", "dv"]];
/// Blocks of queries and of keys.
const Q_BLOCKS: &str = "blocks(sq)";
const K_BLOCKS: &str = "blocks(sk)";
const ENTRIES: &str = "b * hq * blocks(sq)";

/// Distances between sequences, rows and heads.
fn in_order(heads_first: bool, [sequence, a, b, _]: [i64; 4]) -> [i64; 3] {
    if heads_first { [sequence, b, a] } else { [sequence, a, b] }
}

/// Codes, and what they are multiples of.
#[derive(Debug, Clone, Copy)]
pub struct SageCodes<'a, F: Fp8> {
    /// Queries.
    pub q: &'a TensorSlice<i8>,
    /// Keys.
    pub k: &'a TensorSlice<i8>,
    /// Values.
    pub v: &'a TensorSlice<F>,
    /// Scales of blocks of queries.
    pub q_descale: &'a TensorSlice<f32>,
    /// Scales of blocks of keys.
    pub k_descale: &'a TensorSlice<f32>,
    /// Scales of channels of values.
    pub v_descale: &'a TensorSlice<f32>,
    /// What is added to scores of a block of queries, for each key.
    pub delta_s: Option<&'a TensorSlice<f32>>,
    /// What is added to logarithms of sums, `[b, hq, sq]`.
    pub delta_lse: Option<&'a TensorSlice<f32>>,
}

/// What [`sage_attn_fwd`] and [`sage_attn`] return.
#[derive(Debug)]
pub struct SageAttn {
    /// The results.
    pub out: Tensor<bf16>,
    /// Logarithms of the sums of exponentials of scores.
    pub lse: Tensor<f32>,
}

/// Where [`sage_attn_fwd_into`] stores.
#[derive(Debug)]
pub struct SageAttnOut<'a> {
    /// The results.
    pub out: &'a mut TensorSlice<bf16>,
    /// Logarithms of the sums of exponentials of scores, if they are wanted.
    pub lse: Option<&'a mut TensorSlice<f32>>,
}

kernel_args! {
    /// Arguments of the kernel, as `kernels/sage_attention.hip` declares them.
    pub(crate) struct SageArgs {
        attention: AttentionArgs,
        q_scales: DevicePtr<f32>,
        q_scale_sequence: i64,
        q_scale_head: i64,
        k_scales: DevicePtr<f32>,
        k_scale_sequence: i64,
        k_scale_head: i64,
        v_scales: DevicePtr<f32>,
        v_scale_sequence: i64,
        v_scale_head: i64,
        delta: DevicePtr<f32>,
        delta_sequence: i64,
        delta_head: i64,
        delta_block: i64,
        delta_lse: DevicePtr<f32>,
        delta_lse_sequence: i64,
        delta_lse_head: i64,
        delta_lse_row: i64,
        indices: IndexList,
        starts: IndexList,
        counts: IndexList,
        query_block: u32,
        key_block: u32,
        query_blocks: u32,
        group: u32,
    }
}

/// Attention of codes.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other or to what there may be, [`Error::Stride`] if
/// elements of a row are not adjacent, [`Error::ArchMismatch`] if values are those of another chip, and
/// [`Error::Value`] if hq is no multiple of hk, blocks are not multiples of 64, there is a list of blocks
/// and a mask, or the list is wrong and [looked at](SageOptions::validate_indices).
pub fn sage_attn_fwd<F: Fp8 + AttentionElement>(
    codes: &SageCodes<'_, F>,
    options: &SageOptions<'_>,
) -> Result<SageAttn> {
    let (mut out, mut lse) = results(codes.q, codes.v.shape(), options)?;
    sage_attn_fwd_into(codes, options, SageAttnOut { out: &mut out, lse: Some(&mut lse) })?;
    Ok(SageAttn { out, lse })
}

/// Room for results.
fn results<T: hk_core::dtype::Element>(
    q: &TensorSlice<T>,
    v: &[usize],
    options: &SageOptions<'_>,
) -> Result<(Tensor<bf16>, Tensor<f32>)> {
    let ([b, first, second, _], [.., dv]) = (shape(q.shape()), shape::<4>(v));
    let out = Tensor::empty(q.stream(), &[b, first, second, dv])?;
    let rows = if options.heads_first { [first, second] } else { [second, first] };
    Ok((out, Tensor::empty(q.stream(), &[b, rows[0], rows[1]])?))
}

/// As [`sage_attn_fwd`], into given tensors.
///
/// # Errors
/// As [`sage_attn_fwd`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`SageAttnOut`] says, and [`Error::Alias`] if one overlaps another argument.
pub fn sage_attn_fwd_into<F: Fp8 + AttentionElement>(
    codes: &SageCodes<'_, F>,
    options: &SageOptions<'_>,
    out: SageAttnOut<'_>,
) -> Result<()> {
    let first = options.heads_first;
    let Window { left, right } = options.window;
    let scores = AttentionOptions::default().causal(options.causal).window(left, right).scale(1.0);
    let mut problem = Problem::new("sage_attn_fwd", scores);
    let arguments = &mut problem.arguments;
    let SageCodes { q, k, v, q_descale, k_descale, v_descale, delta_s, delta_lse } = *codes;
    let of_q = in_order(first, arguments.input("q", q, dims(first, QUERIES)).adjacent()?);
    let of_k = in_order(first, arguments.input("k", k, dims(first, KEYS)).adjacent()?);
    let of_v = in_order(first, arguments.input("v", v, dims(first, VALUES)).adjacent()?);
    let [d, dv] = problem.heads()?;
    let [b, sq, sk, hq, hk] = problem.arguments.sizes(["b", "sq", "sk", "hq", "hk"])?;
    problem.limit(["b", "sq", "sk"])?;
    problem.queries(q, of_q);
    let (keys, values) = (problem.rows(k, of_k, d), problem.rows(v, of_v, dv));
    let args = &mut problem.args;
    let (length, count) = (sk as u32, sk as u32);
    args.source[0] = KeySource { keys, values, length, count, ..KeySource::NONE };
    (args.sequences, args.q_length) = (b as u32, sq as u32);
    // Each head of queries is a head of its own.
    (args.kv_heads, args.group) = (hq as u32, 1);
    problem.require_narrow_values()?;
    options.check(&problem.arguments)?;

    let [blk_q, blk_k] = options.blocks;
    let (q_blocks, k_blocks) = (sq.div_ceil(blk_q), sk.div_ceil(blk_k));
    let arguments = &mut problem.arguments;
    arguments.define(Q_BLOCKS, q_blocks);
    arguments.define(K_BLOCKS, k_blocks);
    let [q_scale_sequence, q_scale_head, _] =
        arguments.input("q_descale", q_descale, &["b", "hq", Q_BLOCKS]).adjacent()?;
    let [k_scale_sequence, k_scale_head, _] =
        arguments.input("k_descale", k_descale, &["b", "hk", K_BLOCKS]).adjacent()?;
    let [v_scale_sequence, v_scale_head, _] =
        arguments.input("v_descale", v_descale, &["b", "hk", "dv"]).adjacent()?;
    let mut of_delta = [0; 3];
    if let Some(delta) = delta_s {
        let declared = arguments.input("delta_s", delta, &["b", "hq", Q_BLOCKS, "sk"]);
        let [sequence, head, block, _] = declared.adjacent()?;
        of_delta = [sequence, head, block];
    }
    let mut of_delta_lse = [0; 3];
    if let Some(delta) = delta_lse {
        let declared = arguments.input("delta_lse", delta, &["b", "hq", "sq"]);
        of_delta_lse = declared.strides::<3>()?;
    }
    let lists = options.declare_lut(arguments)?;
    if let Some(lut) = options.block_lut {
        problem.check(move |call| lut.check(call, k_blocks));
    }
    problem.output(out.out, dims(first, RESULTS))?;
    problem.lse(out.lse, &["b", "hq", "sq"])?;
    problem.declare_options()?;
    let is_groups = hk > 0 && hq % hk == 0;
    problem.arguments.require(is_groups, "hq", format!("a multiple of hk, {hk}"), hq)?;
    let args = SageArgs {
        attention: problem.args,
        q_scales: q_descale.ptr(),
        q_scale_sequence,
        q_scale_head,
        k_scales: k_descale.ptr(),
        k_scale_sequence,
        k_scale_head,
        v_scales: v_descale.ptr(),
        v_scale_sequence,
        v_scale_head,
        delta: delta_s.map_or(DevicePtr::NULL, TensorSlice::ptr),
        delta_sequence: of_delta[0],
        delta_head: of_delta[1],
        delta_block: of_delta[2],
        delta_lse: delta_lse.map_or(DevicePtr::NULL, TensorSlice::ptr),
        delta_lse_sequence: of_delta_lse[0],
        delta_lse_head: of_delta_lse[1],
        delta_lse_row: of_delta_lse[2],
        indices: lists[0],
        starts: lists[1],
        counts: lists[2],
        query_block: blk_q as u32,
        key_block: blk_k as u32,
        query_blocks: q_blocks as u32,
        group: (hq / hk.max(1)) as u32,
    };
    args.launch(problem, options.validate_indices)
}

impl SageArgs {
    /// Checks the problem, whose arguments these have, chooses the kernel and launches it.
    fn launch(mut self, problem: Problem<'_>, validates: Option<bool>) -> Result<()> {
        let call = problem.arguments.check()?;
        let AttentionArgs { sequences, q_length, kv_heads, width, value_width, .. } =
            self.attention;
        let heads = u64::from(sequences) * u64::from(kv_heads);
        if heads == 0 || q_length == 0 {
            return Ok(());
        }
        if call.validates_indices(validates)? {
            problem.checks.into_iter().try_for_each(|check| check(&call))?;
        }
        let size = [("width", u64::from(width.max(value_width)))];
        let kernel: TileFunction<Self> =
            KERNELS.function(call.device(), call.op(), "sage_attention", "", &size)?;
        let int = |name| kernel.tile().int(name).unwrap_or(1) as u32;
        let tiles = q_length.div_ceil(16 * int("Q_WAVES") * int("Q_FRAGMENTS"));
        let groups = heads.saturating_mul(tiles.into());
        if groups >= MOST_GROUPS {
            return Err(Error::value(call.op(), "q", "fewer rows", groups));
        }
        self.attention.tiles = tiles;
        call.submit(|stream| {
            // SAFETY: the kernel stays within the tensors whose shapes and strides were checked,
            // whatever blocks the list has.
            unsafe { kernel.launch(stream, [groups as u32, 1, 1], &self) }
        })
    }
}

/// Attention of numbers, which are quantised before, with values as codes of type F, the chip's own.
///
/// # Errors
/// As [`sage_quant`] and [`sage_attn_fwd`].
pub fn sage_attn<T: Real, F: Fp8 + AttentionElement>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    options: &SageOptions<'_>,
) -> Result<SageAttn> {
    let (mut out, mut lse) = results(q, v.shape(), options)?;
    let into = SageAttnOut { out: &mut out, lse: Some(&mut lse) };
    sage_attn_into::<T, F>(q, k, v, options, into)?;
    Ok(SageAttn { out, lse })
}

/// As [`sage_attn`], into given tensors.
///
/// # Errors
/// As [`sage_attn`] and [`sage_attn_fwd_into`].
pub fn sage_attn_into<T: Real, F: Fp8 + AttentionElement>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    options: &SageOptions<'_>,
    out: SageAttnOut<'_>,
) -> Result<()> {
    let first = options.heads_first;
    let mut args = Arguments::new("sage_attn");
    args.input("q", q, dims(first, QUERIES)).adjacent::<4>()?;
    args.input("k", k, dims(first, KEYS)).adjacent::<4>()?;
    args.input("v", v, dims(first, VALUES)).adjacent::<4>()?;
    quant::check(&args, options)?;
    let [d, hq, hk, sk] = args.sizes(["d", "hq", "hk", "sk"])?;
    args.limit("dv", 1..=d)?;
    options.declare_lut(&mut args)?;
    args.output("out", &mut *out.out, dims(first, RESULTS)).adjacent::<4>()?;
    let SageAttnOut { out, mut lse } = out;
    if let Some(lse) = &mut lse {
        args.output("lse", lse, &["b", "hq", "sq"]).strides::<3>()?;
    }
    args.require(hq % hk == 0, "hq", format!("a multiple of hk, {hk}"), hq)?;
    let call = args.check()?;
    if call.is_dry() {
        return Ok(());
    }
    // What the second op would find wrong only once the first is launched.
    if let Some(lut) = options.block_lut
        && call.validates_indices(options.validate_indices)?
    {
        lut.check(&call, sk.div_ceil(options.blocks[1]))?;
    }
    let quantised: SageQuant<F> = sage_quant(q, k, v, options)?;
    let into = SageAttnOut { out, lse };
    sage_attn_fwd_into(&quantised.codes(options.smooth_k), options, into)
}
