//! How a case of `gemm_a16w16` is drawn and run.

use hk_core::dtype::{DType, Real, Real16, bf16, decode, f16};
use hk_core::{Arch, Tensor};
use hk_ref::gemm::gemm_a16w16 as reference;
use hk_ref::gemm::gemm_a16w16::{Operands, Term};
use hk_ref::{Case, CaseInfo, Draw, Expected, Placement, Setup, Size, real};
use ndarray::ArrayView2;

use crate::{Activation, Epilogue, GemmOptions, Layout, Operand, gemm_a16w16_into};
use hk_core::op::epilogue::NAMES;

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
    pub(crate) compute_units: Option<u32>,
    pub(crate) tile: Option<(Arch, &'static str)>,
    pub(crate) place: Placement,
    /// Where the epilogue's operands of the result's shape are; the others have only the shift.
    pub(crate) operand_place: Placement,
    /// Stores these, but not the output, by columns.
    pub(crate) by_columns: bool,
    /// Puts multiples of 4 GiB into x and w in front of this element along k, and into y and the
    /// epilogue's operands of its shape between two rows.
    pub(crate) carry: Option<usize>,
    /// Puts a NaN into row 1 of x, a negative infinity into row 3, and an infinity into row 2 of w.
    pub(crate) special: bool,
    /// Puts infinities into x and w, 2^30 bytes behind their first elements if rows of the layout are
    /// [`Spec::HALF`]` / k` elements apart: where what is past the end of k must not be looked for.
    pub(crate) lurking: bool,
    /// Leaves one element of each row of x: the product has no error.
    pub(crate) one_term: bool,
    /// Results are exact, and so are the signs of zeros.
    pub(crate) bits: bool,
    pub(crate) size: Size,
}

impl Spec {
    /// Elements of twice 2^30 bytes.
    pub(crate) const HALF: usize = 1 << 30;

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
            compute_units: None,
            tile: None,
            place: Placement::default(),
            operand_place: Placement::DENSE.gap(4),
            by_columns: false,
            carry: None,
            special: false,
            lurking: false,
            one_term: false,
            bits: false,
            size: Size::Quick,
        }
    }

    pub(crate) fn steps(self, steps: &[Step]) -> Self {
        Self { steps: steps.to_vec(), ..self }
    }

    /// With small integers: sums are exact, and many lie in the middle between two numbers of 16 bits,
    /// of which the even one is nearest.
    pub(crate) fn integers(self) -> Self {
        let name = format!("{}, integers", self.name);
        Self { name, draw: [Draw::Integers(-8, 9); 2], bits: true, ..self }
    }

    /// The place, with a multiple of 4 GiB at an element, if the case has such.
    fn placed(&self, place: Placement, element: usize) -> Placement {
        if self.carry.is_some() { place.carry(element) } else { place }
    }
}

/// The case with operands of type `T` and a result of type `Y`.
pub(crate) fn case<T: Real16, Y: Real>(spec: Spec) -> Case {
    let mut info = info::<T, Y>(&spec.name, spec.shape, spec.layout, spec.size);
    info.arch = spec.tile.map(|(arch, _)| arch);
    let in_place = spec.steps.iter().any(|step| matches!(step, Step::AddOutput(_)));
    let case = Case::new(info, move |s| {
        let [m, n, k] = spec.shape;
        let mut x: Vec<T> = s.draw("x", &[m, k], spec.draw[0]);
        let mut w: Vec<T> = s.draw("w", &[n, k], spec.draw[1]);
        if spec.one_term {
            let is_left = |at: usize| at % k == k / 3;
            x.iter_mut().enumerate().filter(|(at, _)| !is_left(*at)).for_each(|(_, x)| {
                *x = T::from_f64(0.0);
            });
        }
        if spec.special {
            x[k + k / 2] = T::from_f64(f64::NAN);
            x[3 * k + k / 4] = T::from_f64(f64::NEG_INFINITY);
            w[2 * k + k / 3] = T::from_f64(f64::INFINITY);
        }
        if spec.lurking {
            let at = |is_transposed| if is_transposed { 5 * k + k / 2 } else { k / 2 * k };
            x[at(spec.layout.x_is_transposed())] = T::from_f64(f64::INFINITY);
            w[at(spec.layout.w_is_transposed())] = T::from_f64(f64::INFINITY);
        }
        set_up::<T, Y>(s, &spec, &x, &w);
    });
    case.in_place(in_place)
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
    let case = format!("{name}, {}", layout.name());
    let info = CaseInfo::new("gemm_a16w16", "gemm_a16w16", case, &[], &shape);
    CaseInfo { dtype, size, ..info }
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
    Case::new(info, move |s| {
        let [x, w] = operands();
        set_up::<T, T>(s, &Spec { layout, ..Spec::new("", shape) }, &x, &w);
    })
}

/// More multiplications than this are not computed in full on the CPU.
const SAMPLED: usize = 1 << 30;

fn set_up<T: Real16, Y: Real>(s: &mut Setup, spec: &Spec, x: &[T], w: &[T]) {
    let [m, n, k] = spec.shape;
    let (steps, held): (Vec<_>, Vec<_>) = operands::<Y>(s, spec).into_iter().unzip();
    let expected = {
        let (x, w) = (decode(x), decode(w));
        let matrix = |values, rows| {
            ArrayView2::from_shape((rows, k), values).expect("the case draws rows of k elements")
        };
        let operands = Operands { x: matrix(&x, m), w: matrix(&w, n), integers: false };
        reference::expect(operands, &steps, Y::DTYPE, m * n * k > SAMPLED)
    };
    let expected = match spec.bits {
        true => Expected::bits(&Y::encode(&expected.values)),
        false => expected,
    };
    let mut operand = |name, values: &[T], rows, is_transposed| {
        let before =
            spec.carry.unwrap_or_default() * if is_transposed { rows + spec.place.gap } else { 1 };
        let (shape, values) = match is_transposed {
            true => ([k, rows], transposed(values, k)),
            false => ([rows, k], values.to_vec()),
        };
        s.given(name, &shape, values).place(spec.placed(spec.place, before))
    };
    let x = operand("x", x, m, spec.layout.x_is_transposed());
    let w = operand("w", w, n, spec.layout.w_is_transposed());
    let gap = if spec.place.gap > 0 { spec.place.gap + 8 } else { 0 };
    let y_place = spec.placed(spec.place.gap(gap), m / 2 * (n + gap));
    let y = s.output::<Y>("y", &[m, n], expected).place(y_place);

    let spec = spec.clone();
    s.call(move || {
        let get = |operands: &Vec<Getter>| operands.iter().map(|get| get()).collect();
        let held: Vec<Vec<Held>> = held.iter().map(get).collect();
        let mut options = GemmOptions::default().layout(spec.layout);
        let mut epilogue = Epilogue::default();
        for (step, held) in spec.steps.iter().zip(&held) {
            match (*step, held.as_slice()) {
                (Step::AddColumns, [a]) if spec.by_options => options = options.bias(a),
                (Step::Act(kind), _) if spec.by_options => options = options.activation(kind),
                (Step::AddTensor(_), [a]) if spec.by_options => options = options.residual(a),
                (step, held) => epilogue = push(epilogue, step, held),
            }
        }
        options = options.epilogue(epilogue);
        options = spec.splits.into_iter().fold(options, GemmOptions::splits);
        options = spec.compute_units.into_iter().fold(options, GemmOptions::compute_units);
        options = spec.tile.into_iter().fold(options, |options, (_, tile)| options.tile(tile));
        gemm_a16w16_into(&x.get(), &w.get(), &options, &mut y.get())
    });
}

/// The transpose of a matrix with rows of `columns` elements.
fn transposed<T: Real16>(values: &[T], columns: usize) -> Vec<T> {
    let column = |at| values.iter().skip(at).step_by(columns).copied();
    (0..columns).flat_map(column).collect()
}

/// An operand of a step on the device.
pub(super) enum Held {
    Bf16(Tensor<bf16>),
    F16(Tensor<f16>),
    F32(Tensor<f32>),
}

/// Gives one, when the call is made.
pub(super) type Getter = Box<dyn Fn() -> Held>;

macro_rules! held {
    ($($type:ident: $variant:ident),*) => {$(
        impl From<Tensor<$type>> for Held {
            fn from(tensor: Tensor<$type>) -> Self {
                Self::$variant(tensor)
            }
        }
    )*};
}

held!(bf16: Bf16, f16: F16, f32: F32);

impl<'a> From<&'a Held> for Operand<'a> {
    fn from(held: &'a Held) -> Self {
        match held {
            Held::Bf16(tensor) => tensor.into(),
            Held::F16(tensor) => tensor.into(),
            Held::F32(tensor) => tensor.into(),
        }
    }
}

fn push<'a>(to: Epilogue<'a>, step: Step, held: &'a [Held]) -> Epilogue<'a> {
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
        (Step::AddTensor(beta) | Step::AddOutput(beta), [t]) => to.add_tensor(t, beta),
        (Step::AddProduct(Factor::Number(a), Factor::Number(b)), _) => to.add_product(a, b),
        (Step::AddProduct(Factor::Number(a), _), [b]) => to.add_product(a, b),
        (Step::AddProduct(_, Factor::Number(b)), [a]) => to.add_product(a, b),
        (Step::AddProduct(..), [a, b]) => to.add_product(a, b),
        (Step::ScaleAddSelf(s), _) => to.scale_add_self(s),
        (Step::Act(activation), _) => to.act(activation),
        _ => unreachable!("`operands` holds what each step needs"),
    }
}

/// A shape, and the distances between rows and columns of the result in it.
type Extent = (Vec<usize>, [usize; 2]);

/// The steps with drawn operands: for the reference, and what the op is given.
fn operands<Y: Real>(s: &mut Setup, spec: &Spec) -> Vec<(reference::Step, Vec<Getter>)> {
    use reference::Step as Reference;
    let ([m, n, _], dtype) = (spec.shape, spec.operand);
    let [one, rows] = [(vec![1], [0, 0]), (vec![m], [1, 0])];
    let [columns, full] = [(vec![n], [0, 1]), (vec![m, n], [n, 1])];
    let mut names = NAMES.into_iter();
    let lower = |step: &Step| {
        let [name, name_of_a, name_of_b] = match step {
            Step::AddColumns if spec.by_options => ["bias"; 3],
            Step::Act(_) if spec.by_options => ["activation"; 3],
            Step::AddTensor(_) if spec.by_options => ["residual"; 3],
            _ => names.next().expect("no case has so many steps"),
        };
        let mut tensors = Vec::new();
        let is_output = matches!(step, Step::AddOutput(_));
        let mut operand = |name, extent: &Extent, dtype| {
            let by_columns = spec.by_columns && extent.0.len() == 2 && !is_output;
            let (term, tensor) = draw_operand(s, spec, name, extent, (dtype, by_columns));
            tensors.push(tensor);
            term
        };
        let reference = match *step {
            Step::MulScalar(s) => Reference::Multiply(Term::number(s)),
            Step::MulScalarTensor => Reference::Multiply(operand(name, &one, DType::F32)),
            Step::DivScalar(d) => Reference::Divide(d),
            Step::MulRows => Reference::Multiply(operand(name, &rows, dtype)),
            Step::MulColumns => Reference::Multiply(operand(name, &columns, dtype)),
            Step::MulTensor => Reference::Multiply(operand(name, &full, dtype)),
            Step::AddRows => Reference::Add(operand(name, &rows, dtype), 1.0),
            Step::AddColumns => Reference::Add(operand(name, &columns, dtype), 1.0),
            Step::AddScaledColumns(beta) => Reference::Add(operand(name, &columns, dtype), beta),
            Step::AddTensor(beta) => Reference::Add(operand(name, &full, dtype), beta),
            Step::AddOutput(beta) => Reference::Add(operand(name, &full, Y::DTYPE), beta),
            Step::AddProduct(a, b) => {
                let mut factor = |name, factor| match factor {
                    Factor::Number(number) => Term::number(number),
                    Factor::One => operand(name, &one, dtype),
                    Factor::Full => operand(name, &full, dtype),
                };
                Reference::AddProduct(factor(name_of_a, a), factor(name_of_b, b))
            }
            Step::ScaleAddSelf(s) => Reference::ScaleAddSelf(s),
            Step::Act(activation) => Reference::Activate(activation),
        };
        (reference, tensors)
    };
    spec.steps.iter().map(lower).collect()
}

/// Gaussian numbers in a shape with these distances between rows and columns: for the reference, and
/// what the op is given.
fn draw_operand(
    s: &mut Setup,
    spec: &Spec,
    name: &'static str,
    (shape, [row_stride, column_stride]): &Extent,
    (dtype, by_columns): (DType, bool),
) -> (Term, Getter) {
    let place = match shape[..] {
        [m, n] => spec.placed(spec.operand_place, m / 2 * (n + spec.operand_place.gap)),
        _ => spec.operand_place,
    };
    let (row_stride, column_stride) = (*row_stride, *column_stride);
    real!(dtype, T => {
        let operand = s.input::<T>(name, shape, Draw::Normal).place(place);
        let operand = if by_columns { operand.order(&[1, 0]) } else { operand };
        let term = Term { values: operand.numbers(), row_stride, column_stride };
        (term, Box::new(move || operand.get().into()))
    })
}
