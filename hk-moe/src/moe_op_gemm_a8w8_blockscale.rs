//! Products of rows with the matrices of their experts, of 8 bits with scales of groups of k:
//! `y[p] = gammas[p] act(sum_g s_x[row(p), g] s_w[e, ., g] (x[row(p)] w[e]^T)_g + bias[e])` for each place p
//! of expert e.
//!
//! | | |
//! |---|---|
//! | Shapes | x `[rows, k]`, w `[E, n, k]`, x_block_scales `[rows, ceil(k / group_k)]`, or one row for each `group_m` rows, w_block_scales `[E, ceil(n / group_n), ceil(k / group_k)]`, bias `[E, n]`, gammas `[G]` -> y as [`moe_a8w8`](crate::moe_a8w8()) has it; any sizes, k at most 65,536; scales any distance apart |
//! | Dtypes | x and w i8, or e4m3 in the flavour of the chip; scales, bias and gammas f32; y bf16, f16, f32 or the chip's e4m3 |
//! | Numerics | sums of a group in f32, from 0, times the product of both scales; one rounding at the end, and one of rows that are scattered; bitwise deterministic |
//! | Hardware | cdna3, cdna4; each with tile configurations of its own, whose rows divide `block_m`; groups of 128 by 128 without expansion |
//! | Source | DeepSeek-V3 technical report (arXiv 2412.19437), section 3.3; AITER `moe_gemm_a8w8_blockscale` |
//!
//! Places, rows, scattering and parts of padded tensors are those of [`moe_a8w8`](crate::moe_a8w8()).
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_moe::{Activation, Device, MoeRaggedOptions, RaggedGates, RaggedScales, Tensor};
//! use hk_moe::moe_a8w8_blockscale;
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let x = Tensor::filled(&stream, &[1, 256], 1i8)?;
//! let w = Tensor::filled(&stream, &[1, 2, 256], 1i8)?;
//! let of_x = Tensor::from_slice(&stream, &[1.0, 0.5], &[1, 2])?;
//! let offsets = Tensor::from_slice(&stream, &[0, 1], &[2])?;
//! let tiles = Tensor::from_slice(&stream, &[0], &[1])?;
//! let gates = RaggedGates::new(&offsets, &tiles, 16, 1);
//! let options = MoeRaggedOptions::new(Activation::None);
//! let scales = RaggedScales::default().x(&of_x);
//! let y: Tensor<f32> = moe_a8w8_blockscale(&x, &w, &scales, &gates, &options)?;
//! assert_eq!(y.to_vec()?, [192.0; 2]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::{Result, Tensor, TensorSlice};

use crate::moe_op_gemm_a8w8::RaggedElement;
use crate::ragged_products::{MoeRaggedOptions, RaggedGates, RaggedOp, RaggedOutput};

const OP: &str = "moe_a8w8_blockscale";
/// The group that most checkpoints have.
const GROUP: usize = 128;

/// Scales of groups. Those of an operand that has none are 1.
#[derive(Debug, Clone, Copy)]
pub struct RaggedScales<'a> {
    x: Option<&'a TensorSlice<f32>>,
    w: Option<&'a TensorSlice<f32>>,
    group: [usize; 3],
}

impl Default for RaggedScales<'_> {
    /// None, for each row, and for groups of 128 rows of w and 128 k.
    fn default() -> Self {
        Self { x: None, w: None, group: [1, GROUP, GROUP] }
    }
}

impl<'a> RaggedScales<'a> {
    /// Those of x.
    #[must_use]
    pub const fn x(mut self, scales: &'a TensorSlice<f32>) -> Self {
        self.x = Some(scales);
        self
    }

    /// Those of w.
    #[must_use]
    pub const fn w(mut self, scales: &'a TensorSlice<f32>) -> Self {
        self.w = Some(scales);
        self
    }

    /// For so many rows of x, as they are stored: 1, 32, 64 or 128.
    #[must_use]
    pub const fn group_m(mut self, rows: usize) -> Self {
        self.group[0] = rows;
        self
    }

    /// For so many rows of w: 1, 32, 64 or 128.
    #[must_use]
    pub const fn group_n(mut self, rows: usize) -> Self {
        self.group[1] = rows;
        self
    }

    /// For so many k: 32, 64, 128 or 256.
    #[must_use]
    pub const fn group_k(mut self, k: usize) -> Self {
        self.group[2] = k;
        self
    }
}

/// Multiplies rows by the transpose of their expert's matrix.
///
/// # Errors
/// As [`moe_a8w8`](crate::moe_a8w8()); [`Error::Value`] also if groups are not of these sizes.
pub fn moe_a8w8_blockscale<'a, T: RaggedElement, Y: RaggedOutput>(
    x: &TensorSlice<T>,
    w: &TensorSlice<T>,
    scales: &RaggedScales<'_>,
    gates: &RaggedGates<'a>,
    options: &MoeRaggedOptions<'a>,
) -> Result<Tensor<Y>> {
    let mut y = gates.results(x, w, options)?;
    moe_a8w8_blockscale_into(x, w, scales, gates, options, &mut y)?;
    Ok(y)
}

/// As [`moe_a8w8_blockscale`], into `y`, whose rows may be any distance apart.
///
/// # Errors
/// As [`moe_a8w8_blockscale`] and [`moe_a8w8_into`](crate::moe_a8w8_into).
pub fn moe_a8w8_blockscale_into<'a, T: RaggedElement, Y: RaggedOutput>(
    x: &TensorSlice<T>,
    w: &TensorSlice<T>,
    scales: &RaggedScales<'_>,
    gates: &RaggedGates<'a>,
    options: &MoeRaggedOptions<'a>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    let mut op = RaggedOp::declare(OP, (x, w), [false; 2], gates, options)?;
    let [group_m, group_n, group_k] = scales.group;
    for (arg, size, sizes) in [
        ("group_m", group_m, [1, 32, 64, 128]),
        ("group_n", group_n, [1, 32, 64, 128]),
        ("group_k", group_k, [32, 64, 128, 256]),
    ] {
        op.args.require(sizes.contains(&size), arg, format!("one of {sizes:?}"), size)?;
    }
    op.static_scales()?;
    op.groups([scales.x, scales.w], scales.group)?;
    let is_usual = [group_n, group_k] == [GROUP; 2];
    let variant = match (T::NAME, is_usual) {
        ("e4m3", true) => "e4m3_128",
        ("e4m3", false) => "e4m3_any",
        _ => "i8_any",
    };
    op.launch(variant, y, None)
}
