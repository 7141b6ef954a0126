//! What happens to a product before it is stored, for all ops that end in one: an ordered list of steps
//! on the f32 accumulator, then one rounding. The steps run inside the kernel, whatever they are; nothing is reordered.

use super::Arguments;
use super::product::{Matrices, real_code};
use super::tiling::Axis;
use crate::dtype::{Real, bf16, f16};
use crate::{Activation, AnyPtr, MAX_RANK, Result, Tensor, TensorSlice, TensorView, kernel_args};

/// Most steps of an epilogue.
pub const MAX_STEPS: usize = 8;

/// Most tensors among the operands of an epilogue's steps.
pub const MAX_TENSORS: usize = 8;

/// An operand of a step: a number, or a tensor of bf16, f16 or f32.
#[derive(Debug, Clone, Copy)]
pub enum Operand<'a> {
    /// A number.
    Number(f32),
    /// A tensor of bf16.
    Bf16(&'a TensorSlice<bf16>),
    /// A tensor of f16.
    F16(&'a TensorSlice<f16>),
    /// A tensor of f32.
    F32(&'a TensorSlice<f32>),
}

impl From<f32> for Operand<'_> {
    fn from(number: f32) -> Self {
        Self::Number(number)
    }
}

macro_rules! operands {
    ($($variant:ident: $element:ty),*) => {$(
        impl<'a> From<&'a TensorSlice<$element>> for Operand<'a> {
            fn from(tensor: &'a TensorSlice<$element>) -> Self {
                Self::$variant(tensor)
            }
        }

        impl<'a> From<&'a Tensor<$element>> for Operand<'a> {
            fn from(tensor: &'a Tensor<$element>) -> Self {
                Self::$variant(tensor)
            }
        }

        impl<'a> From<&'a TensorView<'_, $element>> for Operand<'a> {
            fn from(tensor: &'a TensorView<'_, $element>) -> Self {
                Self::$variant(tensor)
            }
        }
    )*};
}

operands!(Bf16: bf16, F16: f16, F32: f32);

/// Along which axes of the result an operand extends. In a batch of products, tensors of more than one
/// element have a dimension for it before these. Elements may be any distances apart, but for tensors of
/// experts, and for numbers of rows of given dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// One number for all.
    One,
    /// A number per row, `(m)`.
    Rows,
    /// A number per column, `(n)` or `(1, n)`.
    Columns,
    /// A tensor of these dimensions, whose next number is the next row's, or the next column's.
    Named(&'static [&'static str], [i64; 2]),
    /// A number per matrix of experts, `(experts)`.
    Experts,
    /// A number per column of each expert's matrix, `(experts, n)`.
    ExpertColumns,
    /// A number per column of the gates in each expert's matrix, then of what they let through, of these
    /// dimensions.
    ExpertHalves(&'static [&'static str; 2]),
    /// Of a gated product, a number per column of the gates, then of what they let through, `(2n)`.
    Halves,
    /// A number per element, `(m, n)`.
    Full,
    /// A number, a tensor of one element, or one of `(m, n)`.
    OneOrFull,
    /// A tensor of one element, or of `(m)` or `(m, 1)`: scales of rows.
    OneOrRows,
    /// A tensor of one element, or of `(n)`, `(1, n)` or `(n, 1)`: scales of columns.
    OneOrColumns,
}

impl Extent {
    /// The dimensions of a tensor of that shape, and the distances between rows and between columns of
    /// the result in it, of which 1 means that they follow each other.
    fn of(self, batched: bool, shape: &[usize]) -> (&'static [&'static str], [i64; 2]) {
        const ONE: &[&str] = &["1"; MAX_RANK];
        let (rank, len) = (shape.len(), shape.iter().product::<usize>());
        let one = || (&ONE[..rank], [0, 0]);
        // Of dimensions with the batch's before them.
        let per =
            |dims: &'static [&'static str], strides| (&dims[usize::from(!batched)..], strides);
        let wide = rank > 1 + usize::from(batched);
        match self {
            Self::One => one(),
            Self::OneOrFull | Self::OneOrRows | Self::OneOrColumns if len == 1 => one(),
            Self::Full | Self::OneOrFull => per(&["batch", "m", "n"], [1, 1]),
            Self::OneOrRows if wide => per(&["batch", "m", "1"], [1, 0]),
            Self::OneOrColumns if wide && shape[rank - 1] == 1 => per(&["batch", "n", "1"], [0, 1]),
            Self::Columns | Self::OneOrColumns if wide => per(&["batch", "1", "n"], [0, 1]),
            Self::Named(dims, strides) => (dims, strides),
            Self::Halves => (&["2n"], [0, 1]),
            Self::Experts => (&["experts"], [0, 0]),
            Self::ExpertColumns => (&["experts", "n"], [0, 1]),
            Self::ExpertHalves(dims) => (dims, [0, 1]),
            Self::Rows | Self::OneOrRows => per(&["batch", "m"], [1, 0]),
            Self::Columns | Self::OneOrColumns => per(&["batch", "n"], [0, 1]),
        }
    }
}

/// A step, which [`Epilogue`]'s methods describe.
#[derive(Debug, Clone, Copy)]
pub enum Step<'a> {
    /// `v *= a`
    Multiply(Operand<'a>, Extent),
    /// `v *= 1 / d`
    Divide(f32),
    /// `v = fma(beta, a, v)`
    Add(Operand<'a>, Extent, f32),
    /// `v = fma(a, b, v)`
    AddProduct(Operand<'a>, Operand<'a>),
    /// `v = fma(v, s, v)`
    ScaleAddSelf(f32),
    /// `v = activation(v)`
    Activate(Activation),
}

/// A list of steps that act on each element `v` of the result, at row `m` and column `n`.
#[derive(Debug, Clone, Default)]
pub struct Epilogue<'a> {
    steps: Vec<Step<'a>>,
}

impl<'a> Epilogue<'a> {
    fn step(mut self, step: Step<'a>) -> Self {
        self.steps.push(step);
        self
    }

    /// `v *= s`
    #[must_use]
    pub fn mul_scalar(self, s: f32) -> Self {
        self.step(Step::Multiply(s.into(), Extent::One))
    }

    /// `v *= s`, with `s` in a tensor of one element.
    #[must_use]
    pub fn mul_scalar_tensor(self, s: &'a TensorSlice<f32>) -> Self {
        self.step(Step::Multiply(s.into(), Extent::One))
    }

    /// `v /= d`, computed as a multiplication by the rounded reciprocal.
    #[must_use]
    pub fn div_scalar(self, d: f32) -> Self {
        self.step(Step::Divide(d))
    }

    /// `v *= t[m]`
    #[must_use]
    pub fn mul_rows(self, t: impl Into<Operand<'a>>) -> Self {
        self.step(Step::Multiply(t.into(), Extent::Rows))
    }

    /// `v *= t[n]`, for t of n or `(1, n)`.
    #[must_use]
    pub fn mul_columns(self, t: impl Into<Operand<'a>>) -> Self {
        self.step(Step::Multiply(t.into(), Extent::Columns))
    }

    /// `v *= t[m, n]`. The tensor may have any strides, and be the output.
    #[must_use]
    pub fn mul_tensor(self, t: impl Into<Operand<'a>>) -> Self {
        self.step(Step::Multiply(t.into(), Extent::Full))
    }

    /// `v += t[m]`
    #[must_use]
    pub fn add_rows(self, t: impl Into<Operand<'a>>) -> Self {
        self.step(Step::Add(t.into(), Extent::Rows, 1.0))
    }

    /// `v += t[n]`, for t of n or `(1, n)`: a bias.
    #[must_use]
    pub fn add_columns(self, t: impl Into<Operand<'a>>) -> Self {
        self.step(Step::Add(t.into(), Extent::Columns, 1.0))
    }

    /// `v = fma(beta, t[n], v)`: a bias that is scaled, as PyTorch's `addmm` has it.
    #[must_use]
    pub fn add_scaled_columns(self, t: impl Into<Operand<'a>>, beta: f32) -> Self {
        self.step(Step::Add(t.into(), Extent::Columns, beta))
    }

    /// `v = fma(beta, t[m, n], v)`. The tensor may have any strides, and be the output.
    #[must_use]
    pub fn add_tensor(self, t: impl Into<Operand<'a>>, beta: f32) -> Self {
        self.step(Step::Add(t.into(), Extent::Full, beta))
    }

    /// `v = fma(a, b, v)`, where each of a and b is a number, a tensor of one element, or a tensor
    /// of the result's shape, which may have any strides, and be the output.
    #[must_use]
    pub fn add_product(self, a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> Self {
        self.step(Step::AddProduct(a.into(), b.into()))
    }

    /// `v = fma(v, s, v)`: scales, then adds what was there before.
    #[must_use]
    pub fn scale_add_self(self, s: f32) -> Self {
        self.step(Step::ScaleAddSelf(s))
    }

    /// `v = activation(v)`
    #[must_use]
    pub fn act(self, activation: Activation) -> Self {
        self.step(Step::Activate(activation))
    }

    /// Declares the operands, and puts the steps into the kernel's form, behind those before.
    pub fn lower(&self, args: &mut Arguments, lowered: &mut Lowered) -> Result<()> {
        let steps = lowered.count as usize + self.steps.len();
        let constraint = format_args!("of at most {MAX_STEPS} steps");
        args.require(steps <= MAX_STEPS, "epilogue", constraint, steps)?;
        self.steps.iter().zip(NAMES).try_for_each(|(step, names)| lowered.push(args, names, *step))
    }
}

/// Names of each step as an argument, and of its operands if it has two.
pub const NAMES: [[&str; 3]; MAX_STEPS] = [
    ["epilogue[0]", "epilogue[0].a", "epilogue[0].b"],
    ["epilogue[1]", "epilogue[1].a", "epilogue[1].b"],
    ["epilogue[2]", "epilogue[2].a", "epilogue[2].b"],
    ["epilogue[3]", "epilogue[3].a", "epilogue[3].b"],
    ["epilogue[4]", "epilogue[4].a", "epilogue[4].b"],
    ["epilogue[5]", "epilogue[5].a", "epilogue[5].b"],
    ["epilogue[6]", "epilogue[6].a", "epilogue[6].b"],
    ["epilogue[7]", "epilogue[7].a", "epilogue[7].b"],
];

kernel_args! {
    /// An operand of a step as the kernel takes it: `EpilogueOperand` in `hk/epilogue.h`.
    pub struct OperandArg {
        batch_stride: i64,
        row_stride: i64,
        column_stride: u32,
        number: f32,
        tensor: i32,
        element: u32,
    }
}

impl OperandArg {
    const fn number(number: f32) -> Self {
        Self { batch_stride: 0, row_stride: 0, column_stride: 0, number, tensor: -1, element: 0 }
    }
}

kernel_args! {
    /// A step as the kernel takes it: `EpilogueStep` in `hk/epilogue.h`.
    pub struct StepArg {
        kind: u32,
        activation: u32,
        parameter: f32,
        reserved: u32,
        a: OperandArg,
        b: OperandArg,
    }
}

impl StepArg {
    /// A step that is never taken.
    pub const NONE: Self = Self {
        kind: 0,
        activation: 0,
        parameter: 0.0,
        reserved: 0,
        a: OperandArg::number(0.0),
        b: OperandArg::number(0.0),
    };

    /// The tensors that the step reads, and the bytes from what belongs to a row of results, a column or a
    /// matrix to what belongs to the next.
    pub(super) fn bytes_apart(self, axis: Axis) -> impl Iterator<Item = (usize, i64)> {
        [self.a, self.b].into_iter().filter_map(move |operand| {
            let tensor = usize::try_from(operand.tensor).ok()?;
            let stride = match axis {
                Axis::Rows => operand.row_stride,
                Axis::Columns => operand.column_stride.into(),
                Axis::Matrices => operand.batch_stride,
            };
            let size = if operand.element == f32::CODE { 4 } else { 2 };
            Some((tensor, stride * size))
        })
    }
}

/// An epilogue in the kernel's form.
#[derive(Debug, Clone, Copy)]
pub struct Lowered {
    /// Steps in use.
    pub count: u32,
    /// The steps, each with the indices of its operands in `tensors`.
    pub steps: [StepArg; MAX_STEPS],
    /// Addresses of the operands.
    pub tensors: [AnyPtr; MAX_TENSORS],
    /// Whether every run of an operand's columns begins at a multiple of 16 bytes.
    aligned: [bool; MAX_TENSORS],
    used: usize,
    batched: bool,
    /// Whether results are stored with their rows before the batch.
    by_rows: bool,
}

impl Default for Lowered {
    fn default() -> Self {
        Self {
            count: 0,
            steps: [StepArg::NONE; MAX_STEPS],
            tensors: [AnyPtr::NULL; MAX_TENSORS],
            aligned: [false; MAX_TENSORS],
            used: 0,
            batched: false,
            by_rows: false,
        }
    }
}

impl Lowered {
    /// None yet, of a batch of products.
    pub fn batched() -> Self {
        Self { batched: true, ..Self::default() }
    }

    /// Says whether results are stored with their rows before the batch: then they have other places than
    /// tensors of their elements in the batch's order, which may not be the output.
    pub const fn set_by_rows(&mut self, by_rows: bool) {
        self.by_rows = by_rows;
    }

    /// How many steps there are.
    pub const fn len(&self) -> u32 {
        self.count
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether the steps are those that blocks are given as a whole: none, or a bias of columns whose
    /// runs are aligned; if they are `scaled`, before it also f32 factors of rows or of all, then such
    /// of columns.
    pub fn is_linear(&self, scaled: bool) -> bool {
        let mut stage = 0;
        self.steps[..self.count as usize].iter().all(|step| {
            let StepArg { kind, parameter, a, .. } = step;
            let aligned = usize::try_from(a.tensor).is_ok_and(|at| self.aligned[at]);
            let columns = a.row_stride == 0 && a.column_stride == 1 && aligned;
            let tensor = a.tensor >= 0;
            let f32s = a.element == f32::CODE;
            let rank = match kind {
                0 if scaled && tensor && f32s && a.column_stride == 0 => 1,
                0 if scaled && tensor && f32s && columns => 2,
                1 if tensor && columns && *parameter == 1.0 => 3,
                _ => return false,
            };
            let before = std::mem::replace(&mut stage, rank);
            before < rank || (before == 1 && rank == 1)
        })
    }

    /// Adds a step, of which there is room for one more, and declares its operands by the names.
    pub fn push(
        &mut self,
        args: &mut Arguments,
        [name, a_name, b_name]: [&'static str; 3],
        step: Step<'_>,
    ) -> Result<()> {
        let mut operand = |name, operand, extent| self.operand(args, name, operand, extent);
        let arg = match step {
            Step::Multiply(a, extent) => {
                StepArg { kind: 0, a: operand(name, a, extent)?, ..StepArg::NONE }
            }
            Step::Divide(d) => {
                args.require(d != 0.0, name, "a division by another number than 0", d)?;
                StepArg { kind: 0, a: OperandArg::number(1.0 / d), ..StepArg::NONE }
            }
            Step::Add(a, extent, parameter) => {
                StepArg { kind: 1, parameter, a: operand(name, a, extent)?, ..StepArg::NONE }
            }
            Step::AddProduct(a, b) => StepArg {
                kind: 2,
                a: operand(a_name, a, Extent::OneOrFull)?,
                b: operand(b_name, b, Extent::OneOrFull)?,
                ..StepArg::NONE
            },
            Step::ScaleAddSelf(parameter) => StepArg { kind: 3, parameter, ..StepArg::NONE },
            Step::Activate(activation) => {
                let (activation, parameter) = (activation.code(), activation.parameter());
                StepArg { kind: 4, activation, parameter, ..StepArg::NONE }
            }
        };
        self.steps[self.count as usize] = arg;
        self.count += 1;
        Ok(())
    }

    /// Adds a multiplication by f32 numbers of rows, or by one of all, whose address is still to come. Gives
    /// the number of that operand.
    ///
    /// # Errors
    /// [`Error::Value`](crate::Error::Value) if there are too many steps or tensors.
    pub fn push_scales(&mut self, args: &Arguments, of_rows: bool) -> Result<usize> {
        self.push_factors(args, of_rows, f32::CODE)
    }

    /// As [`push_scales`](Self::push_scales), by numbers of a type, which is that of `element` in kernels'
    /// arguments.
    ///
    /// # Errors
    /// As there.
    pub fn push_factors(&mut self, args: &Arguments, of_rows: bool, element: u32) -> Result<usize> {
        let operand = self.next_operand(args)?;
        let a = OperandArg {
            row_stride: of_rows.into(),
            tensor: operand as i32,
            element,
            ..OperandArg::number(0.0)
        };
        self.steps[self.count as usize] = StepArg { kind: 0, a, ..StepArg::NONE };
        self.count += 1;
        Ok(operand)
    }

    /// The number of one more tensor, for one more step.
    fn next_operand(&mut self, args: &Arguments) -> Result<usize> {
        let operand = self.used;
        let has_room = (self.count as usize) < MAX_STEPS && operand < MAX_TENSORS;
        let constraint = format_args!("of at most {MAX_STEPS} steps");
        args.require(has_room, "epilogue", constraint, self.count)?;
        self.used += 1;
        Ok(operand)
    }

    /// Adds, as the last step, what so many matrices of results hold before.
    ///
    /// # Errors
    /// [`Error::Value`](crate::Error::Value) if there are too many steps or tensors.
    pub fn push_results(&mut self, args: &Arguments, y: &Matrices, batch: u64) -> Result<()> {
        let operand = self.next_operand(args)?;
        let a = OperandArg {
            batch_stride: y.strides[0],
            row_stride: y.strides[1],
            column_stride: 1,
            tensor: operand as i32,
            element: real_code(y.dtype),
            ..OperandArg::number(0.0)
        };
        self.steps[self.count as usize] = StepArg { kind: 1, parameter: 1.0, a, ..StepArg::NONE };
        self.count += 1;
        self.tensors[operand] = y.ptr;
        self.aligned[operand] = y.are_aligned(batch);
        Ok(())
    }

    fn operand(
        &mut self,
        args: &mut Arguments,
        name: &'static str,
        operand: Operand<'_>,
        extent: Extent,
    ) -> Result<OperandArg> {
        match operand {
            Operand::Number(number) => Ok(OperandArg::number(number)),
            Operand::Bf16(tensor) => self.tensor(args, name, tensor, extent),
            Operand::F16(tensor) => self.tensor(args, name, tensor, extent),
            Operand::F32(tensor) => self.tensor(args, name, tensor, extent),
        }
    }

    fn tensor<U: Real>(
        &mut self,
        args: &mut Arguments,
        name: &'static str,
        tensor: &TensorSlice<U>,
        extent: Extent,
    ) -> Result<OperandArg> {
        let (dims, [row_stride, column_stride]) = extent.of(self.batched, tensor.shape());
        let argument = args.input(name, tensor, dims);
        // One number may be all of the output.
        let is_one = extent == Extent::OneOrFull && tensor.len() == 1 && dims.len() > 1;
        let argument = if is_one { argument.may_be("y") } else { argument };
        // Of one column, the distance to the next does not matter.
        let near = |stride| if tensor.shape().last() == Some(&1) { 0 } else { stride };
        // Distances between matrices, and along the one dimension that rows or columns have. One number is as
        // if others followed.
        let along = |batch: i64, dim: usize, stride: i64| {
            let apart = if tensor.shape()[dim] == 1 { 1 } else { stride };
            [batch, row_stride * apart, column_stride * apart]
        };
        let [batch_stride, row_stride, column_stride] = match dims {
            ["m", "n"] => {
                argument.may_be("y").strides().map(|[row, column]| [0, row, near(column)])?
            }
            ["batch", "m", "n"] => {
                let argument = if self.by_rows { argument } else { argument.may_be("y") };
                let strides = argument.strides();
                strides.map(|[batch, row, column]| [batch, row, near(column)])?
            }
            ["experts", _] => [argument.rows()?, row_stride, column_stride],
            ["experts"] => [argument.contiguous().map(|()| 1)?, 0, column_stride],
            ["batch", _] => argument.strides().map(|[batch, of]| along(batch, 1, of))?,
            ["batch", "1", _] => argument.strides().map(|[batch, _, of]| along(batch, 2, of))?,
            ["batch", ..] => argument.strides().map(|[batch, of, _]| along(batch, 1, of))?,
            ["n"] => argument.or_row().strides().map(|[of]| along(0, 0, of))?,
            ["1", "n"] => argument.strides().map(|[_, of]| along(0, 1, of))?,
            ["m" | "n", "1"] => argument.strides().map(|[of, _]| along(0, 0, of))?,
            ["m"] => argument.strides().map(|[of]| along(0, 0, of))?,
            [_] if column_stride != 0 => argument.strides().map(|[of]| along(0, 0, of))?,
            _ => [0, argument.contiguous().map(|()| row_stride)?, column_stride],
        };
        let apart = u32::try_from(column_stride);
        args.require(
            apart.is_ok(),
            name,
            "columns at most 2^32 - 1 elements apart",
            column_stride,
        )?;
        let constraint = format_args!("of at most {MAX_TENSORS} tensors");
        args.require(self.used < MAX_TENSORS, "epilogue", constraint, self.used + 1)?;
        let address = tensor.ptr().address();
        let aligned = |bytes: u64| bytes.is_multiple_of(16);
        let bytes = |stride: i64| stride.unsigned_abs().saturating_mul(size_of::<U>() as u64);
        let half = match extent {
            Extent::Halves => tensor.shape()[0] as i64 / 2,
            Extent::ExpertHalves(_) => tensor.shape()[1] as i64 / 2,
            _ => 0,
        };
        let evenly =
            [batch_stride, row_stride, half].into_iter().all(|stride| aligned(bytes(stride)));
        let arg = OperandArg {
            batch_stride,
            row_stride,
            column_stride: apart.unwrap_or_default(),
            tensor: self.used as i32,
            element: U::CODE,
            ..OperandArg::number(0.0)
        };
        self.tensors[self.used] = tensor.ptr().any();
        self.aligned[self.used] = aligned(address) && evenly;
        self.used += 1;
        Ok(arg)
    }
}
