//! Products of tokens with the matrices of their experts: what the ops that have such share.

use std::collections::HashSet;

use hk_core::dtype::{DType, E8M0, Element, F8E4M3, F8E4M3Fnuz, Real, bf16, f16};
use hk_core::op::epilogue::{Extent, Lowered, Operand, Step};
use hk_core::op::experts::{Experts, SortedGates};
use hk_core::op::prequant::{Prequant, StepScales};
use hk_core::op::product::{Gate, GroupScales, Matrices, Names, Product};
use hk_core::op::ragged::ScaleCopy;
use hk_core::op::tiling::Problem;
use hk_core::op::{Arguments, Call};
use hk_core::{Activation as Plain, DevicePtr, Result, TensorSlice};

use crate::activation::Activation;
use crate::moe_topk::MOST_EXPERTS;
use crate::{KERNELS, MoeAlign};

const CORE: &str = "experts";

/// Elements of tokens: bf16, f16, or e4m3 in the flavour of the chip, with scales.
pub trait ExpertElement: Element {
    /// How the kernels' variants name it.
    const VARIANT: &'static str;
}

/// Elements of the matrices that tokens of type `T` are multiplied with: those of tokens, or, for tokens of
/// 16 bits, i8 with scales, or e4m3 with scales, which tokens are made as well.
pub trait ExpertWeight<T: ExpertElement>: Element {
    /// How the kernels' variants name both.
    const VARIANT: &'static str;
}

impl<T: ExpertElement> ExpertWeight<T> for T {
    const VARIANT: &'static str = <T as ExpertElement>::VARIANT;
}

macro_rules! elements {
    ($($type:ident: $variant:literal),*) => {$(
        impl ExpertElement for $type {
            const VARIANT: &'static str = $variant;
        }
    )*};
}

elements!(bf16: "bf16", f16: "f16", F8E4M3: "e4m3", F8E4M3Fnuz: "e4m3");

macro_rules! weights {
    ($($type:ident for $tokens:ident: $variant:literal),*) => {$(
        impl ExpertWeight<$tokens> for $type {
            const VARIANT: &'static str = $variant;
        }
    )*};
}

weights!(i8 for bf16: "bf16_i8", i8 for f16: "f16_i8");
weights!(F8E4M3 for bf16: "e4m3", F8E4M3 for f16: "e4m3");
weights!(F8E4M3Fnuz for bf16: "e4m3", F8E4M3Fnuz for f16: "e4m3");

/// Whether rows of type `T` are made codes of matrices of type `W`.
pub(crate) const fn quantises<T: Element, W: Element>() -> bool {
    size_of::<T>() == 2 && matches!(W::DTYPE, DType::F8E4M3 | DType::F8E4M3Fnuz)
}

/// Gates in order of their experts, as [`moe_align_block_size`](crate::moe_align_block_size()) gives them.
#[derive(Debug, Clone, Copy)]
pub struct AlignedGates<'a> {
    /// The gate in each row, `[cap]`, each once; -1, or as many as there are gates, where there is none.
    pub sorted_token_ids: &'a TensorSlice<i32>,
    /// The expert of each tile, `[ceil(cap / block_size)]`, or -1: that of no expert has results of 0.
    pub expert_ids: &'a TensorSlice<i32>,
    /// Rows of all experts' tiles, `[1]`. What is behind them does not count.
    pub num_tokens_post_pad: &'a TensorSlice<i32>,
    /// Rows of a tile: a multiple of 16.
    pub block_size: usize,
}

impl AlignedGates<'_> {
    /// Declares them, `top_k` of each of so many rows of a; of the "experts" that there are matrices of.
    /// A row may have more gates than these, if experts are elsewhere.
    pub(crate) fn declare(
        &self,
        args: &mut Arguments,
        rows: u64,
        top_k: usize,
    ) -> Result<SortedGates> {
        let Self { sorted_token_ids, expert_ids, num_tokens_post_pad, block_size } = *self;
        args.require((1..=64).contains(&top_k), "top_k", "from 1 to 64", top_k)?;
        args.define("top_k", top_k);
        let per_row = top_k as u64;
        let count = rows.saturating_mul(per_row);
        args.require(count <= Problem::MAX_SIZE, "a", "fewer than 2^31 gates", count)?;
        args.limit("experts", 1..=MOST_EXPERTS)?;
        args.input("sorted_token_ids", sorted_token_ids, &["cap"]).contiguous()?;
        args.limit("cap", 0..=Problem::MAX_SIZE as usize)?;
        let [capacity] = args.sizes(["cap"])?;
        let most = Problem::MAX_SIZE as usize;
        let holds = (1..=most).contains(&block_size) && block_size.is_multiple_of(16);
        args.require(holds, "block_size", "a multiple of 16, below 2^31", block_size)?;
        args.define(TILES, capacity.div_ceil(block_size));
        args.input("expert_ids", expert_ids, &[TILES]).contiguous()?;
        args.input("num_tokens_post_pad", num_tokens_post_pad, &["1"]).contiguous()?;
        Ok(SortedGates {
            gates: sorted_token_ids.ptr(),
            experts: expert_ids.ptr(),
            length: num_tokens_post_pad.ptr(),
            capacity: capacity as u64,
            tile_rows: block_size as u64,
            count,
            per_row,
        })
    }

    /// Looks at all that lies on the device and says which gates rows have, of which expert: before a launch, as
    /// [`Call::validates_indices`] says.
    pub(crate) fn validate(
        &self,
        call: &Call,
        declared: &SortedGates,
        experts: u64,
        wanted: Option<bool>,
    ) -> Result<()> {
        if !call.validates_indices(wanted)? {
            return Ok(());
        }
        let of = |list: &TensorSlice<i32>| -> Result<Vec<i64>> {
            Ok(list.to_vec()?.into_iter().map(i64::from).collect())
        };
        let [count, capacity, experts] =
            [declared.count, declared.capacity, experts].map(|size| size as i64);
        let length = of(self.num_tokens_post_pad)?;
        let constraint = format!("rows from 0 to {capacity}");
        call.require_each("num_tokens_post_pad", &length, &constraint, |_, rows| {
            (0..=capacity).contains(&rows)
        })?;
        let rows = length.first().map_or(0, |rows| *rows as usize);
        let mut gates = of(self.sorted_token_ids)?;
        gates.truncate(rows);
        let constraint = format!("gates below {count}, or -1 or {count} where there is none");
        call.require_each("sorted_token_ids", &gates, &constraint, |_, gate| {
            (-1..=count).contains(&gate)
        })?;
        let mut seen = HashSet::new();
        call.require_each("sorted_token_ids", &gates, "each gate once", |_, gate| {
            !(0..count).contains(&gate) || seen.insert(gate)
        })?;
        let mut tiles = of(self.expert_ids)?;
        tiles.truncate(rows.div_ceil(self.block_size));
        let constraint = format!("-1, or an expert below {experts}");
        call.require_each("expert_ids", &tiles, &constraint, |_, expert| {
            (-1..experts).contains(&expert)
        })
    }
}

impl MoeAlign {
    /// The gates, in tiles of the size that they were aligned to.
    pub fn gates(&self, block_size: usize) -> AlignedGates<'_> {
        AlignedGates {
            sorted_token_ids: &self.sorted_token_ids,
            expert_ids: &self.expert_ids,
            num_tokens_post_pad: &self.num_tokens_post_pad,
            block_size,
        }
    }
}

/// Scales of blocks of 8-bit operands, in f32.
#[derive(Debug, Clone, Copy)]
pub struct BlockScales<'a> {
    /// Of a: one for each block of k of a row, `[rows, ceil(k / 128)]`, if blocks are those of 128.
    pub a: &'a TensorSlice<f32>,
    /// Of b: one for each block of rows by k, `[E, ceil(n / 128), ceil(k / 128)]`.
    pub b: &'a TensorSlice<f32>,
}

/// What products of experts do besides.
#[derive(Debug, Clone, Default)]
pub struct MoeGemmOptions<'a> {
    weights: Option<Operand<'a>>,
    bias: Option<&'a TensorSlice<f32>>,
    activation: Option<Activation>,
    pub(crate) scales: Option<BlockScales<'a>>,
    pub(crate) block_shape: Option<[usize; 2]>,
    pub(crate) a_scale: Option<&'a TensorSlice<f32>>,
    pub(crate) b_scale: Option<&'a TensorSlice<f32>>,
    pub(crate) a_mx_scale: Option<&'a TensorSlice<E8M0>>,
    pub(crate) splits: Option<u32>,
    pub(crate) validate: Option<bool>,
    pub(crate) tile: Option<&'a str>,
}

impl<'a> MoeGemmOptions<'a> {
    /// Multiplies the sums of each gate by its weight, `[rows, gates of a row]`: of f32, bf16 or f16.
    #[must_use]
    pub fn topk_weights(mut self, weights: impl Into<Operand<'a>>) -> Self {
        self.weights = Some(weights.into());
        self
    }

    /// Adds these numbers of each expert to the sums of the rows of its matrix, `[E, rows]`, before an
    /// activation; of products with gates after they are multiplied by weights, else before.
    #[must_use]
    pub const fn bias(mut self, bias: &'a TensorSlice<f32>) -> Self {
        self.bias = Some(bias);
        self
    }

    /// Of [`moe_silu_fused`](crate::moe_silu_fused()): another activation of gates and what they let through
    /// than [`SiluAndMul`](Activation::SiluAndMul).
    #[must_use]
    pub const fn activation(mut self, activation: Activation) -> Self {
        self.activation = Some(activation);
        self
    }

    /// Scales of blocks of 8-bit operands.
    #[must_use]
    pub fn scales(mut self, scales: BlockScales<'a>) -> Self {
        self.scales = Some(scales);
        self
    }

    /// Rows of b and k that have a scale, if scales of blocks are not for 128 by 128: any number of rows, and a
    /// multiple of 32 k. Rows of a have one for as many k. Where a size is no power of two, launches more copy its
    /// scales.
    #[must_use]
    pub const fn block_shape(mut self, shape: [usize; 2]) -> Self {
        self.block_shape = Some(shape);
        self
    }

    /// Multiplies sums by the scale of a, `[1]`: of 8-bit rows, instead of scales of blocks, and of those
    /// that are multiplied with blocks of MX. Rows of 16 bits that are made 8-bit codes have `a / a_scale`,
    /// rounded to nearest, ties to even, and at most the largest; without it their scale is the largest
    /// magnitude of all rows over the largest code, and codes are multiplied by its inverse.
    #[must_use]
    pub fn a_scale(mut self, scale: &'a TensorSlice<f32>) -> Self {
        self.a_scale = Some(scale);
        self
    }

    /// Multiplies sums by those of matrices, `[E]`, or of their rows, `[E, rows]`: of 8 bits, instead of
    /// scales of blocks, and of those in blocks of MX.
    #[must_use]
    pub fn b_scale(mut self, scale: &'a TensorSlice<f32>) -> Self {
        self.b_scale = Some(scale);
        self
    }

    /// Of [`moe_mxfp4`](crate::moe_mxfp4()): the scales of blocks of MX of a, `[rows, ceil(k / 32)]`. With them, a is
    /// e2m1, or e4m3 as OCP has it, on every chip.
    #[must_use]
    pub const fn a_mx_scale(mut self, scale: &'a TensorSlice<E8M0>) -> Self {
        self.a_mx_scale = Some(scale);
        self
    }

    /// Cuts k into so many shares at most, whose partial sums are added up in their order by a launch of its
    /// own: if not given, as many as keep the device busy, where there are few gates and at least 4096 k. Not of
    /// products of gates and what they let through.
    #[must_use]
    pub const fn splits(mut self, splits: u32) -> Self {
        self.splits = Some(splits);
        self
    }

    /// Whether the gates of rows and the experts of tiles are looked at before the launch, which waits for the
    /// stream; on the simulator, and in builds with debug assertions, if not given. Never while the stream is being
    /// captured. Kernels that are given wrong ones all the same access nothing outside of their tensors.
    #[must_use]
    pub const fn validate_indices(mut self, validate: bool) -> Self {
        self.validate = Some(validate);
        self
    }

    /// Takes the tile configuration of that name, such as `64x128x64`, instead of the one that is expected to
    /// be fastest.
    #[must_use]
    pub fn tile(mut self, tile: &'a str) -> Self {
        self.tile = Some(tile);
        self
    }
}

impl MoeGemmOptions<'_> {
    /// How rows of 16 bits become codes that e4m3 of type `W` is multiplied with, if it is such: with a scale
    /// that is given, and a step already, or that of all rows, as a step.
    pub(crate) fn prequant<T: Element, W: Element>(
        &self,
        args: &Arguments,
        steps: &mut Lowered,
    ) -> Result<Option<Prequant>> {
        quantises::<T, W>().then(|| one_scale(args, steps, self.a_scale)).transpose()
    }

    /// Declares the scales of a, of matrices and of their rows, if there are such, as steps.
    pub(crate) fn scale(
        &self,
        args: &mut Arguments,
        steps: &mut Lowered,
        of_rows: Extent,
    ) -> Result<()> {
        if let Some(scale) = self.a_scale {
            steps.push(args, ["a_scale"; 3], Step::Multiply(scale.into(), Extent::One))?;
        }
        let Some(scale) = self.b_scale else { return Ok(()) };
        matrix_scales(args, steps, ("b_scale", scale), of_rows)
    }

    /// Declares the biases, if there are such, as a step.
    pub(crate) fn add_bias(
        &self,
        args: &mut Arguments,
        steps: &mut Lowered,
        of_rows: Extent,
    ) -> Result<()> {
        let Some(bias) = self.bias else { return Ok(()) };
        steps.push(args, ["bias"; 3], Step::Add(bias.into(), of_rows, 1.0))
    }

    /// Requires that there is no activation of gates.
    pub(crate) fn refuse_activation(&self, args: &Arguments) -> Result<()> {
        let given = format!("{:?}", self.activation);
        args.require(self.activation.is_none(), "activation", "none, without gates", given)
    }

    /// Requires shares of k that can be, if they are given.
    pub(crate) fn shares(&self, args: &Arguments) -> Result<()> {
        args.require(self.splits != Some(0), "splits", "at least 1", 0)
    }

    /// Declares the weights, if there are such, as a step.
    pub(crate) fn weigh(&self, args: &mut Arguments, steps: &mut Lowered) -> Result<WeightCopy> {
        self.weights.map_or(Ok(None), |weights| weigh(args, steps, weights))
    }
}

/// The copy of weights whose rows are apart, and the number of the steps' operand that it is.
pub(crate) type WeightCopy = Option<(ScaleCopy, usize)>;

/// Declares the weights of gates, as a step.
pub(crate) fn weigh(
    args: &mut Arguments,
    steps: &mut Lowered,
    weights: Operand<'_>,
) -> Result<WeightCopy> {
    match weights {
        Operand::Number(_) => {
            let step = Step::Multiply(weights, Extent::One);
            steps.push(args, [WEIGHTS; 3], step).map(|()| None)
        }
        Operand::Bf16(weights) => weigh_rows(args, steps, weights),
        Operand::F16(weights) => weigh_rows(args, steps, weights),
        Operand::F32(weights) => weigh_rows(args, steps, weights),
    }
}

const WEIGHTS: &str = "topk_weights";

/// As [`weigh`], of a tensor.
fn weigh_rows<U: Real>(
    args: &mut Arguments,
    steps: &mut Lowered,
    weights: &TensorSlice<U>,
) -> Result<WeightCopy> {
    let row = args.input(WEIGHTS, weights, &["rows", "top_k"]).rows()?;
    let operand = steps.push_factors(args, true, U::CODE)?;
    let [rows, each] = args.sizes(["rows", "top_k"])?;
    if rows <= 1 || row == each as i64 {
        steps.tensors[operand] = weights.ptr().any();
        return Ok(None);
    }
    let copy = ScaleCopy {
        from: weights.ptr().any(),
        dtype: U::DTYPE,
        strides: [0, row, 1],
        shape: [1, rows as u64, each as u64],
        from_rows: rows as u64,
        rows_per_scale: 1,
        groups_per_scale: 1,
        gathered: false,
        dense: true,
    };
    Ok(Some((copy, operand)))
}

/// Rows of a block, or k, with one scale.
pub(crate) const GROUP: usize = 128;
/// k of the smallest block, of which others are multiples.
const LEAST_DEPTH: usize = 32;
/// The largest size of a block: beyond all sizes, there is no other one.
pub(crate) const MOST_BLOCK: usize = 1 << 30;
/// How variants say that matrices are stored as their transposes.
pub(crate) const BY_ROWS: &str = "_by_rows";
const K_GROUPS: &str = "groups(k)";
const N_GROUPS: &str = "groups(n)";
const TILES: &str = "ceil(cap / block_size)";

/// What happens to the sums.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// An activation, if there is one, and weights after it.
    Plain(Option<Plain>),
    /// Weights before a bias, as if rows of a were multiplied by them, and an activation, if there is one.
    OnInput(Option<Plain>),
    /// Weights, then an activation of gates and what they let through: silu if there is no other.
    Gated,
}

impl Form {
    /// Declares what happens to sums, as steps; gives the activation of gates, if it is one of such, and the
    /// copy of weights.
    pub(crate) fn lower(
        self,
        args: &mut Arguments,
        steps: &mut Lowered,
        options: &MoeGemmOptions<'_>,
        of_rows: Extent,
    ) -> Result<(Option<Activation>, WeightCopy)> {
        match self {
            Self::Plain(activation) | Self::OnInput(activation) => {
                let on_input = matches!(self, Self::OnInput(_));
                options.refuse_activation(args)?;
                options.shares(args)?;
                let before = if on_input { options.weigh(args, steps)? } else { None };
                options.add_bias(args, steps, of_rows)?;
                if let Some(activation) = activation {
                    steps.push(args, ["activation"; 3], Step::Activate(activation))?;
                }
                let weights = if on_input { before } else { options.weigh(args, steps)? };
                Ok((None, weights))
            }
            Self::Gated => {
                let given = options.splits.map_or("none".into(), |splits| splits.to_string());
                args.require(options.splits.is_none(), "splits", "none, of gates", given)?;
                let activation = options.activation.unwrap_or(Activation::SiluAndMul);
                let given = format!("{activation:?}");
                args.require(activation.is_gated(), "activation", "one of gates", given)?;
                activation.check(args)?;
                let weights = options.weigh(args, steps)?;
                options.add_bias(args, steps, of_rows)?;
                Ok((Some(activation), weights))
            }
        }
    }
}

/// What a product of gates and what they let through is: in which variant, with how many columns for each
/// result, and how these are put together after so many steps.
pub(crate) struct GatedForm {
    pub(crate) variant: String,
    pub(crate) columns: u64,
    pub(crate) gate: Option<Gate>,
    pub(crate) halves: Option<[f32; 3]>,
}

impl GatedForm {
    /// Blocks have columns of both next to each other, or, if matrices are of 8 bits or not stored along k, or
    /// the activation has numbers, multiply one after the other. Scales are of blocks, or not.
    pub(crate) fn new<T: ExpertElement, W: ExpertWeight<T>>(
        steps: u32,
        activation: Activation,
        (of_blocks, by_k): (Blocks, bool),
    ) -> Self {
        let in_turn = size_of::<W>() == 1 || activation != Activation::SiluAndMul || !by_k;
        let form = if in_turn { "halves" } else { "gated" };
        let gate = Gate { steps, activation: Some(Plain::Silu), whole: true };
        let (_, halves) = activation.code();
        Self {
            variant: format!("{}_{form}", plain_variant::<T, W>(of_blocks)),
            columns: if in_turn { 2 } else { 1 },
            gate: (!in_turn || !by_k).then_some(gate),
            halves: in_turn.then_some(halves),
        }
    }
}

/// The variant of products without gates, whose scales are of blocks, or not.
pub(crate) fn plain_variant<T: ExpertElement, W: ExpertWeight<T>>(of: Blocks) -> String {
    let suffix = match of {
        Blocks::None => "",
        Blocks::Usual => "_128",
        Blocks::Any => "_any",
    };
    format!("{}{suffix}", W::VARIANT)
}

/// What scales are of, as the variants differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blocks {
    /// Others than blocks.
    None,
    /// Blocks of 128 by 128.
    Usual,
    /// Blocks of whatever size.
    Any,
}

impl Blocks {
    /// Those of so many rows by so many k.
    pub(crate) fn of(shape: [usize; 2]) -> Self {
        if shape == [GROUP; 2] { Self::Usual } else { Self::Any }
    }
}

/// Declares everything, and launches the product: of each row of `a` with `top_k` experts.
pub(crate) fn launch<T: ExpertElement, W: ExpertWeight<T>, Y: Real>(
    (op, form): (&'static str, Form),
    (a, b): (&TensorSlice<T>, &TensorSlice<W>),
    gates: &AlignedGates<'_>,
    top_k: usize,
    options: &MoeGemmOptions<'_>,
    c: &mut TensorSlice<Y>,
) -> Result<()> {
    let most = Problem::MAX_SIZE as usize;
    let is_gated = matches!(form, Form::Gated);
    let mut args = Arguments::new(op);
    let a_row = args.input("a", a, &["rows", "k"]).rows()?;
    args.limit("rows", 0..=most)?;
    args.limit("k", 1..=most)?;
    if is_gated {
        // An odd number of rows is none of these.
        let n = b.shape().get(1).map_or(0, |rows| rows / 2);
        args.define("2n", 2 * n);
        args.define("n", n);
    }
    let b_dims: &[&str] = if is_gated { &["experts", "2n", "k"] } else { &["experts", "n", "k"] };
    let strides = args.input("b", b, b_dims).strides::<3>()?;
    args.limit(b_dims[1], 1..=most)?;
    let [b_rows] = args.sizes([b_dims[1]])?.map(|size| size as u64);
    let [rows, experts, n, k] = args.sizes(["rows", "experts", "n", "k"])?.map(|size| size as u64);
    let ExpertMatrices { matrices: w, by_rows } = ExpertMatrices::of(&args, (op, "b"), b, strides)?;
    let sorted = gates.declare(&mut args, rows, top_k)?;

    let mut steps = Lowered::default();
    require_scales::<T, W>(&args, options)?;
    let groups = block_scales(&mut args, options, [b_rows, k])?;
    let halves = Extent::ExpertHalves(&["experts", "2n"]);
    let of_rows = if is_gated { halves } else { Extent::ExpertColumns };
    options.scale(&mut args, &mut steps, of_rows)?;
    let prequant = options.prequant::<T, W>(&args, &mut steps)?;
    let variant = plain_variant::<T, W>(groups.kind);
    let (gated, weights) = form.lower(&mut args, &mut steps, options, of_rows)?;
    let mut of = match gated {
        Some(activation) => {
            GatedForm::new::<T, W>(steps.len(), activation, (groups.kind, !by_rows))
        }
        None => GatedForm { variant, columns: 1, gate: None, halves: None },
    };
    let c_row = args.output("c", c, &["rows", "top_k", "n"]).rows()?;
    let call = args.check()?;
    gates.validate(&call, &sorted, experts, options.validate)?;

    if by_rows {
        of.variant += BY_ROWS;
    }
    let product = Product {
        x: Matrices::of(a, [0, a_row]),
        w,
        y: Matrices::of(c, [0, c_row]).with_shape([sorted.count, n]),
        groups: groups.scales,
        prequant,
        gate: of.gate,
        problem: Problem {
            group: groups.scales.map_or(1, |of| of.sizes[1].into()),
            transposed: [false, by_rows],
            ..problem::<T, W>([rows, of.columns * n, k, experts])
        },
        steps,
        splits: options.splits,
        tile: options.tile,
        ..product(&of.variant)
    };
    let (halves, copies) = (of.halves, groups.copies);
    Experts { halves, copies, weights, ..Experts::new(product, sorted) }.launch(call)
}

/// Codes of all rows with one scale: that which is given, and a step already, or that of all of them, as a
/// step.
pub(crate) fn one_scale(
    args: &Arguments,
    steps: &mut Lowered,
    given: Option<&TensorSlice<f32>>,
) -> Result<Prequant> {
    Ok(Prequant::Steps(match given {
        Some(scale) => StepScales::Given(scale.ptr()),
        None => StepScales::Tensor(steps.push_scales(args, false)?),
    }))
}

/// Requires the scales that elements of the types must have.
fn require_scales<T: ExpertElement, W: ExpertWeight<T>>(
    args: &Arguments,
    options: &MoeGemmOptions<'_>,
) -> Result<()> {
    let MoeGemmOptions { scales, a_scale, b_scale, .. } = options;
    let of_mx = options.a_mx_scale.is_some();
    args.require(!of_mx, "a_mx_scale", "none, of matrices without blocks of MX", "some")?;
    let are_narrow = [size_of::<T>() == 1, size_of::<W>() == 1];
    let of_blocks = are_narrow[0] && (scales.is_some() || b_scale.is_none());
    let require = |is_given: bool, is_wanted: bool, name| {
        let expected = if is_wanted { "those of 8-bit operands" } else { "none of such operands" };
        args.require(is_given == is_wanted, name, expected, if is_given { "some" } else { "none" })
    };
    require(scales.is_some(), of_blocks, "scales")?;
    require(b_scale.is_some(), are_narrow[1] && !of_blocks, "b_scale")?;
    let may_have = (are_narrow[0] && !of_blocks) || quantises::<T, W>();
    args.require(a_scale.is_none() || may_have, "a_scale", "none of such operands", "some")
}

/// Matrices of experts, `[experts, rows, k]`, as products take them.
pub(crate) struct ExpertMatrices {
    pub(crate) matrices: Matrices,
    /// Whether they are stored as their transposes. Those of bytes never are: they are turned before.
    pub(crate) by_rows: bool,
}

impl ExpertMatrices {
    /// Those of a tensor with these strides, with adjacent elements in rows or in columns.
    pub(crate) fn of<W: Element>(
        args: &Arguments,
        (op, name): (&'static str, &'static str),
        w: &TensorSlice<W>,
        [matrix, row, of_k]: [i64; 3],
    ) -> Result<Self> {
        let size = |at: usize| w.shape().get(at).copied().unwrap_or_default() as u64;
        let [rows, k] = [size(1), size(2)];
        let by_k = of_k == 1 || k <= 1;
        let are_adjacent = by_k || row == 1 || rows <= 1;
        args.require(are_adjacent, name, "adjacent elements in rows or columns", of_k)?;
        if by_k {
            return Ok(Self { matrices: Matrices::of(w, [matrix, row]), by_rows: false });
        }
        let columns = Matrices::of(w, [matrix, of_k]).with_shape([k, rows]);
        if size_of::<W>() == 2 {
            return Ok(Self { matrices: columns, by_rows: true });
        }
        columns.require_turnable(op, name)?;
        Ok(Self { matrices: columns.turned(), by_rows: false })
    }
}

/// Scales of blocks, as products take them, and what is copied before.
struct BlockGroups {
    kind: Blocks,
    scales: Option<GroupScales>,
    copies: [Option<ScaleCopy>; 2],
}

/// Scales of blocks of matrices, `[experts, ceil(n / rows), ceil(k / depth)]`, as products take them, and the copy
/// that is made of them before, if any: kernels find groups by shifts, so that a block whose size is no power of two
/// is several groups, whose scales are the same.
pub(crate) fn scales_of_matrices(
    scales: &TensorSlice<f32>,
    [matrix, row]: [i64; 2],
    block: [usize; 2],
    [experts, n, k]: [u64; 3],
) -> (GroupScales, Option<ScaleCopy>) {
    let block = block.map(|size| size as u64);
    let sizes = block.map(|size| 1u64 << size.trailing_zeros());
    let several = [block[0] / sizes[0], block[1] / sizes[1]];
    let copy = ScaleCopy {
        from: scales.ptr().any(),
        dtype: DType::F32,
        strides: [matrix, row, 1],
        shape: [experts, n.div_ceil(sizes[0]), k.div_ceil(sizes[1])],
        from_rows: n.div_ceil(block[0]),
        rows_per_scale: several[0],
        groups_per_scale: several[1],
        gathered: false,
        dense: false,
    };
    let groups = GroupScales {
        tensors: [DevicePtr::NULL, scales.ptr()],
        strides: [[0; 2], [row, 1]],
        batch: [0, matrix],
        sizes: sizes.map(|size| size as u32),
    };
    (groups, (several != [1; 2]).then_some(copy))
}

/// Declares scales of blocks, if there are such.
fn block_scales(
    args: &mut Arguments,
    options: &MoeGemmOptions<'_>,
    [n, k]: [u64; 2],
) -> Result<BlockGroups> {
    let given = options.block_shape.map_or("none".into(), |shape| format!("{shape:?}"));
    let Some(BlockScales { a, b }) = options.scales else {
        args.require(options.block_shape.is_none(), "block_shape", "none without scales", given)?;
        return Ok(BlockGroups { kind: Blocks::None, scales: None, copies: [None; 2] });
    };
    let shape @ [block_n, block_k] = options.block_shape.unwrap_or([GROUP; 2]);
    let fits = (1..=MOST_BLOCK).contains(&block_n)
        && (1..=MOST_BLOCK).contains(&block_k)
        && block_k.is_multiple_of(LEAST_DEPTH);
    let constraint = format!("rows, and a multiple of {LEAST_DEPTH} k, at most {MOST_BLOCK}");
    args.require(fits, "block_shape", constraint, given)?;
    args.define(K_GROUPS, (k as usize).div_ceil(block_k));
    args.define(N_GROUPS, (n as usize).div_ceil(block_n));
    let a_row = args.input("a_scale", a, &["rows", K_GROUPS]).rows()?;
    let [b_matrix, b_row, _] =
        args.input("b_scale", b, &["experts", N_GROUPS, K_GROUPS]).adjacent::<3>()?;
    let [rows, experts] = args.sizes(["rows", "experts"])?.map(|size| size as u64);
    let (mut scales, of_b) = scales_of_matrices(b, [b_matrix, b_row], shape, [experts, n, k]);
    (scales.tensors[0], scales.strides[0]) = (a.ptr(), [a_row, 1]);
    // Groups of the kernels, as there.
    let depth = u64::from(scales.sizes[1]);
    let of_a = (block_k as u64 != depth).then(|| ScaleCopy {
        from: a.ptr().any(),
        dtype: DType::F32,
        strides: [0, a_row, 1],
        shape: [1, rows, k.div_ceil(depth)],
        from_rows: rows,
        rows_per_scale: 1,
        groups_per_scale: block_k as u64 / depth,
        gathered: false,
        dense: false,
    });
    Ok(BlockGroups { kind: Blocks::of(shape), scales: Some(scales), copies: [of_a, of_b] })
}

/// Declares, as a step, the scales of matrices, or of their rows.
pub(crate) fn matrix_scales(
    args: &mut Arguments,
    steps: &mut Lowered,
    (name, scale): (&'static str, &TensorSlice<f32>),
    of_rows: Extent,
) -> Result<()> {
    let extent = if scale.shape().len() == 1 { Extent::Experts } else { of_rows };
    steps.push(args, [name; 3], Step::Multiply(scale.into(), extent))
}

/// Of so many rows, columns and k, and experts.
pub(crate) fn problem<T: ExpertElement, W: ExpertWeight<T>>([m, n, k, batch]: [u64; 4]) -> Problem {
    let of_x = if quantises::<T, W>() { size_of::<W>() } else { size_of::<T>() };
    let bits = [of_x as u64 * 8, size_of::<W>() as u64 * 8];
    Problem { batch, m, n, k, transposed: [false; 2], bits, group: 1 }
}

/// As ops call their arguments, unless they say otherwise.
pub(crate) const NAMES: Names = Names { x: "a", w: "b", blocks: ["a_mx_scale", "b_mx_scale"] };

/// A product in a variant of the core, of nothing yet.
pub(crate) fn product(variant: &str) -> Product<'_> {
    let nowhere = Matrices::in_workspace::<f32>([0; 2]);
    Product {
        kernels: &KERNELS,
        core: CORE,
        variant,
        scaled: false,
        names: NAMES,
        x: nowhere,
        w: nowhere,
        y: nowhere,
        groups: None,
        blocks: [None; 2],
        prequant: None,
        gate: None,
        accumulate: None,
        split_cat: None,
        encode: None,
        problem: Problem::NONE,
        steps: Lowered::default(),
        splits: None,
        tile: None,
    }
}
