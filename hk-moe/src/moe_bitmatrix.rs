//! How many tokens have each expert, by a matrix of bits, and how many before each block of them.
//!
//! With `bit(t, e)` bit `e % 32` of word `e / 32` of row t, of T rows in blocks of R:
//!
//! `hist[e] = sum over t of bit(t, e)`, `partials[b, e] = sum over t < b R of bit(t, e)`
//!
//! | | |
//! |---|---|
//! | Shapes | bitmatrix `[T, W]` -> hist `[E rounded up to a multiple of 32]`, partials `[ceil(T/R), 32W]`; bitmatrix and partials in any layout; E up to `32W`, R 8, 16, 32, 64 or 128 |
//! | Dtypes | bitmatrix u32; hist, partials i32 |
//! | Numerics | exact; bits from E on count as 0 |
//! | Hardware | cdna3, cdna4; one launch of up to 512 rows, two of more |
//! | Source | Warren, "Hacker's Delight" (2012), on counting bits; AITER, `sum_bitmatrix_rows` |
//!
//! All elements of the results are written: nothing has to be zero before.
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_moe::{BitmatrixOptions, Device, Tensor, sum_bitmatrix_rows};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let rows: Vec<u32> = (0..9).map(|row| if row < 8 { 0b101 } else { 0b100 }).collect();
//! let bits = Tensor::from_slice(&stream, &rows, &[9, 1])?;
//! let sums = sum_bitmatrix_rows(&bits, 3, 8, &BitmatrixOptions::default())?;
//! assert_eq!(sums.hist.to_vec()?[..4], [8, 0, 9, 0]);
//! assert_eq!(sums.partials.slice(1..2)?.to_vec()?[..4], [8, 0, 8, 0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::op::Arguments;
use hk_core::{DevicePtr, Result, Tensor, TensorSlice, kernel_args};

use crate::KERNELS;

/// How rows of bits are added up, where the default is not wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct BitmatrixOptions {
    chunks: Option<u32>,
}

impl BitmatrixOptions {
    /// Shares the rows of each 64 columns among at most so many workgroups. Among as many as are
    /// expected to be fastest if not given.
    #[must_use]
    pub fn workgroups(mut self, most: u32) -> Self {
        self.chunks = Some(most);
        self
    }
}

/// What [`sum_bitmatrix_rows`] returns.
#[derive(Debug)]
pub struct BitmatrixSums {
    /// Rows that have each bit.
    pub hist: Tensor<i32>,
    /// Those of the rows before each block, `[ceil(T/R), 32W]`; blocks are adjacent in memory.
    pub partials: Tensor<i32>,
}

/// Where [`sum_bitmatrix_rows_into`] stores.
#[derive(Debug)]
pub struct BitmatrixSumsOut<'a> {
    /// Rows that have each bit.
    pub hist: &'a mut TensorSlice<i32>,
    /// Those of the rows before each block, `[ceil(T/R), 32W]`.
    pub partials: &'a mut TensorSlice<i32>,
}

kernel_args! {
    /// Arguments of the kernels, as `kernels/moe_bitmatrix.hip` declares them.
    pub(crate) struct MoeBitmatrixArgs {
        bitmatrix: DevicePtr<u32>,
        hist: DevicePtr<i32>,
        partials: DevicePtr<i32>,
        chunk_counts: DevicePtr<u32>,
        row_stride: i64,
        word_stride: i64,
        block_stride: i64,
        column_stride: i64,
        rows: u32,
        columns: u32,
        words: u32,
        hist_columns: u32,
        chunk: u32,
        first_chunk: u32,
        chunks: u32,
        block_log2: u32,
    }
}

const WORD: usize = 32;

/// Rows that a workgroup has at once, and chunks of them at most.
const ROWS: u32 = 512;
const CHUNKS: u32 = 64;

/// Rows of each column, and those before each `partials_block_size` rows, by the first `n_cols`
/// bits of each row.
///
/// # Errors
/// [`Error::Shape`] if rows have no words, or too many. [`Error::Value`] if there are no columns or
/// more than a row has bits, blocks are not of 8, 16, 32, 64 or 128 rows, or there are no
/// workgroups.
pub fn sum_bitmatrix_rows(
    bitmatrix: &TensorSlice<u32>,
    n_cols: usize,
    partials_block_size: usize,
    options: &BitmatrixOptions,
) -> Result<BitmatrixSums> {
    const OP: &str = "sum_bitmatrix_rows";
    let mut args = Arguments::new(OP);
    let bits = Bits::new(&mut args, bitmatrix, n_cols, options)?;
    let blocks = bits.blocks(&args, partials_block_size)?;
    let stream = bitmatrix.stream();
    let mut hist = Tensor::empty(stream, &[bits.hist])?;
    let by_column = Tensor::empty(stream, &[WORD * bits.words, blocks])?;
    let mut partials = by_column.into_permuted(&[1, 0])?;
    let out = BitmatrixSumsOut { hist: &mut hist, partials: &mut partials };
    sum_bitmatrix_rows_into(bitmatrix, n_cols, partials_block_size, options, out)?;
    Ok(BitmatrixSums { hist, partials })
}

/// As [`sum_bitmatrix_rows`], into given tensors.
///
/// # Errors
/// As [`sum_bitmatrix_rows`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`BitmatrixSumsOut`] says, and [`Error::Alias`] if one overlaps another argument.
pub fn sum_bitmatrix_rows_into(
    bitmatrix: &TensorSlice<u32>,
    n_cols: usize,
    partials_block_size: usize,
    options: &BitmatrixOptions,
    out: BitmatrixSumsOut<'_>,
) -> Result<()> {
    let mut args = Arguments::new("sum_bitmatrix_rows");
    let bits = Bits::new(&mut args, bitmatrix, n_cols, options)?;
    args.define("ceil(T/R)", bits.blocks(&args, partials_block_size)?);
    args.define("32W", WORD * bits.words);
    let partials = args.output("partials", out.partials, &["ceil(T/R)", "32W"]).strides()?;
    let partials = (out.partials.ptr_mut(), partials, partials_block_size);
    bits.launch(args, bitmatrix, out.hist, Some(partials))
}

/// Rows of each column, by the first `n_cols` bits of each row.
///
/// # Errors
/// As [`sum_bitmatrix_rows`], but of blocks.
pub fn sum_bitmatrix_rows_fused(
    bitmatrix: &TensorSlice<u32>,
    n_cols: usize,
    options: &BitmatrixOptions,
) -> Result<Tensor<i32>> {
    let mut args = Arguments::new("sum_bitmatrix_rows_fused");
    let bits = Bits::new(&mut args, bitmatrix, n_cols, options)?;
    let mut hist = Tensor::empty(bitmatrix.stream(), &[bits.hist])?;
    sum_bitmatrix_rows_fused_into(bitmatrix, n_cols, options, &mut hist)?;
    Ok(hist)
}

/// As [`sum_bitmatrix_rows_fused`], into a given tensor.
///
/// # Errors
/// As [`sum_bitmatrix_rows_into`].
pub fn sum_bitmatrix_rows_fused_into(
    bitmatrix: &TensorSlice<u32>,
    n_cols: usize,
    options: &BitmatrixOptions,
    hist: &mut TensorSlice<i32>,
) -> Result<()> {
    let mut args = Arguments::new("sum_bitmatrix_rows_fused");
    let bits = Bits::new(&mut args, bitmatrix, n_cols, options)?;
    bits.launch(args, bitmatrix, hist, None)
}

/// A matrix of bits, and how it is shared.
struct Bits {
    rows: usize,
    words: usize,
    columns: usize,
    /// Columns that the histogram has.
    hist: usize,
    strides: [i64; 2],
    chunks: u32,
}

impl Bits {
    /// Declares the matrix.
    fn new(
        args: &mut Arguments,
        bitmatrix: &TensorSlice<u32>,
        columns: usize,
        options: &BitmatrixOptions,
    ) -> Result<Self> {
        let strides = args.input("bitmatrix", bitmatrix, &["T", "W"]).strides()?;
        let [rows, words] = args.sizes(["T", "W"])?;
        // Workgroups for each two words are a dimension of the grid.
        args.limit("W", 1..=1 << 16)?;
        args.limit("T", 0..=i32::MAX as usize)?;
        let most = WORD * words;
        args.require(
            (1..=most).contains(&columns),
            "n_cols",
            format!("from 1 to {most}"),
            columns,
        )?;
        args.require(options.chunks != Some(0), "workgroups", "at least 1", 0)?;
        let most = options.chunks.unwrap_or(CHUNKS).min(CHUNKS);
        let chunks = (rows as u32).div_ceil(ROWS).clamp(1, most);
        Ok(Self { rows, words, columns, hist: columns.next_multiple_of(WORD), strides, chunks })
    }

    /// Blocks of so many rows.
    fn blocks(&self, args: &Arguments, block: usize) -> Result<usize> {
        let fits = block.is_power_of_two() && (8..=128).contains(&block);
        args.require(fits, "partials_block_size", "8, 16, 32, 64 or 128", block)?;
        Ok(self.rows.div_ceil(block))
    }

    /// Adds up; partials, their strides and the rows of a block are given if these are wanted.
    fn launch(
        self,
        mut args: Arguments,
        bitmatrix: &TensorSlice<u32>,
        hist: &mut TensorSlice<i32>,
        partials: Option<(DevicePtr<i32>, [i64; 2], usize)>,
    ) -> Result<()> {
        args.define("ceil(E/32)32", self.hist);
        args.output("hist", hist, &["ceil(E/32)32"]).contiguous()?;
        let mut call = args.check()?;
        let kernel =
            |variant| KERNELS.function(call.device(), call.op(), "moe_bitmatrix", variant, &[]);
        let [counts, sums] = [kernel("counts")?, kernel("sums")?];
        let chunk = (self.rows as u32).div_ceil(self.chunks).next_multiple_of(ROWS);
        // There may be fewer of whole turns.
        let chunks = (self.rows as u32).div_ceil(chunk.max(1)).max(1);
        let bytes = if chunks > 1 { 4 * chunks as usize * WORD * self.words } else { 0 };
        let [chunk_counts] = call.workspace([bytes])?;
        let [row_stride, word_stride] = self.strides;
        let (to, [block_stride, column_stride], block) =
            partials.unwrap_or((DevicePtr::NULL, [0; 2], 1));
        let mut args = MoeBitmatrixArgs {
            bitmatrix: bitmatrix.ptr(),
            hist: hist.ptr_mut(),
            partials: to,
            chunk_counts: chunk_counts.cast(),
            row_stride,
            word_stride,
            block_stride,
            column_stride,
            rows: self.rows as u32,
            columns: self.columns as u32,
            words: self.words as u32,
            hist_columns: self.hist as u32,
            chunk,
            first_chunk: 0,
            chunks,
            block_log2: block.ilog2(),
        };
        let pairs = self.words.div_ceil(2) as u32;
        call.submit(|stream| {
            // SAFETY: the kernels access the words, columns and blocks of the shapes and strides
            // that were checked, and counts of each chunk and column.
            unsafe {
                if chunks > 1 {
                    counts.launch(stream, [chunks, pairs, 1], &args)?;
                }
                // The last chunk tells what all have.
                args.first_chunk = if to == DevicePtr::NULL { chunks - 1 } else { 0 };
                sums.launch(stream, [chunks - args.first_chunk, pairs, 1], &args)
            }
        })
    }
}
