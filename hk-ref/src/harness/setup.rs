//! The tensors of a case: what it says of them, and all that the harness does with them.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use hk_core::dtype::{DType, Element, decode};
use hk_core::op::{Strides, dry_run};
use hk_core::{Result, Stream, Tensor};

use super::limits::Limits;
use super::rejections::{POISON, Wrong, poisoned};
use super::{Case, Outcome, Prepared};
use crate::draw::Draw;
use crate::expected::{Expected, Statistics};
use crate::guarded::{Guarded, Placement};

/// What inputs hold around their elements: NaN, if the element type has it, which spoils the result
/// of a kernel that uses it.
const AROUND_INPUTS: u8 = u8::MAX;

/// What a tensor takes of memory at most because of gaps between its rows.
const MOST_BYTES: usize = 1 << 34;

/// A case that is being set up: it says which tensors the op has, in any order, and makes the call.
///
/// Where they are in memory follows from the case's [placement](Case::place) and from what the op
/// declares of each argument of that name: one that it takes only without gaps has none; of the
/// others, each has a gap of its own. So does what is in place: of each output, the input that
/// [may be](hk_core::op::Argument::may_be) it.
pub struct Setup {
    stream: Stream,
    place: Placement,
    in_place: bool,
    /// Of the op and its shape.
    seed: u64,
    tensors: Vec<Shared<dyn Tested>>,
    numbers: Vec<Number>,
    launch: Option<Box<dyn FnMut() -> Result<()>>>,
}

type Shared<T> = Rc<RefCell<T>>;

/// A tensor of a case.
#[derive(Debug)]
pub struct Arg<T: Element>(Shared<TestTensor<T>>);

impl<T: Element> Clone for Arg<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T: Element> Arg<T> {
    /// What the op is given: once per call, as they share their elements.
    ///
    /// # Panics
    /// Before the call.
    pub fn get(&self) -> Tensor<T> {
        self.0
            .borrow()
            .alias()
            .expect("the case makes its call after it has said all of its tensors")
    }

    /// The numbers that it holds before the call.
    pub fn numbers(&self) -> Vec<f64> {
        decode(&self.elements())
    }

    /// The elements that it holds before the call.
    pub fn elements(&self) -> Vec<T> {
        self.0.borrow().values.clone().unwrap_or_default()
    }

    /// At that place rather than the case's.
    #[must_use]
    pub fn place(self, place: Placement) -> Self {
        self.0.borrow_mut().place = Some(place);
        self
    }

    /// With the dimensions in that order in memory, the outermost first.
    #[must_use]
    pub fn order(self, order: &[usize]) -> Self {
        self.0.borrow_mut().order = order.to_vec();
        self
    }

    /// Of an output whose elements are sums in an order that timing decides: runs need not give the same
    /// bits, but each what is expected.
    #[must_use]
    pub fn in_any_order(self) -> Self {
        self.0.borrow_mut().in_any_order = true;
        self
    }

    /// Of an output: with these elements before each call, as the state that an op updates.
    #[must_use]
    pub fn holding(self, elements: Vec<T>) -> Self {
        self.0.borrow_mut().values = Some(elements);
        self
    }
}

/// Numbers that are not positive and finite.
pub const NOT_POSITIVE: &[f32] = &[0.0, -1e-6, f32::NAN, f32::INFINITY];
/// Numbers that are negative or not finite.
pub const NOT_ZERO_OR_MORE: &[f32] = &[-1e-6, f32::NAN, f32::INFINITY];

/// A number of a case.
#[derive(Debug, Clone)]
pub struct Number {
    pub(super) name: &'static str,
    value: f32,
    /// What the op is given instead, to refuse it.
    instead: Rc<Cell<Option<f32>>>,
    pub(super) wrong: &'static [f32],
}

impl Number {
    /// What the op is given: once per call.
    pub fn get(&self) -> f32 {
        self.instead.get().unwrap_or(self.value)
    }

    pub(super) fn give(&self, instead: Option<f32>) {
        self.instead.set(instead);
    }
}

impl Setup {
    pub(super) fn new(stream: &Stream, case: &Case) -> Self {
        let stream = stream.clone();
        let sizes = case.info.shape.iter().flat_map(|size| size.to_le_bytes());
        let seed = hash(0, case.info.op.bytes().chain(sizes));
        let (tensors, numbers, launch) = (Vec::new(), Vec::new(), None);
        Self { stream, place: case.place, in_place: case.in_place, seed, tensors, numbers, launch }
    }

    /// The stream of all tensors.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The case's place, for a tensor of which another element is to be at a multiple of 4 GiB than
    /// that of the others, if one is.
    pub fn carried(&self, element: impl FnOnce(usize) -> usize) -> Placement {
        Placement { carry: self.place.carry.map(element), ..self.place }
    }

    /// Elements for a tensor of that name.
    pub fn draw<T: Element>(&self, name: &str, shape: &[usize], draw: Draw) -> Vec<T> {
        draw.values(hash(self.seed, name.bytes()), shape.iter().product())
    }

    /// A tensor that the op reads, drawn.
    pub fn input<T: Element>(&mut self, name: &'static str, shape: &[usize], draw: Draw) -> Arg<T> {
        let elements = self.draw(name, shape, draw);
        self.given(name, shape, elements)
    }

    /// A tensor that the op reads, of these elements.
    ///
    /// # Panics
    /// If they are not as many as the shape says.
    pub fn given<T: Element>(
        &mut self,
        name: &'static str,
        shape: &[usize],
        elements: Vec<T>,
    ) -> Arg<T> {
        let count = shape.iter().product::<usize>();
        assert_eq!(elements.len() * T::PACK, count, "elements of {name}");
        self.add(TestTensor { values: Some(elements), ..TestTensor::new(name, shape) })
    }

    /// A tensor that the op writes, and what it should write.
    pub fn output<T: Element>(
        &mut self,
        name: &'static str,
        shape: &[usize],
        expected: Expected,
    ) -> Arg<T> {
        self.add(TestTensor { expected: Some(expected), ..TestTensor::new(name, shape) })
    }

    /// A number that the op takes, and those that it must refuse in its place.
    pub fn number(&mut self, name: &'static str, value: f32, wrong: &'static [f32]) -> Number {
        let number = Number { name, value, instead: Rc::default(), wrong };
        self.numbers.push(number.clone());
        number
    }

    fn add<T: Element>(&mut self, tensor: TestTensor<T>) -> Arg<T> {
        let shared = Rc::new(RefCell::new(tensor));
        self.tensors.push(Rc::<RefCell<TestTensor<T>>>::clone(&shared));
        Arg(shared)
    }

    /// The call of the op, with what its tensors [`get`](Arg::get). It is made several times.
    pub fn call(&mut self, launch: impl FnMut() -> Result<()> + 'static) {
        self.launch = Some(Box::new(launch));
    }

    /// The element types of the tensors.
    pub(super) fn dtypes(&self) -> impl Iterator<Item = DType> {
        self.tensors.iter().map(|tensor| tensor.borrow().dtype())
    }

    /// Learns from a dry run how the op declares its arguments, and puts the tensors where the case
    /// says.
    pub(super) fn prepare(self) -> Result<Prepared> {
        let Self { stream, place, in_place, tensors, numbers, launch, .. } = self;
        let mut launch = launch.expect("a case makes a call");
        for tensor in &tensors {
            tensor.borrow_mut().draft(&stream)?;
        }
        let (result, calls) = dry_run(&mut launch);
        result?;
        let declared = |name| {
            let mut arguments = calls.iter().flat_map(|call| &call.arguments);
            arguments.find(|argument| argument.name == name)
        };
        let mut merged = Vec::new();
        for (at, input) in tensors.iter().enumerate().filter(|_| in_place) {
            let output = declared(input.borrow().name()).and_then(|argument| argument.may_be);
            let is_output = |other: &Shared<dyn Tested>| Some(other.borrow().name()) == output;
            if let Some(output) = tensors.iter().position(is_output)
                && tensors[output].borrow_mut().merge(&mut *input.borrow_mut())
            {
                merged.push((at, output));
            }
        }
        assert!(!in_place || !merged.is_empty(), "no input of this case may be an output");
        let mut spaced = 0;
        for tensor in &tensors {
            let mut tensor = tensor.borrow_mut();
            let argument = declared(tensor.name());
            assert!(argument.is_some() || calls.is_empty(), "no argument: {}", tensor.name());
            let strides = argument.map_or(Strides::Rows, |argument| argument.strides);
            let mut place = tensor.place().unwrap_or(place);
            if strides == Strides::Contiguous {
                // Of vectors, which have no rows to be apart, a place says where they begin or end.
                let is_asked = tensor.place().is_some_and(|place| place.gap > 0);
                let has_rows = tensor.shape().len() > 1;
                assert!(!(is_asked && has_rows), "{} may have no gaps", tensor.name());
                place.gap = 0;
            } else if place.gap > 0 && tensor.place().is_none() {
                // Rows of each as aligned as those of others, and another distance apart.
                place.gap += 8 * spaced;
                spaced += 1;
            }
            let is_even = !matches!(strides, Strides::Adjacent | Strides::Any);
            place.slack = usize::from(!is_even && place.gap > 0);
            place.align = argument.map_or(1, |argument| argument.alignment);
            tensor.allocate(&stream, place)?;
        }
        for (input, output) in merged {
            tensors[input].borrow_mut().link(&*tensors[output].borrow());
        }
        let arguments = calls.into_iter().flat_map(|call| call.arguments).collect();
        Ok(Prepared { tensors, numbers, launch, limits: Limits::default(), arguments })
    }
}

/// FNV-1a of bytes, from a state.
fn hash(state: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.into_iter().fold(state ^ 0xcbf2_9ce4_8422_2325, step)
}

/// A tensor of a case, whatever its element type.
pub(super) trait Tested: Any {
    fn name(&self) -> &'static str;
    fn dtype(&self) -> DType;
    fn is_output(&self) -> bool;
    fn shape(&self) -> &[usize];
    fn place(&self) -> Option<Placement>;
    /// Takes any memory, for a dry run.
    fn draft(&mut self, stream: &Stream) -> Result<()>;
    /// Takes its place in memory.
    fn allocate(&mut self, stream: &Stream, place: Placement) -> Result<()>;
    /// As an output: becomes the input too, if it can be and is none yet.
    fn merge(&mut self, input: &mut dyn Tested) -> bool;
    /// As an input: is in the place of the output that it has merged with.
    fn link(&mut self, output: &dyn Tested);
    /// As an output: holds what it holds before a run, and the pattern elsewhere.
    fn reset(&mut self, pattern: u8) -> Result<()>;
    /// Forgets the runs so far.
    fn forget(&mut self);
    /// Reads it after a run; tells what is wrong with it, other than an output's values.
    fn take(&mut self, pattern: u8) -> Result<Option<String>>;
    /// As an output: compares with the reference.
    fn judge(&self, outcome: &mut Outcome);
    /// Gives the op a wrong tensor; or says that there is none such.
    fn give(&mut self, wrong: &Wrong) -> Result<bool>;
    /// Gives the op the right tensor again.
    fn restore(&mut self) -> Result<()>;
    /// Whether nothing was written to the wrong tensor, if it was given one.
    fn is_untouched(&self) -> Result<bool>;
}

/// What is wrong with results that the reference does not accept.
fn complaint(name: &str, expected: &Expected, found: &Statistics) -> String {
    if found.failures > 0 {
        let Statistics { failures, index, got, expected, error, allowed, .. } = found;
        format!(
            "{name}: {failures} elements beyond their tolerance; worst {name}[{index}] = {got:e}, \
             expected {expected:e}, error {error:.3e}, tolerance {allowed:.3e}"
        )
    } else {
        let most = expected.frobenius.unwrap_or_default();
        format!("{name}: relative error {:.3e}, tolerance {most:.3e}", found.relative)
    }
}

#[derive(Debug)]
struct TestTensor<T: Element> {
    name: &'static str,
    shape: Vec<usize>,
    /// Its dimensions as they are in memory.
    order: Vec<usize>,
    place: Option<Placement>,
    /// What it holds before each run, if anything of value.
    values: Option<Vec<T>>,
    /// What it should hold after one; none of an input.
    expected: Option<Expected>,
    /// Whether runs may differ as far as the reference lets them.
    in_any_order: bool,
    /// Whether an output is an input too, or an input an output.
    is_merged: bool,
    memory: Option<Guarded<T>>,
    /// What the op is given.
    tensor: Option<Tensor<T>>,
    /// Whether that is a tensor that it must refuse.
    is_wrong: bool,
    /// What the first run gave.
    first: Option<Vec<T>>,
}

impl<T: Element> TestTensor<T> {
    fn new(name: &'static str, shape: &[usize]) -> Self {
        Self {
            name,
            shape: shape.to_vec(),
            order: (0..shape.len()).collect(),
            place: None,
            values: None,
            expected: None,
            in_any_order: false,
            is_merged: false,
            memory: None,
            tensor: None,
            is_wrong: false,
            first: None,
        }
    }

    fn alias(&self) -> Option<Tensor<T>> {
        // SAFETY: the harness reads and writes the elements only between calls, and the op is what
        // is tested with arguments that share memory.
        self.tensor.as_ref().map(|tensor| unsafe { tensor.alias() })
    }
}

impl<T: Element> Tested for TestTensor<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn dtype(&self) -> DType {
        T::DTYPE
    }

    fn is_output(&self) -> bool {
        self.expected.is_some()
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn place(&self) -> Option<Placement> {
        self.place
    }

    fn draft(&mut self, stream: &Stream) -> Result<()> {
        self.tensor = Some(Tensor::empty(stream, &self.shape)?);
        Ok(())
    }

    fn allocate(&mut self, stream: &Stream, place: Placement) -> Result<()> {
        self.tensor = None;
        if self.is_merged && !self.is_output() {
            return Ok(());
        }
        let mut place = place;
        // Rows far apart in 16-bit types may be too far in others, and too many, for any host.
        let rows = self.shape.split_last().map_or(1, |(_, rows)| rows.iter().product());
        let most = MOST_BYTES / (size_of::<T>() * usize::max(rows, 1)) * T::PACK;
        if place.gap > most {
            place.gap = most / 8 * 8;
        }
        let mut memory = Guarded::ordered(stream, &self.shape, &self.order, place)?;
        if let Some(values) = self.values.as_ref().filter(|_| self.expected.is_none()) {
            memory.write(values, AROUND_INPUTS)?;
        }
        self.tensor = Some(memory.tensor()?);
        self.memory = Some(memory);
        Ok(())
    }

    fn merge(&mut self, input: &mut dyn Tested) -> bool {
        let input: &mut dyn Any = input;
        let Some(input) = input.downcast_mut::<Self>() else { return false };
        if self.is_merged || self.shape != input.shape {
            return false;
        }
        self.values.clone_from(&input.values);
        [self.is_merged, input.is_merged] = [true; 2];
        true
    }

    fn link(&mut self, output: &dyn Tested) {
        let output: &dyn Any = output;
        self.tensor = output.downcast_ref::<Self>().and_then(Self::alias);
    }

    fn reset(&mut self, pattern: u8) -> Result<()> {
        let Some(memory) = self.memory.as_mut().filter(|_| self.expected.is_some()) else {
            return Ok(());
        };
        memory.write(self.values.as_deref().unwrap_or(&[]), pattern)
    }

    fn forget(&mut self) {
        self.first = None;
        // What is not written stays the same.
        self.in_any_order = false;
    }

    fn take(&mut self, pattern: u8) -> Result<Option<String>> {
        let (name, is_output) = (self.name, self.is_output());
        // Of inputs, one look is enough: what writes one does so in every run.
        let Some(memory) = self.memory.as_ref().filter(|_| is_output || self.first.is_none())
        else {
            return Ok(None);
        };
        let (values, spoilt) = memory.read(if is_output { pattern } else { AROUND_INPUTS })?;
        if let Some(place) = spoilt {
            return Ok(Some(format!("{name}: written {place}")));
        }
        let (before, when) = match (&self.first, &self.values) {
            (Some(first), _) => (first, "in the first run"),
            (None, Some(values)) if !is_output => (values, "before the call, which only reads it"),
            _ => {
                self.first = Some(values);
                return Ok(None);
            }
        };
        if let Some(expected) = self.expected.as_ref().filter(|_| self.in_any_order) {
            let found = expected.compare(&values);
            return Ok((!expected.accepts(&found)).then(|| complaint(name, expected, &found)));
        }
        let bits = bytemuck::bytes_of::<T>;
        let differs =
            bytemuck::cast_slice::<T, u8>(before) != bytemuck::cast_slice::<T, u8>(&values);
        let at = || before.iter().zip(&values).position(|(a, b)| bits(a) != bits(b));
        let complaint = differs.then(at).flatten().map(|at| {
            let (a, b) = (before[at], values[at]);
            format!("{name}[{at}] is {b:?} but was {a:?} {when}")
        });
        // Values of an input are held already.
        self.first.get_or_insert_default();
        Ok(complaint)
    }

    fn judge(&self, outcome: &mut Outcome) {
        let (Some(got), Some(expected), name) = (&self.first, &self.expected, self.name) else {
            return;
        };
        let found = expected.compare(got);
        if !expected.accepts(&found) && outcome.failure.is_none() {
            outcome.failure = Some(complaint(name, expected, &found));
        }
        if !expected.values.is_empty() {
            outcome.note(found);
        }
    }

    fn give(&mut self, wrong: &Wrong) -> Result<bool> {
        let Some(stream) = self.tensor.as_ref().map(|right| right.stream().clone()) else {
            return Ok(false);
        };
        let (shape, rank) = (&self.shape, self.shape.len());
        let rows: usize = shape.iter().rev().skip(1).product();
        let row = shape.last().copied().unwrap_or(1);
        let tensor = match wrong {
            Wrong::Shape(shape) => poisoned(&stream, shape)?,
            Wrong::Stream(stream) => poisoned(stream, shape)?,
            Wrong::Within(flat, start) => flat.part(*start, shape)?,
            Wrong::Gaps if rows > 1 => {
                let mut wider = shape.clone();
                wider[rank - 1] += T::PACK;
                let all = poisoned(&stream, &wider)?;
                let narrow = all.narrow(rank - 1, 0..row)?;
                // SAFETY: nobody has the whole any more.
                unsafe { narrow.alias() }
            }
            Wrong::Spread if row > 1 && T::PACK == 1 => {
                let all = poisoned(&stream, &[&shape[..], &[2]].concat())?;
                let axes: Vec<usize> = [rank].into_iter().chain(0..rank).collect();
                // SAFETY: nobody has the whole any more.
                unsafe { all.permute(&axes)?.index(0)?.alias() }
            }
            Wrong::Repeated if rows > 1 || T::PACK == 1 && row > 1 => {
                let axis = shape.iter().position(|size| *size > 1).unwrap_or(0);
                let mut one = shape.clone();
                one[axis] = 1;
                let one = poisoned(&stream, &one)?;
                // SAFETY: nobody has the original any more.
                unsafe { one.broadcast(shape)?.alias() }
            }
            _ => return Ok(false),
        };
        (self.tensor, self.is_wrong) = (Some(tensor), true);
        Ok(true)
    }

    fn restore(&mut self) -> Result<()> {
        if std::mem::take(&mut self.is_wrong) {
            self.tensor = self.memory.as_ref().map(Guarded::tensor).transpose()?;
        }
        Ok(())
    }

    fn is_untouched(&self) -> Result<bool> {
        let Some(tensor) = self.tensor.as_ref().filter(|_| self.is_wrong) else { return Ok(true) };
        let elements = tensor.to_vec()?;
        Ok(bytemuck::cast_slice::<T, u8>(&elements).iter().all(|byte| *byte == POISON))
    }
}
