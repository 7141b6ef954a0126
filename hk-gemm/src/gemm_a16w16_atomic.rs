//! Products of matrices whose shares of k are added to the result as they come: `y = x w^T` or
//! `y = y + x w^T`.
//!
//! | | |
//! |---|---|
//! | Shapes | x `(m, k)`, w `(n, k)` -> y `(m, n)`, or transposed as [`Layout`] says; any sizes |
//! | Dtypes | x and w both bf16 or f16; y f32 |
//! | Numerics | f32 sums of each share of k, added to y in f32 by atomic operations of the device, in an order that timing decides: of more than two shares, the last bits of y may differ from call to call. [`gemm_a16w16`](crate::gemm_a16w16()) is deterministic |
//! | Hardware | cdna3, cdna4; each with tile configurations of its own |
//! | Source | AITER `gemm_a16w16_atomic` |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gemm::{AtomicOptions, Device, Tensor, bf16, gemm_a16w16_atomic_into};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[1.0, 2.0].map(bf16::from_f32), &[1, 2])?;
//! let w = Tensor::from_slice(&stream, &[3.0, 4.0, -5.0, 1.0].map(bf16::from_f32), &[2, 2])?;
//! let mut y = Tensor::from_slice(&stream, &[100.0f32, 200.0], &[1, 2])?;
//! gemm_a16w16_atomic_into(&x, &w, &AtomicOptions::default().accumulate(true), &mut y)?;
//! assert_eq!(y.to_vec()?, [111.0, 197.0]);
//! gemm_a16w16_atomic_into(&x, &w, &AtomicOptions::default(), &mut y)?;
//! assert_eq!(y.to_vec()?, [11.0, -3.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real16;
use hk_core::{Result, Tensor, TensorSlice};

use crate::a16w16::variant;
use crate::options::{GemmOptions, Layout, Operands};

const OP: &str = "gemm_a16w16_atomic";
const CORE: &str = "a16w16_atomic";

/// What these products do besides.
#[derive(Debug, Clone, Default)]
pub struct AtomicOptions<'a> {
    gemm: GemmOptions<'a>,
    accumulate: bool,
}

impl<'a> AtomicOptions<'a> {
    /// How the operands are stored.
    #[must_use]
    pub fn layout(mut self, layout: Layout) -> Self {
        self.gemm = self.gemm.layout(layout);
        self
    }

    /// Adds to what the result holds, however many shares there are. Otherwise that does not matter,
    /// however many there are.
    #[must_use]
    pub fn accumulate(mut self, accumulate: bool) -> Self {
        self.accumulate = accumulate;
        self
    }

    /// Cuts k into at most so many shares, as [`GemmOptions::splits`] says.
    #[must_use]
    pub fn splits(mut self, splits: u32) -> Self {
        self.gemm = self.gemm.splits(splits);
        self
    }

    /// Chooses the tile and how k is shared for so many compute units, as [`GemmOptions::compute_units`] says.
    #[must_use]
    pub fn compute_units(mut self, compute_units: u32) -> Self {
        self.gemm = self.gemm.compute_units(compute_units);
        self
    }

    /// Takes the tile configuration of that name instead of the one that is expected to be fastest.
    #[must_use]
    pub fn tile(mut self, tile: &'a str) -> Self {
        self.gemm = self.gemm.tile(tile);
        self
    }
}

/// Multiplies `x` by the transpose of `w`: `y[i, j] = sum_k x[i, k] w[j, k]`. There is nothing that could
/// be accumulated to.
///
/// # Errors
/// [`Error::Shape`] if the operands do not fit together, or n or k is 0; [`Error::Stride`] if
/// elements of a row are not adjacent; [`Error::Value`] if the options ask for what there is not,
/// or a stride is too long; [`Error::NoTile`] if there is no tile of that name.
pub fn gemm_a16w16_atomic<T: Real16>(
    x: &TensorSlice<T>,
    w: &TensorSlice<T>,
    options: &AtomicOptions<'_>,
) -> Result<Tensor<f32>> {
    let operands = Operands::declare(OP, x, w, options.gemm.layout, false)?;
    let constraint = "false, if the result is new";
    operands.args.require(!options.accumulate, "accumulate", constraint, options.accumulate)?;
    let mut y = Tensor::empty(x.stream(), &operands.shape(&options.gemm))?;
    gemm_a16w16_atomic_into(x, w, options, &mut y)?;
    Ok(y)
}

/// As [`gemm_a16w16_atomic`], into `y`, whose rows may be any distance apart, or added to it.
///
/// # Errors
/// As [`gemm_a16w16_atomic`]; [`Error::Shape`] or [`Error::Stride`] also if `y` is not `(m, n)`
/// with such rows, [`Error::Alias`] if it overlaps an operand.
pub fn gemm_a16w16_atomic_into<T: Real16>(
    x: &TensorSlice<T>,
    w: &TensorSlice<T>,
    options: &AtomicOptions<'_>,
    y: &mut TensorSlice<f32>,
) -> Result<()> {
    let mut operands = Operands::declare(OP, x, w, options.gemm.layout, false)?;
    operands.accumulate = Some(options.accumulate);
    let steps = operands.steps();
    operands.launch((CORE, &variant::<T>(options.gemm.layout), false), steps, &options.gemm, y)
}
