//! Angles by which pairs of elements are rotated, and what ops that rotate them share.

use hk_core::dtype::Real;
use hk_core::op::indices::{IndexList, Indices};
use hk_core::op::rows::RowOptions;
use hk_core::op::{Arguments, Call};
use hk_core::{AnyPtr, Result, TensorSlice, kernel_args};

/// The cosines and sines by which elements are rotated, a row of each for each position, and the
/// position of each token.
#[derive(Debug, Clone, Copy)]
pub struct Angles<'a, W: Real> {
    source: Source<'a, W>,
    positions: Option<Indices<'a>>,
    offsets: Option<Indices<'a>>,
}

#[derive(Debug, Clone, Copy)]
enum Source<'a, W: Real> {
    Tables { cos: &'a TensorSlice<W>, sin: &'a TensorSlice<W> },
    Freqs(&'a TensorSlice<W>),
}

impl<'a, W: Real> Angles<'a, W> {
    /// From tables `[p, w]` (or `[p, 1, 1, w]`), whose rows may be any distance apart.
    pub fn tables(cos: &'a TensorSlice<W>, sin: &'a TensorSlice<W>) -> Self {
        Self { source: Source::Tables { cos, sin }, positions: None, offsets: None }
    }

    /// Of angles in radians, `[p, w]` (or `[p, 1, 1, w]`), up to 2^20 in size; kernels compute
    /// cosines and sines, at most 2^-18 off.
    pub fn freqs(freqs: &'a TensorSlice<W>) -> Self {
        Self { source: Source::Freqs(freqs), positions: None, offsets: None }
    }

    /// With the position of each token: a row of the tables. Kernels take the nearest one for a
    /// position that the tables have not.
    #[must_use]
    pub fn positions(self, positions: impl Into<Indices<'a>>) -> Self {
        Self { positions: Some(positions.into()), ..self }
    }

    /// With a number for each token that is added to its [position](Self::positions).
    #[must_use]
    pub fn offsets(self, offsets: impl Into<Indices<'a>>) -> Self {
        Self { offsets: Some(offsets.into()), ..self }
    }
}

/// Which elements of a row are pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RopeStyle {
    /// `(i, i + r/2)`, of r elements that are rotated, as GPT-NeoX and Llama have them.
    #[default]
    Neox,
    /// `(2i, 2i + 1)`, as GPT-J and DeepSeek have them.
    Gptj,
}

/// How rows are rotated.
#[derive(Debug, Clone, Copy, Default)]
pub struct RopeOptions<'a> {
    style: RopeStyle,
    per_element: bool,
    nope_first: bool,
    rotary_dim: Option<usize>,
    pub(crate) validate_indices: Option<bool>,
    pub(crate) rows: RowOptions<'a>,
}

impl<'a> RopeOptions<'a> {
    /// Which elements are pairs; [`RopeStyle::Neox`] if not given.
    #[must_use]
    pub fn style(self, style: RopeStyle) -> Self {
        Self { style, ..self }
    }

    /// Whether tables have a column for each pair, so that r = 2w elements are rotated, rather than
    /// for each element, so that r = w are. True if not given.
    #[must_use]
    pub fn reuse_freqs_front_part(self, reuse: bool) -> Self {
        Self { per_element: !reuse, ..self }
    }

    /// Whether the elements that are not rotated are the first of a row rather than the last. False
    /// if not given.
    #[must_use]
    pub fn nope_first(self, nope_first: bool) -> Self {
        Self { nope_first, ..self }
    }

    /// How many elements of a row are rotated, which must agree with the tables.
    #[must_use]
    pub fn rotary_dim(self, dim: usize) -> Self {
        Self { rotary_dim: Some(dim), ..self }
    }

    /// Whether positions, slots and bounds of sequences are looked at before the launch, which
    /// waits for the stream, to tell which are wrong. If not given, they are on the simulator and
    /// in builds with debug assertions.
    #[must_use]
    pub fn validate_indices(self, validate: bool) -> Self {
        Self { validate_indices: Some(validate), ..self }
    }

    /// How the kernel is launched.
    #[must_use]
    pub fn rows(self, rows: RowOptions<'a>) -> Self {
        Self { rows, ..self }
    }
}

kernel_args! {
    /// How rows are rotated as the kernel takes it: `RopeArgs` in `hk/rope.h`.
    pub(crate) struct RopeArgs {
        pub(crate) cos: AnyPtr,
        pub(crate) sin: AnyPtr,
        pub(crate) cos_stride: i64,
        pub(crate) sin_stride: i64,
        pub(crate) positions: IndexList,
        pub(crate) offsets: IndexList,
        pub(crate) bounds: IndexList,
        pub(crate) repeat: u32,
        pub(crate) length: u32,
        pub(crate) rows: u32,
        pub(crate) r#type: u32,
        pub(crate) dim: u32,
        pub(crate) first: u32,
        pub(crate) interleaved: u32,
        pub(crate) paired: u32,
    }
}

impl RopeArgs {
    /// Nothing is rotated.
    pub(crate) const NONE: Self = Self {
        cos: AnyPtr::NULL,
        sin: AnyPtr::NULL,
        cos_stride: 0,
        sin_stride: 0,
        positions: IndexList::NONE,
        offsets: IndexList::NONE,
        bounds: IndexList::NONE,
        repeat: 1,
        length: 1,
        rows: 1,
        r#type: 0,
        dim: 0,
        first: 0,
        interleaved: 0,
        paired: 0,
    };
}

/// Where tokens are that have no positions: `repeat` tokens follow each other at the same one, and
/// the first comes again after `length`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order {
    pub(crate) repeat: usize,
    pub(crate) length: usize,
}

impl<'a, W: Real> Angles<'a, W> {
    /// Declares the tables, and positions and offsets of tokens of that shape, for rows of `"d"`
    /// elements; tokens without positions are in that order, unless `bounds` of sequences say where
    /// they are.
    pub(crate) fn declare(
        &self,
        args: &mut Arguments,
        tokens: &'static [&'static str],
        order: Order,
        bounds: Option<IndexList>,
        options: &RopeOptions<'_>,
    ) -> Result<RopeArgs> {
        self.declare_for(args, "d", [tokens; 2], order, bounds, options)
    }

    /// As [`declare`](Self::declare), for rows of as many elements as the size of that name, and with
    /// positions and offsets of the second shape.
    pub(crate) fn declare_for(
        &self,
        args: &mut Arguments,
        width: &'static str,
        [tokens, listed]: [&'static [&'static str]; 2],
        order: Order,
        bounds: Option<IndexList>,
        options: &RopeOptions<'_>,
    ) -> Result<RopeArgs> {
        const TABLE: &[&str] = &["..", "w"];
        let (cos, sin, cos_stride, sin_stride) = match self.source {
            Source::Tables { cos, sin } => {
                let cos_stride = args.input("cos", cos, TABLE).rows()?;
                let sin_stride = args.input("sin", sin, TABLE).rows()?;
                (cos.ptr().any(), sin.ptr().any(), cos_stride, sin_stride)
            }
            Source::Freqs(freqs) => {
                let stride = args.input("freqs", freqs, TABLE).rows()?;
                (freqs.ptr().any(), AnyPtr::NULL, stride, 0)
            }
        };
        let declare = |args: &mut Arguments, name, list: Option<Indices<'_>>| match list {
            Some(list) => list.declare(args, name, listed),
            None => Ok(IndexList::NONE),
        };
        let positions = declare(args, "positions", self.positions)?;
        let offsets = declare(args, "offsets", self.offsets)?;
        let alone = self.offsets.is_some() && self.positions.is_none();
        args.require(!alone, "offsets", "given with positions", "alone")?;

        let [d, w, rows] = args.sizes([width, "w", ".."])?;
        args.limit(width, 1..=i32::MAX as usize)?;
        let columns = if options.per_element { 1 } else { 2 };
        args.limit("w", 1..=d / columns)?;
        let dim = w * columns;
        args.require(dim.is_multiple_of(2), "rotary_dim", "even", dim)?;
        let agrees = options.rotary_dim.is_none_or(|given| given == dim);
        args.require(agrees, "rotary_dim", format!("that of the tables, {dim}"), {
            options.rotary_dim.unwrap_or(dim)
        })?;
        let mut has_tokens = true;
        for size in tokens {
            has_tokens &= args.sizes([*size])?[0] > 0;
        }
        let needed = if self.positions.is_none() && bounds.is_none() { order.length } else { 1 };
        // No tokens need no row.
        let needed = if has_tokens { needed } else { 0 };
        args.limit("..", needed..=i32::MAX as usize)?;
        Ok(RopeArgs {
            cos,
            sin,
            cos_stride,
            sin_stride,
            positions,
            offsets,
            bounds: bounds.unwrap_or(IndexList::NONE),
            repeat: order.repeat.max(1) as u32,
            length: order.length.max(1) as u32,
            rows: rows as u32,
            r#type: W::CODE,
            dim: dim as u32,
            first: if options.nope_first { (d - dim) as u32 } else { 0 },
            interleaved: u32::from(options.style == RopeStyle::Gptj),
            paired: u32::from(!options.per_element),
        })
    }

    pub(crate) const fn has_positions(&self) -> bool {
        self.positions.is_some()
    }

    /// Requires positions to be rows of the tables, if indices are to be looked at.
    pub(crate) fn validate(
        &self,
        call: &Call,
        options: &RopeOptions<'_>,
        rope: &RopeArgs,
    ) -> Result<()> {
        self.validate_first(call, options, rope, usize::MAX)
    }

    /// As [`validate`](Self::validate), of the first so many tokens.
    pub(crate) fn validate_first(
        &self,
        call: &Call,
        options: &RopeOptions<'_>,
        rope: &RopeArgs,
        tokens: usize,
    ) -> Result<()> {
        let Some(positions) = self.positions else { return Ok(()) };
        if !call.validates_indices(options.validate_indices)? {
            return Ok(());
        }
        let mut rows = positions.to_vec()?;
        rows.truncate(tokens);
        if let Some(offsets) = self.offsets {
            let offsets = offsets.to_vec()?;
            rows.iter_mut().zip(offsets).for_each(|(row, more)| *row = row.saturating_add(more));
        }
        let constraint = format!("a position below {}, the rows of the tables", rope.rows);
        let range = 0..i64::from(rope.rows);
        call.require_each("positions", &rows, &constraint, |_, row| range.contains(&row))
    }
}

/// Requires each key head to serve as many query heads, which kernels count in 32 bits.
pub(crate) fn require_groups(
    args: &Arguments,
    query: &'static str,
    key: &'static str,
) -> Result<()> {
    args.limit(key, 1..=i32::MAX as usize)?;
    args.limit(query, 1..=i32::MAX as usize)?;
    let [queries, keys] = args.sizes([query, key])?;
    let holds = queries.is_multiple_of(keys);
    args.require(holds, query, format!("a multiple of {key}, {keys}"), queries)
}

/// Sizes that kernels count in 32 bits.
pub(crate) fn require_counts(args: &Arguments, names: &[&'static str]) -> Result<()> {
    names.iter().try_for_each(|name| args.limit(name, 0..=i32::MAX as usize))
}
