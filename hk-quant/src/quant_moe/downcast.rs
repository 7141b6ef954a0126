//! Blocks along a dimension, with a power of two each.

use hk_core::dtype::{DType, E8M0, Real};
use hk_core::op::Arguments;
use hk_core::op::quant::{MX_BLOCK, MxCode, MxOptions, MxRound, Quantised, QuantisedOut};
use hk_core::op::rows::RowOptions;
use hk_core::{Error, Result, Tensor, TensorSlice};

use super::{at_the_end, dimension};
use crate::KERNELS;
use crate::mx_columns::MxColumnsArgs;
use crate::mx_quant::MxFormat;
use crate::quant::quantise_rows;

const OP: &str = "downcast_to_mxfp";

/// Which of two 4-bit codes a number becomes that is just between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Fp4Ties {
    /// The one whose last bit is 0.
    ToEven,
    /// The larger in magnitude.
    #[default]
    Away,
}

/// How [`downcast_to_mxfp`] scales and rounds, where the default is not wanted.
#[derive(Debug, Clone, Copy)]
pub struct DowncastOptions<'a> {
    mode: MxRound,
    ties: Fp4Ties,
    rows: RowOptions<'a>,
}

impl Default for DowncastOptions<'_> {
    fn default() -> Self {
        let (mode, ties, rows) = (MxRound::RoundUp, Fp4Ties::default(), RowOptions::default());
        Self { mode, ties, rows }
    }
}

impl<'a> DowncastOptions<'a> {
    /// With the scales that this mode gives; [`MxRound::RoundUp`] if not given.
    #[must_use]
    pub fn round_mode(self, mode: MxRound) -> Self {
        Self { mode, ..self }
    }

    /// With ties between 4-bit codes rounded so; [`Fp4Ties::Away`] if not given.
    #[must_use]
    pub fn ties(self, ties: Fp4Ties) -> Self {
        Self { ties, ..self }
    }

    /// Launched so.
    #[must_use]
    pub fn rows(self, rows: RowOptions<'a>) -> Self {
        Self { rows, ..self }
    }
}

/// Quantises each block of 32 consecutive elements along dimension `axis`, which is counted from the end
/// if it is negative: the largest magnitude gives the scale, a power of two, and codes are `x / s`,
/// rounded to nearest, at most the largest. The last block may be shorter. The dimension is the last of
/// codes and scales, whose others are those of x.
///
/// A block with NaN or infinity has the scale NaN and codes of 0.
///
/// # Errors
/// [`Error::Shape`] if there are no elements along the dimension, [`Error::Stride`] if those of neither
/// this nor the last dimension are adjacent, or others are not evenly spaced, [`Error::Value`] if there
/// is no such dimension, its elements are odd in number and codes are of 4 bits, the mode is
/// [`MxRound::Even`] and codes are e5m2, which have no such mode, or the tile does not take such rows,
/// and [`Error::NoTile`] if there is no tile of that name.
pub fn downcast_to_mxfp<T: Real, C: MxCode>(
    x: &TensorSlice<T>,
    axis: isize,
    options: &DowncastOptions<'_>,
) -> Result<Quantised<C, E8M0>> {
    let args = Arguments::new(OP);
    let axis_of_x = dimension(&args, axis, x.shape().len())?;
    let mut shape = x.shape().to_vec();
    let n = shape.remove(axis_of_x);
    require_whole::<C>(&args, n)?;
    let [codes, scales] = [n, n.div_ceil(MX_BLOCK)].map(|of| [&shape[..], &[of]].concat());
    let codes = Tensor::empty(x.stream(), &codes)?;
    let mut quantised = Quantised { codes, scales: Tensor::empty(x.stream(), &scales)? };
    downcast_to_mxfp_into(x, axis, options, quantised.out())?;
    Ok(quantised)
}

/// As [`downcast_to_mxfp`], into given tensors.
///
/// # Errors
/// As [`downcast_to_mxfp`]; [`Error::Shape`] or [`Error::Stride`] also if an output has not the shape
/// that [`downcast_to_mxfp`] gives it, and [`Error::Alias`] if one overlaps another argument.
pub fn downcast_to_mxfp_into<T: Real, C: MxCode>(
    x: &TensorSlice<T>,
    axis: isize,
    options: &DowncastOptions<'_>,
    out: QuantisedOut<'_, C, E8M0>,
) -> Result<()> {
    let (args, rank) = (Arguments::new(OP), x.shape().len());
    let axis = dimension(&args, axis, rank)?;
    let has_mode = options.mode != MxRound::Even || C::DTYPE != DType::F8E5M2;
    args.require(has_mode, "round_mode", "not Even of e5m2", "Even")?;
    let rows = x.permute(&at_the_end(axis, rank))?;
    let is_adjacent = |axis: usize| x.shape()[axis] == 1 || x.strides()[axis] == 1;
    if axis + 1 == rank || is_adjacent(axis) && !is_adjacent(rank - 1) {
        let by = MxOptions::default().round_mode(options.mode).rows(options.rows);
        let format = MxFormat::of::<C>(options.ties);
        let n = x.shape()[axis];
        return quantise_rows(OP, &rows, &by, format, out, |_| require_whole::<C>(&args, n));
    }
    // Matrices, with all dimensions after this one as columns.
    let (leading, [n, trailing @ ..]) = x.shape().split_at(axis) else { unreachable!() };
    let (n, columns) = (*n, trailing.iter().product());
    let QuantisedOut { codes, scales } = out;
    if trailing.len() == 1 {
        return quantise_columns(x, options, QuantisedOut { codes, scales });
    }
    // Views would be taken of other shapes with as many elements.
    let outer = [leading, trailing].concat();
    let shapes = [("codes", codes.shape(), n), ("scales", scales.shape(), n.div_ceil(MX_BLOCK))];
    for (arg, shape, last) in shapes {
        let expected = [&outer[..], &[last]].concat();
        if shape != expected {
            let why = "the dimensions of x, that of blocks at the end";
            return Err(Error::shape(OP, arg, &expected, shape, why));
        }
    }
    let merged = |last: [usize; 2]| [leading, &last].concat();
    let x = x.reshape(&merged([n, columns])).map_err(|error| named(error, "x"))?;
    let shape = merged([columns, codes.shape().last().copied().unwrap_or_default()]);
    let mut codes = codes.reshape_mut(&shape).map_err(|error| named(error, "codes"))?;
    let shape = merged([columns, scales.shape().last().copied().unwrap_or_default()]);
    let mut scales = scales.reshape_mut(&shape).map_err(|error| named(error, "scales"))?;
    quantise_columns(&x, options, QuantisedOut { codes: &mut codes, scales: &mut scales })
}

/// Requires whole bytes of codes.
fn require_whole<C: MxCode>(args: &Arguments, n: usize) -> Result<()> {
    args.require(n.is_multiple_of(C::PACK), "n", format!("a multiple of {}", C::PACK), n)
}

/// An error of a view, as one of the op's argument.
fn named(error: Error, arg: &'static str) -> Error {
    match error {
        Error::Shape { expected, got, why, .. } => Error::Shape { op: OP, arg, expected, got, why },
        Error::Stride { expected, shape, got, .. } => {
            Error::Stride { op: OP, arg, expected, shape, got }
        }
        other => other,
    }
}

/// Most parts of matrices that waves take.
const MOST_PARTS: usize = 1 << 31;

/// Columns of such a part, and waves of a workgroup.
const COLUMNS: usize = 128;
const WAVES: usize = 4;

const BLOCKS: &str = "ceil(n/32)";

/// Quantises blocks along the dimension before the last.
fn quantise_columns<T: Real, C: MxCode>(
    x: &TensorSlice<T>,
    options: &DowncastOptions<'_>,
    out: QuantisedOut<'_, C, E8M0>,
) -> Result<()> {
    let mut args = Arguments::new(OP);
    let [x_matrix, x_stride] = args.input("x", x, &["..", "n", "columns"]).matrices()?;
    let codes = args.output("codes", out.codes, &["..", "columns", "n"]).portable().matrices()?;
    let [matrices, rows, columns] = args.sizes(["..", "n", "columns"])?;
    let blocks = rows.div_ceil(MX_BLOCK);
    args.define(BLOCKS, blocks);
    let scales = args.output("scales", out.scales, &["..", "columns", BLOCKS]).matrices()?;
    options.rows.check_workgroups(&args)?;
    args.limit("n", 1..=i32::MAX as usize)?;
    args.limit("columns", 0..=i32::MAX as usize)?;
    require_whole::<C>(&args, rows)?;
    let parts = [matrices, columns.div_ceil(COLUMNS)];
    let parts = parts.into_iter().try_fold(blocks, usize::checked_mul).unwrap_or(usize::MAX);
    args.require(parts <= MOST_PARTS, "x", "at most 2^31 parts of 32 x 128 elements", parts)?;
    let call = args.check()?;
    if parts == 0 {
        return Ok(());
    }

    let core = ("mx_columns", T::DTYPE.name());
    let function = options.rows.function::<MxColumnsArgs>(&call, &KERNELS, core, &[])?;
    let most = options.rows.most_workgroups(call.device(), function.tile());
    let workgroups = parts.div_ceil(WAVES).min(most as usize) as u32;
    let [codes_matrix, codes_stride] = codes.map(|of| of / C::PACK as i64);
    let [scales_matrix, scales_stride] = scales;
    let args = MxColumnsArgs {
        x: x.ptr().any(),
        codes: out.codes.ptr().any(),
        scales: out.scales.ptr().any(),
        x_matrix,
        x_stride,
        codes_matrix,
        codes_stride,
        scales_matrix,
        scales_stride,
        matrices: matrices as u32,
        rows: rows as u32,
        columns: columns as u32,
        mode: options.mode as u32,
        format: MxFormat::of::<C>(options.ties) as u32,
    };
    // SAFETY: the kernel reads and writes matrices of the shapes and strides that were checked.
    call.submit(|stream| unsafe { function.launch(stream, [workgroups, 1, 1], &args) })
}
