//! Attention of recommender models, whose weights are independent of each other:
//!
//! ```text
//! o[i] = sum_j silu(alpha (q[i] k[j])) / N v[j],    N = max_seq_len
//! ```
//!
//! over the keys of its sequence that row i sees. With the number of row t of a sequence of L rows
//!
//! ```text
//! c         = max(contextual_seq_len - 1, 0)
//! number(t) = min(max(t - c, 0), L - c - num_targets)
//! ```
//!
//! row i sees itself, and the rows j of which `number(i) - number(j)` is positive (of any sign but not
//! zero, if not causal) and at most `max_attn_len` in size. Rows of the context, of number 0 if there is
//! one, also see all rows but targets. Targets, the last rows, do not see each other.
//!
//! | | |
//! |---|---|
//! | Shapes | q, k `[t, h, d]`, v `[t, h, dv]`, seq_offsets `[bounds]`, one more than sequences, num_targets, sort_by_length_indices `[bounds-1]` -> out `[t, h, dv]`; d and dv from 1 to 256; any strides of rows and heads |
//! | Dtypes | q, k, v, out bf16 or f16; indices i32 or i64 |
//! | Numerics | scores and weights in f32, weights rounded to the type of values before they meet these, those of f16 divided by a power of two near sqrt(N), their sum by the rest of N; a score of -inf has no weight; bitwise deterministic |
//! | Hardware | cdna3, cdna4 |
//! | Source | Zhai et al., "Actions Speak Louder than Words: Trillion-Parameter Sequential Transducers for Generative Recommendations" (2024) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_attn::{Device, HstuOptions, Tensor, bf16, hstu_attn_fwd};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! // Three rows of one sequence, the last of which is a target. Scores are large: silu(x) is x.
//! let q = Tensor::filled(&stream, &[3, 1, 8], bf16::from_f32(4.0))?;
//! let v: Vec<bf16> = (0..24).map(|i| bf16::from_f32([1.0, 2.0, 4.0][i / 8])).collect();
//! let v = Tensor::from_slice(&stream, &v, &[3, 1, 8])?;
//! let offsets = Tensor::from_slice(&stream, &[0, 3], &[2])?;
//! let targets = Tensor::from_slice(&stream, &[1], &[1])?;
//! let options = HstuOptions::default().num_targets(&targets);
//! let out = hstu_attn_fwd(&q, &q, &v, &offsets, 128, 1.0, &options)?.to_vec()?;
//! assert_eq!([out[0], out[8], out[16]].map(f32::from), [1.0, 3.0, 7.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

use hk_core::dtype::DType;
use hk_core::op::indices::{IndexList, Indices};
use hk_core::{Error, Result, Tensor, TensorSlice, TileFunction, kernel_args};

use crate::KERNELS;
use crate::attention::{
    AttentionArgs, AttentionOptions, BackwardElement, KeySource, Lengths, MOST_GROUPS, MOST_WIDTH,
    Problem, variant,
};
use crate::mha::shape;

/// Which rows see each other, and how work is ordered.
#[derive(Debug, Clone, Copy)]
pub struct HstuOptions<'a> {
    causal: bool,
    num_targets: Option<Indices<'a>>,
    max_attn_len: usize,
    contextual_seq_len: usize,
    sort_by_length_indices: Option<Indices<'a>>,
    validate_indices: Option<bool>,
}

impl Default for HstuOptions<'_> {
    fn default() -> Self {
        Self {
            causal: true,
            num_targets: None,
            max_attn_len: 0,
            contextual_seq_len: 0,
            sort_by_length_indices: None,
            validate_indices: None,
        }
    }
}

impl<'a> HstuOptions<'a> {
    /// Whether rows see none behind themselves; true if not given.
    #[must_use]
    pub fn causal(self, causal: bool) -> Self {
        Self { causal, ..self }
    }

    /// How many of the last rows of each sequence are targets.
    #[must_use]
    pub fn num_targets(self, targets: impl Into<Indices<'a>>) -> Self {
        Self { num_targets: Some(targets.into()), ..self }
    }

    /// How far apart rows see each other; at any distance if 0.
    #[must_use]
    pub fn max_attn_len(self, rows: usize) -> Self {
        Self { max_attn_len: rows, ..self }
    }

    /// How many of the first rows of each sequence are its context.
    #[must_use]
    pub fn contextual_seq_len(self, rows: usize) -> Self {
        Self { contextual_seq_len: rows, ..self }
    }

    /// The numbers of all sequences, in the order in which they are to begin: the longest first keep a
    /// chip busy to the end. Results are the same.
    #[must_use]
    pub fn sort_by_length_indices(self, order: impl Into<Indices<'a>>) -> Self {
        Self { sort_by_length_indices: Some(order.into()), ..self }
    }

    /// Whether indices are looked at before the launch, which waits for the stream, to tell which are
    /// wrong. If not given, they are on the simulator and in builds with debug assertions.
    #[must_use]
    pub fn validate_indices(self, validate: bool) -> Self {
        Self { validate_indices: Some(validate), ..self }
    }
}

kernel_args! {
    /// Arguments of the kernel, as `kernels/hstu_attn.hip` declares them.
    pub(crate) struct HstuArgs {
        attention: AttentionArgs,
        targets: IndexList,
        order: IndexList,
        weight_factor: f32,
        length: f32,
        contextual: u32,
        most_distance: u32,
        is_causal: u32,
        reserved: u32,
    }
}

/// Attention of sequences that follow each other.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other or to what there may be, [`Error::Stride`] if
/// elements of a row are not adjacent, and [`Error::Value`] if alpha is not finite, there is a context
/// though not causal, a sequence is longer than `max_seq_len`, or bounds, targets or the order are wrong
/// and [looked at](HstuOptions::validate_indices).
pub fn hstu_attn_fwd<'a, T: BackwardElement>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    seq_offsets: impl Into<Indices<'a>>,
    max_seq_len: usize,
    alpha: f32,
    options: &HstuOptions<'a>,
) -> Result<Tensor<T>> {
    let ([t, h, _], [.., dv]) = (shape(q.shape()), shape::<3>(v.shape()));
    let mut out = Tensor::empty(q.stream(), &[t, h, dv])?;
    hstu_attn_fwd_into(q, k, v, seq_offsets, max_seq_len, alpha, options, &mut out)?;
    Ok(out)
}

/// As [`hstu_attn_fwd`], into `out`.
///
/// # Errors
/// As [`hstu_attn_fwd`]; [`Error::Shape`] or [`Error::Stride`] also if `out` is not as it says, and
/// [`Error::Alias`] if it overlaps another argument.
#[expect(clippy::too_many_arguments, reason = "the tensors, and what the equation has besides")]
pub fn hstu_attn_fwd_into<'a, T: BackwardElement>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    seq_offsets: impl Into<Indices<'a>>,
    max_seq_len: usize,
    alpha: f32,
    options: &HstuOptions<'a>,
    out: &mut TensorSlice<T>,
) -> Result<()> {
    let seq_offsets = seq_offsets.into();
    let mut problem = Problem::new("hstu_attn_fwd", AttentionOptions::default());
    let arguments = &mut problem.arguments;
    let [q_row, q_head, _] = arguments.input("q", q, &["t", "h", "d"]).adjacent()?;
    let [k_row, k_head, _] = arguments.input("k", k, &["t", "h", "d"]).adjacent()?;
    let [v_row, v_head, _] = arguments.input("v", v, &["t", "h", "dv"]).adjacent()?;
    arguments.limit("h", 1..=i32::MAX as usize)?;
    for width in ["d", "dv"] {
        arguments.limit(width, 1..=MOST_WIDTH)?;
    }
    let [t, h, d, dv] = arguments.sizes(["t", "h", "d", "dv"])?;
    let bounds = Lengths { bounds: seq_offsets, most: max_seq_len };
    problem.bounds_of_queries("seq_offsets", "max_seq_len", bounds, "t")?;
    problem.limit(["t"])?;
    problem.queries(q, [0, q_row, q_head]);
    let (keys, values) =
        (problem.rows(k, [0, k_row, k_head], d), problem.rows(v, [0, v_row, v_head], dv));
    let args = &mut problem.args;
    args.source[0] = KeySource {
        keys,
        values,
        length: t as u32,
        count: t as u32,
        starts: args.q_starts,
        starts_are_bounds: 1,
        ..KeySource::NONE
    };
    (args.kv_heads, args.width, args.value_width) = (h as u32, d as u32, dv as u32);
    args.scale = alpha;
    problem.output(out, &["t", "h", "dv"])?;

    let (targets, order) = problem.hstu_lists(options, seq_offsets)?;
    let arguments = &problem.arguments;
    arguments.require(alpha.is_finite(), "alpha", "finite", alpha)?;
    let context = options.contextual_seq_len;
    let is_context = options.causal || context == 0;
    arguments.require(is_context, "contextual_seq_len", "0, unless causal", context)?;
    let few = |rows: usize| rows.min(i32::MAX as usize / 4) as u32;
    // Weights of f16 are divided by about the root of N, and their sum by the rest: the type has no room
    // for weights that are much less, or much more.
    let n = max_seq_len.max(1);
    let part = 0.5f32.powi((n.ilog2() / 2) as i32);
    let is_f16 = problem.dtype == DType::F16;
    let (weight_factor, length) =
        if is_f16 { (part, n as f32 * part) } else { (1.0 / n as f32, 1.0) };
    let args = HstuArgs {
        attention: problem.args,
        targets,
        order,
        weight_factor,
        length,
        contextual: few(context),
        most_distance: few(if options.max_attn_len == 0 {
            usize::MAX
        } else {
            options.max_attn_len
        }),
        is_causal: options.causal.into(),
        reserved: 0,
    };
    args.launch(problem, options.validate_indices)
}

impl<'a> Problem<'a> {
    /// Declares the targets and the order of sequences.
    fn hstu_lists(
        &mut self,
        options: &HstuOptions<'a>,
        seq_offsets: Indices<'a>,
    ) -> Result<(IndexList, IndexList)> {
        let mut declare = |name, list: Option<Indices<'_>>| {
            list.map_or(Ok(IndexList::NONE), |list| {
                list.declare(&mut self.arguments, name, &["bounds-1"])
            })
        };
        let (num_targets, order) = (options.num_targets, options.sort_by_length_indices);
        let lists =
            (declare("num_targets", num_targets)?, declare("sort_by_length_indices", order)?);
        if let Some(targets) = num_targets {
            self.check(move |call| {
                let bounds = seq_offsets.to_vec()?;
                let rows = |at: usize| bounds[at + 1] - bounds[at];
                let constraint = "from 0 to the rows of the sequence";
                call.require_each("num_targets", &targets.to_vec()?, constraint, |at, targets| {
                    (0..=rows(at)).contains(&targets)
                })
            });
        }
        if let Some(order) = order {
            self.check(move |call| {
                let order = order.to_vec()?;
                // As many as sequences, so that none is left out.
                let mut seen = vec![false; order.len()];
                let constraint = "each number of a sequence once";
                call.require_each("sort_by_length_indices", &order, constraint, |_, sequence| {
                    let place = usize::try_from(sequence).ok().and_then(|at| seen.get_mut(at));
                    place.is_some_and(|seen| !std::mem::replace(seen, true))
                })
            });
        }
        Ok(lists)
    }
}

impl HstuArgs {
    /// Checks the problem, whose arguments these have, chooses the kernel and launches it.
    fn launch(mut self, problem: Problem<'_>, validates: Option<bool>) -> Result<()> {
        let variant = variant(problem.dtype);
        let call = problem.arguments.check()?;
        let AttentionArgs { sequences, q_length, kv_heads, width, value_width, .. } =
            self.attention;
        let heads = u64::from(sequences) * u64::from(kv_heads);
        if heads == 0 {
            return Ok(());
        }
        if call.validates_indices(validates)? {
            problem.checks.into_iter().try_for_each(|check| check(&call))?;
        }
        // Only now: no rows may be what a wrong `max_seq_len` leaves of them.
        if q_length == 0 {
            return Ok(());
        }
        let size = [("width", u64::from(width.max(value_width)))];
        let kernel: TileFunction<Self> =
            KERNELS.function(call.device(), call.op(), "hstu_attn", variant, &size)?;
        let int = |name| kernel.tile().int(name).unwrap_or(1) as u32;
        let tiles = q_length.div_ceil(16 * int("Q_WAVES") * int("Q_FRAGMENTS"));
        let groups = heads.saturating_mul(tiles.into());
        if groups >= MOST_GROUPS {
            return Err(Error::value(call.op(), "q", "fewer rows", groups));
        }
        self.attention.tiles = tiles;
        call.submit(|stream| {
            // SAFETY: the kernel stays within the tensors whose shapes and strides were checked,
            // whatever bounds, targets and the order are.
            unsafe { kernel.launch(stream, [groups as u32, 1, 1], &self) }
        })
    }
}
