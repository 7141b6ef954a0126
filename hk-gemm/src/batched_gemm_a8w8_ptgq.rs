//! Batches of products of 16-bit numbers, quantised per token and group of k before, with 8-bit floating
//! point that has a scale per tensor:
//! `y[b] = epilogue(w_scale sum_g s[b, ., g] (q[b] w[b]^T)_g)`, where g is a group of k, and q and s are x's
//! codes and scales.
//!
//! | | |
//! |---|---|
//! | Shapes | x `(batch, m, k)` or `(m, batch, k)`, w `(batch, n, k)` -> y `(batch, m, n)` or `(m, batch, n)`; any sizes; w_scale one number, or `(batch)`; operands may be stored in any [`Layout`](crate::Layout), but for x `(m, batch, k)`: those whose rows are adjacent are copied before |
//! | Dtypes | x bf16 or f16; w e4m3 in the flavour of the chip; w_scale f32; y bf16, f16 or f32 |
//! | Numerics | `s = a f32(1 / MAX)` with `a = max(max abs x, 1e-10)` of a group, and `q = clamp(x (1 / s))` rounded to nearest even, bit for bit; f32 sums of each group, added up in f32 times the scales; one rounding at the end; bitwise deterministic, also when k is split |
//! | Hardware | cdna3, cdna4; each with tile configurations of its own |
//! | Source | AITER `batched_gemm_a8w8_a_per_token_group_prequant_w_per_batched_tensor_quant` |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gemm::{Device, F8E4M3Fnuz, PtgqOptions, Tensor, batched_gemm_a8w8_ptgq, bf16};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let x = Tensor::filled(&stream, &[2, 1, 160], bf16::from_f32(3.0))?;
//! let w = Tensor::filled(&stream, &[2, 1, 160], F8E4M3Fnuz::from_f32(2.0))?;
//! let w_scale = Tensor::from_slice(&stream, &[1.0f32, 0.5], &[2])?;
//! let options = PtgqOptions::default();
//! let y: Tensor<bf16> = batched_gemm_a8w8_ptgq(&x, &w, &w_scale, &options)?;
//! assert_eq!(y.to_vec()?, [960.0, 480.0].map(bf16::from_f32));
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{Real, Real16};
use hk_core::op::prequant::Prequant;
use hk_core::op::product::GroupScales;
use hk_core::op::quant::Fp8;
use hk_core::{DevicePtr, Result, Tensor, TensorSlice};

use crate::a8w8_blockscale;
use crate::options::{GemmOptions, Operands};

const OP: &str = "batched_gemm_a8w8_ptgq";

/// Rows of w that have one scale: more than there are.
const ALL_ROWS: usize = 1 << 31;

/// What these products do besides.
#[derive(Debug, Clone)]
pub struct PtgqOptions<'a> {
    gemm: GemmOptions<'a>,
    group_size: usize,
    transpose_bm_in: bool,
}

impl Default for PtgqOptions<'_> {
    fn default() -> Self {
        Self { gemm: GemmOptions::default(), group_size: 128, transpose_bm_in: false }
    }
}

impl<'a> PtgqOptions<'a> {
    /// What is done besides the product. If x is [`(m, batch, k)`](Self::transpose_bm_in), the
    /// [layout](crate::Layout) is `Tn` or `Tt`.
    #[must_use]
    pub fn gemm(mut self, options: GemmOptions<'a>) -> Self {
        self.gemm = options;
        self
    }

    /// A scale of x is for so many k of a row: 32, 64, 128 or 256. 128 if nothing is said.
    #[must_use]
    pub fn group_size(mut self, k: usize) -> Self {
        self.group_size = k;
        self
    }

    /// x is `(m, batch, k)`.
    #[must_use]
    pub fn transpose_bm_in(mut self) -> Self {
        self.transpose_bm_in = true;
        self
    }
}

/// Declares the operands and the scale.
fn operands<X: Real16, W: Fp8>(
    x: &TensorSlice<X>,
    w: &TensorSlice<W>,
    w_scale: &TensorSlice<f32>,
    options: &PtgqOptions<'_>,
) -> Result<Operands> {
    let (layout, k) = (options.gemm.layout, options.group_size);
    let by_rows = options.transpose_bm_in;
    let mut operands = Operands::declare_by(OP, x, w, layout, by_rows)?;
    operands.turn();
    let args = &mut operands.args;
    let has_rows = !(by_rows && layout.x_is_transposed());
    args.require(has_rows, "layout", "tn or tt, if x is (m, batch, k)", layout.name())?;
    let holds = a8w8_blockscale::GROUP_K.contains(&k);
    args.require(holds, "group_size", "32, 64, 128 or 256", k)?;
    let batch = match w_scale.shape() {
        [] => args.input("w_scale", w_scale, &[]).strides::<0>().map(|_| 0)?,
        [1] => args.input("w_scale", w_scale, &["1"]).strides::<1>().map(|_| 0)?,
        _ => args.input("w_scale", w_scale, &["batch"]).strides::<1>()?[0],
    };
    operands.groups = Some(GroupScales {
        tensors: [DevicePtr::NULL, w_scale.ptr()],
        batch: [0, batch],
        sizes: [ALL_ROWS as u32, k as u32],
        ..GroupScales::NONE
    });
    operands.problem.group = k as u64;
    operands.prequant = Some(Prequant::Groups { k: k as u32, reciprocal: true });
    operands.problem.bits[0] = operands.problem.bits[1];
    Ok(operands)
}

/// Multiplies each matrix of `x`, quantised per row and group of k, by the transpose of its partner in `w`:
/// `y[b, i, j] = epilogue(w_scale sum_g s[b, i, g] sum_{k in g} q[b, i, k] w[b, j, k])`.
///
/// # Errors
/// [`Error::Shape`] if the operands or scales do not fit together, n or k is 0, or an operand of
/// the epilogue has the wrong shape; [`Error::Stride`] if elements of a row are not adjacent;
/// [`Error::Value`] if the options ask for what there is not, a stride is too long, or the epilogue
/// has too many steps; [`Error::NoTile`] if there is no tile of that name; [`Error::ArchMismatch`]
/// if the elements of `w` are those of another chip.
pub fn batched_gemm_a8w8_ptgq<X: Real16, W: Fp8, Y: Real>(
    x: &TensorSlice<X>,
    w: &TensorSlice<W>,
    w_scale: &TensorSlice<f32>,
    options: &PtgqOptions<'_>,
) -> Result<Tensor<Y>> {
    let operands = operands(x, w, w_scale, options)?;
    let mut y = Tensor::empty(x.stream(), &operands.shape(&options.gemm))?;
    batched_gemm_a8w8_ptgq_into(x, w, w_scale, options, &mut y)?;
    Ok(y)
}

/// As [`batched_gemm_a8w8_ptgq`], into `y`, whose matrices and rows may be any distances apart.
///
/// # Errors
/// As [`batched_gemm_a8w8_ptgq`]; [`Error::Shape`] or [`Error::Stride`] also if `y` has the wrong
/// shape or no such rows, [`Error::Alias`] if it overlaps an operand, unless it is the same view as
/// one of its shape of the epilogue's.
pub fn batched_gemm_a8w8_ptgq_into<X: Real16, W: Fp8, Y: Real>(
    x: &TensorSlice<X>,
    w: &TensorSlice<W>,
    w_scale: &TensorSlice<f32>,
    options: &PtgqOptions<'_>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    let operands = operands(x, w, w_scale, options)?;
    let steps = operands.steps();
    let groups = [ALL_ROWS, options.group_size];
    a8w8_blockscale::launch(operands, steps, groups, &options.gemm, y)
}
