//! Cases of `rmsnorm` and `fused_add_rmsnorm`.

use hk_core::dtype::{DType, Real, bf16, f16};
use hk_core::{Result, Stream};
use hk_ref::draw::to_f64;
use hk_ref::norm::rmsnorm::{Normalised, add, expect_rstd, expect_y, rmsnorm as reference};
use hk_ref::{Case, CaseInfo, Draw, Expected, Guarded, Placement, Prepared, Size};

use crate::{RmsnormOptions, fused_add_rmsnorm_with, rmsnorm_with};

const EPS: f32 = 1e-6;

/// `[rows, width]` that the simulator runs in no time: sub-wave rows, a workgroup per row, two
/// passes; odd widths, a width of one.
const SHAPES: [[usize; 2]; 14] = [
    [1, 4],
    [2, 10],
    [5, 1],
    [173, 409],
    [71, 3571],
    [128, 768],
    [64, 512],
    [256, 1024],
    [17, 8192],
    [3, 16_384],
    [1, 31_744],
    [2, 65_536],
    [1, 17_389],
    [512, 128],
];

/// Shapes that are run with weights of every type: one for each tile configuration.
const TILES: [[usize; 2]; 8] =
    [[5, 101], [3, 203], [2, 509], [2, 2005], [2, 3501], [1, 7003], [1, 16_379], [1, 17_003]];

/// Shapes of models, and of the seed's only test.
const LARGE: [[usize; 2]; 8] = [
    [4096, 128],
    [364_800, 128],
    [16_380, 1536],
    [8192, 8192],
    [4096, 7168],
    [8192, 2048],
    [8192, 2880],
    [8192, 65_536],
];

/// Batches of decoding, each with the widths of [`LARGE`].
const DECODE: [usize; 4] = [1, 8, 32, 128];

/// A case as data.
#[derive(Debug, Clone, Copy)]
struct Spec {
    shape: [usize; 2],
    fused: bool,
    draw: Draw,
    offset: f32,
    rstd: bool,
    /// `y` is `x`, and in the fused op `residual_out` is `residual`.
    in_place: bool,
    place: Placement,
    /// Rows 1 to 3 get a NaN, an infinity and a negative infinity.
    special: bool,
    name: &'static str,
}

impl Spec {
    const fn new(shape: [usize; 2], name: &'static str) -> Self {
        Self {
            shape,
            fused: false,
            draw: Draw::Normal,
            offset: 0.0,
            rstd: false,
            in_place: false,
            place: Placement { gap: 0, shift: 0 },
            special: false,
            name,
        }
    }

    const fn fused(self) -> Self {
        Self { fused: true, ..self }
    }
}

/// Every combination of options that is not just another shape.
fn variants() -> Vec<Spec> {
    let spec = Spec::new;
    let gaps = Placement { gap: 576, shift: 0 };
    let odd = Placement { gap: 5, shift: 3 };
    let mut all = vec![
        Spec { offset: 1.0, ..spec([9, 256], "zero-centred weight") },
        Spec { rstd: true, ..spec([9, 256], "rstd") },
        Spec { rstd: true, ..spec([3, 20_000], "rstd, two passes") },
        Spec { in_place: true, ..spec([9, 2000], "in place") },
        Spec { in_place: true, ..spec([2, 20_000], "in place, two passes") },
        Spec { place: gaps, ..spec([7, 1536], "rows of a wider tensor") },
        Spec { place: odd, ..spec([7, 300], "rows off alignment") },
        Spec { place: odd, ..spec([2, 17_000], "rows off alignment, two passes") },
        Spec { draw: Draw::Outliers, ..spec([16, 2880], "outliers") },
        Spec { draw: Draw::Uniform, ..spec([16, 768], "uniform") },
        Spec { draw: Draw::Denormal, ..spec([4, 768], "denormal") },
        Spec { draw: Draw::Zeros, ..spec([4, 768], "zeros") },
        Spec { special: true, rstd: true, ..spec([5, 100], "special values") },
        Spec { special: true, ..spec([5, 5000], "special values, wide") },
        spec([0, 64], "no rows"),
    ];
    all.extend(all.clone().into_iter().map(Spec::fused));
    all
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for shape in SHAPES {
        for spec in [Spec::new(shape, "plain"), Spec::new(shape, "plain").fused()] {
            add_dtypes(&mut cases, spec, Size::Quick);
        }
    }
    for spec in variants() {
        add_dtypes(&mut cases, spec, Size::Quick);
    }
    for shape in TILES {
        let spec = Spec { rstd: true, ..Spec::new(shape, "tile") };
        for spec in [spec, spec.fused()] {
            add_dtypes(&mut cases, spec, Size::Quick);
            add_mixed(&mut cases, spec);
        }
    }
    let decode = LARGE.iter().flat_map(|[_, width]| DECODE.map(|rows| [rows, *width]));
    for shape in LARGE.into_iter().chain(decode) {
        let spec = Spec::new(shape, "model");
        cases.push(case::<bf16, bf16>(spec, Size::Large));
        cases.push(case::<bf16, bf16>(spec.fused(), Size::Large));
    }
    cases
}

/// The three element types, each with a weight of its own type, and with the others off alignment.
fn add_dtypes(cases: &mut Vec<Case>, spec: Spec, size: Size) {
    cases.push(case::<bf16, bf16>(spec, size));
    let [rows, width] = spec.shape;
    let size = if rows * width < 50_000 { size } else { size.max(Size::Core) };
    cases.push(case::<f16, f16>(spec, size));
    cases.push(case::<f32, f32>(spec, size));
    if spec.place.shift > 0 {
        add_mixed(cases, spec);
    }
}

/// The element types with a weight of each other type.
fn add_mixed(cases: &mut Vec<Case>, spec: Spec) {
    cases.extend([
        case::<bf16, f16>(spec, Size::Quick),
        case::<bf16, f32>(spec, Size::Quick),
        case::<f16, bf16>(spec, Size::Quick),
        case::<f16, f32>(spec, Size::Quick),
        case::<f32, bf16>(spec, Size::Quick),
        case::<f32, f16>(spec, Size::Quick),
    ]);
}

fn info<T: Real, W: Real>(shape: [usize; 2], fused: bool, case: String, size: Size) -> CaseInfo {
    let dtype = if T::DTYPE == W::DTYPE {
        T::DTYPE.name().to_owned()
    } else {
        format!("{}, weight {}", T::DTYPE, W::DTYPE)
    };
    let op = if fused { "fused_add_rmsnorm" } else { "rmsnorm" };
    CaseInfo { module: "rmsnorm", op, case, dtype, shape: shape.to_vec(), size, arch: None }
}

fn case<T: Real, W: Real>(spec: Spec, size: Size) -> Case {
    let [rows, width] = spec.shape;
    Case::new(info::<T, W>(spec.shape, spec.fused, spec.name.to_owned(), size), move |stream| {
        let seed = (rows * 31 + width) as u64;
        let mut x: Vec<T> = spec.draw.values(seed, rows * width);
        if spec.special {
            for (row, value) in [(1, f64::NAN), (2, f64::INFINITY), (3, f64::NEG_INFINITY)] {
                x[row * width + width / 3] = T::from_f64(value);
            }
        }
        let residual = spec.fused.then(|| spec.draw.values(seed + 1, rows * width));
        let weight: Vec<W> = Draw::Normal.values(seed + 2, width);
        prepare(stream, spec, &x, residual, &weight)
    })
}

/// A case on given rows, such as those of a model's embedding table, and a weight. `operands` yields
/// them when the case is run; `shape` is `[rows, width]`.
pub fn tensor_case<T: Real, W: Real>(
    name: &str,
    shape: [usize; 2],
    fused: bool,
    operands: impl Fn() -> (Vec<T>, Vec<W>) + Send + Sync + 'static,
) -> Case {
    Case::new(info::<T, W>(shape, fused, name.to_owned(), Size::Core), move |stream| {
        let (rows, weight) = operands();
        let spec = Spec { fused, ..Spec::new(shape, "") };
        let residual: Option<Vec<T>> = fused.then(|| rows.iter().rev().copied().collect());
        prepare(stream, spec, &rows, residual, &weight)
    })
}

fn prepare<T: Real, W: Real>(
    stream: &Stream,
    spec: Spec,
    x: &[T],
    residual: Option<Vec<T>>,
    weight: &[W],
) -> Result<Prepared> {
    let [rows, width] = spec.shape;
    let sum = residual.as_ref().map(|residual| add(x, residual));
    let h = to_f64(sum.as_deref().unwrap_or(x));
    let Normalised { y, rstd } = reference(&h, &to_f64(weight), EPS, spec.offset);
    let comparable = matches!(spec.draw, Draw::Normal | Draw::Uniform) && T::DTYPE != DType::F32;
    let expected_y = expect_y(y, T::DTYPE, comparable && !spec.special);

    let new = || Guarded::<T>::new(stream, rows, width, spec.place);
    let upload = |values: &[T]| Guarded::input(stream, values, rows, width, spec.place);
    let weight_memory = Guarded::input(stream, weight, 1, width, Placement::default())?;
    let weight = weight_memory.vector()?;
    // The output has gaps of another length than x, unless it is x.
    let (x_memory, y_memory) = if spec.in_place {
        (None, new()?)
    } else {
        let place = Placement { gap: spec.place.gap + 8, ..spec.place };
        let y_place = if spec.place.gap > 0 { place } else { spec.place };
        (Some(upload(x)?), Guarded::new(stream, rows, width, y_place)?)
    };
    let x_tensor = x_memory.as_ref().unwrap_or(&y_memory).matrix()?;
    let mut y_tensor = y_memory.matrix()?;
    let in_place = |values: &[T]| spec.in_place.then(|| values.to_vec());

    let rstd_memory = Guarded::<f32>::new(stream, 1, rows, Placement::default())?;
    let mut rstd_tensor = rstd_memory.vector()?;
    let call = move |options: &mut dyn FnMut(RmsnormOptions<'_>) -> Result<()>| {
        let plain = RmsnormOptions::default().weight_offset(spec.offset);
        options(if spec.rstd { plain.rstd(&mut rstd_tensor) } else { plain })
    };
    let mut call = call;
    let prepared = match residual.zip(sum) {
        None => Prepared::new(move || {
            let (x, weight, y) = (&x_tensor, &weight, &mut y_tensor);
            call(&mut |options| rmsnorm_with(x, weight, EPS, options, y))
        }),
        Some((residual, sum)) => {
            let sum_memory = new()?;
            let residual_memory = if spec.in_place { None } else { Some(upload(&residual)?) };
            let residual_tensor = residual_memory.as_ref().unwrap_or(&sum_memory).matrix()?;
            let mut sum_tensor = sum_memory.matrix()?;
            let expected = Expected::exact(to_f64(&sum));
            Prepared::new(move || {
                let (x, residual, weight) = (&x_tensor, &residual_tensor, &weight);
                let (y, sum) = (&mut y_tensor, &mut sum_tensor);
                call(&mut |options| {
                    fused_add_rmsnorm_with(x, residual, weight, EPS, options, y, sum)
                })
            })
            .output("residual_out", sum_memory, in_place(&residual), expected)
        }
    };
    let prepared = prepared.output("y", y_memory, in_place(x), expected_y);
    Ok(if spec.rstd {
        prepared.output("rstd", rstd_memory, None, expect_rstd(rstd))
    } else {
        prepared
    })
}
