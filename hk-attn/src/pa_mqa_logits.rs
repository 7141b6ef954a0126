//! Scores by which an indexer chooses keys of paged caches, for the last tokens of each sequence: as
//! [`fp8_mqa_logits`](crate::fp8_mqa_logits()).
//! `logits[b next_n + n, t] = sum_h weights[b next_n + n, h] relu(scale[t] (q[b, n, h] . k[t]))` for
//! keys t of sequence b up to the token's own, `t <= len[b] - next_n + n`, and -inf for others.
//!
//! A block of the cache has the codes of bs keys of d elements, and behind them bs scales of f32.
//!
//! | | |
//! |---|---|
//! | Shapes | q `[b, next_n, h, d]`, kv_cache `[blocks, bs, 1, d + 4]`, weights `[b next_n, h]`, context_lens `[b]`, kv_indices `[b, listed]` -> logits `[b next_n, max_model_len]`, or, of each head, `[h, b next_n, max_model_len]`; ragged: kv_cache `[tokens, 1, d + 4]`, prefix_sum_context_lens `[b + 1]`, kv_indices `[listed]`; d from 1 to 256 |
//! | Dtypes | q e4m3 in the flavour of the chip; kv_cache bytes, of such codes and of f32; weights, logits f32; lengths and indices i32 |
//! | Numerics | exact products, sums in f32 in an order that only d and h decide; NaN stays; bitwise deterministic |
//! | Hardware | cdna3, cdna4 |
//! | Source | DeepSeek-V3.2 (2025), the lightning indexer; AITER `deepgemm_fp8_paged_mqa_logits` and its ragged and first-stage forms, whose ragged one has another end of windows |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_attn::{Device, F8E4M3Fnuz, MqaLogitsOptions, Tensor, paged_mqa_logits};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let one = F8E4M3Fnuz::from_f32(1.0);
//! // Two blocks of one key: ones, and a scale.
//! let block = |scale: f32| [vec![one.to_bits(); 32], scale.to_le_bytes().to_vec()].concat();
//! let cache = [block(0.5), block(2.0)].concat();
//! let kv_cache = Tensor::from_slice(&stream, &cache, &[2, 1, 1, 36])?;
//! let q = Tensor::filled(&stream, &[1, 1, 1, 32], one)?;
//! let weights = Tensor::filled(&stream, &[1, 1], 1.0f32)?;
//! let lengths = Tensor::from_slice(&stream, &[2], &[1])?;
//! let table = Tensor::from_slice(&stream, &[1, 0], &[1, 2])?;
//! let options = MqaLogitsOptions::default();
//! let logits = paged_mqa_logits(&q, &kv_cache, &weights, &lengths, &table, 3, &options)?;
//! assert_eq!(logits.to_vec()?, [64.0, 16.0, f32::NEG_INFINITY]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::op::quant::Fp8;
use hk_core::op::{Arguments, Call};
use hk_core::{Result, Tensor, TensorSlice};

use crate::heads::part_of;
use crate::mqa_logits::{MqaLogitsArgs, MqaLogitsOptions};

/// A key and its scale, in bytes; rows of queries.
const KEY: &str = "d + 4";
const ROWS: &str = "b next_n";

/// Which keys sequences have.
#[derive(Clone, Copy)]
enum Sequences<'a> {
    /// Of pages in a row of a table for each sequence, and so many of them.
    Paged { lengths: &'a TensorSlice<i32>, table: &'a TensorSlice<i32> },
    /// One by one, in a list of which sequences have consecutive parts.
    Ragged { bounds: &'a TensorSlice<i32>, table: &'a TensorSlice<i32> },
}

/// An op and what it is given.
struct PagedLogits<'a, F: Fp8> {
    op: &'static str,
    q: &'a TensorSlice<F>,
    kv_cache: &'a TensorSlice<u8>,
    weights: &'a TensorSlice<f32>,
    sequences: Sequences<'a>,
    max_model_len: usize,
    /// Whether there is a score for each head.
    per_head: bool,
    options: &'a MqaLogitsOptions,
}

impl<F: Fp8> PagedLogits<'_, F> {
    /// The shape of the scores.
    fn shape(&self) -> Vec<usize> {
        let [b, n, h] = match *self.q.shape() {
            [b, n, h, _] => [b, n, h],
            _ => [0; 3],
        };
        let rows = [b.saturating_mul(n), self.max_model_len];
        if self.per_head { [&[h], &rows[..]].concat() } else { rows.to_vec() }
    }

    /// Allocates the scores.
    fn launch(self) -> Result<Tensor<f32>> {
        let mut logits = Tensor::empty(self.q.stream(), &self.shape())?;
        self.launch_into(&mut logits)?;
        Ok(logits)
    }

    fn launch_into(self, logits: &mut TensorSlice<f32>) -> Result<()> {
        let Self { op, q, kv_cache, weights, sequences, max_model_len, per_head, options } = self;
        let mut args = Arguments::new(op);
        let strides = args.input("q", q, &["b", "next_n", "h", "d"]).adjacent()?;
        let [q_sequence, q_row, q_head, _] = strides;
        let [b, next_n, d] = args.sizes(["b", "next_n", "d"])?;
        args.define(KEY, d + SCALE);
        args.define(ROWS, b.saturating_mul(next_n));
        let is_paged = matches!(sequences, Sequences::Paged { .. });
        let dims: &[&str] =
            if is_paged { &["blocks", "bs", "1", KEY] } else { &["blocks", "1", KEY] };
        args.input("kv_cache", kv_cache, dims).aligned(SCALE).contiguous()?;
        args.limit("blocks", 1..=i32::MAX as usize)?;
        let bs = if is_paged { args.sizes(["bs"])?[0] } else { 1 };
        let [weight_row, _] = args.input("weights", weights, &[ROWS, "h"]).adjacent()?;
        let mut kernel_args = MqaLogitsArgs::NONE;
        match sequences {
            Sequences::Paged { lengths, table } => {
                args.limit("bs", 1..=i32::MAX as usize)?;
                args.input("context_lens", lengths, &["b"]).contiguous()?;
                let [row, _] = args.input("kv_indices", table, &["b", "listed"]).adjacent()?;
                (kernel_args.lengths, kernel_args.table_row) = (lengths.ptr(), row);
                kernel_args.table = table.ptr();
            }
            Sequences::Ragged { bounds, table } => {
                args.define("b + 1", b + 1);
                args.input("prefix_sum_context_lens", bounds, &["b + 1"]).contiguous()?;
                args.input("kv_indices", table, &["listed"]).contiguous()?;
                (kernel_args.bounds, kernel_args.table) = (bounds.ptr(), table.ptr());
            }
        }
        args.define("max_model_len", max_model_len);
        let (y_head, y_row) = if per_head {
            let y = args.output("logits", logits, &["h", ROWS, "max_model_len"]);
            let [head, row, _] = y.adjacent()?;
            (head, row)
        } else {
            let [row, _] = args.output("logits", logits, &[ROWS, "max_model_len"]).adjacent()?;
            (0, row)
        };
        for size in ["listed", "max_model_len", ROWS] {
            args.limit(size, 0..=i32::MAX as usize)?;
        }
        options.check(&args)?;
        let [h, blocks, listed] = args.sizes(["h", "blocks", "listed"])?;
        let call = args.check()?;
        if call.validates_indices(options.validate_indices)? {
            validate(&call, sequences, [max_model_len, bs, blocks])?;
        }

        let kernel_args = MqaLogitsArgs {
            q: q.ptr().any(),
            k: kv_cache.ptr().any(),
            k_scales: part_of(kv_cache.ptr(), bs * d),
            weights: weights.ptr(),
            y: logits.ptr_mut(),
            q_sequence,
            q_row,
            q_head,
            k_page: (bs * (d + SCALE)) as i64,
            k_key: d as i64,
            scale_page: (bs * (d + SCALE)) as i64,
            scale_key: SCALE as i64,
            weight_row,
            y_row,
            y_head,
            sequences: b as u32,
            rows: next_n as u32,
            heads: h as u32,
            depth: d as u32,
            keys: max_model_len as u32,
            page_keys: bs as u32,
            pages: blocks as u32,
            listed: listed as u32,
            ..kernel_args
        };
        let variant = if per_head { "e4m3_paged_heads" } else { "e4m3_paged" };
        // SAFETY: these are the arguments' shapes and strides, which were checked.
        unsafe { kernel_args.launch(call, variant, options) }
    }
}

/// Bytes of a scale.
const SCALE: usize = size_of::<f32>();

/// Requires lengths to be within the table and the scores, and pages that are used to be there.
fn validate(
    call: &Call,
    sequences: Sequences<'_>,
    [max_model_len, bs, blocks]: [usize; 3],
) -> Result<()> {
    let wide = |of: &TensorSlice<i32>| -> Result<Vec<i64>> {
        Ok(of.to_vec()?.into_iter().map(i64::from).collect())
    };
    let is_page = |page: i64| usize::try_from(page).is_ok_and(|page| page < blocks);
    let constraint = format!("an index below {blocks}");
    match sequences {
        Sequences::Paged { lengths, table } => {
            let (lengths, listed) = (wide(lengths)?, table.row_len());
            let most = max_model_len.min(listed.saturating_mul(bs));
            let fits = |_, length: i64| usize::try_from(length).is_ok_and(|length| length <= most);
            call.require_each("context_lens", &lengths, &format!("0 to {most}"), fits)?;
            call.require_each("kv_indices", &wide(table)?, &constraint, |at, page| {
                let used = (lengths[at / listed] as usize).div_ceil(bs);
                at % listed >= used || is_page(page)
            })
        }
        Sequences::Ragged { bounds, table } => {
            let (bounds, table) = (wide(bounds)?, wide(table)?);
            let text = format!(
                "sums from 0 to at most {}, of lengths from 0 to {max_model_len}",
                table.len()
            );
            let name = "prefix_sum_context_lens";
            call.require_each(name, &bounds, &text, |at, bound| {
                let length = bound - if at == 0 { 0 } else { bounds[at - 1] };
                let most = if at == 0 { 0 } else { max_model_len };
                let fits = usize::try_from(length).is_ok_and(|length| length <= most);
                fits && bound <= table.len() as i64
            })?;
            let used = bounds.last().map_or(0, |end| *end as usize);
            call.require_each("kv_indices", &table[..used], &constraint, |_, page| is_page(page))
        }
    }
}

/// Scores the keys of each sequence for its last tokens: those in the pages that its row of
/// `kv_indices` lists, of which there are `context_lens`, the tokens themselves included. Entries that
/// no key is in may be anything.
///
/// # Errors
/// [`Error::Shape`] if sizes differ, d is above 256, or there are no heads or pages, [`Error::Stride`]
/// if the elements of a row are not adjacent, [`Error::ArchMismatch`] if queries are those of another
/// chip, and [`Error::Value`] if the cache is not aligned to 4 bytes, there are more scores than a launch
/// can have, or, if they are [looked at](MqaLogitsOptions::validate_indices), lengths are above
/// `max_model_len` or what is listed, or pages are not there.
pub fn paged_mqa_logits<F: Fp8>(
    q: &TensorSlice<F>,
    kv_cache: &TensorSlice<u8>,
    weights: &TensorSlice<f32>,
    context_lens: &TensorSlice<i32>,
    kv_indices: &TensorSlice<i32>,
    max_model_len: usize,
    options: &MqaLogitsOptions,
) -> Result<Tensor<f32>> {
    let sequences = Sequences::Paged { lengths: context_lens, table: kv_indices };
    let (op, per_head) = ("paged_mqa_logits", false);
    PagedLogits { op, q, kv_cache, weights, sequences, max_model_len, per_head, options }.launch()
}

/// As [`paged_mqa_logits`], into `logits`, whose rows may be any distance apart; `max_model_len` is
/// their length.
///
/// # Errors
/// As [`paged_mqa_logits`]; [`Error::Shape`] also if `logits` has the wrong shape, [`Error::Alias`] if
/// it overlaps another argument.
pub fn paged_mqa_logits_into<F: Fp8>(
    q: &TensorSlice<F>,
    kv_cache: &TensorSlice<u8>,
    weights: &TensorSlice<f32>,
    context_lens: &TensorSlice<i32>,
    kv_indices: &TensorSlice<i32>,
    options: &MqaLogitsOptions,
    logits: &mut TensorSlice<f32>,
) -> Result<()> {
    let sequences = Sequences::Paged { lengths: context_lens, table: kv_indices };
    let (op, per_head, max_model_len) = ("paged_mqa_logits", false, logits.row_len());
    PagedLogits { op, q, kv_cache, weights, sequences, max_model_len, per_head, options }
        .launch_into(logits)
}

/// As [`paged_mqa_logits`], with each key in a row of its own, and `kv_indices` of all sequences one
/// behind the other, from one sum of lengths to the next.
///
/// # Errors
/// As [`paged_mqa_logits`].
pub fn paged_mqa_logits_ragged<F: Fp8>(
    q: &TensorSlice<F>,
    kv_cache: &TensorSlice<u8>,
    weights: &TensorSlice<f32>,
    prefix_sum_context_lens: &TensorSlice<i32>,
    kv_indices: &TensorSlice<i32>,
    max_model_len: usize,
    options: &MqaLogitsOptions,
) -> Result<Tensor<f32>> {
    let sequences = Sequences::Ragged { bounds: prefix_sum_context_lens, table: kv_indices };
    let (op, per_head) = ("paged_mqa_logits_ragged", false);
    PagedLogits { op, q, kv_cache, weights, sequences, max_model_len, per_head, options }.launch()
}

/// As [`paged_mqa_logits_ragged`], into `logits`, as [`paged_mqa_logits_into`].
///
/// # Errors
/// As [`paged_mqa_logits_into`].
pub fn paged_mqa_logits_ragged_into<F: Fp8>(
    q: &TensorSlice<F>,
    kv_cache: &TensorSlice<u8>,
    weights: &TensorSlice<f32>,
    prefix_sum_context_lens: &TensorSlice<i32>,
    kv_indices: &TensorSlice<i32>,
    options: &MqaLogitsOptions,
    logits: &mut TensorSlice<f32>,
) -> Result<()> {
    let sequences = Sequences::Ragged { bounds: prefix_sum_context_lens, table: kv_indices };
    let (op, per_head, max_model_len) = ("paged_mqa_logits_ragged", false, logits.row_len());
    PagedLogits { op, q, kv_cache, weights, sequences, max_model_len, per_head, options }
        .launch_into(logits)
}

/// As [`paged_mqa_logits`], with what each head adds rather than the sums:
/// `logits[h, b next_n + n, t] = weights[b next_n + n, h] relu(scale[t] (q[b, n, h] . k[t]))`.
///
/// # Errors
/// As [`paged_mqa_logits`].
pub fn paged_mqa_logits_stage1<F: Fp8>(
    q: &TensorSlice<F>,
    kv_cache: &TensorSlice<u8>,
    weights: &TensorSlice<f32>,
    context_lens: &TensorSlice<i32>,
    kv_indices: &TensorSlice<i32>,
    max_model_len: usize,
    options: &MqaLogitsOptions,
) -> Result<Tensor<f32>> {
    let sequences = Sequences::Paged { lengths: context_lens, table: kv_indices };
    let (op, per_head) = ("paged_mqa_logits_stage1", true);
    PagedLogits { op, q, kv_cache, weights, sequences, max_model_len, per_head, options }.launch()
}

/// As [`paged_mqa_logits_stage1`], into `logits`, as [`paged_mqa_logits_into`].
///
/// # Errors
/// As [`paged_mqa_logits_into`].
pub fn paged_mqa_logits_stage1_into<F: Fp8>(
    q: &TensorSlice<F>,
    kv_cache: &TensorSlice<u8>,
    weights: &TensorSlice<f32>,
    context_lens: &TensorSlice<i32>,
    kv_indices: &TensorSlice<i32>,
    options: &MqaLogitsOptions,
    logits: &mut TensorSlice<f32>,
) -> Result<()> {
    let sequences = Sequences::Paged { lengths: context_lens, table: kv_indices };
    let (op, per_head, max_model_len) = ("paged_mqa_logits_stage1", true, logits.row_len());
    PagedLogits { op, q, kv_cache, weights, sequences, max_model_len, per_head, options }
        .launch_into(logits)
}
