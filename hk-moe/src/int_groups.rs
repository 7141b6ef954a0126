//! Products of tokens with matrices of integers that have a scale, and perhaps a zero point, for each group of k.

use hk_core::dtype::{Real, Real16};
use hk_core::op::Arguments;
use hk_core::op::epilogue::{Extent, Lowered};
use hk_core::op::experts::{Experts, WeightGroups};
use hk_core::op::product::{Matrices, Product};
use hk_core::op::tiling::Problem;
use hk_core::{DevicePtr, Result, TensorSlice};

use crate::expert_products::{
    AlignedGates, ExpertElement, ExpertMatrices, Form, MoeGemmOptions, problem, product,
};

const CORE: &str = "grouped_experts";

/// Matrices of unsigned integers, of which each stands for `(q - zero) scale`, computed in f32 and rounded to
/// the type of tokens. A group of k is a multiple of 8, and divides k. Bytes have adjacent ones in rows, or in columns,
/// as in the transposed view of `[E, k, n]`: those are copied before.
#[derive(Debug, Clone, Copy)]
pub struct WnA16Weights<'a, S: Real> {
    codes: &'a TensorSlice<u8>,
    scales: &'a TensorSlice<S>,
    zero_points: Option<&'a TensorSlice<u8>>,
    bits: u64,
}

impl<'a, S: Real> WnA16Weights<'a, S> {
    /// Of 8 bits, `[E, n, k]`, with scales `[E, n, k / group]`. Zero points are 128, if there are no others.
    pub const fn of_8_bits(codes: &'a TensorSlice<u8>, scales: &'a TensorSlice<S>) -> Self {
        Self { codes, scales, zero_points: None, bits: 8 }
    }

    /// Of 4 bits, `[E, n, k / 2]`: the first one of a byte is in its low bits. Zero points are 8, if there are
    /// no others.
    pub const fn of_4_bits(codes: &'a TensorSlice<u8>, scales: &'a TensorSlice<S>) -> Self {
        Self { codes, scales, zero_points: None, bits: 4 }
    }

    /// With these zero points: `[E, n, k / group]`, or, of 4 bits, `[E, n / 2, k / group]`, of which a byte has
    /// that of row 2j in its low bits, and that of row 2j + 1 in the others.
    #[must_use]
    pub const fn zero_points(mut self, zero_points: &'a TensorSlice<u8>) -> Self {
        self.zero_points = Some(zero_points);
        self
    }

    /// How many rows each matrix has.
    pub(crate) fn rows(&self) -> usize {
        self.codes.shape().get(1).copied().unwrap_or_default()
    }
}

/// k of the smallest group, of which others are multiples.
const LEAST: usize = 8;

/// Bytes below which the scales of a matrix must stay.
const MAX_BYTES: u64 = 1 << 31;

const GROUPS: &str = "k / group";
const HALF_ROWS: &str = "rows(b) / 2";

/// What arguments, and sizes that are defined before or then, are called.
pub(crate) struct GroupNames {
    pub(crate) scales: &'static str,
    pub(crate) zero_points: &'static str,
    /// Sizes of the matrices.
    pub(crate) k: &'static str,
    pub(crate) rows: &'static str,
    /// What is defined.
    pub(crate) groups: &'static str,
    pub(crate) half_rows: &'static str,
    /// Dimensions of scales, and of zero points that pairs of rows have in a byte.
    pub(crate) of_scales: &'static [&'static str],
    pub(crate) of_pairs: &'static [&'static str],
}

impl<S: Real> WnA16Weights<'_, S> {
    /// Declares scales and zero points. Gives k of a group.
    pub(crate) fn declare_groups(&self, args: &mut Arguments, names: &GroupNames) -> Result<usize> {
        let [k, rows] = args.sizes([names.k, names.rows])?;
        let groups = self.scales.shape().get(2).copied().unwrap_or_default();
        let group = k.checked_div(groups).unwrap_or_default();
        let divides = group > 0 && group.is_multiple_of(LEAST) && group * groups == k;
        // Other scales have another shape than those of the smallest groups.
        args.define(names.groups, if divides { groups } else { k / LEAST });
        args.input(names.scales, self.scales, names.of_scales).contiguous()?;
        let constraint = format!("so many groups of a multiple of {LEAST}");
        args.require(divides, names.k, constraint, k)?;
        let bytes = (rows as u64).saturating_mul((groups * size_of::<S>()) as u64);
        args.require(bytes < MAX_BYTES, names.scales, "matrices of less than 2 GiB", bytes)?;
        if let Some(zero_points) = self.zero_points {
            let is_packed = self.bits == 4;
            let has_pairs = !is_packed || rows.is_multiple_of(2);
            args.require(has_pairs, names.zero_points, "those of an even number of rows", rows)?;
            args.define(names.half_rows, rows / 2);
            let dims = if is_packed { names.of_pairs } else { names.of_scales };
            args.input(names.zero_points, zero_points, dims).contiguous()?;
        }
        Ok(group)
    }
}

/// Declares everything, and launches the product: of each row of `a` with `top_k` experts.
pub(crate) fn launch<T: Real16 + ExpertElement, S: Real, Y: Real>(
    (op, form): (&'static str, Form),
    (a, b): (&TensorSlice<T>, &WnA16Weights<'_, S>),
    gates: &AlignedGates<'_>,
    top_k: usize,
    options: &MoeGemmOptions<'_>,
    c: &mut TensorSlice<Y>,
) -> Result<()> {
    let most = Problem::MAX_SIZE as usize;
    let (is_gated, is_packed) = (matches!(form, Form::Gated), b.bits == 4);
    let mut args = Arguments::new(op);
    let a_row = args.input("a", a, &["rows", "k"]).rows()?;
    args.limit("rows", 0..=most)?;
    args.limit("k", 1..=most)?;
    let [k] = args.sizes(["k"])?;
    if is_gated {
        // An odd number of rows is none of these.
        let n = b.rows() / 2;
        args.define("2n", 2 * n);
        args.define("n", n);
    }
    args.define("k / 2", k / 2);
    let of_rows = if is_gated { "2n" } else { "n" };
    let b_dims: &[&str] = match (is_gated, is_packed) {
        (true, true) => &["experts", "2n", "k / 2"],
        (true, false) => &["experts", "2n", "k"],
        (false, true) => &["experts", "n", "k / 2"],
        (false, false) => &["experts", "n", "k"],
    };
    let b_strides = args.input("b", b.codes, b_dims).strides::<3>()?;
    args.limit(of_rows, 1..=most)?;
    let of_b = ExpertMatrices::of(&args, (op, "b"), b.codes, b_strides)?;
    let [rows, experts, n] = args.sizes(["rows", "experts", "n"])?.map(|size| size as u64);
    let [b_rows] = args.sizes([of_rows])?;

    let names = GroupNames {
        scales: "b_scale",
        zero_points: "b_zp",
        k: "k",
        rows: of_rows,
        groups: GROUPS,
        half_rows: HALF_ROWS,
        of_scales: if is_gated { &["experts", "2n", GROUPS] } else { &["experts", "n", GROUPS] },
        of_pairs: &["experts", HALF_ROWS, GROUPS],
    };
    let group = b.declare_groups(&mut args, &names)?;
    for (name, is_given) in [
        ("scales", options.scales.is_some()),
        ("block_shape", options.block_shape.is_some()),
        ("a_scale", options.a_scale.is_some()),
        ("b_scale", options.b_scale.is_some()),
        ("a_mx_scale", options.a_mx_scale.is_some()),
    ] {
        args.require(!is_given, name, "none in the options, of integers in groups", "some")?;
    }
    let sorted = gates.declare(&mut args, rows, top_k)?;
    let mut steps = Lowered::default();
    let of_columns = match is_gated {
        true => Extent::ExpertHalves(&["experts", "2n"]),
        false => Extent::ExpertColumns,
    };
    let (gated, weights) = form.lower(&mut args, &mut steps, options, of_columns)?;
    let c_row = args.output("c", c, &["rows", "top_k", "n"]).rows()?;
    let call = args.check()?;
    gates.validate(&call, &sorted, experts, options.validate)?;

    let form = if is_gated { "_halves" } else { "" };
    let variant = format!("{}_i{}{form}", T::VARIANT, b.bits);
    let (zero, b_rows) = (if is_packed { 8.0 } else { 128.0 }, b_rows as u64);
    let groups = WeightGroups {
        scales: b.scales.ptr().any(),
        scale: (size_of::<S>() as u32, S::CODE),
        zero_points: b.zero_points.map_or(DevicePtr::NULL, |zero_points| zero_points.ptr()),
        zero,
        k: group as u32,
    };
    let product = Product {
        core: CORE,
        x: Matrices::of(a, [0, a_row]),
        w: of_b.matrices,
        y: Matrices::of(c, [0, c_row]).with_shape([sorted.count, n]),
        problem: Problem {
            bits: [16, b.bits],
            ..problem::<T, T>([rows, b_rows, k as u64, experts])
        },
        steps,
        splits: options.splits,
        tile: options.tile,
        ..product(&variant)
    };
    let halves = gated.map(|activation| activation.code().1);
    let in_groups = Some(groups);
    Experts { halves, in_groups, weights, ..Experts::new(product, sorted) }.launch(call)
}
