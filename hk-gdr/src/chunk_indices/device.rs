//! Of bounds on the device.

#[cfg(doc)]
use hk_core::Error;
use hk_core::op::indices::IndexList;
use hk_core::op::{Arguments, Call};
use hk_core::{AnyPtr, DevicePtr, Result, Stream, Tensor, TensorSlice};

use super::host::Index;
use super::{ChunkOffsetsArgs, IndexRowsArgs};
use crate::KERNELS;

/// Work-items of a workgroup.
const THREADS: u32 = 256;

/// Work-items of which a grid has fewer, as HIP counts them in 32 bits.
const MOST_ROWS: usize = (1 << 32) - THREADS as usize;

/// How many chunks are before each sequence, and how many there are, `[n + 1]`. What of bounds is
/// wrong is not noticed: a sequence that ends before it begins has no chunks.
///
/// # Errors
/// [`Error::Shape`] if there are no bounds, [`Error::Stride`] if they have gaps, and [`Error::Value`] if
/// `chunk_size` is 0 or has more than 32 bits.
pub fn prepare_chunk_offsets_on_device<I: Index>(
    cu_seqlens: &TensorSlice<I>,
    chunk_size: usize,
) -> Result<Tensor<I>> {
    let mut offsets = Tensor::empty(cu_seqlens.stream(), cu_seqlens.shape())?;
    prepare_chunk_offsets_on_device_into(cu_seqlens, chunk_size, &mut offsets)?;
    Ok(offsets)
}

/// As [`prepare_chunk_offsets_on_device`], into a given tensor.
///
/// # Errors
/// As [`prepare_chunk_offsets_on_device`]; [`Error::Shape`] or [`Error::Stride`] also if there is not an
/// offset for each bound, without gaps, and [`Error::Alias`] if they overlap.
pub fn prepare_chunk_offsets_on_device_into<I: Index>(
    cu_seqlens: &TensorSlice<I>,
    chunk_size: usize,
    chunk_offsets: &mut TensorSlice<I>,
) -> Result<()> {
    let mut args = Arguments::new("prepare_chunk_offsets_on_device");
    let bounds = declare(&mut args, cu_seqlens)?;
    args.output("chunk_offsets", chunk_offsets, &["bounds"]).contiguous()?;
    let chunk = require_chunk(&args, chunk_size)?;
    let call = args.check()?;
    let offsets = chunk_offsets.ptr().any();
    let launch = offsets_launch(&call, ChunkOffsetsArgs { bounds, offsets, chunk, reserved: 0 })?;
    call.submit(launch)
}

/// The sequence of each of `chunks` chunks, and its number there, `[chunks, 2]`. A chunk that there is
/// not is number 0 of sequence -1.
///
/// # Errors
/// As [`prepare_chunk_offsets_on_device`]; [`Error::OutOfMemory`].
pub fn prepare_chunk_indices_on_device<I: Index>(
    cu_seqlens: &TensorSlice<I>,
    chunk_size: usize,
    chunks: usize,
) -> Result<Tensor<I>> {
    let mut indices = Tensor::empty(cu_seqlens.stream(), &[chunks, 2])?;
    prepare_chunk_indices_on_device_into(cu_seqlens, chunk_size, &mut indices)?;
    Ok(indices)
}

/// As [`prepare_chunk_indices_on_device`], into a given tensor.
///
/// # Errors
/// As [`prepare_chunk_indices_on_device`]; [`Error::Shape`] or [`Error::Stride`] also if the indices are
/// not pairs without gaps, and [`Error::Alias`] if they overlap the bounds.
pub fn prepare_chunk_indices_on_device_into<I: Index>(
    cu_seqlens: &TensorSlice<I>,
    chunk_size: usize,
    chunk_indices: &mut TensorSlice<I>,
) -> Result<()> {
    let mut args = Arguments::new("prepare_chunk_indices_on_device");
    let bounds = declare(&mut args, cu_seqlens)?;
    args.output("chunk_indices", chunk_indices, &["chunks", "2"]).contiguous()?;
    let chunk = require_chunk(&args, chunk_size)?;
    let (count, rows) = counts(&args, "chunks")?;
    let mut call = args.check()?;
    let [offsets] = call.workspace([count as usize * size_of::<I>()])?;
    let offsets = offsets.cast::<I>().any();
    let first = ChunkOffsetsArgs { bounds, offsets, chunk, reserved: 0 };
    let first = offsets_launch(&call, first)?;
    let base = chunk_indices.ptr();
    let second = IndexRowsArgs {
        offsets,
        sequences: base.any(),
        positions: DevicePtr::<I>::new(base.address() + size_of::<I>() as u64).any(),
        count,
        rows,
        stride: 2,
        is_64: u32::from(size_of::<I>() == 8),
    };
    let second = rows_launch(&call, second)?;
    call.submit(|stream| {
        first(stream)?;
        second(stream)
    })
}

/// The number in its sequence of each of `tokens` tokens, `[tokens]`; 0 of one that no sequence has.
///
/// # Errors
/// [`Error::Shape`] if there are no bounds, [`Error::Stride`] if they have gaps; [`Error::OutOfMemory`].
pub fn prepare_position_ids_on_device<I: Index>(
    cu_seqlens: &TensorSlice<I>,
    tokens: usize,
) -> Result<Tensor<I>> {
    let mut ids = Tensor::empty(cu_seqlens.stream(), &[tokens])?;
    prepare_position_ids_on_device_into(cu_seqlens, &mut ids)?;
    Ok(ids)
}

/// As [`prepare_position_ids_on_device`], into a given tensor.
///
/// # Errors
/// As [`prepare_position_ids_on_device`]; [`Error::Shape`] or [`Error::Stride`] also if the numbers are
/// not in one dimension without gaps, and [`Error::Alias`] if they overlap the bounds.
pub fn prepare_position_ids_on_device_into<I: Index>(
    cu_seqlens: &TensorSlice<I>,
    position_ids: &mut TensorSlice<I>,
) -> Result<()> {
    let to = ("position_ids", position_ids);
    of_tokens("prepare_position_ids_on_device", cu_seqlens, to, |args, positions| {
        args.positions = positions;
    })
}

/// The sequence of each of `tokens` tokens, `[tokens]`; -1 of one that no sequence has.
///
/// # Errors
/// As [`prepare_position_ids_on_device`].
pub fn prepare_sequence_ids_on_device<I: Index>(
    cu_seqlens: &TensorSlice<I>,
    tokens: usize,
) -> Result<Tensor<I>> {
    let mut ids = Tensor::empty(cu_seqlens.stream(), &[tokens])?;
    prepare_sequence_ids_on_device_into(cu_seqlens, &mut ids)?;
    Ok(ids)
}

/// As [`prepare_sequence_ids_on_device`], into a given tensor.
///
/// # Errors
/// As [`prepare_position_ids_on_device_into`].
pub fn prepare_sequence_ids_on_device_into<I: Index>(
    cu_seqlens: &TensorSlice<I>,
    sequence_ids: &mut TensorSlice<I>,
) -> Result<()> {
    let to = ("sequence_ids", sequence_ids);
    of_tokens("prepare_sequence_ids_on_device", cu_seqlens, to, |args, sequences| {
        args.sequences = sequences;
    })
}

/// Numbers of tokens, which `place` puts where the kernel stores them.
fn of_tokens<I: Index>(
    op: &'static str,
    cu_seqlens: &TensorSlice<I>,
    (name, ids): (&'static str, &mut TensorSlice<I>),
    place: impl FnOnce(&mut IndexRowsArgs, AnyPtr),
) -> Result<()> {
    let mut args = Arguments::new(op);
    declare(&mut args, cu_seqlens)?;
    args.output(name, ids, &["tokens"]).contiguous()?;
    let (count, rows) = counts(&args, "tokens")?;
    let call = args.check()?;
    let mut rows = IndexRowsArgs {
        offsets: cu_seqlens.ptr().any(),
        sequences: AnyPtr::NULL,
        positions: AnyPtr::NULL,
        count,
        rows,
        stride: 1,
        is_64: u32::from(size_of::<I>() == 8),
    };
    place(&mut rows, ids.ptr().any());
    let launch = rows_launch(&call, rows)?;
    call.submit(launch)
}

fn declare<I: Index>(args: &mut Arguments, cu_seqlens: &TensorSlice<I>) -> Result<IndexList> {
    let list = I::indices(cu_seqlens).declare(args, "cu_seqlens", &["bounds"])?;
    args.limit("bounds", 1..=i32::MAX as usize)?;
    Ok(list)
}

fn require_chunk(args: &Arguments, chunk_size: usize) -> Result<u32> {
    let chunk = u32::try_from(chunk_size).unwrap_or(0);
    args.require(chunk > 0, "chunk_size", "from 1 to 2^32 - 1", chunk_size)?;
    Ok(chunk)
}

/// How many bounds there are, and rows.
fn counts(args: &Arguments, rows: &'static str) -> Result<(u32, u32)> {
    args.limit(rows, 0..=MOST_ROWS)?;
    let [count, rows] = args.sizes(["bounds", rows])?;
    Ok((count as u32, rows as u32))
}

fn offsets_launch(
    call: &Call,
    args: ChunkOffsetsArgs,
) -> Result<impl FnOnce(&Stream) -> Result<()> + use<>> {
    let kernel = KERNELS.function(call.device(), call.op(), "chunk_indices", "offsets", &[])?;
    Ok(move |stream: &Stream| {
        // SAFETY: the kernel stays within bounds and offsets, whose sizes were checked.
        unsafe { kernel.launch(stream, [1, 1, 1], &args) }
    })
}

fn rows_launch(
    call: &Call,
    args: IndexRowsArgs,
) -> Result<impl FnOnce(&Stream) -> Result<()> + use<>> {
    let kernel = KERNELS.function(call.device(), call.op(), "chunk_indices", "rows", &[])?;
    Ok(move |stream: &Stream| {
        if args.rows == 0 {
            return Ok(());
        }
        let grid = args.rows.div_ceil(kernel.tile().threads);
        // SAFETY: the kernel stays within offsets and results, whose sizes were checked.
        unsafe { kernel.launch(stream, [grid, 1, 1], &args) }
    })
}
