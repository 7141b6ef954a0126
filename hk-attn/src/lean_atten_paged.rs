//! Attention to paged caches whose work is shared evenly among as many programs as there are to be; as
//! [`lean_atten`](crate::lean_atten), with the keys of sequences in pages. If it is causal, the last query
//! is at the position of the last key.
//!
//! | | |
//! |---|---|
//! | Shapes | q `[b, sq, hq, d]`, caches `[blocks, bs, hk, d]`, page_table `[b, p]`, kv_lens `[b]` -> out `[b, sq, hq, d]`, lse `[b, hq, sq]`; or, by heads, q `[h, b sq, d]`, k and v `[h, n, d]`, kv_block_tables `[h, p]`, the ends of sequences among the blocks of the tables, `[b]` -> out `[h, b sq, d]`; d from 1 to 256, hq a multiple of hk; any strides of all but the innermost dimension |
//! | Dtypes | q and caches bf16, f16; tables i32, i64; lse f32 |
//! | Numerics | as [`mha`](crate::mha); the same number of programs gives the same bits, in both modes |
//! | Hardware | cdna3, cdna4 |
//! | Source | Sanovar et al., "Lean Attention: Hardware-Aware Scalable Attention Mechanism for the Decode-Phase of Transformers" (2024) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_attn::{Device, LeanOptions, Tensor, bf16, lean_attn_paged_fwd};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let of = |values: &[f32], shape: &[usize]| -> hk_attn::Result<Tensor<bf16>> {
//!     let values: Vec<_> = values.iter().map(|value| bf16::from_f32(*value)).collect();
//!     Tensor::from_slice(&stream, &values, shape)
//! };
//! // A query, and three keys in pages of two slots: page 1, then page 0.
//! let q = of(&[0.0], &[1, 1, 1, 1])?;
//! let k = of(&[1.0; 4], &[2, 2, 1, 1])?;
//! let v = of(&[6.0, 9.0, 1.0, 2.0], &[2, 2, 1, 1])?;
//! let page_table = Tensor::from_slice(&stream, &[1i32, 0], &[1, 2])?;
//! let kv_lens = Tensor::from_slice(&stream, &[3i32], &[1])?;
//! let out = lean_attn_paged_fwd(&q, &k, &v, &page_table, &kv_lens, &LeanOptions::default())?;
//! assert_eq!(out.out.to_vec()?, [bf16::from_f32(3.0)]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::op::indices::Indices;
use hk_core::{Result, Tensor, TensorSlice};

use crate::attention::{KeyRows, KeySource, Lean, LeanOptions, Pages, Problem, Shares};
use crate::cache::CacheLayout;
use crate::lean_atten::{LeanAttn, LeanAttnOut, LeanElement};

/// Attention to caches whose pages all heads share.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other or to what there may be, [`Error::Stride`] if
/// elements of a row are not adjacent, [`Error::Value`] if hq is no multiple of hk, an option is not what
/// it may be, a length or a page that a length needs is wrong, or more programs are to wait for each other
/// than are resident at once.
pub fn lean_attn_paged_fwd<'a, T: LeanElement>(
    q: &TensorSlice<T>,
    k_cache: &TensorSlice<T>,
    v_cache: &TensorSlice<T>,
    page_table: impl Into<Indices<'a>>,
    kv_lens: impl Into<Indices<'a>>,
    options: &LeanOptions,
) -> Result<LeanAttn<T>> {
    let [b, sq, hq] = match q.shape() {
        [b, sq, hq, _] => [*b, *sq, *hq],
        _ => [0; 3],
    };
    let mut out = Tensor::empty(q.stream(), q.shape())?;
    let mut lse = Tensor::empty(q.stream(), &[b, hq, sq])?;
    let into = LeanAttnOut { out: &mut *out, lse: Some(&mut *lse) };
    lean_attn_paged_fwd_into(q, k_cache, v_cache, page_table, kv_lens, options, into)?;
    Ok(LeanAttn { out, lse })
}

/// As [`lean_attn_paged_fwd`], into given tensors.
///
/// # Errors
/// As [`lean_attn_paged_fwd`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`LeanAttnOut`] says, and [`Error::Alias`] if one overlaps another argument.
pub fn lean_attn_paged_fwd_into<'a, T: LeanElement>(
    q: &TensorSlice<T>,
    k_cache: &TensorSlice<T>,
    v_cache: &TensorSlice<T>,
    page_table: impl Into<Indices<'a>>,
    kv_lens: impl Into<Indices<'a>>,
    options: &LeanOptions,
    out: LeanAttnOut<'_, T>,
) -> Result<()> {
    let (page_table, kv_lens) = (page_table.into(), kv_lens.into());
    let mut problem = Problem::new("lean_attn_paged_fwd", options.of_problem());
    let declared = problem.arguments.input("q", q, &["b", "sq", "hq", "d"]);
    let [sequence, row, head, _] = declared.adjacent()?;
    let caches = ["k_cache", "v_cache"];
    let rows = problem.caches(CacheLayout::Nhd, caches, k_cache, v_cache)?;
    let [b, sq, d] = problem.arguments.sizes(["b", "sq", "d"])?;
    problem.arguments.limit("dv", d..=d)?;
    problem.queries(q, [sequence, row, head]);
    let pages = Pages {
        table_name: "page_table",
        table: page_table,
        lengths_name: "kv_lens",
        lengths: Some(kv_lens),
        sequences: "b",
        most: usize::MAX,
        appended: 0,
    };
    problem.paged(rows, pages)?;
    (problem.args.sequences, problem.args.q_length) = (b as u32, sq as u32);
    problem.limit(["b", "sq"])?;
    problem.output(out.out, &["b", "sq", "hq", "d"])?;
    problem.lse(out.lse, &["b", "hq", "sq"])?;
    problem.declare_options()?;
    let mut lean = Lean::new(*options, problem);
    lean.starts_are_sums = false;
    lean.launch(Shares([1, 0]))
}

/// Attention to caches of which each head has pages of its own: of `block_n` rows, in the order of its row
/// of the table; those of sequences follow each other there.
///
/// # Errors
/// As [`lean_attn_paged_fwd`]; [`Error::Value`] also if the ends of sequences are wrong, the slots of a
/// page are not within 2 GiB, or there is a mask.
pub fn lean_attn_paged_by_heads_fwd<'a, T: LeanElement>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    kv_block_tables: impl Into<Indices<'a>>,
    batch_num_block_n: impl Into<Indices<'a>>,
    block_n: usize,
    options: &LeanOptions,
) -> Result<Tensor<T>> {
    let mut out = Tensor::empty(q.stream(), q.shape())?;
    lean_attn_paged_by_heads_fwd_into(
        q,
        k,
        v,
        kv_block_tables,
        batch_num_block_n,
        block_n,
        options,
        &mut *out,
    )?;
    Ok(out)
}

/// As [`lean_attn_paged_by_heads_fwd`], into a given tensor.
///
/// # Errors
/// As [`lean_attn_paged_by_heads_fwd`]; [`Error::Shape`] or [`Error::Stride`] also if the output has not
/// the shape of the queries, and [`Error::Alias`] if it overlaps another argument.
#[expect(clippy::too_many_arguments, reason = "all are the op's")]
pub fn lean_attn_paged_by_heads_fwd_into<'a, T: LeanElement>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    kv_block_tables: impl Into<Indices<'a>>,
    batch_num_block_n: impl Into<Indices<'a>>,
    block_n: usize,
    options: &LeanOptions,
    out: &mut TensorSlice<T>,
) -> Result<()> {
    let (tables, ends) = (kv_block_tables.into(), batch_num_block_n.into());
    let all = options.without_mask();
    let mut problem = Problem::new("lean_attn_paged_by_heads_fwd", all.of_problem());
    let arguments = &mut problem.arguments;
    let [head, row, _] = arguments.input("q", q, &["hq", "rows", "d"]).adjacent()?;
    let [k_head, k_row, _] = arguments.input("k", k, &["hq", "n", "d"]).adjacent()?;
    let [v_head, v_row, _] = arguments.input("v", v, &["hq", "n", "d"]).adjacent()?;
    let pages = tables.declare(arguments, "kv_block_tables", &["hq", "p"])?;
    let of_sequences = ends.declare(arguments, "batch_num_block_n", &["b"])?;
    let [h, rows, n, d, p, b] = arguments.sizes(["hq", "rows", "n", "d", "p", "b"])?;
    arguments.define("hk", h);
    arguments.define("dv", d);
    problem.heads()?;
    let per_sequence = rows.checked_div(b).unwrap_or_default();
    let whole = per_sequence * b;
    problem.arguments.define("b*sq", whole);
    problem.arguments.limit("rows", whole..=whole)?;
    problem.queries(q, [per_sequence as i64 * row, row, head]);
    let size = block_n.clamp(1, 1 << 30);
    let [keys, values] = [(k, k_row, k_head), (v, v_row, v_head)].map(|(rows, row, head)| {
        let rows = problem.rows(rows, [0, row * size as i64, head], d);
        KeyRows { slot: (row * size_of::<T>() as i64) as u32, ..rows }
    });
    let blocks = n / size;
    // Without blocks there are no keys, whatever the tables say.
    let length = if blocks == 0 { 0 } else { p.saturating_mul(size).min(i32::MAX as usize / 2) };
    problem.args.source[0] = KeySource {
        keys,
        values,
        pages,
        pages_of_head: p as i64,
        length: length as u32,
        count: blocks as u32,
        ..KeySource::NONE
    }
    .of_pages(size);
    (problem.args.sequences, problem.args.q_length) = (b as u32, per_sequence as u32);
    problem.most_keys = p.saturating_mul(size);
    problem.limit(["rows", "n", "b"])?;
    let [head, row, _] = problem.arguments.output("out", out, &["hq", "b*sq", "d"]).adjacent()?;
    problem.results(out, [per_sequence as i64 * row, row, head]);
    problem.declare_options()?;
    let arguments = &problem.arguments;
    let is_size = block_n > 0 && block_n <= 1 << 30 && (blocks > 0 || n == 0);
    arguments.require(is_size, "block_n", format!("from 1 to n, {n}"), block_n)?;
    // Offsets within a page have 32 bits.
    for (name, row) in [("k", k_row), ("v", v_row)] {
        let bytes = (size.min(n) as i64 - 1).saturating_mul(row * size_of::<T>() as i64);
        let is_small = bytes <= i64::from(i32::MAX);
        arguments.require(is_small, name, "slots of a page within 2 GiB", bytes)?;
    }
    arguments.require(!options.is_causal(), "causal", "false", true)?;
    problem.check(move |call| {
        let ends = ends.to_vec()?;
        let constraint = format!("from the one before to {p}");
        call.require_each("batch_num_block_n", &ends, &constraint, |at, end| {
            let before = if at == 0 { 0 } else { ends[at - 1] };
            (before..=p as i64).contains(&end)
        })?;
        let used = ends.last().copied().unwrap_or_default() as usize;
        let constraint = format!("a page below {blocks}, as far as there are keys");
        call.require_each("kv_block_tables", &tables.to_vec()?, &constraint, |at, page| {
            at % p >= used || (0..blocks as i64).contains(&page)
        })
    });
    let mut lean = Lean::new(all, problem);
    (lean.starts_are_sums, lean.ends) = (false, of_sequences);
    lean.launch(Shares([1, 0]))
}
