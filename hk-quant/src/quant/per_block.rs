//! A scale for each tile of a matrix.

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::Arguments;
use hk_core::op::quant::{ByteCode, Quantised, QuantisedOut};
use hk_core::op::rows::{RowKernel, RowOptions};
use hk_core::{Result, TensorSlice};

use crate::KERNELS;
use crate::block_quant::BlockQuantArgs;

/// Rows and columns of a tile.
pub(super) const SIDE: usize = 128;

/// Quantises each tile of 128 x 128 elements of a matrix with a scale of its own, `s = max(max |x|,
/// 1e-10) / m`, where m is the largest code: 127 of i8, 240 or 448 of e4m3. The last tiles may be
/// smaller.
///
/// The scale of a tile with NaN is NaN, else that of one with infinity is infinity; what codes such
/// a tile has is not specified.
///
/// # Errors
/// [`Error::Shape`] if x is no matrix or its rows are empty, [`Error::Stride`] if they are not
/// evenly spaced, [`Error::ArchMismatch`] if the codes are those of another chip, [`Error::Value`]
/// if the tile configuration does not take such rows, and [`Error::NoTile`] if there is none of
/// that name.
pub fn per_block_quant<T: Real, C: ByteCode>(
    x: &TensorSlice<T>,
    options: &RowOptions<'_>,
) -> Result<Quantised<C>> {
    let tiles: Vec<_> = x.shape().iter().map(|size| size.div_ceil(SIDE)).collect();
    let mut quantised = Quantised::empty(x, &tiles)?;
    per_block_quant_into(x, options, quantised.out())?;
    Ok(quantised)
}

/// As [`per_block_quant`], into given tensors.
///
/// # Errors
/// As [`per_block_quant`]; [`Error::Shape`] or [`Error::Stride`] also if an output has not the
/// shape that [`per_block_quant`] gives it, and [`Error::Alias`] if one overlaps another argument.
pub fn per_block_quant_into<T: Real, C: ByteCode>(
    x: &TensorSlice<T>,
    options: &RowOptions<'_>,
    out: QuantisedOut<'_, C>,
) -> Result<()> {
    let mut args = Arguments::new("per_block_quant");
    let x_stride = args.input("x", x, MATRIX).rows()?;
    let codes_stride = args.output("codes", out.codes, MATRIX).rows()?;
    let tiles = define_tiles(&mut args)?;
    let scales_stride = args.output("scales", out.scales, TILES).rows()?;
    let [rows, width] = options.check_rows(&args, "m")?;
    let call = args.check()?;

    let core = ("block_quant", T::DTYPE.name());
    let stride = x_stride.max(codes_stride);
    let kernel: RowKernel<BlockQuantArgs> = options.kernel(&call, &KERNELS, core, width, stride)?;
    if rows == 0 {
        return Ok(());
    }
    let args = BlockQuantArgs {
        x: x.ptr().any(),
        codes: out.codes.ptr().any(),
        scales: out.scales.ptr_mut(),
        x_stride,
        codes_stride,
        scales_stride,
        rows: rows as u32,
        width: width as u32,
        format: C::CODE,
    };
    let most = kernel.most_workgroups();
    let workgroups = tiles.iter().product::<usize>().min(most as usize) as u32;
    // SAFETY: the kernel reads and writes matrices of the shapes and strides that were checked.
    call.submit(|stream| unsafe { kernel.launch_on(stream, workgroups, &args) })
}

/// A matrix, and the scales of its tiles.
pub(super) const MATRIX: &[&str] = &["m", "n"];
pub(super) const TILES: &[&str] = &["ceil(m/128)", "ceil(n/128)"];

/// Gives the numbers of tiles of the matrix that was declared, and names them.
pub(super) fn define_tiles(args: &mut Arguments) -> Result<[usize; 2]> {
    let tiles = args.sizes(["m", "n"])?.map(|size| size.div_ceil(SIDE));
    args.define(TILES[0], tiles[0]);
    args.define(TILES[1], tiles[1]);
    Ok(tiles)
}
