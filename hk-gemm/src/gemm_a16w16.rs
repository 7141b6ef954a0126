//! Products of bf16 or f16 matrices: `y = epilogue(x w^T)`.
//!
//! | | |
//! |---|---|
//! | Shapes | x `(m, k)`, w `(n, k)` -> y `(m, n)`; any sizes; each operand may be stored transposed |
//! | Dtypes | x and w bf16 or f16; y bf16, f16 or f32 |
//! | Numerics | f32 accumulation, one rounding at the end; bitwise deterministic, also when k is split |
//! | Hardware | cdna3, cdna4; each with tile configurations of its own |
//! | Source | BLAS `gemm`, with weights as linear layers store them, `(n, k)` |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gemm::{Device, GemmOptions, Tensor, bf16, gemm_a16w16};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[1.0, 2.0, -1.0, 0.5].map(bf16::from_f32), &[2, 2])?;
//! let w = Tensor::from_slice(&stream, &[3.0, 4.0].map(bf16::from_f32), &[1, 2])?;
//! let bias = Tensor::from_slice(&stream, &[0.5f32], &[1])?;
//! let y: Tensor<f32> = gemm_a16w16(&x, &w, &GemmOptions::default().bias(&bias))?;
//! assert_eq!(y.to_vec()?, [11.5, -0.5]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{Real, Real16};
use hk_core::op::Arguments;
use hk_core::op::epilogue::{Epilogue, Extent, Lowered, Operand, Step};
use hk_core::op::tiling::Problem;
use hk_core::{Activation, Result, Tensor, TensorSlice};

use crate::a16w16::Product;

const OP: &str = "gemm_a16w16";

/// How the operands are stored: first letter x, second w. The names are those of BLAS as AITER uses
/// them, for column-major readers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Layout {
    /// x is `(m, k)`, w is `(n, k)`: both have k contiguous.
    #[default]
    Tn,
    /// x is `(m, k)`, w is stored as `(k, n)`.
    Tt,
    /// x is stored as `(k, m)`, w is `(n, k)`.
    Nn,
    /// x is stored as `(k, m)`, w is stored as `(k, n)`.
    Nt,
}

impl Layout {
    /// Every layout.
    pub const ALL: [Self; 4] = [Self::Tn, Self::Tt, Self::Nn, Self::Nt];

    /// Its name, such as `tn`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tn => "tn",
            Self::Tt => "tt",
            Self::Nn => "nn",
            Self::Nt => "nt",
        }
    }

    /// Whether x is stored as `(k, m)`.
    pub const fn x_is_transposed(self) -> bool {
        matches!(self, Self::Nn | Self::Nt)
    }

    /// Whether w is stored as `(k, n)`.
    pub const fn w_is_transposed(self) -> bool {
        matches!(self, Self::Tt | Self::Nt)
    }
}

/// What [`gemm_a16w16`] does besides the product. All of it happens in f32, before the one rounding:
/// first `bias`, then `activation`, then `residual`, then the steps of `epilogue`.
#[derive(Debug, Clone, Default)]
pub struct GemmOptions<'a> {
    layout: Layout,
    bias: Option<Operand<'a>>,
    activation: Option<Activation>,
    residual: Option<Operand<'a>>,
    epilogue: Epilogue<'a>,
    splits: Option<u32>,
    tile: Option<&'a str>,
}

impl<'a> GemmOptions<'a> {
    /// How the operands are stored.
    #[must_use]
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// Adds a vector of n to every row.
    #[must_use]
    pub fn bias(mut self, bias: impl Into<Operand<'a>>) -> Self {
        self.bias = Some(bias.into());
        self
    }

    /// Applies a function to every element.
    #[must_use]
    pub fn activation(mut self, activation: Activation) -> Self {
        self.activation = Some(activation);
        self
    }

    /// Adds a tensor of `(m, n)`, which may be the output: see [`TensorSlice::in_place`].
    #[must_use]
    pub fn residual(mut self, residual: impl Into<Operand<'a>>) -> Self {
        self.residual = Some(residual.into());
        self
    }

    /// Further steps.
    #[must_use]
    pub fn epilogue(mut self, epilogue: Epilogue<'a>) -> Self {
        self.epilogue = epilogue;
        self
    }

    /// Cuts k into at most so many shares that are computed side by side, instead of as many as fill
    /// the device: a number from 1 to k, whatever the tile. There are fewer where a share would be
    /// shorter than the tile's step along k, and more where one would be longer than 65,536.
    #[must_use]
    pub fn splits(mut self, splits: u32) -> Self {
        self.splits = Some(splits);
        self
    }

    /// Takes the tile configuration of that name, such as `128x128x64`, instead of the one that is
    /// expected to be fastest.
    #[must_use]
    pub fn tile(mut self, tile: &'a str) -> Self {
        self.tile = Some(tile);
        self
    }

    /// Declares the operands of the epilogue, and puts it into the kernel's form.
    fn lower(&self, args: &mut Arguments) -> Result<Lowered> {
        let mut steps = Lowered::default();
        if let Some(bias) = self.bias {
            steps.push(args, ["bias"; 3], Step::Add(bias, Extent::Columns, 1.0))?;
        }
        if let Some(activation) = self.activation {
            steps.push(args, ["activation"; 3], Step::Activate(activation))?;
        }
        if let Some(residual) = self.residual {
            steps.push(args, ["residual"; 3], Step::Add(residual, Extent::Full, 1.0))?;
        }
        self.epilogue.lower(args, &mut steps)?;
        Ok(steps)
    }
}

/// Multiplies `x` by the transpose of `w`: `y[i, j] = epilogue(sum_k x[i, k] w[j, k])`.
///
/// # Errors
/// [`Error::Shape`] if the operands do not fit together, n or k is 0, or an operand of the epilogue
/// has the wrong shape; [`Error::Value`] if the options ask for what there is not, a stride is too
/// long, or the epilogue has too many steps; [`Error::NoTile`] if there is no tile of that name.
pub fn gemm_a16w16<T: Real16, Y: Real>(
    x: &TensorSlice<T>,
    w: &TensorSlice<T>,
    options: &GemmOptions<'_>,
) -> Result<Tensor<Y>> {
    let (_, Problem { m, n, .. }, _) = operands(x, w, options.layout)?;
    let mut y = Tensor::empty(x.stream(), &[m as usize, n as usize])?;
    gemm_a16w16_into(x, w, options, &mut y)?;
    Ok(y)
}

/// As [`gemm_a16w16`], into `y`, whose rows may be any distance apart.
///
/// # Errors
/// As [`gemm_a16w16`]; [`Error::Shape`] also if `y` is not `(m, n)`, [`Error::Alias`] if it overlaps
/// an operand, unless it is the same view as one of `(m, n)` of the epilogue's.
pub fn gemm_a16w16_into<T: Real16, Y: Real>(
    x: &TensorSlice<T>,
    w: &TensorSlice<T>,
    options: &GemmOptions<'_>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    let (mut args, problem, strides) = operands(x, w, options.layout)?;
    let steps = options.lower(&mut args)?;
    let y_stride = args.output("y", y, &["m", "n"]).rows()?;
    if let Some(splits) = options.splits {
        let holds = (1..=problem.k).contains(&splits.into());
        args.require(holds, "splits", format_args!("1 to k = {}", problem.k), splits)?;
    }
    let call = args.check()?;

    let product = Product {
        op: OP,
        x,
        w,
        y,
        strides: [strides[0], strides[1], y_stride],
        problem,
        layout: options.layout.name(),
        steps,
        splits: options.splits,
        tile: options.tile,
    };
    product.launch(call)
}

/// Declares the operands; with the sizes of the product, and the distances between rows.
fn operands<T: Real16>(
    x: &TensorSlice<T>,
    w: &TensorSlice<T>,
    layout: Layout,
) -> Result<(Arguments, Problem, [i64; 2])> {
    let transposed = [layout.x_is_transposed(), layout.w_is_transposed()];
    let mut args = Arguments::new(OP);
    let x_dims = if transposed[0] { &["k", "m"] } else { &["m", "k"] };
    let x_stride = args.input("x", x, x_dims).rows()?;
    args.limit("m", 0..=Problem::MAX_SIZE as usize)?;
    args.limit("k", 1..=Problem::MAX_SIZE as usize)?;
    let w_dims = if transposed[1] { &["k", "n"] } else { &["n", "k"] };
    let w_stride = args.input("w", w, w_dims).rows()?;
    args.limit("n", 1..=Problem::MAX_SIZE as usize)?;
    let [m, n, k] = args.sizes(["m", "n", "k"])?.map(|size| size as u64);
    Ok((args, Problem { m, n, k, transposed }, [x_stride, w_stride]))
}
