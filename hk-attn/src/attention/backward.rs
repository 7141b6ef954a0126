//! How ops declare the gradients of an attention, and how they are launched.

use hk_core::dtype::Real16;
use hk_core::op::Argument;
use hk_core::op::indices::Indices;
use hk_core::{AnyPtr, DevicePtr, Error, Result, Tensor, TensorSlice, TileFunction, kernel_args};

use super::launch::{MOST_GROUPS, kernel_variant};
use super::{
    AttentionArgs, AttentionElement, AttentionOptions, AttentionOutput, KeyRows, KeySource,
};
use super::{Lengths, Problem};
use crate::KERNELS;
use crate::mha::VarlenOptions;

kernel_args! {
    /// Arguments of the kernels, as `hk/attention_backward.h` declares them.
    pub(crate) struct BackwardArgs {
        pub(super) attention: AttentionArgs,
        pub(super) queries: KeySource,
        pub(super) results: KeyRows,
        pub(super) dk: AnyPtr,
        pub(super) dk_sequence: i64,
        pub(super) dk_row: i64,
        pub(super) dk_head: i64,
        pub(super) dv: AnyPtr,
        pub(super) dv_sequence: i64,
        pub(super) dv_row: i64,
        pub(super) dv_head: i64,
        pub(super) delta: DevicePtr<f32>,
        pub(super) delta_sequence: i64,
        pub(super) delta_row: i64,
        pub(super) delta_head: i64,
        pub(super) sink_gradients: DevicePtr<f32>,
        pub(super) dq_sums: DevicePtr<f32>,
        pub(super) key_tiles: u32,
        pub(super) query_tiles: u32,
        pub(super) sums_row: u32,
        pub(super) reserved: u32,
    }
}

impl BackwardArgs {
    pub(super) const NONE: Self = Self {
        attention: AttentionArgs::NONE,
        queries: KeySource::NONE,
        results: KeyRows::NONE,
        dk: AnyPtr::NULL,
        dk_sequence: 0,
        dk_row: 0,
        dk_head: 0,
        dv: AnyPtr::NULL,
        dv_sequence: 0,
        dv_row: 0,
        dv_head: 0,
        delta: DevicePtr::NULL,
        delta_sequence: 0,
        delta_row: 0,
        delta_head: 0,
        sink_gradients: DevicePtr::NULL,
        dq_sums: DevicePtr::NULL,
        key_tiles: 0,
        query_tiles: 0,
        sums_row: 0,
        reserved: 0,
    };
}

/// How gradients of queries are added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BackwardMode {
    /// In registers, of weights that are computed a second time: always the same bits.
    #[default]
    Deterministic,
    /// In f32 in memory, with atomics, of weights that are computed once: in another order each time.
    FusedAtomic,
}

/// What an attention was given, and what came of it.
#[derive(Debug, Clone, Copy)]
pub struct AttnForward<'a, T: BackwardElement> {
    /// Queries.
    pub q: &'a TensorSlice<T>,
    /// Keys.
    pub k: &'a TensorSlice<T>,
    /// Values.
    pub v: &'a TensorSlice<T>,
    /// The results.
    pub out: &'a TensorSlice<T>,
    /// Logarithms of the sums of exponentials of scores.
    pub lse: &'a TensorSlice<f32>,
}

/// Gradients of an attention.
#[derive(Debug)]
pub struct AttnGradients<T: BackwardElement> {
    /// By queries.
    pub dq: Tensor<T>,
    /// By keys.
    pub dk: Tensor<T>,
    /// By values.
    pub dv: Tensor<T>,
    /// Products of results with their gradients, as logarithms of sums lie.
    pub delta: Tensor<f32>,
    /// By sinks, `[hq]`, if there are any.
    pub dsink: Option<Tensor<f32>>,
}

/// Where gradients of an attention are stored.
#[derive(Debug)]
pub struct AttnGradientsOut<'a, T: BackwardElement> {
    /// By queries.
    pub dq: &'a mut TensorSlice<T>,
    /// By keys.
    pub dk: &'a mut TensorSlice<T>,
    /// By values.
    pub dv: &'a mut TensorSlice<T>,
    /// Products of results with their gradients, as logarithms of sums lie.
    pub delta: &'a mut TensorSlice<f32>,
    /// By sinks, `[hq]`, if and only if there are any.
    pub dsink: Option<&'a mut TensorSlice<f32>>,
}

/// Element types of which there are gradients: bf16 and f16.
pub trait BackwardElement: AttentionElement + AttentionOutput + Real16 {}

impl<T: AttentionElement + AttentionOutput + Real16> BackwardElement for T {}

/// What the forward pass was, and what is done besides.
#[derive(Debug, Clone, Copy, Default)]
pub struct BackwardOptions<'a> {
    attention: AttentionOptions<'a>,
    seqused_q: Option<Indices<'a>>,
    seqused_k: Option<Indices<'a>>,
    zero_tensors: bool,
    mode: Option<BackwardMode>,
}

impl<'a> BackwardOptions<'a> {
    /// How gradients of queries are added up, if the op does not say: deterministically if not given.
    #[must_use]
    pub fn mode(self, mode: BackwardMode) -> Self {
        Self { mode: Some(mode), ..self }
    }

    /// The options of the forward pass: those without bias, scales of 8-bit elements and of results, and
    /// without shares of keys.
    #[must_use]
    pub fn attention(self, options: AttentionOptions<'a>) -> Self {
        Self { attention: options, ..self }
    }

    /// How many rows of queries, and of keys, of each sequence count, `[b]`.
    #[must_use]
    pub fn seqused(self, of_q: Option<Indices<'a>>, of_k: Option<Indices<'a>>) -> Self {
        Self { seqused_q: of_q, seqused_k: of_k, ..self }
    }

    /// Whether rows of gradients that belong to no sequence become 0, rather than staying what they are.
    #[must_use]
    pub fn zero_tensors(self, zeros: bool) -> Self {
        Self { zero_tensors: zeros, ..self }
    }
}

/// An op whose results are gradients.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Backward {
    pub(crate) op: &'static str,
    /// Dimensions of logarithms of sums, of sequences that follow each other.
    pub(crate) packed_lse: &'static [&'static str],
    /// How gradients of queries are added up, if it is not to be chosen.
    pub(crate) mode: Option<BackwardMode>,
}

impl Backward {
    /// Gradients, in new tensors.
    pub(crate) fn gradients<'a, T: BackwardElement>(
        self,
        dout: &TensorSlice<T>,
        forward: &AttnForward<'_, T>,
        varlen: Option<&VarlenOptions<'a>>,
        options: &BackwardOptions<'a>,
    ) -> Result<AttnGradients<T>> {
        let AttnForward { q, k, v, lse, .. } = *forward;
        let stream = q.stream();
        let like = |x: &TensorSlice<T>| Tensor::<T>::zeros(stream, x.shape());
        let (mut dq, mut dk, mut dv) = (like(q)?, like(k)?, like(v)?);
        let mut delta = Tensor::zeros(stream, lse.shape())?;
        let heads = match q.shape() {
            [_, _, heads, _] | [_, heads, _] => *heads,
            _ => 0,
        };
        let has_sink = options.attention.sink.is_some();
        let mut dsink = has_sink.then(|| Tensor::zeros(stream, &[heads])).transpose()?;
        let out = AttnGradientsOut {
            dq: &mut dq,
            dk: &mut dk,
            dv: &mut dv,
            delta: &mut delta,
            dsink: dsink.as_deref_mut(),
        };
        self.launch(dout, forward, varlen, options, out)?;
        Ok(AttnGradients { dq, dk, dv, delta, dsink })
    }

    /// Declares everything, and launches it.
    pub(crate) fn launch<'a, T: BackwardElement>(
        self,
        dout: &TensorSlice<T>,
        forward: &AttnForward<'_, T>,
        varlen: Option<&VarlenOptions<'a>>,
        options: &BackwardOptions<'a>,
        out: AttnGradientsOut<'_, T>,
    ) -> Result<()> {
        let AttnForward { q, k, v, out: results, lse } = *forward;
        let mut problem = Problem::new(self.op, options.attention);
        match varlen {
            None => problem.dense(q, k, v, false)?,
            Some(varlen) => {
                let VarlenOptions { cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k } =
                    *varlen;
                let of_q = Lengths { bounds: cu_seqlens_q, most: max_seqlen_q };
                let of_k = Lengths { bounds: cu_seqlens_k, most: max_seqlen_k };
                problem.packed(q, k, v, of_q, of_k)?;
            }
        }
        problem.used(options.seqused_q, options.seqused_k)?;
        problem.require_narrow_values()?;
        problem.refuse_bias()?;
        problem.refuse_codes()?;
        problem.declare_options()?;
        let mode = options.mode.or(self.mode).unwrap_or_default();
        let fits = self.mode.is_none_or(|only| only == mode);
        let wanted = format!("{:?}", self.mode.unwrap_or(mode));
        problem.arguments.require(fits, "mode", wanted, format!("{mode:?}"))?;
        let is_packed = varlen.is_some();
        let [d, dv] = problem.arguments.sizes(["d", "dv"])?;
        let [q_rows] = problem.arguments.sizes([if is_packed { "tq" } else { "sq" }])?;
        let dims = Dims::of(is_packed);
        let arguments = &mut problem.arguments;
        let of_dout = strides(is_packed, arguments.input("dout", dout, dims.results))?;
        let of_out = strides(is_packed, arguments.input("out", results, dims.results))?;
        let lse_dims = if is_packed { self.packed_lse } else { &["b", "hq", "sq"] };
        let of_lse = numbers(lse_dims, arguments.input("lse", lse, lse_dims))?;
        let of_dq = strides(is_packed, arguments.output("dq", out.dq, dims.queries))?;
        let of_dk = strides(is_packed, arguments.output("dk", out.dk, dims.keys))?;
        let of_dv = strides(is_packed, arguments.output("dv", out.dv, dims.values))?;
        let of_delta = numbers(lse_dims, arguments.output("delta", out.delta, lse_dims))?;
        let has_sink = options.attention.sink.is_some();
        let (wanted, given) = if has_sink { ("some", "none") } else { ("none", "some") };
        arguments.require(out.dsink.is_some() == has_sink, "dsink", wanted, given)?;
        let mut sink_gradients = DevicePtr::NULL;
        if let Some(dsink) = out.dsink {
            arguments.output("dsink", dsink, &["hq"]).contiguous()?;
            sink_gradients = dsink.ptr_mut();
        }
        let (gradients, results) =
            (problem.rows(dout, of_dout, dv), problem.rows(results, of_out, dv));
        let AttentionArgs { q: base, q_sequence, q_row, q_head, q_type, .. } = problem.args;
        let queries = KeyRows {
            base,
            sequence: q_sequence,
            head: q_head,
            page: q_row,
            r#type: q_type,
            whole: problem.args.source[0].keys.whole,
            width: d as u32,
            ..gradients
        };
        let (length, count) = (q_rows as u32, q_rows as u32);
        let args = &mut problem.args;
        (args.lse, args.o, args.o_type) = (
            DevicePtr::new(lse.ptr().address()),
            out.dq.ptr_mut().any(),
            <T as AttentionOutput>::CODE,
        );
        [args.lse_sequence, args.lse_row, args.lse_head] = of_lse;
        [args.o_sequence, args.o_row, args.o_head] = of_dq;
        let backward = BackwardArgs {
            attention: problem.args,
            queries: KeySource {
                keys: queries,
                values: gradients,
                length,
                count,
                ..KeySource::NONE
            },
            results,
            dk: out.dk.ptr_mut().any(),
            dk_sequence: of_dk[0],
            dk_row: of_dk[1],
            dk_head: of_dk[2],
            dv: out.dv.ptr_mut().any(),
            dv_sequence: of_dv[0],
            dv_row: of_dv[1],
            dv_head: of_dv[2],
            delta: out.delta.ptr_mut(),
            delta_sequence: of_delta[0],
            delta_row: of_delta[1],
            delta_head: of_delta[2],
            sink_gradients,
            ..BackwardArgs::NONE
        };
        let zeros = options.zero_tensors.then_some([out.dq, out.dk, out.dv]);
        backward.submit(problem, mode, q_rows, zeros)
    }
}

/// Dimensions of tensors.
struct Dims {
    queries: &'static [&'static str],
    keys: &'static [&'static str],
    values: &'static [&'static str],
    results: &'static [&'static str],
}

impl Dims {
    const fn of(is_packed: bool) -> Self {
        if is_packed {
            Self {
                queries: &["tq", "hq", "d"],
                keys: &["tk", "hk", "d"],
                values: &["tk", "hk", "dv"],
                results: &["tq", "hq", "dv"],
            }
        } else {
            Self {
                queries: &["b", "sq", "hq", "d"],
                keys: &["b", "sk", "hk", "d"],
                values: &["b", "sk", "hk", "dv"],
                results: &["b", "sq", "hq", "dv"],
            }
        }
    }
}

/// Distances between sequences, rows and heads.
fn strides(is_packed: bool, of: Argument<'_>) -> Result<[i64; 3]> {
    if is_packed {
        let [row, head, _] = of.adjacent()?;
        return Ok([0, row, head]);
    }
    let [sequence, row, head, _] = of.adjacent()?;
    Ok([sequence, row, head])
}

/// Those of one number for each row and head.
fn numbers(dims: &[&str], of: Argument<'_>) -> Result<[i64; 3]> {
    match dims {
        [_, _, _] => of.strides().map(|[sequence, head, row]| [sequence, row, head]),
        ["hq", _] => of.strides().map(|[head, row]| [0, row, head]),
        _ => of.strides().map(|[row, head]| [0, row, head]),
    }
}

/// Rows of results of a workgroup of the kernel of products with gradients.
pub(super) const DELTA_ROWS: u64 = 16;

impl BackwardArgs {
    /// Checks the problem, whose arguments these have, chooses the kernels and launches them.
    fn submit<T: BackwardElement>(
        mut self,
        problem: Problem<'_>,
        mode: BackwardMode,
        q_rows: usize,
        zeros: Option<[&mut TensorSlice<T>; 3]>,
    ) -> Result<()> {
        Problem::require_groups(&problem.arguments)?;
        let mut call = problem.arguments.check()?;
        let AttentionArgs { sequences, q_length, kv_heads, group, width, value_width, .. } =
            self.attention;
        let heads = u64::from(sequences) * u64::from(kv_heads);
        let q_heads = u64::from(kv_heads) * u64::from(group);
        let has_sink = self.sink_gradients != DevicePtr::NULL;
        // Gradients of sinks are zeros without sequences, and stored.
        if heads == 0 && !has_sink {
            return Ok(());
        }
        if call.validates_indices(problem.options.validate_indices)? {
            problem.checks.into_iter().try_for_each(|check| check(&call))?;
        }
        self.attention.has_steps = u32::from(self.attention.steps.is_any());
        let is_fused = mode == BackwardMode::FusedAtomic;
        let variant = kernel_variant(problem.dtype, true, &self.attention);
        let size = [("width", u64::from(width.max(value_width)))];
        let core = if is_fused { "attention_backward_fused" } else { "attention_backward" };
        let function =
            |core, variant, size: &[(&'static str, u64)]| -> Result<TileFunction<Self>> {
                KERNELS.function(call.device(), call.op(), core, variant, size)
            };
        let kernel = function(core, &variant, &size)?;
        let delta = function("attention_delta", "delta", &[])?;
        let sink = function("attention_delta", "sink", &[])?;
        let convert = function("attention_delta", "convert", &[])?;
        let fragments = kernel.tile().int("FRAGMENTS").unwrap_or(1) as u64;
        let of_block = fragments * 16 * u64::from(kernel.tile().threads / WAVE);
        let rows = u64::from(q_length) * u64::from(group);
        let key_tiles = (problem.most_keys as u64).div_ceil(of_block);
        let query_tiles = if is_fused { 0 } else { rows.div_ceil(of_block) };
        let groups = heads.saturating_mul(key_tiles + query_tiles);
        // Of all heads: packed rows are as many as there are, however long a sequence may be.
        let is_packed = self.attention.q_starts_are_bounds != 0;
        let ranges = u64::from(if is_packed { sequences.min(1) } else { sequences });
        let all_rows = ranges.saturating_mul(q_rows as u64).saturating_mul(q_heads);
        let products = all_rows.div_ceil(DELTA_ROWS);
        let sinks = if has_sink { q_heads } else { 0 };
        if groups.max(products).max(sinks) >= MOST_GROUPS {
            let rows = heads.saturating_mul(rows);
            return Err(Error::value(call.op(), "q", "fewer rows", rows));
        }
        (self.key_tiles, self.query_tiles) = (key_tiles as u32, query_tiles as u32);
        if is_fused {
            // Zeros are stored by fours.
            self.sums_row = width.next_multiple_of(4);
            let elements = (all_rows as usize).saturating_mul(self.sums_row as usize);
            let [sums] = call.workspace([elements.saturating_mul(size_of::<f32>())])?;
            self.dq_sums = sums.cast();
        }
        // These are no launches of the call: a dry run does not leave them out by itself.
        for tensor in zeros.filter(|_| !call.is_dry()).into_iter().flatten() {
            tensor.fill(T::from_f64(0.0))?;
        }
        call.submit(|stream| {
            // SAFETY: the kernels stay within the tensors whose shapes and strides were checked,
            // whatever bounds and lengths are.
            unsafe {
                if products > 0 {
                    delta.launch(stream, [products as u32, 1, 1], &self)?;
                }
                if has_sink {
                    sink.launch(stream, [sinks as u32, 1, 1], &self)?;
                }
                if groups > 0 {
                    kernel.launch(stream, [groups as u32, 1, 1], &self)?;
                }
                if is_fused && products > 0 {
                    convert.launch(stream, [products as u32, 1, 1], &self)?;
                }
            }
            Ok(())
        })
    }
}

/// Lanes of a wave.
const WAVE: u32 = 64;
