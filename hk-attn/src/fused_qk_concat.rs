//! Queries and keys made of two parts, `q = [q1 | q2]` and `k = [k1 | k2]` along the rows of heads,
//! as they are or with the second parts rotated.
//!
//! | | |
//! |---|---|
//! | Shapes | q1 `[b, qh, n]`, q2 `[b, qh, r]`, k1 `[b, kh, n]`, k2 `[b, kh, r]` -> q `[b, qh, n + r]`, k `[b, kh, n + r]`, or `[b, qh, s, n]` and so on, if nothing is rotated; rows anywhere |
//! | Dtypes | any of 8, 16 or 32 bits, if nothing is rotated; else bf16, f16, f32, with tables of bf16, f16, f32 |
//! | Numerics | copied bit by bit; what is rotated in f32, rounded once at the store |
//! | Hardware | cdna3, cdna4 |
//! | Source | DeepSeek-AI, "DeepSeek-V2" (2024), for heads with parts that are rotated and parts that are not |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_attn::{Device, RowOptions, Tensor, fused_qk_cat};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let [a, b] = [[1u8, 2], [3, 4]].map(|x| Tensor::from_slice(&stream, &x, &[1, 1, 2]));
//! let (a, b) = (a?, b?);
//! let cat = fused_qk_cat(&a, &b, &b, &a, &RowOptions::default())?;
//! assert_eq!(cat.q.to_vec()?, [1, 2, 3, 4]);
//! assert_eq!(cat.k.to_vec()?, [3, 4, 1, 2]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{Element, Real, Scalar};
use hk_core::op::rows::RowOptions;
use hk_core::op::{Argument, Arguments};
use hk_core::{AnyPtr, Result, Tensor, TensorSlice};

use crate::angles::{Angles, Order, RopeArgs, RopeOptions, require_counts, require_groups};
use crate::heads::{HeadPart, HeadRows, Heads, part_of};

/// What [`fused_qk_cat`] and [`fused_qk_rope_cat`] return.
#[derive(Debug)]
pub struct FusedQkCat<T: Element> {
    /// The queries.
    pub q: Tensor<T>,
    /// The keys.
    pub k: Tensor<T>,
}

/// Where [`fused_qk_cat_into`] and [`fused_qk_rope_cat_into`] store.
#[derive(Debug)]
pub struct FusedQkCatOut<'a, T: Element> {
    /// The queries `[b, qh, n + r]`.
    pub q: &'a mut TensorSlice<T>,
    /// The keys `[b, kh, n + r]`.
    pub k: &'a mut TensorSlice<T>,
}

/// The size of a row of the results.
const WIDTH: &str = "n + r";

/// Shapes of the two parts and of both, of queries and of keys.
type Dims = [[&'static [&'static str]; 3]; 2];

const TOKENS: Dims = [
    [&["b", "qh", "n"], &["b", "qh", "r"], &["b", "qh", WIDTH]],
    [&["b", "kh", "n"], &["b", "kh", "r"], &["b", "kh", WIDTH]],
];

/// The same with positions of their own.
const POSITIONS: Dims = [
    [&["b", "qh", "s", "n"], &["b", "qh", "s", "r"], &["b", "qh", "s", WIDTH]],
    [&["b", "kh", "s", "n"], &["b", "kh", "s", "r"], &["b", "kh", "s", WIDTH]],
];

/// A tensor's rows of heads.
fn rows_of(argument: Argument<'_>, has_positions: bool) -> Result<HeadRows> {
    if has_positions {
        let [outer_stride, head_stride, inner_stride, _] = argument.adjacent()?;
        return Ok(HeadRows { outer_stride, inner_stride, head_stride });
    }
    let [token, head, _] = argument.adjacent()?;
    Ok(HeadRows::of_tokens(token, head))
}

/// The shape of both parts side by side.
fn joined<T: Element>(first: &TensorSlice<T>, second: &TensorSlice<T>) -> Vec<usize> {
    let mut shape = first.shape().to_vec();
    if let Some(width) = shape.last_mut() {
        *width = width.saturating_add(second.row_len());
    }
    shape
}

/// Both parts of queries and of keys, and where they go.
struct Parts<'a, T: Element> {
    q: [&'a TensorSlice<T>; 2],
    k: [&'a TensorSlice<T>; 2],
    out: FusedQkCatOut<'a, T>,
}

impl<T: Element> Parts<'_, T> {
    /// Whether there is a dimension of positions: in most of the tensors, so that an error names
    /// one that is not like the others.
    fn has_positions(&self) -> bool {
        let [[q1, q2], [k1, k2]] = [self.q, self.k];
        let shapes = [q1, q2, k1, k2, &*self.out.q, &*self.out.k].map(TensorSlice::shape);
        shapes.iter().filter(|shape| shape.len() == POSITIONS[0][0].len()).count() > 3
    }

    /// Declares them, and gives the parts of the launch, of elements with a code.
    fn declare(
        &mut self,
        args: &mut Arguments,
        has_positions: bool,
        code: u32,
    ) -> Result<Vec<HeadPart>> {
        let [q_dims, k_dims] = if has_positions { POSITIONS } else { TOKENS };
        let mut inputs = Vec::new();
        for (name, tensor, dims) in [
            ("q1", self.q[0], q_dims[0]),
            ("q2", self.q[1], q_dims[1]),
            ("k1", self.k[0], k_dims[0]),
            ("k2", self.k[1], k_dims[1]),
        ] {
            let rows = rows_of(args.input(name, tensor, dims), has_positions)?;
            inputs.push((AnyPtr::from(tensor.ptr()), rows));
        }
        let [b, n, r] = args.sizes(["b", "n", "r"])?;
        args.define(WIDTH, n.saturating_add(r));
        let q_out = rows_of(args.output("q_out", self.out.q, q_dims[2]), has_positions)?;
        let k_out = rows_of(args.output("k_out", self.out.k, k_dims[2]), has_positions)?;
        let s = if has_positions { args.sizes(["s"])?[0] } else { 1 };
        require_counts(args, &["b"])?;
        let tokens = b.checked_mul(s).filter(|tokens| i32::try_from(*tokens).is_ok());
        args.require(tokens.is_some(), "s", "fewer than 2^31 rows of each head", s)?;
        require_groups(args, "qh", "kh")?;
        for name in ["n", "r"] {
            args.limit(name, 1..=i32::MAX as usize)?;
        }
        let [qh, kh] = args.sizes(["qh", "kh"])?;
        let tokens = [tokens.unwrap_or_default(), s];
        let outputs = [(self.out.q.ptr(), q_out, qh), (self.out.k.ptr(), k_out, kh)];
        let places = outputs.into_iter().flat_map(|(to, rows, heads)| {
            [(part_of(to, 0), rows, heads, n), (part_of(to, n), rows, heads, r)]
        });
        let parts =
            inputs.into_iter().zip(places).map(|((x, x_rows), (y, y_rows, heads, width))| {
                HeadPart::new(tokens, heads, width).from(x, x_rows).to(y, y_rows, code)
            });
        Ok(parts.collect())
    }
}

/// Puts the parts of queries and of keys side by side.
///
/// # Errors
/// [`Error::Shape`] if shapes differ other than above, [`Error::Stride`] if the elements of a row
/// are not adjacent, [`Error::Value`] if query heads are not a multiple of key heads, elements have
/// 64 bits, or the tile does not take such rows, and [`Error::NoTile`] if there is no tile of that
/// name.
pub fn fused_qk_cat<T: Scalar>(
    q1: &TensorSlice<T>,
    q2: &TensorSlice<T>,
    k1: &TensorSlice<T>,
    k2: &TensorSlice<T>,
    options: &RowOptions<'_>,
) -> Result<FusedQkCat<T>> {
    let mut q = Tensor::empty(q1.stream(), &joined(q1, q2))?;
    let mut k = Tensor::empty(k1.stream(), &joined(k1, k2))?;
    fused_qk_cat_into(q1, q2, k1, k2, options, FusedQkCatOut { q: &mut q, k: &mut k })?;
    Ok(FusedQkCat { q, k })
}

/// As [`fused_qk_cat`], into given tensors.
///
/// # Errors
/// As [`fused_qk_cat`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`FusedQkCatOut`] says, and [`Error::Alias`] if one overlaps another argument.
pub fn fused_qk_cat_into<T: Scalar>(
    q1: &TensorSlice<T>,
    q2: &TensorSlice<T>,
    k1: &TensorSlice<T>,
    k2: &TensorSlice<T>,
    options: &RowOptions<'_>,
    out: FusedQkCatOut<'_, T>,
) -> Result<()> {
    let mut args = Arguments::new("fused_qk_cat");
    args.require(size_of::<T>() <= 4, "q1", "of 8, 16 or 32 bits", T::DTYPE)?;
    let mut parts = Parts { q: [q1, q2], k: [k1, k2], out };
    let (variant, code) = Heads::of_bits(size_of::<T>());
    let has_positions = parts.has_positions();
    let parts = parts.declare(&mut args, has_positions, code)?;
    let call = args.check()?;
    let heads = Heads { variant, parts, rope: RopeArgs::NONE, norm: (0.0, 0.0) };
    // SAFETY: the parts have the shapes and strides of the arguments, which were checked.
    unsafe { heads.launch(call, options) }
}

/// Rotates the second parts of queries and keys, each token's by the angles at its position or, if
/// these are not given, its index, and puts them behind the first.
///
/// # Errors
/// As [`fused_qk_cat`], and as [`rope_2c`](crate::rope_2c) for the tables, which rotate whole rows
/// of the second parts.
pub fn fused_qk_rope_cat<T: Real, W: Real>(
    q_nope: &TensorSlice<T>,
    q_pe: &TensorSlice<T>,
    k_nope: &TensorSlice<T>,
    k_pe: &TensorSlice<T>,
    angles: &Angles<'_, W>,
    options: &RopeOptions<'_>,
) -> Result<FusedQkCat<T>> {
    let mut q = Tensor::empty(q_nope.stream(), &joined(q_nope, q_pe))?;
    let mut k = Tensor::empty(k_nope.stream(), &joined(k_nope, k_pe))?;
    let out = FusedQkCatOut { q: &mut *q, k: &mut *k };
    fused_qk_rope_cat_into(q_nope, q_pe, k_nope, k_pe, angles, options, out)?;
    Ok(FusedQkCat { q, k })
}

/// As [`fused_qk_rope_cat`], into given tensors.
///
/// # Errors
/// As [`fused_qk_rope_cat`], and for outputs as [`fused_qk_cat_into`].
pub fn fused_qk_rope_cat_into<T: Real, W: Real>(
    q_nope: &TensorSlice<T>,
    q_pe: &TensorSlice<T>,
    k_nope: &TensorSlice<T>,
    k_pe: &TensorSlice<T>,
    angles: &Angles<'_, W>,
    options: &RopeOptions<'_>,
    out: FusedQkCatOut<'_, T>,
) -> Result<()> {
    let mut args = Arguments::new("fused_qk_rope_cat");
    let mut parts = Parts { q: [q_nope, q_pe], k: [k_nope, k_pe], out };
    let mut parts = parts.declare(&mut args, false, T::CODE)?;
    let [b, r] = args.sizes(["b", "r"])?;
    let order = Order { repeat: 1, length: b };
    let rope = angles.declare_for(&mut args, "r", [&["b"]; 2], order, None, options)?;
    let columns = r / if rope.paired == 0 { 1 } else { 2 };
    args.limit("w", columns..=columns)?;
    let call = args.check()?;
    angles.validate(&call, options, &rope)?;
    for part in parts.iter_mut().skip(1).step_by(2) {
        *part = part.rotated(b);
    }
    let heads = Heads::of_type::<T>(parts, rope);
    // SAFETY: the parts have the shapes and strides of the arguments, which were checked.
    unsafe { heads.launch(call, &options.rows) }
}
