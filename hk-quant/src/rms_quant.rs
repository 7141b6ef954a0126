//! The core `rms_quant`: kernels that normalise rows and quantise the result.

use std::fmt::Debug;

use hk_core::dtype::Real;
use hk_core::op::quant::{BlockScales, GroupScales};
use hk_core::op::rows::{ROWS, RowKernel, RowOptions};
use hk_core::op::{Arguments, Call};
use hk_core::{AnyPtr, DevicePtr, Result, TensorSlice, kernel_args};

use crate::KERNELS;

/// Rows to normalise: `n[i,j] = h[i,j] / sqrt(mean_j h[i,j]^2 + eps) * weight[j]`, where h is x, or
/// the sum of x and a residual.
#[derive(Debug, Clone, Copy)]
pub struct RmsInput<'a, T: Real, W: Real> {
    /// The rows, `[.., n]`.
    pub x: &'a TensorSlice<T>,
    /// The weight of each column.
    pub weight: &'a TensorSlice<W>,
    /// Added to the mean of squares, in units of x squared; positive.
    pub eps: f32,
    /// In the shape of x.
    pub residual: Option<&'a TensorSlice<T>>,
}

impl<'a, T: Real, W: Real> RmsInput<'a, T, W> {
    /// Without a residual.
    pub const fn new(x: &'a TensorSlice<T>, weight: &'a TensorSlice<W>, eps: f32) -> Self {
        Self { x, weight, eps, residual: None }
    }

    /// With one.
    #[must_use]
    pub fn residual(self, residual: &'a TensorSlice<T>) -> Self {
        Self { residual: Some(residual), ..self }
    }
}

/// What is stored besides codes.
#[derive(Debug)]
pub struct RmsOthers<'a, T: Real> {
    /// The normalised rows, rounded, in the shape of x.
    pub norm: Option<&'a mut TensorSlice<T>>,
    /// The sum of x and the residual, rounded, in the shape of x. Only where there is a residual.
    pub residual_out: Option<&'a mut TensorSlice<T>>,
    /// Other rows, as many as x has, that are only normalised.
    pub second: Option<SecondRms<'a, T>>,
}

impl<T: Real> Default for RmsOthers<'_, T> {
    /// Nothing.
    fn default() -> Self {
        Self { norm: None, residual_out: None, second: None }
    }
}

/// Rows that are normalised beside those that are quantised.
#[derive(Debug)]
pub struct SecondRms<'a, T: Real> {
    x: &'a TensorSlice<T>,
    weight: Box<dyn Weight + 'a>,
    eps: f32,
    y: &'a mut TensorSlice<T>,
}

impl<'a, T: Real> SecondRms<'a, T> {
    /// Rows `[.., k]`, the weight of each of their columns, of any type whatever that of the others is,
    /// and what is added to means of squares, as in [`RmsInput`]; `y`, in the shape of x, receives the
    /// normalised rows, rounded.
    pub fn new<W: Real>(
        x: &'a TensorSlice<T>,
        weight: &'a TensorSlice<W>,
        eps: f32,
        y: &'a mut TensorSlice<T>,
    ) -> Self {
        Self { x, weight: Box::new(WeightOf(weight)), eps, y }
    }
}

/// Weights of columns, whatever their type is.
trait Weight: Debug {
    /// Declares them, and gives where they are, and their type as kernels name it.
    fn declare(&self, args: &mut Arguments, names: &Names) -> Result<(AnyPtr, u32)>;
}

/// Those of a type.
#[derive(Debug)]
struct WeightOf<'a, W: Real>(&'a TensorSlice<W>);

impl<W: Real> Weight for WeightOf<'_, W> {
    fn declare(&self, args: &mut Arguments, names: &Names) -> Result<(AnyPtr, u32)> {
        args.input(names.weight, self.0, names.columns).contiguous()?;
        Ok((self.0.ptr().any(), W::CODE))
    }
}

kernel_args! {
    /// Arguments of the kernels, as `kernels/rms_quant.hip` declares them.
    pub(crate) struct RmsQuantArgs {
        x: AnyPtr,
        residual: AnyPtr,
        weight: AnyPtr,
        codes: AnyPtr,
        y: AnyPtr,
        residual_out: AnyPtr,
        scale: DevicePtr<f32>,
        row_scales: DevicePtr<f32>,
        groups: GroupScales,
        blocks: BlockScales,
        x_stride: i64,
        residual_stride: i64,
        codes_stride: i64,
        y_stride: i64,
        residual_out_stride: i64,
        rows: u32,
        width: u32,
        weight_type: u32,
        eps: f32,
        kind: u32,
        format: u32,
        rounds: u32,
        most_amax: f32,
    }
}

/// Scales of codes; the enum `scale_kind` of `kernels/rms_quant.hip`.
#[derive(Debug, Clone, Copy)]
#[repr(u32)]
pub(crate) enum ScaleKind {
    None,
    Given,
    Row,
    Group,
    Block,
}

/// Codes and their scales, as the kernels take them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Codes {
    pub(crate) kind: ScaleKind,
    pub(crate) codes: AnyPtr,
    /// In bytes.
    pub(crate) stride: i64,
    pub(crate) scale: DevicePtr<f32>,
    pub(crate) row_scales: DevicePtr<f32>,
    pub(crate) groups: GroupScales,
    pub(crate) blocks: BlockScales,
    pub(crate) format: u32,
    /// Whether the norm is rounded to the type of x before.
    pub(crate) rounds: bool,
    /// Of a row's largest magnitude.
    pub(crate) most_amax: f32,
}

impl Codes {
    /// None.
    pub(crate) const NONE: Self = Self {
        kind: ScaleKind::None,
        codes: AnyPtr::NULL,
        stride: 0,
        scale: DevicePtr::NULL,
        row_scales: DevicePtr::NULL,
        groups: GroupScales::NONE,
        blocks: BlockScales::NONE,
        format: 0,
        rounds: false,
        most_amax: f32::INFINITY,
    };
}

/// Names of the arguments that are rows to normalise.
struct Names {
    x: &'static str,
    weight: &'static str,
    eps: &'static str,
    y: &'static str,
    rows: &'static [&'static str],
    columns: &'static [&'static str],
}

const FIRST: Names =
    Names { x: "x", weight: "weight", eps: "eps", y: "norm", rows: ROWS, columns: &["n"] };
const SECOND: Names =
    Names { x: "x2", weight: "weight2", eps: "eps2", y: "y2", rows: &["..", "k"], columns: &["k"] };

/// Where rows are, and how far apart: null if they are not there.
type Rows = (AnyPtr, i64);

const NOWHERE: Rows = (AnyPtr::NULL, 0);

/// Rows to normalise as they were declared.
struct Declared {
    x: Rows,
    residual: Option<Rows>,
    weight: AnyPtr,
    weight_type: u32,
    eps: f32,
}

impl Declared {
    fn new<T: Real>(
        args: &mut Arguments,
        names: &Names,
        (x, residual): (&TensorSlice<T>, Option<&TensorSlice<T>>),
        weight: &dyn Weight,
        eps: f32,
    ) -> Result<Self> {
        let x_stride = args.input(names.x, x, names.rows).rows()?;
        let (weight, weight_type) = weight.declare(args, names)?;
        let residual = match residual {
            Some(of) => Some((of.ptr().any(), args.input("residual", of, names.rows).rows()?)),
            None => None,
        };
        args.require(eps > 0.0 && eps.is_finite(), names.eps, "positive and finite", eps)?;
        Ok(Self { x: (x.ptr().any(), x_stride), residual, weight, weight_type, eps })
    }
}

/// Declares rows that are stored, if they are wanted.
fn declare_output<T: Real>(
    args: &mut Arguments,
    name: &'static str,
    rows: Option<&mut TensorSlice<T>>,
    dims: &'static [&'static str],
) -> Result<Rows> {
    let Some(rows) = rows else { return Ok(NOWHERE) };
    Ok((rows.ptr().any(), args.output(name, rows, dims).rows()?))
}

/// A launch: rows of a width, and what is made of them.
struct Launch {
    kernel: RowKernel<RmsQuantArgs>,
    args: RmsQuantArgs,
}

impl Launch {
    /// Of `[rows, width]`.
    fn new<T: Real>(
        call: &Call,
        options: &RowOptions<'_>,
        [rows, width]: [usize; 2],
        of: &Declared,
        codes: &Codes,
        [y, residual_out]: [Rows; 2],
    ) -> Result<Self> {
        let Declared { x, residual, weight, weight_type, eps } = *of;
        let prefix = if residual.is_some() { "add_" } else { "" };
        let residual = residual.unwrap_or(NOWHERE);
        let variant = [prefix, T::DTYPE.name()].concat();
        let strides = [x.1, residual.1, codes.stride, y.1, residual_out.1];
        let stride = strides.into_iter().fold(0, i64::max);
        let kernel = options.kernel(call, &KERNELS, ("rms_quant", &variant), width, stride)?;
        let args = RmsQuantArgs {
            x: x.0,
            residual: residual.0,
            weight,
            codes: codes.codes,
            y: y.0,
            residual_out: residual_out.0,
            scale: codes.scale,
            row_scales: codes.row_scales,
            groups: codes.groups,
            blocks: codes.blocks,
            x_stride: x.1,
            residual_stride: residual.1,
            codes_stride: codes.stride,
            y_stride: y.1,
            residual_out_stride: residual_out.1,
            rows: rows as u32,
            width: width as u32,
            weight_type,
            eps,
            kind: codes.kind as u32,
            format: codes.format,
            rounds: u32::from(codes.rounds),
            most_amax: codes.most_amax,
        };
        Ok(Self { kernel, args })
    }
}

/// Normalises rows and quantises them with the scales that `declare_codes` declares.
pub(crate) fn launch<T: Real, W: Real>(
    op: &'static str,
    input: &RmsInput<'_, T, W>,
    options: &RowOptions<'_>,
    others: RmsOthers<'_, T>,
    declare_codes: impl FnOnce(&mut Arguments) -> Result<Codes>,
) -> Result<()> {
    let RmsOthers { norm, residual_out, second } = others;
    let mut args = Arguments::new(op);
    let RmsInput { x, weight, eps, residual } = *input;
    let first = Declared::new(&mut args, &FIRST, (x, residual), &WeightOf(weight), eps)?;
    let codes = declare_codes(&mut args)?;
    let y = declare_output(&mut args, FIRST.y, norm, FIRST.rows)?;
    let is_sum = residual.is_some() || residual_out.is_none();
    args.require(is_sum, "residual_out", "absent without a residual", "given")?;
    let sum = declare_output(&mut args, "residual_out", residual_out, FIRST.rows)?;
    let mut beside = None;
    if let Some(SecondRms { x, weight, eps, y }) = second {
        let of = Declared::new(&mut args, &SECOND, (x, None), &*weight, eps)?;
        let y = declare_output(&mut args, SECOND.y, Some(y), SECOND.rows)?;
        args.limit("k", 1..=i32::MAX as usize)?;
        let [width] = args.sizes(["k"])?;
        beside = Some((of, y, width));
    }
    let shape = options.check(&args)?;
    let call = args.check()?;

    let rows = shape[0];
    let mut launches = vec![Launch::new::<T>(&call, options, shape, &first, &codes, [y, sum])?];
    if let Some((of, y, width)) = beside {
        let (shape, outputs) = ([rows, width], [y, NOWHERE]);
        launches.push(Launch::new::<T>(&call, options, shape, &of, &Codes::NONE, outputs)?);
    }
    if rows == 0 {
        return Ok(());
    }
    call.submit(|stream| {
        launches.iter().try_for_each(|Launch { kernel, args }| {
            // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
            unsafe { kernel.launch_on(stream, kernel.workgroups(rows), args) }
        })
    })
}
