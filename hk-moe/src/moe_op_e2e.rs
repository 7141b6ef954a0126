//! Feed-forward layers of experts: `c[g] = w_g z[g] w2[e]^T` with
//! `z[g] = silu(a[g / top_k] gates[e]^T) * (a[g / top_k] values[e]^T)` for each gate g of an expert e, whose matrix
//! w1 is the gates, then what they let through.
//!
//! | | |
//! |---|---|
//! | Shapes | a `[rows, k]`, w1 `[E, 2i, k]`, w2 `[E, k, i]`, both also as the transposed views of `[E, k, 2i]` and `[E, i, k]` -> c `[rows, top_k, k]`, or `[rows, k]` of [sums](MoeLayerOptions::reduce); any sizes, k and i at most 65,536; the gates as [`moe_align_block_size`](crate::moe_align_block_size()) gives them, topk_weights `[rows, top_k]` |
//! | Dtypes | a, w1 and w2 all bf16 or f16, or w1 and w2 i8 with scales, f32, of experts or of rows, or e4m3 in the flavour of the chip, with such scales or with those of blocks, of 128 by 128 or [another shape](MoeLayerOptions::block_shape); c bf16, f16 or f32; topk_weights f32, bf16 or f16 |
//! | Numerics | f32 sums and weights; z is rounded once, to the type of a, c once; for e4m3, a and z are made codes as [`MoeLayerOptions`] says; bitwise deterministic |
//! | Hardware | cdna3, cdna4; each with tile configurations of its own; two launches, and those that make codes, copy scales of blocks whose rows are no power of two, or turn 8-bit matrices whose columns have adjacent elements |
//! | Source | Mixtral of Experts (arXiv 2401.04088), section 2.1; AITER `e2e_moe`, which adds to what c holds |
//!
//! Row t of `a` has the gates `t top_k` to `t top_k + top_k - 1`. Those that no tile has are not written, and
//! those of a tile without an expert are 0. [`reduce`](MoeLayerOptions::reduce), or
//! [`moe_sum`](crate::moe_sum()), adds up the gates of a row.
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_moe::{Device, MoeAlignOptions, MoeLayerOptions, Tensor, bf16};
//! use hk_moe::{moe_align_block_size, moe_e2e};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let a = Tensor::from_slice(&stream, &[1.0, 2.0].map(bf16::from_f32), &[1, 2])?;
//! // A gate of 30 + 80, which is its own silu and lets -5 + 2 through.
//! let w1 = [30.0, 40.0, -5.0, 1.0].map(bf16::from_f32);
//! let w1 = Tensor::from_slice(&stream, &w1, &[1, 2, 2])?;
//! let w2 = Tensor::from_slice(&stream, &[1.0, -1.0].map(bf16::from_f32), &[1, 2, 1])?;
//! let ids = Tensor::from_slice(&stream, &[0], &[1, 1])?;
//! let aligned = moe_align_block_size(&ids, 1, 16, &MoeAlignOptions::default())?;
//! let options = MoeLayerOptions::default();
//! let c: Tensor<f32> = moe_e2e(&a, &w1, &w2, &aligned.gates(16), 1, &options)?;
//! assert_eq!(c.to_vec()?, [-330.0, 330.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{Real, Real16};
use hk_core::op::Arguments;
use hk_core::op::epilogue::{Extent, Lowered, Operand, Step};
use hk_core::op::experts::{ExpertLayer, Experts, SortedGates};
use hk_core::op::prequant::{Prequant, StepScales};
use hk_core::op::product::{Matrices, Names, Product};
use hk_core::op::tiling::Problem;
use hk_core::{AnyPtr, DevicePtr, Result, Tensor, TensorSlice};

use crate::activation::Activation;
use crate::expert_products::{
    AlignedGates, BY_ROWS, Blocks, ExpertElement, ExpertMatrices, ExpertWeight, GROUP, GatedForm,
    MOST_BLOCK, NAMES, matrix_scales, one_scale, plain_variant, problem, product, quantises,
    scales_of_matrices, weigh,
};
use crate::reduce_grouped::Combine;

const OP: &str = "moe_e2e";

/// Groups of rows, of w1 and of w2, and of columns, with a scale.
const UP_GROUPS: &str = "groups of rows(2i)";
const DOWN_GROUPS: &str = "groups of rows(k)";
const K_GROUPS: &str = "groups(k)";
const I_GROUPS: &str = "groups(i)";
const W1_GROUPS: &[&str] = &["experts", UP_GROUPS, K_GROUPS];
const W2_GROUPS: &[&str] = &["experts", DOWN_GROUPS, I_GROUPS];
/// Columns of blocks that rows can be made codes of.
const CODED_GROUPS: [usize; 4] = [32, 64, 128, 256];

/// What layers of experts do besides.
#[derive(Debug, Clone, Default)]
pub struct MoeLayerOptions<'a> {
    weights: Option<Operand<'a>>,
    scales: [Option<&'a TensorSlice<f32>>; 2],
    block_scales: [Option<&'a TensorSlice<f32>>; 2],
    block_shape: Option<[usize; 2]>,
    a_scale: Option<&'a TensorSlice<f32>>,
    per_tensor: bool,
    reduce: bool,
    validate: Option<bool>,
}

impl<'a> MoeLayerOptions<'a> {
    /// Multiplies the results of each gate by its weight, `[rows, top_k]`: of f32, bf16 or f16.
    #[must_use]
    pub fn topk_weights(mut self, weights: impl Into<Operand<'a>>) -> Self {
        self.weights = Some(weights.into());
        self
    }

    /// Multiplies the sums of both products by the scales of 8-bit matrices, `[E]`, or of their rows, `[E,
    /// rows]`. For e4m3, all of a is made codes with one scale, and each row of z with its own: the largest
    /// magnitude over the largest code, or 1 for zeros.
    #[must_use]
    pub fn scales(mut self, [w1, w2]: [&'a TensorSlice<f32>; 2]) -> Self {
        self.scales = [Some(w1), Some(w2)];
        self
    }

    /// Of e4m3: scales of blocks of 128 rows by 128 columns, `[E, ceil(2i / 128), ceil(k / 128)]` and `[E, ceil(k
    /// / 128), ceil(i / 128)]`, if blocks are those. a and z are made codes with a scale for each 128 of a row.
    #[must_use]
    pub fn block_scales(mut self, [w1, w2]: [&'a TensorSlice<f32>; 2]) -> Self {
        self.block_scales = [Some(w1), Some(w2)];
        self
    }

    /// Rows and columns of a block, if scales of blocks are not for 128 by 128: any number of rows, and 32, 64, 128
    /// or 256 columns. a and z are made codes with a scale for each so many of a row.
    #[must_use]
    pub const fn block_shape(mut self, shape: [usize; 2]) -> Self {
        self.block_shape = Some(shape);
        self
    }

    /// The scale of all of a, `[1]`, for e4m3 without scales of blocks: codes are `a / a_scale`, rounded to
    /// nearest, ties to even, and at most the largest.
    #[must_use]
    pub fn a_scale(mut self, scale: &'a TensorSlice<f32>) -> Self {
        self.a_scale = Some(scale);
        self
    }

    /// Makes all rows of z codes with one scale, for e4m3 without scales of blocks. Gates that no tile has count
    /// as zeros.
    #[must_use]
    pub const fn intermediate_per_tensor(mut self) -> Self {
        self.per_tensor = true;
        self
    }

    /// Gives each row the sum of its gates' results, `[rows, k]`, as [`moe_sum`](crate::moe_sum()) does of results
    /// for each gate: these are rounded to the type of c, and added in f32 in the order of slots. Gates that no tile
    /// has count as zeros. Takes two launches more.
    #[must_use]
    pub const fn reduce(mut self) -> Self {
        self.reduce = true;
        self
    }

    /// Whether gates and tiles are looked at, as
    /// [`MoeGemmOptions::validate_indices`](crate::MoeGemmOptions::validate_indices) says.
    #[must_use]
    pub const fn validate_indices(mut self, validate: bool) -> Self {
        self.validate = Some(validate);
        self
    }

    /// Requires the scales, and what goes with them, that matrices of type `W` have.
    fn check<T: ExpertElement, W: ExpertWeight<T>>(&self, args: &Arguments) -> Result<()> {
        let (are_narrow, are_codes) = (size_of::<W>() == 1, quantises::<T, W>());
        let of_blocks = self.block_scales[0].is_some();
        let some = |is_given: bool| if is_given { "some" } else { "none" };
        let expected = if are_codes { "some" } else { "none of matrices other than e4m3" };
        args.require(!of_blocks || are_codes, "block_scales", expected, some(of_blocks))?;
        if let Some(shape @ [rows, columns]) = self.block_shape {
            let given = format!("{shape:?}");
            args.require(of_blocks, "block_shape", "none without scales of blocks", &given)?;
            let fits = (1..=MOST_BLOCK).contains(&rows) && CODED_GROUPS.contains(&columns);
            let constraint = format!("rows, at most {MOST_BLOCK}, and one of {CODED_GROUPS:?}");
            args.require(fits, "block_shape", constraint, given)?;
        }
        let expected = match (are_narrow, of_blocks) {
            (true, false) => "those of 8-bit matrices",
            (true, true) => "none beside scales of blocks",
            (false, _) => "none of 16-bit matrices",
        };
        let is_scaled = self.scales[0].is_some();
        args.require(is_scaled == (are_narrow && !of_blocks), "scales", expected, some(is_scaled))?;
        let (may_have, has) = (are_codes && !of_blocks, self.a_scale.is_some());
        let expected = "none but of e4m3 with scales of matrices or rows";
        args.require(!has || may_have, "a_scale", expected, some(has))?;
        let expected = format!("false, {expected}");
        let per_tensor = self.per_tensor;
        args.require(!per_tensor || may_have, "intermediate_per_tensor", expected, per_tensor)
    }
}

/// The layer of each gate's expert: `z[i] = silu(sum_k a[t, k] w1[e, i, k]) * sum_k a[t, k] w1[e, I + i, k]` and
/// `c[t, s, k] = w sum_i z[i] w2[e, k, i]`, where e is the expert of slot s of row t, w its weight, if the options
/// have such, and I half the rows of w1's matrices.
///
/// # Errors
/// [`Error::Shape`] if the tensors do not fit together, w1 has an odd number of rows, i, k or E is 0, or E is above
/// 32,767; [`Error::Stride`] if elements of rows of a or c are not adjacent; [`Error::ArchMismatch`] if 8-bit floating
/// point is that of another chip; [`Error::Value`] if `top_k` is not from 1 to 64, there are 2^31 gates or more, tiles
/// of gates are not multiples of 16 rows, scales are missing for 8-bit matrices or there for others, or of blocks that
/// there cannot be, w1 or w2 has adjacent elements neither in rows nor in columns, a or z is of 2 GiB or more, k or i
/// is above 65,536, or gates or tiles are wrong and [looked at](MoeLayerOptions::validate_indices).
pub fn moe_e2e<T: Real16 + ExpertElement, W: ExpertWeight<T>, Y: Real>(
    a: &TensorSlice<T>,
    w1: &TensorSlice<W>,
    w2: &TensorSlice<W>,
    gates: &AlignedGates<'_>,
    top_k: usize,
    options: &MoeLayerOptions<'_>,
) -> Result<Tensor<Y>> {
    let size = |at: usize| a.shape().get(at).copied().unwrap_or_default();
    let shape = [size(0), top_k, size(1)];
    let shape = if options.reduce { &[shape[0], shape[2]][..] } else { &shape };
    let mut c = Tensor::zeros(a.stream(), shape)?;
    moe_e2e_into(a, w1, w2, gates, top_k, options, &mut c)?;
    Ok(c)
}

/// As [`moe_e2e`], into `c`, whose gates, or sums, may be any distance apart. Gates that no tile has stay as they
/// are.
///
/// # Errors
/// As [`moe_e2e`]; [`Error::Shape`] also if `c` has the wrong shape, [`Error::Alias`] if it overlaps an operand.
pub fn moe_e2e_into<T: Real16 + ExpertElement, W: ExpertWeight<T>, Y: Real>(
    a: &TensorSlice<T>,
    w1: &TensorSlice<W>,
    w2: &TensorSlice<W>,
    gates: &AlignedGates<'_>,
    top_k: usize,
    options: &MoeLayerOptions<'_>,
    c: &mut TensorSlice<Y>,
) -> Result<()> {
    let most = Problem::MAX_SIZE as usize;
    let mut args = Arguments::new(OP);
    let a_row = args.input("a", a, &["rows", "k"]).rows()?;
    args.limit("rows", 0..=most)?;
    args.limit("k", 1..=most)?;
    // An odd number of rows is none of these.
    let hidden = w1.shape().get(1).map_or(0, |rows| rows / 2);
    args.define("2i", 2 * hidden);
    args.define("i", hidden);
    let w1_strides = args.input("w1", w1, &["experts", "2i", "k"]).strides::<3>()?;
    args.limit("2i", 1..=most)?;
    let w2_strides = args.input("w2", w2, &["experts", "k", "i"]).strides::<3>()?;
    let of_w1 = ExpertMatrices::of(&args, (OP, "w1"), w1, w1_strides)?;
    let of_w2 = ExpertMatrices::of(&args, (OP, "w2"), w2, w2_strides)?;
    let [rows, experts, i, k] = args.sizes(["rows", "experts", "i", "k"])?.map(|of| of as u64);
    let sorted = gates.declare(&mut args, rows, top_k)?;
    let count = sorted.count;
    let [mut of_up, mut steps] = [Lowered::default(), Lowered::default()];
    options.check::<T, W>(&args)?;
    let block @ [block_rows, depth] = options.block_shape.unwrap_or([GROUP; 2]);
    let (mut groups, mut copies) = ([None; 2], [None; 2]);
    if let [Some(w1_scale), Some(w2_scale)] = options.block_scales {
        args.define(UP_GROUPS, (2 * hidden).div_ceil(block_rows));
        args.define(DOWN_GROUPS, (k as usize).div_ceil(block_rows));
        args.define(K_GROUPS, (k as usize).div_ceil(depth));
        args.define(I_GROUPS, hidden.div_ceil(depth));
        let of = [
            ("w1_scale", w1_scale, W1_GROUPS, [experts, 2 * i, k]),
            ("w2_scale", w2_scale, W2_GROUPS, [experts, k, i]),
        ];
        for (at, (name, scale, dims, sizes)) in of.into_iter().enumerate() {
            let [matrix, row, _] = args.input(name, scale, dims).adjacent::<3>()?;
            let (of_groups, copy) = scales_of_matrices(scale, [matrix, row], block, sizes);
            (groups[at], copies[at]) = (Some(of_groups), copy);
        }
    }
    if let Some(scale) = options.a_scale {
        let step = Step::Multiply(Operand::F32(scale), Extent::One);
        of_up.push(&mut args, ["a_scale"; 3], step)?;
    }
    let in_groups = Prequant::Groups { k: depth as u32, reciprocal: false };
    let [of_a, of_z] = match (quantises::<T, W>(), groups[0].is_some(), options.per_tensor) {
        (false, ..) => [None; 2],
        (true, true, _) => [Some(in_groups); 2],
        (true, false, per_tensor) => {
            let of_z = match per_tensor {
                true => one_scale(&args, &mut steps, None)?,
                false => Prequant::Steps(StepScales::Rows(steps.push_scales(&args, true)?)),
            };
            [Some(one_scale(&args, &mut of_up, options.a_scale)?), Some(of_z)]
        }
    };
    if let [Some(w1_scale), Some(w2_scale)] = options.scales {
        let halves = Extent::ExpertHalves(&["experts", "2i"]);
        matrix_scales(&mut args, &mut of_up, ("w1_scale", w1_scale), halves)?;
        let columns = Extent::Named(&["experts", "k"], [0, 1]);
        matrix_scales(&mut args, &mut steps, ("w2_scale", w2_scale), columns)?;
    }
    let mut weights = None;
    if let Some(given) = options.weights {
        weights = weigh(&mut args, &mut steps, given)?;
    }
    let c_dims: &[&str] = if options.reduce { &["rows", "k"] } else { &["rows", "top_k", "k"] };
    let c_row = args.output("c", c, c_dims).rows()?;
    let call = args.check()?;
    gates.validate(&call, &sorted, experts, options.validate)?;

    let z = Matrices::in_workspace::<T>([count, i]);
    let of_blocks = if groups[0].is_some() { Blocks::of(block) } else { Blocks::None };
    let group = if groups[0].is_some() { depth as u64 } else { 1 };
    let by_k = !of_w1.by_rows;
    let mut of = GatedForm::new::<T, W>(of_up.len(), Activation::SiluAndMul, (of_blocks, by_k));
    let mut plain = plain_variant::<T, W>(of_blocks);
    for (variant, matrices) in [(&mut of.variant, &of_w1), (&mut plain, &of_w2)] {
        *variant += if matrices.by_rows { BY_ROWS } else { "" };
    }
    let [up_groups, down_groups] = groups;
    let up = Product {
        names: Names { w: "w1", ..NAMES },
        x: Matrices::of(a, [0, a_row]),
        w: of_w1.matrices,
        y: z,
        groups: up_groups,
        prequant: of_a,
        gate: of.gate,
        problem: Problem {
            group,
            transposed: [false, of_w1.by_rows],
            ..problem::<T, W>([rows, of.columns * i, k, experts])
        },
        steps: of_up,
        ..product(&of.variant)
    };
    let mut y = Matrices::of(c, [0, c_row]).with_shape([count, k]);
    let mut behind = None;
    if options.reduce {
        y = Matrices::in_workspace::<Y>([count, k]);
        let combine = Combine {
            between: (Y::DTYPE, k.next_multiple_of(16) as i64),
            shape: [count as usize, k as usize],
            indx: DevicePtr::NULL,
            groups: [rows as usize, top_k],
            groups_there: DevicePtr::NULL,
            activation: Activation::None,
            gammas: DevicePtr::NULL,
            residual: (AnyPtr::NULL, 0),
            out: (c.ptr_mut().any(), c_row, Y::CODE),
            quant_scale: DevicePtr::NULL,
            mx_scales: (AnyPtr::NULL, 0),
        };
        behind = Some(combine.behind(&call)?);
    }
    let down = Product {
        // Its rows are half as long as w1 has rows.
        names: Names { x: "w1", w: "w2", ..NAMES },
        x: z,
        w: of_w2.matrices,
        y,
        groups: down_groups,
        prequant: of_z,
        problem: Problem {
            group,
            transposed: [false, of_w2.by_rows],
            ..problem::<T, W>([count, k, i, experts])
        },
        steps,
        ..product(&plain)
    };
    let [up_copies, down_copies] = copies.map(|of_w| [None, of_w]);
    let up = Experts { halves: of.halves, copies: up_copies, ..Experts::new(up, sorted) };
    let of_z = SortedGates { per_row: 1, ..sorted };
    let down = Experts { copies: down_copies, weights, ..Experts::new(down, of_z) };
    ExpertLayer { up, down }.launch(call, behind)
}
