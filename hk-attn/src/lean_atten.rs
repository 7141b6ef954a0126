//! Attention whose work is shared evenly among as many programs as there are to be, however long the
//! sequences are:
//!
//! ```text
//! o[i] = sum_j exp(scale (q[i] k[j]) - lse[i]) v[j],    lse[i] = ln(sum_j exp(scale (q[i] k[j])))
//! ```
//!
//! over all keys of the sequence, or, if it is causal, those with j <= i. Head h of hq has the keys of head
//! `floor(h / (hq / hk))`. The keys of sequences follow each other.
//!
//! | | |
//! |---|---|
//! | Shapes | q `[b sq, hq, d]`, k and v `[n, hk, d]`, kv_lens `[b]` -> out `[b sq, hq, d]`, lse `[b, hq, sq]`; d from 1 to 256, hq a multiple of hk, the lengths together n at most; any strides of all but the innermost dimension |
//! | Dtypes | q, k and v bf16, f16; kv_lens i32, i64; lse f32 |
//! | Numerics | as [`mha`](crate::mha); the same number of programs gives the same bits, in both modes |
//! | Hardware | cdna3, cdna4 |
//! | Source | Sanovar et al., "Lean Attention: Hardware-Aware Scalable Attention Mechanism for the Decode-Phase of Transformers" (2024) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_attn::{Device, LeanOptions, Tensor, bf16, lean_attn_fwd};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let of = |values: &[f32]| -> hk_attn::Result<Tensor<bf16>> {
//!     let values: Vec<_> = values.iter().map(|value| bf16::from_f32(*value)).collect();
//!     Tensor::from_slice(&stream, &values, &[values.len(), 1, 1])
//! };
//! // Two sequences of a query each, of which the second has two keys.
//! let (q, k, v) = (of(&[0.0, 0.0])?, of(&[1.0, 1.0, 2.0])?, of(&[3.0, 1.0, 2.0])?);
//! let kv_lens = Tensor::from_slice(&stream, &[1i32, 2], &[2])?;
//! let out = lean_attn_fwd(&q, &k, &v, &kv_lens, &LeanOptions::default())?;
//! assert_eq!(out.out.to_vec()?, [3.0, 1.5].map(bf16::from_f32));
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::op::indices::{IndexList, Indices};
use hk_core::{Result, Tensor, TensorSlice};

use crate::attention::{AttentionElement, KeySource, Lean, LeanOptions, Problem, Shares};

/// What [`lean_attn_fwd`] returns.
#[derive(Debug)]
pub struct LeanAttn<T: AttentionElement> {
    /// The results.
    pub out: Tensor<T>,
    /// Logarithms of the sums of exponentials of scores.
    pub lse: Tensor<f32>,
}

/// Where [`lean_attn_fwd_into`] stores.
#[derive(Debug)]
pub struct LeanAttnOut<'a, T: AttentionElement> {
    /// The results.
    pub out: &'a mut TensorSlice<T>,
    /// Logarithms of the sums of exponentials of scores, if they are wanted.
    pub lse: Option<&'a mut TensorSlice<f32>>,
}

/// Element types of attention that is shared evenly: bf16 and f16.
pub trait LeanElement: AttentionElement<Output = Self> + crate::AttentionOutput {}
impl LeanElement for hk_core::dtype::bf16 {}
impl LeanElement for hk_core::dtype::f16 {}

/// Attention that is shared evenly.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other or to what there may be, [`Error::Stride`] if elements of a
/// row are not adjacent, [`Error::Value`] if hq is no multiple of hk, an option is not what it may be, there is no
/// tile of such blocks, a length is wrong, or more programs are to wait for each other than are resident at once.
pub fn lean_attn_fwd<'a, T: LeanElement>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    kv_lens: impl Into<Indices<'a>>,
    options: &LeanOptions,
) -> Result<LeanAttn<T>> {
    let kv_lens = kv_lens.into();
    let (b, rows) = (kv_lens.len(), q.shape().first().copied().unwrap_or_default());
    let hq = q.shape().get(1).copied().unwrap_or_default();
    let mut out = Tensor::empty(q.stream(), q.shape())?;
    let mut lse = Tensor::empty(q.stream(), &[b, hq, rows.checked_div(b).unwrap_or_default()])?;
    let into = LeanAttnOut { out: &mut *out, lse: Some(&mut *lse) };
    lean_attn_fwd_into(q, k, v, kv_lens, options, into)?;
    Ok(LeanAttn { out, lse })
}

/// As [`lean_attn_fwd`], into given tensors.
///
/// # Errors
/// As [`lean_attn_fwd`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`LeanAttnOut`] says, and [`Error::Alias`] if one overlaps another argument.
pub fn lean_attn_fwd_into<'a, T: LeanElement>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    kv_lens: impl Into<Indices<'a>>,
    options: &LeanOptions,
    out: LeanAttnOut<'_, T>,
) -> Result<()> {
    let mut problem = Problem::new("lean_attn_fwd", options.of_problem());
    sequences(&mut problem, FIRST, q, k, v, kv_lens.into())?;
    results(&mut problem, FIRST, out.out)?;
    problem.lse(out.lse, &["b", "hq", "sq"])?;
    problem.declare_options()?;
    problem.args.top_left = 1;
    Lean::new(*options, problem).launch(Shares([1, 0]))
}

/// Names of the arguments and sizes of a problem.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names {
    q: (&'static str, &'static [&'static str]),
    k: (&'static str, &'static [&'static str]),
    v: (&'static str, &'static [&'static str]),
    lengths: (&'static str, &'static [&'static str]),
    out: (&'static str, &'static [&'static str]),
    sizes: [&'static str; 3],
    rows_of_sequence: &'static str,
}

pub(crate) const FIRST: Names = Names {
    q: ("q", &["rows", "hq", "d"]),
    k: ("k", &["n", "hk", "d"]),
    v: ("v", &["n", "hk", "d"]),
    lengths: ("kv_lens", &["b"]),
    out: ("out", &["b*sq", "hq", "d"]),
    sizes: ["rows", "n", "b"],
    rows_of_sequence: "sq",
};

pub(crate) const SECOND: Names = Names {
    q: ("q_pf", &["rows_pf", "hq", "d"]),
    k: ("k_pf", &["n_pf", "hk", "d"]),
    v: ("v_pf", &["n_pf", "hk", "d"]),
    lengths: ("kv_lens_pf", &["b_pf"]),
    out: ("out_pf", &["b_pf*sq_pf", "hq", "d"]),
    sizes: ["rows_pf", "n_pf", "b_pf"],
    rows_of_sequence: "sq_pf",
};

/// Declares sequences with equally many queries, and keys that follow each other.
pub(crate) fn sequences<'a, T: LeanElement>(
    problem: &mut Problem<'a>,
    names: Names,
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    kv_lens: Indices<'a>,
) -> Result<()> {
    let arguments = &mut problem.arguments;
    let [q_row, q_head, _] = arguments.input(names.q.0, q, names.q.1).adjacent()?;
    let [k_row, k_head, _] = arguments.input(names.k.0, k, names.k.1).adjacent()?;
    let [v_row, v_head, _] = arguments.input(names.v.0, v, names.v.1).adjacent()?;
    let lengths: IndexList = kv_lens.declare(arguments, names.lengths.0, names.lengths.1)?;
    let [rows, n, b] = arguments.sizes(names.sizes)?;
    let [d] = arguments.sizes(["d"])?;
    arguments.define("dv", d);
    let per_sequence = rows.checked_div(b).unwrap_or_default();
    arguments.define(names.rows_of_sequence, per_sequence);
    let whole = per_sequence * b;
    arguments.define(names.out.1[0], whole);
    // As many queries for each sequence.
    arguments.limit(names.sizes[0], whole..=whole)?;
    problem.heads()?;
    problem.queries(q, [per_sequence as i64 * q_row, q_row, q_head]);
    let keys = problem.rows(k, [0, k_row, k_head], d);
    let values = problem.rows(v, [0, v_row, v_head], d);
    let (length, count) = (n as u32, n as u32);
    problem.args.source[0] = KeySource { keys, values, lengths, length, count, ..KeySource::NONE };
    (problem.args.sequences, problem.args.q_length) = (b as u32, per_sequence as u32);
    problem.most_keys = n;
    problem.limit([names.sizes[0], names.sizes[1]])?;
    let lengths_name = names.lengths.0;
    problem.check(move |call| {
        let lengths = kv_lens.to_vec()?;
        call.require_each(lengths_name, &lengths, "not negative", |_, length| length >= 0)?;
        let mut left = n as i64;
        let constraint = format!("lengths of at most {n} together");
        call.require_each(lengths_name, &lengths, &constraint, |_, length| {
            left -= length;
            left >= 0
        })
    });
    Ok(())
}

/// Declares the results of such sequences.
pub(crate) fn results<T: LeanElement>(
    problem: &mut Problem<'_>,
    names: Names,
    out: &mut TensorSlice<T>,
) -> Result<()> {
    let [row, head, _] = problem.arguments.output(names.out.0, out, names.out.1).adjacent()?;
    let per_sequence = i64::from(problem.args.q_length);
    problem.results(out, [per_sequence * row, row, head]);
    Ok(())
}
