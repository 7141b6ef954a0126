//! Rotary position embedding of rows of heads: each pair (a, b) of a row's elements becomes
//! `(a cos t - b sin t, b cos t + a sin t)`, with the angle t of the pair at the position of the
//! row's token.
//!
//! Tables of w columns have one for each pair, so that r = 2w elements of a row are rotated, or one
//! for each element, so that r = w are; then the elements of a pair may have different angles. The
//! d - r others are copied.
//!
//! | | |
//! |---|---|
//! | Shapes | x `[s, b, h, d]`, `[b, s, h, d]`, `[b, h, s, d]` or `[t, h, d]` -> y as x; tables `[p, w]`; positions, offsets as x without heads; any even r <= d, rows anywhere |
//! | Dtypes | x bf16, f16, f32; tables bf16, f16, f32, whatever x is; y as x; positions, offsets, cu_seqlens i32, i64 |
//! | Numerics | f32, rounded once at the store; cosines and sines of angles are at most 2^-18 off; what is not rotated is copied bit by bit; bitwise deterministic |
//! | Hardware | cdna3, cdna4 |
//! | Source | Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding" (2021) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_attn::{Angles, Device, RopeLayout, RopeOptions, Tensor, rope};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! // Two tokens with one head of four elements; the second is turned by a right angle.
//! let x = Tensor::from_slice(&stream, &[1.0f32, 2.0, 3.0, 4.0].repeat(2), &[2, 1, 1, 4])?;
//! let [cos, sin] = [[1.0f32, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]
//!     .map(|table| Tensor::from_slice(&stream, &table, &[2, 2]));
//! let (cos, sin) = (cos?, sin?);
//! let angles = Angles::tables(&cos, &sin);
//! let y = rope(&x, RopeLayout::Sbhd, &angles, &RopeOptions::default())?;
//! assert_eq!(y.to_vec()?, [1.0, 2.0, 3.0, 4.0, -3.0, -4.0, 1.0, 2.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::indices::Indices;
use hk_core::op::{Argument, Arguments};
use hk_core::{AnyPtr, Result, Tensor, TensorSlice};

use crate::angles::{Angles, Order, RopeOptions, require_counts, require_groups};
use crate::heads::{HeadPart, HeadRows, Heads};

/// The order of the dimensions of heads: s positions of b sequences, or t tokens, h heads, d
/// elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RopeLayout {
    /// `[s, b, h, d]`.
    #[default]
    Sbhd,
    /// `[b, s, h, d]`.
    Bshd,
    /// `[b, h, s, d]`.
    Bhsd,
    /// `[t, h, d]`.
    Thd,
}

/// The two dimensions of tokens, or the one, by name.
type Tokens = &'static [&'static str];

impl RopeLayout {
    /// The shape of queries, or of what is alone, and of keys.
    const fn dims(self) -> [&'static [&'static str]; 2] {
        match self {
            Self::Sbhd => [&["s", "b", "h", "d"], &["s", "b", "kh", "d"]],
            Self::Bshd => [&["b", "s", "h", "d"], &["b", "s", "kh", "d"]],
            Self::Bhsd => [&["b", "h", "s", "d"], &["b", "kh", "s", "d"]],
            Self::Thd => [&["t", "h", "d"], &["t", "kh", "d"]],
        }
    }

    const fn tokens(self) -> Tokens {
        match self {
            Self::Sbhd => &["s", "b"],
            Self::Bshd | Self::Bhsd => &["b", "s"],
            Self::Thd => &["t"],
        }
    }

    /// Where tokens are that have no positions, and how many follow each other along the inner
    /// dimension.
    fn order(self, args: &Arguments) -> Result<(Order, [usize; 2])> {
        if self == Self::Thd {
            let [t] = args.sizes(["t"])?;
            return Ok((Order { repeat: 1, length: t }, [t, 1]));
        }
        let [s, b] = args.sizes(["s", "b"])?;
        let tokens = s.saturating_mul(b);
        Ok(match self {
            Self::Sbhd => (Order { repeat: b, length: s }, [tokens, b]),
            _ => (Order { repeat: 1, length: s }, [tokens, s]),
        })
    }

    /// Distances between rows of an argument in this layout.
    fn rows(self, argument: Argument<'_>) -> Result<HeadRows> {
        let [outer_stride, inner_stride, head_stride] = match self {
            Self::Thd => {
                let [token, head, _] = argument.adjacent()?;
                return Ok(HeadRows::of_tokens(token, head));
            }
            Self::Bhsd => {
                let [outer, head, inner, _] = argument.adjacent()?;
                [outer, inner, head]
            }
            _ => {
                let [outer, inner, head, _] = argument.adjacent()?;
                [outer, inner, head]
            }
        };
        Ok(HeadRows { outer_stride, inner_stride, head_stride })
    }
}

/// What [`rope_2c`] returns.
#[derive(Debug)]
pub struct Rope2c<T: Real> {
    /// The queries.
    pub q: Tensor<T>,
    /// The keys.
    pub k: Tensor<T>,
}

/// Where [`rope_2c_into`] stores.
#[derive(Debug)]
pub struct Rope2cOut<'a, T: Real> {
    /// The queries, in the shape of q; may be q.
    pub q: &'a mut TensorSlice<T>,
    /// The keys, in the shape of k; may be k.
    pub k: &'a mut TensorSlice<T>,
}

/// Rotates the rows of `x`, each token's by the angles at its [position](Angles::positions), or, if
/// these are not given, at its index along s, or t.
///
/// # Errors
/// [`Error::Shape`] if the tables differ in shape, have more columns than a row of x has elements
/// or pairs, or fewer rows than x has positions, or positions are not one for each token,
/// [`Error::Stride`] if the elements of a row are not adjacent, [`Error::Value`] if an odd number
/// of elements is to be rotated, or another than the options say, offsets are given alone, a
/// position is not in the tables and [looked at](RopeOptions::validate_indices), or the tile does
/// not take such rows, and [`Error::NoTile`] if there is no tile of that name.
pub fn rope<T: Real, W: Real>(
    x: &TensorSlice<T>,
    layout: RopeLayout,
    angles: &Angles<'_, W>,
    options: &RopeOptions<'_>,
) -> Result<Tensor<T>> {
    let mut y = Tensor::empty(x.stream(), x.shape())?;
    rope_into(x, layout, angles, options, &mut y)?;
    Ok(y)
}

/// As [`rope`], into `x`.
///
/// # Errors
/// As [`rope`].
pub fn rope_inplace<T: Real, W: Real>(
    x: &mut TensorSlice<T>,
    layout: RopeLayout,
    angles: &Angles<'_, W>,
    options: &RopeOptions<'_>,
) -> Result<()> {
    let (x, mut y) = x.in_place();
    rope_into(&x, layout, angles, options, &mut y)
}

/// As [`rope`], into `y`, which may be `x`.
///
/// # Errors
/// As [`rope`]; [`Error::Shape`] or [`Error::Stride`] also if `y` has another shape than `x` or
/// rows whose elements are not adjacent, and [`Error::Alias`] if it overlaps another argument
/// otherwise.
pub fn rope_into<T: Real, W: Real>(
    x: &TensorSlice<T>,
    layout: RopeLayout,
    angles: &Angles<'_, W>,
    options: &RopeOptions<'_>,
    y: &mut TensorSlice<T>,
) -> Result<()> {
    let mut args = Arguments::new("rope");
    let [dims, _] = layout.dims();
    let x_rows = layout.rows(args.input("x", x, dims).may_be("y"))?;
    let y_rows = layout.rows(args.output("y", y, dims))?;
    let (order, tokens) = layout.order(&args)?;
    let rope = angles.declare(&mut args, layout.tokens(), order, None, options)?;
    require_sizes(&args, layout.tokens(), &["h"])?;
    let [heads, width] = args.sizes(["h", "d"])?;
    let call = args.check()?;
    angles.validate(&call, options, &rope)?;

    let part = HeadPart::new(tokens, heads, width)
        .from(x.ptr().any(), x_rows)
        .to(y.ptr().any(), y_rows, T::CODE)
        .rotated(tokens[0]);
    let heads = Heads::of_type::<T>(vec![part], rope);
    // SAFETY: the part has the shape and strides of x and y, which were checked.
    unsafe { heads.launch(call, &options.rows) }
}

/// As [`rope`], of queries and keys in one launch. There is a key head for each so many query
/// heads.
///
/// # Errors
/// As [`rope`]; [`Error::Shape`] also if `k` differs from `q` in more than the heads, and
/// [`Error::Value`] if the query heads are not a multiple of the key heads.
pub fn rope_2c<T: Real, W: Real>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    layout: RopeLayout,
    angles: &Angles<'_, W>,
    options: &RopeOptions<'_>,
) -> Result<Rope2c<T>> {
    let mut out_q = Tensor::empty(q.stream(), q.shape())?;
    let mut out_k = Tensor::empty(k.stream(), k.shape())?;
    let out = Rope2cOut { q: &mut out_q, k: &mut out_k };
    rope_2c_into(q, k, layout, angles, options, out)?;
    Ok(Rope2c { q: out_q, k: out_k })
}

/// As [`rope_2c`], into `q` and `k`.
///
/// # Errors
/// As [`rope_2c`].
pub fn rope_2c_inplace<T: Real, W: Real>(
    q: &mut TensorSlice<T>,
    k: &mut TensorSlice<T>,
    layout: RopeLayout,
    angles: &Angles<'_, W>,
    options: &RopeOptions<'_>,
) -> Result<()> {
    let ((q, mut out_q), (k, mut out_k)) = (q.in_place(), k.in_place());
    rope_2c_into(&q, &k, layout, angles, options, Rope2cOut { q: &mut out_q, k: &mut out_k })
}

/// As [`rope_2c`], into given tensors.
///
/// # Errors
/// As [`rope_2c`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as [`Rope2cOut`]
/// says, and [`Error::Alias`] if one overlaps another argument otherwise.
pub fn rope_2c_into<T: Real, W: Real>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    layout: RopeLayout,
    angles: &Angles<'_, W>,
    options: &RopeOptions<'_>,
    out: Rope2cOut<'_, T>,
) -> Result<()> {
    let mut args = Arguments::new("rope_2c");
    let [q_dims, k_dims] = layout.dims();
    let q_rows = layout.rows(args.input("q", q, q_dims).may_be("q_out"))?;
    let k_rows = layout.rows(args.input("k", k, k_dims).may_be("k_out"))?;
    let q_out_rows = layout.rows(args.output("q_out", out.q, q_dims))?;
    let k_out_rows = layout.rows(args.output("k_out", out.k, k_dims))?;
    let (order, tokens) = layout.order(&args)?;
    let rope = angles.declare(&mut args, layout.tokens(), order, None, options)?;
    require_sizes(&args, layout.tokens(), &["h", "kh"])?;
    require_groups(&args, "h", "kh")?;
    let [heads, key_heads, width] = args.sizes(["h", "kh", "d"])?;
    let call = args.check()?;
    angles.validate(&call, options, &rope)?;

    let part = |heads, (x, x_rows), (y, y_rows)| {
        let part = HeadPart::new(tokens, heads, width).from(x, x_rows).to(y, y_rows, T::CODE);
        part.rotated(tokens[0])
    };
    let any = |tensor: &TensorSlice<T>| -> AnyPtr { tensor.ptr().any() };
    let q = part(heads, (any(q), q_rows), (any(out.q), q_out_rows));
    let k = part(key_heads, (any(k), k_rows), (any(out.k), k_out_rows));
    let heads = Heads::of_type::<T>(vec![q, k], rope);
    // SAFETY: the parts have the shapes and strides of the arguments, which were checked.
    unsafe { heads.launch(call, &options.rows) }
}

/// As [`rope`] of packed sequences `[t, h, d]`: tokens from `cu_seqlens[i]` to `cu_seqlens[i + 1]`
/// are a sequence, whose positions begin at 0. `cu_seqlens` has one more element than there are
/// sequences, from 0 to t; tokens before all sequences are taken to be of the first, and those
/// behind of the last.
///
/// # Errors
/// As [`rope`]; [`Error::Value`] also if positions are given, or bounds of sequences are not as
/// above or further apart than the tables have rows, and looked at.
pub fn rope_thd<'s, T: Real, W: Real>(
    x: &TensorSlice<T>,
    cu_seqlens: impl Into<Indices<'s>>,
    angles: &Angles<'_, W>,
    options: &RopeOptions<'_>,
) -> Result<Tensor<T>> {
    let mut y = Tensor::empty(x.stream(), x.shape())?;
    rope_thd_into(x, cu_seqlens, angles, options, &mut y)?;
    Ok(y)
}

/// As [`rope_thd`], into `x`.
///
/// # Errors
/// As [`rope_thd`].
pub fn rope_thd_inplace<'s, T: Real, W: Real>(
    x: &mut TensorSlice<T>,
    cu_seqlens: impl Into<Indices<'s>>,
    angles: &Angles<'_, W>,
    options: &RopeOptions<'_>,
) -> Result<()> {
    let (x, mut y) = x.in_place();
    rope_thd_into(&x, cu_seqlens, angles, options, &mut y)
}

/// As [`rope_thd`], into `y`, which may be `x`.
///
/// # Errors
/// As [`rope_thd`], and for `y` as [`rope_into`].
pub fn rope_thd_into<'s, T: Real, W: Real>(
    x: &TensorSlice<T>,
    cu_seqlens: impl Into<Indices<'s>>,
    angles: &Angles<'_, W>,
    options: &RopeOptions<'_>,
    y: &mut TensorSlice<T>,
) -> Result<()> {
    let mut args = Arguments::new("rope_thd");
    let layout = RopeLayout::Thd;
    let [dims, _] = layout.dims();
    let x_rows = layout.rows(args.input("x", x, dims).may_be("y"))?;
    let y_rows = layout.rows(args.output("y", y, dims))?;
    let cu_seqlens = cu_seqlens.into();
    let bounds = cu_seqlens.declare(&mut args, "cu_seqlens", &["bounds"])?;
    let (order, tokens) = layout.order(&args)?;
    let rope = angles.declare(&mut args, layout.tokens(), order, Some(bounds), options)?;
    args.limit("bounds", 1..=i32::MAX as usize)?;
    args.require(!angles.has_positions(), "positions", "not given, as sequences are", "given")?;
    require_sizes(&args, layout.tokens(), &["h"])?;
    let [heads, width] = args.sizes(["h", "d"])?;
    let call = args.check()?;
    angles.validate(&call, options, &rope)?;
    if tokens[0] > 0 && call.validates_indices(options.validate_indices)? {
        let bounds = cu_seqlens.to_vec()?;
        call.require_bounds("cu_seqlens", &bounds, tokens[0])?;
        let rows = i64::from(rope.rows);
        let constraint = format!("sequences of at most {rows} tokens, the rows of the tables");
        call.require_each("cu_seqlens", &bounds, &constraint, |at, bound| {
            at == 0 || bound - bounds[at - 1] <= rows
        })?;
    }

    let part = HeadPart::new(tokens, heads, width)
        .from(x.ptr().any(), x_rows)
        .to(y.ptr().any(), y_rows, T::CODE)
        .rotated(tokens[0]);
    let heads = Heads::of_type::<T>(vec![part], rope);
    // SAFETY: the part has the shape and strides of x and y, which were checked.
    unsafe { heads.launch(call, &options.rows) }
}

/// Requires heads, elements, and no more tokens than kernels count.
fn require_sizes(args: &Arguments, tokens: Tokens, heads: &[&'static str]) -> Result<()> {
    require_counts(args, tokens)?;
    let counts: Vec<usize> =
        tokens.iter().map(|name| Ok(args.sizes([name])?[0])).collect::<Result<_>>()?;
    let all = counts.iter().try_fold(1usize, |all, count| all.checked_mul(*count));
    let few = all.is_some_and(|all| i32::try_from(all).is_ok());
    args.require(few, "tokens", "fewer than 2^31", format!("{counts:?}"))?;
    heads.iter().chain(&["d"]).try_for_each(|name| args.limit(name, 1..=i32::MAX as usize))
}
