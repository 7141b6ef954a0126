//! How a case of `gemm_a16w16` is drawn and run.

use hk_core::dtype::{DType, Real, Real16, bf16, f16};
use hk_core::{Arch, Result, Stream, Tensor};
use hk_ref::draw::to_f64;
use hk_ref::gemm::gemm_a16w16 as reference;
use hk_ref::gemm::gemm_a16w16::{Operands, Term};
use hk_ref::{Case, CaseInfo, Draw, Guarded, Placement, Prepared, Size};
use ndarray::ArrayView2;

use crate::{Activation, Epilogue, GemmOptions, Layout, Operand, gemm_a16w16_into};

/// A step of the epilogue as data. Operands are drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    MulScalar(f32),
    MulScalarTensor,
    DivScalar(f32),
    MulRows,
    MulColumns,
    MulTensor,
    AddRows,
    AddColumns,
    AddScaledColumns(f32),
    AddTensor(f32),
    /// `AddTensor` with the output's previous content.
    AddOutput(f32),
    AddProduct(Factor, Factor),
    ScaleAddSelf(f32),
    Act(Activation),
}

/// What `AddProduct` multiplies.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Factor {
    Number(f32),
    /// A tensor of one element.
    One,
    /// A tensor of the result's shape.
    Full,
}

/// A case as data.
#[derive(Debug, Clone)]
pub(crate) struct Spec {
    pub(crate) name: String,
    /// m, n, k.
    pub(crate) shape: [usize; 3],
    pub(crate) layout: Layout,
    pub(crate) draw: [Draw; 2],
    pub(crate) steps: Vec<Step>,
    /// Passes the first steps, `AddColumns`, `Act`, `AddTensor`, as the options of those names.
    pub(crate) by_options: bool,
    /// Element type of the epilogue's operands.
    pub(crate) operand: DType,
    pub(crate) splits: Option<u32>,
    pub(crate) tile: Option<(Arch, &'static str)>,
    pub(crate) place: Placement,
    /// Where the epilogue's operands of the result's shape are; the others have only the shift.
    pub(crate) operand_place: Placement,
    /// Puts multiples of 4 GiB into x and w between two steps along k, and into y and the epilogue's
    /// operands of its shape between two rows.
    pub(crate) carry: bool,
    /// Puts a NaN into row 1 of x, a negative infinity into row 3, and an infinity into row 2 of w.
    pub(crate) special: bool,
    pub(crate) size: Size,
}

impl Spec {
    pub(crate) fn new(name: impl Into<String>, shape: [usize; 3]) -> Self {
        Self {
            name: name.into(),
            shape,
            layout: Layout::Tn,
            draw: [Draw::Normal; 2],
            steps: Vec::new(),
            by_options: false,
            operand: DType::F32,
            splits: None,
            tile: None,
            place: Placement::default(),
            operand_place: Placement::DENSE.gap(4),
            carry: false,
            special: false,
            size: Size::Quick,
        }
    }

    pub(crate) fn steps(self, steps: &[Step]) -> Self {
        Self { steps: steps.to_vec(), ..self }
    }

    /// The place, with a multiple of 4 GiB at an element, if the case has such.
    fn placed(&self, place: Placement, element: usize) -> Placement {
        if self.carry { place.carry(element) } else { place }
    }

    fn seed(&self) -> u64 {
        let [m, n, k] = self.shape.map(|size| size as u64);
        m.wrapping_mul(1_000_003).wrapping_add(n).wrapping_mul(1_000_003).wrapping_add(k)
    }
}

/// The case with operands of type `T` and a result of type `Y`.
pub(crate) fn case<T: Real16, Y: Real>(spec: Spec) -> Case {
    let mut info = info::<T, Y>(&spec.name, spec.shape, spec.layout, spec.size);
    info.arch = spec.tile.map(|(arch, _)| arch);
    Case::new(info, move |stream| {
        let [m, n, k] = spec.shape;
        let mut x: Vec<T> = spec.draw[0].values(spec.seed(), m * k);
        let mut w: Vec<T> = spec.draw[1].values(spec.seed() + 1, n * k);
        if spec.special {
            x[k + k / 2] = T::from_f64(f64::NAN);
            x[3 * k + k / 4] = T::from_f64(f64::NEG_INFINITY);
            w[2 * k + k / 3] = T::from_f64(f64::INFINITY);
        }
        prepare::<T, Y>(stream, &spec, &x, &w)
    })
}

/// As [`case`], with the types as values: 16-bit operands, and a result of any type.
pub(crate) fn case_of(operands: DType, result: DType, spec: Spec) -> Case {
    match (operands, result) {
        (DType::Bf16, DType::Bf16) => case::<bf16, bf16>(spec),
        (DType::Bf16, DType::F16) => case::<bf16, f16>(spec),
        (DType::Bf16, _) => case::<bf16, f32>(spec),
        (_, DType::Bf16) => case::<f16, bf16>(spec),
        (_, DType::F16) => case::<f16, f16>(spec),
        (_, _) => case::<f16, f32>(spec),
    }
}

fn info<T: Real16, Y: Real>(name: &str, shape: [usize; 3], layout: Layout, size: Size) -> CaseInfo {
    let dtype = if T::DTYPE == Y::DTYPE {
        T::DTYPE.name().to_owned()
    } else {
        format!("{}->{}", T::DTYPE, Y::DTYPE)
    };
    CaseInfo {
        module: "gemm_a16w16",
        op: "gemm_a16w16",
        case: format!("{name}, {}", layout.name()),
        dtype,
        shape: shape.to_vec(),
        size,
        arch: None,
    }
}

/// A case on given matrices, such as a model's weight and rows of its embedding table. `operands`
/// yields x `(m, k)` and w `(n, k)`, both row-major, when the case is run; `shape` is `[m, n, k]`, and
/// the layout says how they are stored on the device.
pub fn tensor_case<T: Real16>(
    name: &str,
    shape: [usize; 3],
    layout: Layout,
    operands: impl Fn() -> [Vec<T>; 2] + Send + Sync + 'static,
) -> Case {
    let info = info::<T, T>(name, shape, layout, Size::Core);
    Case::new(info, move |stream| {
        let [x, w] = operands();
        let spec = Spec { layout, ..Spec::new("", shape) };
        prepare::<T, T>(stream, &spec, &x, &w)
    })
}

/// More multiplications than this are not computed in full on the CPU.
const SAMPLED: usize = 1 << 30;

fn prepare<T: Real16, Y: Real>(stream: &Stream, spec: &Spec, x: &[T], w: &[T]) -> Result<Prepared> {
    let [m, n, k] = spec.shape;
    let (terms, initial, held) = operands::<Y>(stream, spec)?;
    let expected = {
        let (x, w) = (to_f64(x), to_f64(w));
        let matrix = |values, rows| {
            ArrayView2::from_shape((rows, k), values).expect("the case draws rows of k elements")
        };
        let operands = Operands { x: matrix(&x, m), w: matrix(&w, n) };
        reference::expect(operands, &terms, Y::DTYPE, m * n * k > SAMPLED)
    };

    let upload = |values, rows, transposed| {
        let before = k / 2 * if transposed { rows + spec.place.gap } else { 1 };
        upload(stream, values, [rows, k], transposed, spec.placed(spec.place, before))
    };
    let x_memory = upload(x, m, spec.layout.x_is_transposed())?;
    let w_memory = upload(w, n, spec.layout.w_is_transposed())?;
    let gap = if spec.place.gap > 0 { spec.place.gap + 8 } else { 0 };
    let y_place = spec.placed(spec.place.gap(gap), m / 2 * (n + gap));
    let y_memory = Guarded::<Y>::new(stream, m, n, y_place)?;
    let (x, w, mut y) = (x_memory.matrix()?, w_memory.matrix()?, y_memory.matrix()?);
    let previous = Held::of(&y)?;
    let spec = spec.clone();
    let launch = move || {
        let mut options = GemmOptions::default().layout(spec.layout);
        let mut epilogue = Epilogue::default();
        for (step, held) in spec.steps.iter().zip(&held) {
            match (*step, held.as_slice()) {
                (Step::AddColumns, [a]) if spec.by_options => options = options.bias(a),
                (Step::Act(kind), _) if spec.by_options => options = options.activation(kind),
                (Step::AddTensor(_), [a]) if spec.by_options => options = options.residual(a),
                (step, held) => epilogue = push(epilogue, step, held, &previous),
            }
        }
        options = options.epilogue(epilogue);
        if let Some(splits) = spec.splits {
            options = options.splits(splits);
        }
        if let Some((_, tile)) = spec.tile {
            options = options.tile(tile);
        }
        gemm_a16w16_into(&x, &w, &options, &mut y)
    };
    Ok(Prepared::new(launch).output("y", y_memory, initial, expected))
}

/// Uploads a matrix of `[rows, k]`, stored transposed if asked.
fn upload<T: Real16>(
    stream: &Stream,
    values: &[T],
    [rows, k]: [usize; 2],
    transposed: bool,
    place: Placement,
) -> Result<Guarded<T>> {
    if !transposed {
        return Guarded::input(stream, values, rows, k, place);
    }
    let values: Vec<T> =
        (0..k).flat_map(|at| (0..rows).map(move |row| values[row * k + at])).collect();
    Guarded::input(stream, &values, k, rows, place)
}

/// An operand of a step on the device.
enum Held {
    Bf16(Tensor<bf16>),
    F16(Tensor<f16>),
    F32(Tensor<f32>),
}

impl Held {
    /// The elements of a tensor whose type is one of the three.
    fn of<T: Real>(tensor: &Tensor<T>) -> Result<Self> {
        // SAFETY: they are read by the op alone, which may also have them as its output.
        unsafe {
            Ok(match T::DTYPE {
                DType::Bf16 => Self::Bf16(tensor.bitcast()?.alias()),
                DType::F16 => Self::F16(tensor.bitcast()?.alias()),
                _ => Self::F32(tensor.bitcast()?.alias()),
            })
        }
    }
}

impl<'a> From<&'a Held> for Operand<'a> {
    fn from(held: &'a Held) -> Self {
        match held {
            Held::Bf16(tensor) => tensor.into(),
            Held::F16(tensor) => tensor.into(),
            Held::F32(tensor) => tensor.into(),
        }
    }
}

fn push<'a>(to: Epilogue<'a>, step: Step, held: &'a [Held], previous: &'a Held) -> Epilogue<'a> {
    match (step, held) {
        (Step::MulScalar(s), _) => to.mul_scalar(s),
        (Step::MulScalarTensor, [Held::F32(s)]) => to.mul_scalar_tensor(s),
        (Step::DivScalar(d), _) => to.div_scalar(d),
        (Step::MulRows, [t]) => to.mul_rows(t),
        (Step::MulColumns, [t]) => to.mul_columns(t),
        (Step::MulTensor, [t]) => to.mul_tensor(t),
        (Step::AddRows, [t]) => to.add_rows(t),
        (Step::AddColumns, [t]) => to.add_columns(t),
        (Step::AddScaledColumns(beta), [t]) => to.add_scaled_columns(t, beta),
        (Step::AddTensor(beta), [t]) => to.add_tensor(t, beta),
        (Step::AddOutput(beta), _) => to.add_tensor(previous, beta),
        (Step::AddProduct(Factor::Number(a), Factor::Number(b)), _) => to.add_product(a, b),
        (Step::AddProduct(Factor::Number(a), _), [b]) => to.add_product(a, b),
        (Step::AddProduct(_, Factor::Number(b)), [a]) => to.add_product(a, b),
        (Step::AddProduct(..), [a, b]) => to.add_product(a, b),
        (Step::ScaleAddSelf(s), _) => to.scale_add_self(s),
        (Step::Act(activation), _) => to.act(activation),
        _ => unreachable!("`operands` holds what each step needs"),
    }
}

/// The steps with drawn operands, for the reference and, by step, on the device; and what the
/// output holds before, if a step reads it.
#[expect(clippy::type_complexity, reason = "three parts of one thing, taken apart at once")]
fn operands<Y: Real>(
    stream: &Stream,
    spec: &Spec,
) -> Result<(Vec<reference::Step>, Option<Vec<Y>>, Vec<Vec<Held>>)> {
    let [m, n, _] = spec.shape;
    let mut seed = spec.seed() + 2;
    let mut draw = |[rows, columns]: [usize; 2], full: bool, dtype| {
        seed += 1;
        let Placement { gap, .. } = spec.operand_place;
        let place = match full {
            true => spec.placed(spec.operand_place, rows / 2 * (columns + gap)),
            false => spec.operand_place.gap(0),
        };
        draw_operand(stream, seed, [rows, columns], place, full, dtype)
    };
    let (mut steps, mut initial, mut held) = (Vec::new(), None, Vec::new());
    for step in &spec.steps {
        let mut tensors = Vec::new();
        let mut operand = |shape, full| {
            let (term, tensor) = draw(shape, full, spec.operand)?;
            tensors.push(tensor);
            Ok::<_, hk_core::Error>(term)
        };
        steps.push(match *step {
            Step::MulScalar(s) => reference::Step::Multiply(Term::number(s)),
            Step::MulScalarTensor => {
                let (term, tensor) = draw([1, 1], false, DType::F32)?;
                tensors.push(tensor);
                reference::Step::Multiply(term)
            }
            Step::DivScalar(d) => reference::Step::Divide(d),
            Step::MulRows => reference::Step::Multiply(operand([m, 1], false)?),
            Step::MulColumns => reference::Step::Multiply(operand([1, n], false)?),
            Step::MulTensor => reference::Step::Multiply(operand([m, n], true)?),
            Step::AddRows => reference::Step::Add(operand([m, 1], false)?, 1.0),
            Step::AddColumns => reference::Step::Add(operand([1, n], false)?, 1.0),
            Step::AddScaledColumns(beta) => reference::Step::Add(operand([1, n], false)?, beta),
            Step::AddTensor(beta) => reference::Step::Add(operand([m, n], true)?, beta),
            Step::AddOutput(beta) => {
                let values: Vec<Y> = Draw::Normal.values(spec.seed() + 1000, m * n);
                let term = Term { values: to_f64(&values), row_stride: n, column_stride: 1 };
                initial = Some(values);
                reference::Step::Add(term, beta)
            }
            Step::AddProduct(a, b) => {
                let mut factor = |factor| match factor {
                    Factor::Number(number) => Ok(Term::number(number)),
                    Factor::One => operand([1, 1], false),
                    Factor::Full => operand([m, n], true),
                };
                reference::Step::AddProduct(factor(a)?, factor(b)?)
            }
            Step::ScaleAddSelf(s) => reference::Step::ScaleAddSelf(s),
            Step::Act(activation) => reference::Step::Activate(activation),
        });
        held.push(tensors);
    }
    Ok((steps, initial, held))
}

/// A Gaussian operand of `[rows, columns]`, on the device a vector unless `full`.
fn draw_operand(
    stream: &Stream,
    seed: u64,
    [rows, columns]: [usize; 2],
    place: Placement,
    full: bool,
    dtype: DType,
) -> Result<(Term, Held)> {
    fn of<T: Real>(
        stream: &Stream,
        seed: u64,
        [rows, columns]: [usize; 2],
        place: Placement,
        full: bool,
    ) -> Result<(Vec<f64>, Held)> {
        let values: Vec<T> = Draw::Normal.values(seed, rows * columns);
        let memory = Guarded::input(stream, &values, rows, columns, place)?;
        let tensor = if full { memory.matrix()? } else { memory.vector()? };
        Ok((to_f64(&values), Held::of(&tensor)?))
    }
    let shape = [rows, columns];
    let (values, held) = match dtype {
        DType::Bf16 => of::<bf16>(stream, seed, shape, place, full)?,
        DType::F16 => of::<f16>(stream, seed, shape, place, full)?,
        _ => of::<f32>(stream, seed, shape, place, full)?,
    };
    let stride = |extent: usize, stride| if extent > 1 { stride } else { 0 };
    let term =
        Term { values, row_stride: stride(rows, columns), column_stride: stride(columns, 1) };
    Ok((term, held))
}
