//! Root-mean-square normalisation of rows:
//! `y[i,j] = h[i,j] / sqrt(mean_j h[i,j]^2 + eps) * (weight[j] + weight_offset)`.
//!
//! `h` is `x`, or, in the fused op, `x + residual` rounded to the element type, which is stored too.
//!
//! | | |
//! |---|---|
//! | Shapes | x `[.., n]`, weight `[n]` -> y `[.., n]`; any n >= 1, rows any distance apart |
//! | Dtypes | x bf16, f16, f32; weight bf16, f16, f32, whatever x is; y as x |
//! | Numerics | f32 throughout, rounded once at the store; bitwise deterministic |
//! | Hardware | cdna3, cdna4 |
//! | Source | Zhang and Sennrich, "Root Mean Square Layer Normalization" (2019) |

use hk_core::dtype::Real;
use hk_core::{DevicePtr, Error, Result, Tensor, TileFunction, kernel_args};

use crate::KERNELS;
use crate::rows::{RowTile, erased, small, stride};

/// What [`rmsnorm_with`] and [`fused_add_rmsnorm_with`] do besides the default.
#[derive(Debug, Default)]
pub struct RmsnormOptions<'a> {
    weight_offset: f32,
    rstd: Option<&'a mut Tensor<f32>>,
    tile: Option<&'a str>,
    workgroups: Option<u32>,
}

impl<'a> RmsnormOptions<'a> {
    /// Adds a number to each weight: 1 for weights that are stored centred at zero, as those of
    /// Gemma and Qwen3-Next are. 0 if not given.
    #[must_use]
    pub fn weight_offset(mut self, offset: f32) -> Self {
        self.weight_offset = offset;
        self
    }

    /// Stores `1 / sqrt(mean_j h[i,j]^2 + eps)` of every row, in the shape of x without its last
    /// dimension.
    #[must_use]
    pub fn rstd(mut self, out: &'a mut Tensor<f32>) -> Self {
        self.rstd = Some(out);
        self
    }

    /// Takes the tile configuration of that name, such as `n2048`, instead of the one that is
    /// expected to be fastest.
    #[must_use]
    pub fn tile(mut self, tile: &'a str) -> Self {
        self.tile = Some(tile);
        self
    }

    /// Launches at most so many workgroups, which take the rows in turn, for instance to leave
    /// compute units to other work. As many as are expected to be fastest if not given.
    #[must_use]
    pub fn workgroups(mut self, most: u32) -> Self {
        self.workgroups = Some(most);
        self
    }
}

/// Normalises the rows of `x` to a root mean square of one, and scales the columns by `weight`.
///
/// `eps` is added to the mean of squares, in units of x squared.
///
/// # Errors
/// [`Error::Shape`] if `weight` is not as long as a row or rows are empty, [`Error::Stride`] if rows
/// are not evenly spaced, [`Error::Value`] if `eps` is not positive and finite.
pub fn rmsnorm<T: Real, W: Real>(x: &Tensor<T>, weight: &Tensor<W>, eps: f32) -> Result<Tensor<T>> {
    let mut y = Tensor::empty(x.stream(), x.shape())?;
    rmsnorm_into(x, weight, eps, &mut y)?;
    Ok(y)
}

/// As [`rmsnorm`], into `y`, which may be `x`.
///
/// # Errors
/// As [`rmsnorm`]; [`Error::Shape`] also if `y` has another shape than `x`, and [`Error::Alias`] if
/// it overlaps an input in another way.
pub fn rmsnorm_into<T: Real, W: Real>(
    x: &Tensor<T>,
    weight: &Tensor<W>,
    eps: f32,
    y: &mut Tensor<T>,
) -> Result<()> {
    rmsnorm_with(x, weight, eps, RmsnormOptions::default(), y)
}

/// As [`rmsnorm_into`], with options.
///
/// # Errors
/// As [`rmsnorm_into`]; [`Error::Shape`] or [`Error::Stride`] also if the tensor for `rstd` is not
/// one number per row without gaps, [`Error::NoTile`] if there is no tile of that name, and
/// [`Error::Value`] if it does not hold rows so long.
pub fn rmsnorm_with<T: Real, W: Real>(
    x: &Tensor<T>,
    weight: &Tensor<W>,
    eps: f32,
    options: RmsnormOptions<'_>,
    y: &mut Tensor<T>,
) -> Result<()> {
    launch("rmsnorm", x, None, weight, eps, options, y)
}

/// Adds `residual` to `x`, and normalises the sum as [`rmsnorm`] does. Returns the normalised rows
/// and the sum, which is rounded before it is normalised.
///
/// # Errors
/// As [`rmsnorm`]; [`Error::Shape`] also if `residual` has another shape than `x`.
pub fn fused_add_rmsnorm<T: Real, W: Real>(
    x: &Tensor<T>,
    residual: &Tensor<T>,
    weight: &Tensor<W>,
    eps: f32,
) -> Result<(Tensor<T>, Tensor<T>)> {
    let mut y = Tensor::empty(x.stream(), x.shape())?;
    let mut sum = Tensor::empty(x.stream(), x.shape())?;
    fused_add_rmsnorm_into(x, residual, weight, eps, &mut y, &mut sum)?;
    Ok((y, sum))
}

/// As [`fused_add_rmsnorm`], into `y`, which may be `x`, and `residual_out`, which may be
/// `residual`.
///
/// # Errors
/// As [`fused_add_rmsnorm`]; [`Error::Shape`] also if an output has another shape than `x`, and
/// [`Error::Alias`] if one overlaps an input in another way, or the other output.
pub fn fused_add_rmsnorm_into<T: Real, W: Real>(
    x: &Tensor<T>,
    residual: &Tensor<T>,
    weight: &Tensor<W>,
    eps: f32,
    y: &mut Tensor<T>,
    residual_out: &mut Tensor<T>,
) -> Result<()> {
    let options = RmsnormOptions::default();
    fused_add_rmsnorm_with(x, residual, weight, eps, options, y, residual_out)
}

/// As [`fused_add_rmsnorm_into`], with options.
///
/// # Errors
/// As [`fused_add_rmsnorm_into`]; the tensor for `rstd` and the tile as for [`rmsnorm_with`].
pub fn fused_add_rmsnorm_with<T: Real, W: Real>(
    x: &Tensor<T>,
    residual: &Tensor<T>,
    weight: &Tensor<W>,
    eps: f32,
    options: RmsnormOptions<'_>,
    y: &mut Tensor<T>,
    residual_out: &mut Tensor<T>,
) -> Result<()> {
    launch("fused_add_rmsnorm", x, Some((residual, residual_out)), weight, eps, options, y)
}

kernel_args! {
    /// Arguments of the kernels, as `kernels/rmsnorm.hip` declares them.
    pub(crate) struct RmsnormArgs {
        pub(crate) x: DevicePtr<u8>,
        pub(crate) residual: DevicePtr<u8>,
        pub(crate) weight: DevicePtr<u8>,
        pub(crate) y: DevicePtr<u8>,
        pub(crate) residual_out: DevicePtr<u8>,
        pub(crate) rstd: DevicePtr<f32>,
        pub(crate) x_stride: i64,
        pub(crate) residual_stride: i64,
        pub(crate) y_stride: i64,
        pub(crate) residual_out_stride: i64,
        pub(crate) rows: u32,
        pub(crate) width: u32,
        pub(crate) weight_type: u32,
        pub(crate) eps: f32,
        pub(crate) weight_offset: f32,
    }
}

fn launch<T: Real, W: Real>(
    op: &'static str,
    x: &Tensor<T>,
    fused: Option<(&Tensor<T>, &mut Tensor<T>)>,
    weight: &Tensor<W>,
    eps: f32,
    mut options: RmsnormOptions<'_>,
    y: &mut Tensor<T>,
) -> Result<()> {
    let (rows, width) = (x.rows(), x.row_len());
    let shape = x.shape();
    let same = || "the shape of x".to_owned();
    if shape.is_empty() || width == 0 {
        return Err(Error::Shape {
            op,
            arg: "x",
            expected: "[.., n]".into(),
            got: shape.to_vec(),
            why: "rows must not be empty".into(),
        });
    }
    if !(eps > 0.0 && eps.is_finite()) {
        return Err(Error::value(op, "eps", "positive and finite", eps));
    }
    weight.check_shape(op, "weight", &[width], || {
        format!("must equal the last dimension of x {shape:?}")
    })?;
    x.check_same_stream(op, "x", weight, "weight")?;
    y.check_shape(op, "y", shape, same)?;
    x.check_same_stream(op, "x", y, "y")?;
    y.check_in_place(op, "y", x, "x")?;
    y.check_disjoint(op, "y", weight, "weight")?;
    let rows = small(op, "rows", rows, u32::MAX as usize)?;
    let width = small(op, "row length", width, i32::MAX as usize)?;

    let mut args = RmsnormArgs {
        x: erased(x),
        residual: DevicePtr::NULL,
        weight: erased(weight),
        y: erased(y),
        residual_out: DevicePtr::NULL,
        rstd: DevicePtr::NULL,
        x_stride: stride(op, "x", x)?,
        residual_stride: 0,
        y_stride: stride(op, "y", y)?,
        residual_out_stride: 0,
        rows,
        width,
        weight_type: W::CODE,
        eps,
        weight_offset: options.weight_offset,
    };
    let is_fused = fused.is_some();
    let mut uses = vec![x.as_input(), weight.as_input()];
    if let Some((residual, sum)) = fused {
        residual.check_shape(op, "residual", shape, same)?;
        x.check_same_stream(op, "x", residual, "residual")?;
        sum.check_shape(op, "residual_out", shape, same)?;
        x.check_same_stream(op, "x", sum, "residual_out")?;
        y.check_in_place(op, "y", residual, "residual")?;
        sum.check_in_place(op, "residual_out", residual, "residual")?;
        sum.check_in_place(op, "residual_out", x, "x")?;
        sum.check_disjoint(op, "residual_out", weight, "weight")?;
        sum.check_disjoint(op, "residual_out", y, "y")?;
        args.residual = erased(residual);
        args.residual_stride = stride(op, "residual", residual)?;
        args.residual_out = erased(sum);
        args.residual_out_stride = stride(op, "residual_out", sum)?;
        if let Some(rstd) = &options.rstd {
            rstd.check_disjoint(op, "rstd", residual, "residual")?;
            rstd.check_disjoint(op, "rstd", sum, "residual_out")?;
        }
        uses.extend([residual.as_input(), sum.as_output()]);
    }
    if let Some(rstd) = &mut options.rstd {
        rstd.check_shape(op, "rstd", &shape[..shape.len() - 1], || {
            format!("one number per row of x {shape:?}")
        })?;
        rstd.check_contiguous(op, "rstd")?;
        x.check_same_stream(op, "x", rstd, "rstd")?;
        rstd.check_disjoint(op, "rstd", x, "x")?;
        rstd.check_disjoint(op, "rstd", weight, "weight")?;
        rstd.check_disjoint(op, "rstd", y, "y")?;
        args.rstd = rstd.ptr_mut();
        uses.push(rstd.as_output());
    }
    uses.push(y.as_output());

    let device = x.device();
    let name = T::DTYPE.name();
    let variant = if is_fused { format!("add_{name}") } else { name.to_owned() };
    let strides = [args.x_stride, args.residual_stride, args.y_stride, args.residual_out_stride];
    let reach = strides.into_iter().max().unwrap_or(0);
    let problem = [("n", u64::from(width)), ("stride", reach as u64)];
    let kernel: TileFunction<RmsnormArgs> = match options.tile {
        Some(name) => KERNELS.named_function(device, op, "rmsnorm", &variant, name)?,
        None => KERNELS.function(device, op, "rmsnorm", &variant, &problem)?,
    };
    let tile = RowTile::new(op, kernel.tile(), width, reach)?;
    if options.workgroups == Some(0) {
        return Err(Error::value(op, "workgroups", "at least 1", 0));
    }
    if rows == 0 {
        return Ok(());
    }
    // Rows that are added to are fastest with a workgroup for each.
    let resident = if is_fused { u32::MAX } else { tile.resident(device) };
    let most = options.workgroups.unwrap_or(resident);
    let grid = tile.grid(op, rows, most)?;
    let stream = x.stream();
    stream.submit(&uses, || {
        // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked
        // above.
        unsafe { kernel.launch(stream, [grid, 1, 1], &args) }
    })
}
