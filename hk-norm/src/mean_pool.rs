//! Means of the rows of sequences that follow each other,
//! `y[s,j] = mean_i x[i,j]` over `cu_seqlens[s] <= i < cu_seqlens[s + 1]`, as sentences are made of their
//! tokens. That of a sequence without tokens is 0.
//!
//! | | |
//! |---|---|
//! | Shapes | x `[tokens, n]`, cu_seqlens `[sequences + 1]` -> y `[sequences, n]`; n from 1 to 33,553,920, rows any distance apart |
//! | Dtypes | x bf16, f16, f32; cu_seqlens i32, i64; y bf16, f16, f32, whatever x is |
//! | Numerics | f32 throughout, rounded once at the store; bitwise deterministic |
//! | Hardware | cdna3, cdna4 |
//! | Source | Reimers and Gurevych, "Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks" (2019), section 3 |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_norm::{Device, MeanPoolOptions, Tensor, mean_pool};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[1.0f32, 2.0, 3.0, 6.0, 5.0, 7.0], &[3, 2])?;
//! let bounds = Tensor::from_slice(&stream, &[0, 2, 3], &[3])?;
//! let y: Tensor<f32> = mean_pool(&x, &bounds, &MeanPoolOptions::default())?;
//! assert_eq!(y.to_vec()?, [2.0, 4.0, 5.0, 7.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::Arguments;
use hk_core::op::indices::{IndexList, Indices};
use hk_core::{AnyPtr, Result, Tensor, TensorSlice, kernel_args};

use crate::KERNELS;

/// Columns of a workgroup, and the most workgroups beside each other that HIP counts.
const PIECE: usize = 512;
const MOST_PIECES: usize = 65_535;

/// Sequences of a line of the grid, of which HIP counts the work-items in 32 bits, and the lines in 16.
const MOST_OF_LINE: u32 = 1 << 16;

/// How [`mean_pool`] is launched.
#[derive(Debug, Clone, Copy, Default)]
pub struct MeanPoolOptions {
    validate_indices: Option<bool>,
}

impl MeanPoolOptions {
    /// Whether bounds are looked at before the launch, which waits for the stream, to tell which are
    /// wrong. If not given, they are on the simulator and in builds with debug assertions. Of those that
    /// are not looked at, one below 0 or above the number of tokens counts as that, and a sequence that
    /// ends before it starts has no tokens.
    #[must_use]
    pub fn validate_indices(self, validate: bool) -> Self {
        Self { validate_indices: Some(validate) }
    }
}

/// The mean of the rows of each sequence.
///
/// # Errors
/// [`Error::Shape`] if rows are empty or there are no bounds, [`Error::Stride`] if rows are not evenly
/// spaced or bounds have gaps, and [`Error::Value`] if a bound is wrong and
/// [looked at](MeanPoolOptions::validate_indices).
pub fn mean_pool<'a, T: Real, Y: Real>(
    x: &TensorSlice<T>,
    cu_seqlens: impl Into<Indices<'a>>,
    options: &MeanPoolOptions,
) -> Result<Tensor<Y>> {
    let cu_seqlens = cu_seqlens.into();
    let width = x.shape().last().copied().unwrap_or_default();
    let mut y = Tensor::empty(x.stream(), &[cu_seqlens.len().saturating_sub(1), width])?;
    mean_pool_into(x, cu_seqlens, options, &mut *y)?;
    Ok(y)
}

kernel_args! {
    /// Arguments of the kernel, as `kernels/mean_pool.hip` declares them.
    pub(crate) struct MeanPoolArgs {
        x: AnyPtr,
        y: AnyPtr,
        x_stride: i64,
        y_stride: i64,
        cu_seqlens: IndexList,
        tokens: u32,
        width: u32,
        y_type: u32,
    }
}

/// As [`mean_pool`], into `y`.
///
/// # Errors
/// As [`mean_pool`]; [`Error::Shape`] or [`Error::Stride`] also if `y` has not a row for each sequence, or
/// rows that are not evenly spaced, and [`Error::Alias`] if it overlaps another argument.
pub fn mean_pool_into<'a, T: Real, Y: Real>(
    x: &TensorSlice<T>,
    cu_seqlens: impl Into<Indices<'a>>,
    options: &MeanPoolOptions,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    let mut args = Arguments::new("mean_pool");
    let x_stride = args.input("x", x, &["tokens", "n"]).rows()?;
    args.limit("tokens", 0..=i32::MAX as usize)?;
    args.limit("n", 1..=PIECE * MOST_PIECES)?;
    let indices = cu_seqlens.into();
    let cu_seqlens = indices.declare(&mut args, "cu_seqlens", &["bounds"])?;
    args.limit("bounds", 1..=i32::MAX as usize)?;
    let [tokens, width, bounds] = args.sizes(["tokens", "n", "bounds"])?;
    args.define("bounds-1", bounds - 1);
    let y_stride = args.output("y", y, &["bounds-1", "n"]).rows()?;
    let call = args.check()?;
    if call.validates_indices(options.validate_indices)? {
        call.require_bounds("cu_seqlens", &indices.to_vec()?, tokens)?;
    }

    let kernel = KERNELS.function(call.device(), call.op(), "mean_pool", T::DTYPE.name(), &[])?;
    let sequences = bounds as u32 - 1;
    let lines = sequences.div_ceil(MOST_OF_LINE);
    let grid = [sequences.min(MOST_OF_LINE), width.div_ceil(PIECE) as u32, lines];
    let args = MeanPoolArgs {
        x: x.ptr().any(),
        y: y.ptr().any(),
        x_stride,
        y_stride,
        cu_seqlens,
        tokens: tokens as u32,
        width: width as u32,
        y_type: Y::CODE,
    };
    if grid[0] == 0 {
        return Ok(());
    }
    // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked, whatever
    // the bounds are.
    call.submit(|stream| unsafe { kernel.launch(stream, grid, &args) })
}
