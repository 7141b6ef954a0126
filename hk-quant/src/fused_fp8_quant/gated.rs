//! Gated norms, such as those of the gated delta rule's output.

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::Arguments;
use hk_core::op::quant::{Fp8, Quantised, QuantisedOut};
use hk_core::op::rows::{ROWS, RowOptions};
use hk_core::{AnyPtr, DevicePtr, Result, TensorSlice};

use crate::KERNELS;
use crate::gated_rms_quant::{GatedRmsQuantArgs, Step};

/// Most groups of a row that are taken as rows of their own: the grid's second dimension.
const MOST_GROUPS: usize = 65_535;

/// What gates are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum GateActivation {
    /// `z sigmoid(z)`.
    #[default]
    Silu,
    /// `sigmoid(z)`.
    Sigmoid,
}

/// What can be chosen of [`fused_rms_gated_fp8_group_quant`].
#[derive(Debug, Clone, Copy, Default)]
pub struct GatedRmsOptions<'a> {
    gates_first: bool,
    activation: GateActivation,
    group: Option<usize>,
    is_power: bool,
    most: Option<f32>,
    rows: RowOptions<'a>,
}

impl<'a> GatedRmsOptions<'a> {
    /// Normalises `x act(z)` rather than gating the norm of x.
    #[must_use]
    pub fn gate_before_norm(self) -> Self {
        Self { gates_first: true, ..self }
    }

    /// With gates of that activation; [`GateActivation::Silu`] if not given.
    #[must_use]
    pub fn activation(self, activation: GateActivation) -> Self {
        Self { activation, ..self }
    }

    /// With a scale for each so many elements of a row, which have to be whole groups. One for each
    /// row if not given.
    #[must_use]
    pub fn group(self, group: usize) -> Self {
        Self { group: Some(group), ..self }
    }

    /// With scales rounded up to powers of two.
    #[must_use]
    pub fn ue8m0(self) -> Self {
        Self { is_power: true, ..self }
    }

    /// With that largest code instead of the largest that there is, 240 or 448, which it must not
    /// exceed.
    #[must_use]
    pub fn qmax(self, most: f32) -> Self {
        Self { most: Some(most), ..self }
    }

    /// Launched so.
    #[must_use]
    pub fn rows(self, rows: RowOptions<'a>) -> Self {
        Self { rows, ..self }
    }
}

/// Rows that are normalised and gated: `y[i,j] = (x[i,j] r[i] weight[j] + bias[j]) act(z[i,j])`
/// with `r[i] = 1 / sqrt(mean_j x[i,j]^2 + eps)`, or, gated before,
/// `y[i,j] = h[i,j] r[i] weight[j] + bias[j]` with `h = x act(z)` and r of h.
#[derive(Debug, Clone, Copy)]
pub struct GatedRmsInput<'a, T: Real, W: Real> {
    /// The rows, `[.., n]`.
    pub x: &'a TensorSlice<T>,
    /// What gates are made of, in the shape of x.
    pub z: &'a TensorSlice<T>,
    /// The weight of each column.
    pub weight: &'a TensorSlice<W>,
    /// What is added to each column; nothing if absent.
    pub bias: Option<&'a TensorSlice<W>>,
    /// Added to the mean of squares; positive.
    pub eps: f32,
}

/// Gates and normalises rows, and quantises each row, or each group of one, with a scale of its
/// own: `s = max(max_j |y_j|, 1 / 512) / m`, where m is the largest code, and codes `y / s`,
/// rounded to nearest, ties to even. Scales are `[..]`, or `[.., n/g]` of groups of g.
///
/// Rows are read once if a scale is for a whole row or for 32, 64 or 128 elements, else twice.
///
/// # Errors
/// [`Error::Shape`] if z has another shape than x, weight or bias are not as long as a row, or rows
/// are empty, [`Error::Stride`] if rows are not evenly spaced, [`Error::ArchMismatch`] if the codes
/// are those of another chip, [`Error::Value`] if `eps` is not positive and finite, rows are not of
/// whole groups or of more than 65,535 that are not of 32, 64 or 128 elements, the largest code is
/// not positive or beyond what there is, or the tile does not take such rows, and [`Error::NoTile`]
/// if there is no tile of that name.
pub fn fused_rms_gated_fp8_group_quant<T: Real, W: Real, C: Fp8>(
    input: &GatedRmsInput<'_, T, W>,
    options: &GatedRmsOptions<'_>,
) -> Result<Quantised<C>> {
    let x = input.x;
    let (width, leading) = x.shape().split_last().map_or((0, &[][..]), |(n, rows)| (*n, rows));
    let groups = options.group.map(|group| width / group.max(1));
    let shape = [leading, groups.as_slice()].concat();
    let mut quantised = Quantised::empty(x, &shape)?;
    fused_rms_gated_fp8_group_quant_into(input, options, quantised.out())?;
    Ok(quantised)
}

/// As [`fused_rms_gated_fp8_group_quant`], into given tensors; scales of whole rows have no gaps.
///
/// # Errors
/// As [`fused_rms_gated_fp8_group_quant`]; [`Error::Shape`] or [`Error::Stride`] also if an output
/// has not the shape that [`fused_rms_gated_fp8_group_quant`] gives it, and [`Error::Alias`] if one
/// overlaps another argument.
pub fn fused_rms_gated_fp8_group_quant_into<T: Real, W: Real, C: Fp8>(
    input: &GatedRmsInput<'_, T, W>,
    options: &GatedRmsOptions<'_>,
    out: QuantisedOut<'_, C>,
) -> Result<()> {
    let GatedRmsInput { x, z, weight, bias, eps } = *input;
    let QuantisedOut { codes, scales } = out;
    let mut args = Arguments::new("fused_rms_gated_fp8_group_quant");
    let x_stride = args.input("x", x, ROWS).rows()?;
    let z_stride = args.input("z", z, ROWS).rows()?;
    args.input("weight", weight, &["n"]).contiguous()?;
    if let Some(bias) = bias {
        args.input("bias", bias, &["n"]).contiguous()?;
    }
    args.require(eps > 0.0 && eps.is_finite(), "eps", "positive and finite", eps)?;
    let most = options.most.unwrap_or(C::MOST);
    args.require(most > 0.0 && most <= C::MOST, "qmax", format!("above 0, to {}", C::MOST), most)?;
    let codes_stride = args.output("codes", codes, ROWS).rows()?;
    let [rows, width] = options.rows.check(&args)?;
    let group = options.group.unwrap_or(width);
    let is_whole = group > 0 && width.is_multiple_of(group);
    args.require(is_whole, "group", format!("a divisor of {width}"), group)?;
    let groups = width / group;
    args.define("groups(n)", groups);
    let scales_stride = if options.group.is_some() {
        args.output("scales", scales, &["..", "groups(n)"]).rows()?
    } else {
        args.output("scales", scales, &[".."]).contiguous()?;
        1
    };
    let step = match group {
        _ if groups == 1 => Step::WholeRows,
        32 | 64 | 128 => Step::Lanes,
        _ => Step::Groups,
    };
    let is_few = step != Step::Groups || groups <= MOST_GROUPS;
    args.require(is_few, "group", format!("at most {MOST_GROUPS} of a row"), group)?;
    let mut call = args.check()?;

    let kernel = |width, stride: i64| {
        let stride = x_stride.max(z_stride).max(stride);
        let core = ("gated_rms_quant", T::DTYPE.name());
        options.rows.kernel::<GatedRmsQuantArgs>(&call, &KERNELS, core, width, stride)
    };
    let whole = kernel(width, codes_stride)?;
    let by_group = if step == Step::Groups { Some(kernel(group, codes_stride)?) } else { None };
    let args = GatedRmsQuantArgs {
        x: x.ptr().any(),
        z: z.ptr().any(),
        weight: weight.ptr().any(),
        bias: bias.map_or(AnyPtr::NULL, |bias| bias.ptr().any()),
        codes: codes.ptr().any(),
        scales: scales.ptr_mut(),
        roots: DevicePtr::NULL,
        x_stride,
        z_stride,
        codes_stride,
        scales_stride,
        rows: rows as u32,
        width: width as u32,
        group: group as u32,
        weight_type: W::CODE,
        bias_type: W::CODE,
        step: step as u32,
        gates_first: u32::from(options.gates_first),
        is_sigmoid: u32::from(options.activation == GateActivation::Sigmoid),
        is_power: u32::from(options.is_power),
        eps,
        most,
        reserved: 0,
    };
    let Some(by_group) = by_group else {
        // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
        return unsafe { whole.launch(call, rows, &args) };
    };
    let [roots] = call.workspace([4 * rows])?;
    if rows == 0 {
        return Ok(());
    }
    let roots = GatedRmsQuantArgs { roots: roots.cast(), step: Step::Roots as u32, ..args };
    let by_group = by_group.parts(groups as u32);
    let of_groups = GatedRmsQuantArgs { width: group as u32, step: step as u32, ..roots };
    call.submit(|stream| {
        // SAFETY: as above; the workspace has a root for each row.
        unsafe { whole.launch_on(stream, whole.workgroups(rows), &roots)? };
        // SAFETY: as above.
        unsafe { by_group.launch_on(stream, by_group.workgroups(rows), &of_groups) }
    })
}
