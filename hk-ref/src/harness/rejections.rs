//! Wrong calls, made of right ones: each tensor of a case in turn gives way to one that the op must
//! refuse by what it declares.

use std::collections::BTreeSet;

use hk_core::dtype::{DType, Element, F4x2E2M1, f16};
use hk_core::op::{ArgumentInfo, Role, Strides};
use hk_core::{Device, Error, Result, Stream, Tensor, record_tiles};

use super::{Case, Prepared, Setup, Size};

/// What outputs hold before a wrong call, and must hold after it.
pub(super) const POISON: u8 = 0x5a;

/// Product of the sizes of the largest cases that wrong calls are made of.
const MOST: usize = 1 << 18;

/// What is given to an op in the place of a right tensor. All of its bytes are poison.
#[derive(Debug)]
pub(super) enum Wrong {
    /// One of another shape.
    Shape(Vec<usize>),
    /// One on another stream, perhaps of another device.
    Stream(Stream),
    /// One with gaps between rows.
    Gaps,
    /// One with gaps between the elements of a row.
    Spread,
    /// One with the same elements at several indices.
    Repeated,
    /// One in memory that another argument has too, from that element on.
    Within(Flat, usize),
}

/// Makes wrong calls of every op of a module, from its quick cases, and requires that each is refused
/// with an error that names the op and the argument, before anything is launched, with outputs left
/// as they were. For tests.
///
/// Each tensor comes in turn with a wrong rank, with each of its sizes one off, on another stream
/// and another device that has such elements, in a layout that the op does not take, and each output over each other
/// argument. Each size is 0 once, in all that have it, which the op may also take. Each number comes as
/// those that the case says are wrong. FP8 types that the architecture lacks must be refused where a case is
/// for another.
///
/// # Panics
/// If something was not refused so, with all that was not; if there is an op without a case to make
/// calls of.
pub fn run_rejections(module: &str, cases: &[Case], devices: &[Device]) {
    let failures: String =
        devices.iter().map(|device| failures(module, cases, device, devices)).collect();
    assert!(failures.is_empty() && !devices.is_empty(), "{failures}");
}

/// What is not refused as it should on one of the devices, a line each.
pub(super) fn failures(
    module: &str,
    cases: &[Case],
    device: &Device,
    devices: &[Device],
) -> String {
    let other = devices.iter().find(|other| *other != device);
    let of_module: Vec<_> = cases.iter().filter(|case| case.info.module == module).collect();
    let count = |case: &Case| case.info.shape.iter().product::<usize>();
    // Of sizes that can all be one less and still be something.
    let suits = |case: &&&Case| {
        let is_small = case.info.size == Size::Quick && !case.takes_gigabytes();
        let fits = !case.in_place && is_small && count(case) <= MOST;
        fits && case.info.shape.iter().all(|size| *size > 1)
    };
    let mut small: Vec<&Case> = of_module.iter().filter(suits).copied().collect();
    small.sort_by_key(|case| count(case));
    let (mut kinds, mut failures) = (Vec::new(), String::new());
    for case in small {
        let op = case.info.op;
        let mut complain =
            |what| failures += &format!("\n{} on {device}: {what}", case.info.title());
        if !case.info.fits(device) {
            if let Some(result) = prepare_foreign(case, device)
                && !matches!(&result, Err(Error::ArchMismatch { op: named, .. }) if *named == op)
            {
                complain(format!("elements of another chip: {result:?}"));
            }
            continue;
        }
        let prepared = match case.prepare(device) {
            Ok(prepared) => prepared,
            Err(error) => {
                complain(error.to_string());
                continue;
            }
        };
        // Calls that differ in element types alone are alike.
        let arguments = prepared.arguments.iter();
        let arguments = arguments.map(|of| (of.name, of.dims, of.strides, of.may_be));
        let numbers = prepared.numbers.iter().map(|number| number.name);
        let kind = (op, arguments.collect::<Vec<_>>(), numbers.collect::<Vec<_>>());
        if !kinds.contains(&kind) {
            kinds.push(kind);
            let mut trial = Trial { op, prepared, failures: Vec::new() };
            trial.run(device, other).expect("there is memory for small tensors");
            trial.failures.into_iter().for_each(complain);
        }
    }
    let mut ops: Vec<_> = of_module.iter().map(|case| case.info.op).collect();
    ops.dedup();
    for op in ops.into_iter().filter(|op| kinds.iter().all(|(known, ..)| known != op)) {
        failures += &format!("\n{op} on {device}: no case to make wrong calls of");
    }
    failures
}

/// The call of a case that is for another architecture, if it has tensors of FP8 types that this
/// device's lacks.
fn prepare_foreign(case: &Case, device: &Device) -> Option<Result<Prepared>> {
    let mut setup = Setup::new(&device.default_stream(), case);
    (case.set_up)(&mut setup);
    let is_foreign = setup.dtypes().any(|dtype| device.arch().native(dtype) != dtype);
    is_foreign.then(|| setup.prepare())
}

/// Wrong calls made of one right one.
struct Trial {
    op: &'static str,
    prepared: Prepared,
    failures: Vec<String>,
}

/// What is wrong: a kind of error, and the arguments that it may name, or, of two arguments, has to.
struct Blame {
    kind: &'static str,
    names: Vec<&'static str>,
}

impl Blame {
    fn new(kind: &'static str, names: impl Into<Vec<&'static str>>) -> Self {
        Self { kind, names: names.into() }
    }

    fn fits(&self, op: &str, error: &Error) -> bool {
        let one =
            |kind, of: &str, arg: &str| kind == self.kind && op == of && self.names.contains(&arg);
        let two = |kind, of, a: &str, b: &str| one(kind, of, a) && one(kind, of, b) && a != b;
        let name = |at: &str| at.split(" on ").next().unwrap_or_default().to_owned();
        match error {
            Error::Shape { op, arg, .. } => one("shape", op, arg),
            Error::Stride { op, arg, .. } => one("stride", op, arg),
            Error::Value { op, arg, .. } => one("value", op, arg),
            Error::Alias { op, a, b } => two("alias", op, a, b),
            Error::Stream { op, a, b } => two("stream", op, a, b),
            Error::Device { op, a, b } => two("device", op, &name(a), &name(b)),
            _ => false,
        }
    }
}

impl Trial {
    fn run(&mut self, device: &Device, other: Option<&Device>) -> Result<()> {
        self.poison()?;
        let arguments = self.prepared.arguments.clone();
        let first = arguments[0].name;
        let stream = device.new_stream()?;
        // What a device's architecture has no elements of, cannot be there.
        let has =
            |other: &&Device| arguments.iter().all(|of| other.arch().native(of.dtype) == of.dtype);
        let other = other.filter(has);
        for (at, argument) in arguments.iter().enumerate() {
            for (shape, blamed) in wrong_shapes(&arguments, at) {
                let what = format!("{} of shape {shape:?}", argument.name);
                let wrong = Wrong::Shape(shape);
                self.refuses(what, &[(argument.name, wrong)], &Blame::new("shape", blamed))?;
            }
            if arguments.len() > 1 {
                let pair = [first, arguments[at.max(1)].name];
                let elsewhere = [("stream", Some(stream.clone()))];
                let device = other.map(|other| ("device", Some(other.default_stream())));
                for (kind, stream) in elsewhere.into_iter().chain(device) {
                    let Some(stream) = stream else { continue };
                    let what = format!("{} on another {kind}", argument.name);
                    let wrong = Wrong::Stream(stream);
                    self.refuses(what, &[(argument.name, wrong)], &Blame::new(kind, pair))?;
                }
            }
            let is_output = argument.role == Role::Output;
            for (wrong, is_wrong) in [
                (Wrong::Gaps, argument.strides == Strides::Contiguous),
                (Wrong::Spread, argument.strides != Strides::Any),
                (Wrong::Repeated, is_output),
            ] {
                if is_wrong {
                    let what = format!("{} with {wrong:?}", argument.name);
                    let blame = Blame::new("stride", [argument.name]);
                    self.refuses(what, &[(argument.name, wrong)], &blame)?;
                }
            }
            let others = arguments.iter().enumerate();
            let others = others.filter(|(other, of)| of.role == Role::Input || *other < at);
            for (_, other) in others.filter(|_| is_output) {
                self.refuses_overlap(device, argument, other)?;
            }
        }
        for number in self.prepared.numbers.clone() {
            for &wrong in number.wrong {
                number.give(Some(wrong));
                let blame = Blame::new("value", [number.name]);
                self.refuses(format!("{} = {wrong}", number.name), &[], &blame)?;
            }
            number.give(None);
        }
        self.takes_or_refuses_nothing(&arguments)
    }

    /// An output and another argument that share memory.
    fn refuses_overlap(
        &mut self,
        device: &Device,
        output: &ArgumentInfo,
        other: &ArgumentInfo,
    ) -> Result<()> {
        let count = |argument: &ArgumentInfo| argument.shape.iter().product::<usize>();
        let is_permitted = other.may_be == Some(output.name) && other.shape == output.shape;
        let bytes = output.alignment.max(other.alignment).max(output.dtype.size());
        let shift =
            if is_permitted { bytes / output.dtype.size() * output.dtype.pack() } else { 0 };
        let like = |a: &ArgumentInfo| (a.dtype.size(), a.dtype.pack());
        if like(output) != like(other) || shift >= count(output) {
            return Ok(());
        }
        let len = count(output) + count(other) + shift;
        let flat = Flat::new(&device.default_stream(), output.dtype, len)?;
        let places = [
            (output.name, Wrong::Within(flat.alias(), 0)),
            (other.name, Wrong::Within(flat, shift)),
        ];
        let what = format!("{} over {}", output.name, other.name);
        self.refuses(what, &places, &Blame::new("alias", [output.name, other.name]))
    }

    /// Each size as 0, wherever it is: the op does nothing, or refuses it, or indices of it.
    fn takes_or_refuses_nothing(&mut self, arguments: &[ArgumentInfo]) -> Result<()> {
        let names: BTreeSet<_> = arguments.iter().flat_map(axes).collect();
        if names.iter().any(|name| !is_free(name) && name.parse::<usize>().is_err()) {
            return Ok(());
        }
        for name in names.into_iter().filter(|name| is_free(name)) {
            let having = arguments.iter().filter(|argument| axes(argument).contains(&name));
            let empty = having.map(|argument| {
                let sizes = axes(argument).into_iter().zip(&argument.shape);
                let shape = sizes.map(|(of, size)| if of == name { 0 } else { *size }).collect();
                (argument.name, Wrong::Shape(shape))
            });
            let empty: Vec<_> = empty.collect();
            let Some((Err(error), launched)) = self.call(&empty)? else {
                self.poison()?;
                continue;
            };
            let named = empty.iter().map(|(name, _)| *name).collect::<Vec<_>>();
            let blame = match &error {
                // What indices name may be gone.
                Error::Value { arg, .. }
                    if arguments.iter().any(|of| {
                        of.name == *arg && [DType::I32, DType::I64].contains(&of.dtype)
                    }) =>
                {
                    Blame::new("value", [*arg])
                }
                _ => Blame::new("shape", named),
            };
            self.check(&format!("{name} = 0"), &error, launched, &blame)?;
        }
        Ok(())
    }

    /// Requires a call with these tensors to be refused.
    fn refuses(
        &mut self,
        what: String,
        wrong: &[(&'static str, Wrong)],
        blame: &Blame,
    ) -> Result<()> {
        match self.call(wrong)? {
            None => Ok(()),
            Some((Err(error), launched)) => self.check(&what, &error, launched, blame),
            Some((Ok(()), _)) => {
                self.failures.push(format!("{what} was accepted"));
                self.poison()
            }
        }
    }

    /// Makes the call with these tensors instead of the right ones; with what it launched. Nothing if
    /// there is no such tensor.
    fn call(&mut self, wrong: &[(&'static str, Wrong)]) -> Result<Option<(Result<()>, usize)>> {
        let mut is_possible = true;
        for (name, wrong) in wrong {
            for tensor in &self.prepared.tensors {
                if tensor.borrow().name() == *name {
                    is_possible &= tensor.borrow_mut().give(wrong)?;
                }
            }
        }
        if !is_possible {
            self.restore()?;
            return Ok(None);
        }
        let (result, tiles) = record_tiles(|| (self.prepared.launch)());
        Ok(Some((result, tiles.len())))
    }

    fn restore(&self) -> Result<()> {
        self.prepared.tensors.iter().try_for_each(|tensor| tensor.borrow_mut().restore())
    }

    /// Puts the right tensors back, with poison in outputs.
    fn poison(&mut self) -> Result<()> {
        self.restore()?;
        self.prepared.tensors.iter().for_each(|tensor| tensor.borrow_mut().forget());
        self.prepared.reset(POISON)?;
        self.prepared.take(POISON).map(|_| ())
    }

    /// Requires the error to be as it should, and nothing to be launched or written; puts the right
    /// tensors back.
    fn check(&mut self, what: &str, error: &Error, launched: usize, blame: &Blame) -> Result<()> {
        if !blame.fits(self.op, error) {
            let Blame { kind, names } = blame;
            let text =
                format!("{what}: expected a wrong {kind} of {names:?} of {}, got {error}", self.op);
            self.failures.push(text);
        }
        if launched > 0 {
            self.failures.push(format!("{what}: refused after {launched} launches"));
        }
        for tensor in &self.prepared.tensors {
            if tensor.borrow().is_output() && !tensor.borrow().is_untouched()? {
                self.failures.push(format!("{what}: {} was written", tensor.borrow().name()));
            }
        }
        if let Some(complaint) = self.prepared.take(POISON)? {
            self.failures.push(format!("{what}: {complaint}"));
        }
        self.restore()
    }
}

/// Shapes that an argument must not have, and which arguments an error may then name: it, or, where it
/// is the one that gives the size its value, the next that has the size, or may derive one from it.
fn wrong_shapes(arguments: &[ArgumentInfo], at: usize) -> Vec<(Vec<usize>, Vec<&'static str>)> {
    let argument = &arguments[at];
    let axes = axes(argument);
    let mut wrong = Vec::new();
    let mut add = |shape, name: Option<&'static str>| {
        let own = vec![argument.name];
        let blamed = match name {
            Some(name) if is_free(name) && !takes(&arguments[..at], name) => {
                let later = &arguments[at + 1..];
                let Some(next) = later.iter().position(|other| self::axes(other).contains(&name))
                else {
                    return;
                };
                let derived =
                    |other: &&ArgumentInfo| self::axes(other).iter().any(|axis| is_derived(axis));
                let mut blamed: Vec<_> =
                    later[..next].iter().filter(derived).map(|of| of.name).collect();
                // Or the argument itself, if the size follows from one before.
                blamed.extend([later[next].name, argument.name]);
                blamed
            }
            _ => own,
        };
        wrong.push((shape, blamed));
    };
    // A tensor of one element may have any rank, and so may one of which only the number counts.
    let any_rank = |axis: &&str| *axis == "1" || axis.starts_with('#');
    if axes.is_empty() || !axes.iter().all(any_rank) {
        let leading = argument.dims.first().copied().filter(|dim| *dim == LEADING);
        // One row of a vector may be right, two are not.
        let rows = if argument.or_row { 2 } else { 1 };
        add([&[rows], &argument.shape[..]].concat(), leading);
    }
    for (i, (axis, size)) in axes.iter().zip(&argument.shape).enumerate() {
        let step = if i + 1 == axes.len() { argument.dtype.pack() } else { 1 };
        for other in [size + step, size.saturating_sub(step)] {
            // A size of 0 is another matter, and a name that comes twice is no size of others.
            if other > 0
                && axes.iter().filter(|other| *other == axis && *axis != LEADING).count() < 2
            {
                let mut shape = argument.shape.clone();
                shape[i] = other;
                add(shape, Some(*axis));
            }
        }
    }
    wrong
}

/// Any number of dimensions, as ops declare them.
const LEADING: &str = "..";

/// The name of each of an argument's dimensions.
fn axes(argument: &ArgumentInfo) -> Vec<&'static str> {
    let (dims, rank) = (argument.dims, argument.shape.len());
    let named = dims.strip_prefix(&[LEADING]).unwrap_or(dims);
    let mut axes = vec![LEADING; rank - named.len()];
    axes.extend(named);
    axes
}

/// Whether a size is what some argument says it is.
fn is_free(name: &str) -> bool {
    name == LEADING || name.chars().all(|c| c.is_ascii_alphabetic() || c == '_')
}

/// Whether a size follows from others.
fn is_derived(name: &str) -> bool {
    !is_free(name) && name.parse::<usize>().is_err()
}

/// Whether one of the arguments has a size.
fn takes(arguments: &[ArgumentInfo], name: &str) -> bool {
    arguments.iter().any(|argument| axes(argument).contains(&name))
}

macro_rules! flat {
    ($($variant:ident: $carrier:ty),*) => {
        /// Memory for elements of any type of a size.
        #[derive(Debug)]
        pub(super) enum Flat {
            $(#[doc = "As that type."] $variant(Tensor<$carrier>),)*
        }

        impl Flat {
            fn new(stream: &Stream, dtype: DType, len: usize) -> Result<Self> {
                $(if (dtype.size(), dtype.pack()) == (size_of::<$carrier>(), <$carrier>::PACK) {
                    return Ok(Self::$variant(poisoned(stream, &[len])?));
                })*
                unreachable!("elements of {dtype} are as large as one of the above")
            }

            /// Another owner of it.
            fn alias(&self) -> Self {
                match self {
                    // SAFETY: an op is given both, to refuse them.
                    $(Self::$variant(tensor) => Self::$variant(unsafe { tensor.alias() }),)*
                }
            }

            /// The elements from there on, as of another type.
            pub(super) fn part<T: Element>(&self, start: usize, shape: &[usize]) -> Result<Tensor<T>> {
                let end = start + shape.iter().product::<usize>();
                match self {
                    $(Self::$variant(tensor) => {
                        let part = tensor.slice(start..end)?.reshape(shape)?;
                        // SAFETY: an op is given both, to refuse them.
                        Ok(unsafe { part.bitcast()?.alias() })
                    })*
                }
            }
        }
    };
}

flat!(Packed: F4x2E2M1, One: u8, Two: f16, Four: u32, Eight: i64);

/// A tensor all of whose bytes are poison.
pub(super) fn poisoned<T: Element>(stream: &Stream, shape: &[usize]) -> Result<Tensor<T>> {
    let element = bytemuck::pod_read_unaligned(&vec![POISON; size_of::<T>()]);
    Tensor::filled(stream, shape, element)
}
