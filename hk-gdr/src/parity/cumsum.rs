//! Cases of `cumsum_scalar` and `cumsum_vector`.

use hk_core::dtype::{DType, Real};
use hk_ref::expected::{half_subnormal, unit_roundoff};
use hk_ref::gdr::cumsum::cumsum as reference;
use hk_ref::{Arg, Case, CaseInfo, Draw, Expected, Placement, REALS, Setup, Size, real};

use super::indices::{IndexArg, IndexTensor, bounds_of, indices};
use crate::{CumsumOptions, cumsum_scalar_into, cumsum_vector_into};

/// What varies between cases.
#[derive(Debug, Clone)]
struct Spec {
    name: &'static str,
    /// Tokens of each sequence.
    lengths: Vec<usize>,
    /// Whether sequences follow each other rather than having one length.
    packed: bool,
    heads: usize,
    /// Elements of a head, if it has several.
    elements: Option<usize>,
    chunk: usize,
    reverse: bool,
    scale: Option<f32>,
    /// Whether heads are first in s, and in o.
    head_first: [bool; 2],
    dtypes: [DType; 2],
    /// Whether some numbers are infinite or NaN.
    special: bool,
    /// Whether bounds are beside the tokens.
    wild: bool,
    place: Placement,
    in_place: bool,
    size: Size,
}

impl Spec {
    fn new(name: &'static str, lengths: &[usize], heads: usize, chunk: usize) -> Self {
        Self {
            name,
            lengths: lengths.to_vec(),
            packed: false,
            heads,
            elements: None,
            chunk,
            reverse: false,
            scale: None,
            head_first: [false; 2],
            dtypes: [DType::F32; 2],
            special: false,
            wild: false,
            place: Placement::DENSE,
            in_place: false,
            size: Size::Quick,
        }
    }

    fn packed(self) -> Self {
        Self { packed: true, ..self }
    }

    /// Forward and in reverse.
    fn both_ways(self) -> [Self; 2] {
        [self.clone(), Self { reverse: true, ..self }]
    }

    fn batches(&self) -> usize {
        if self.packed { 1 } else { self.lengths.len() }
    }

    fn tokens(&self) -> usize {
        if self.packed { self.lengths.iter().sum() } else { self.lengths[0] }
    }

    fn shape(&self, head_first: bool) -> Vec<usize> {
        let [first, second] = match head_first {
            true => [self.heads, self.tokens()],
            false => [self.tokens(), self.heads],
        };
        [self.batches(), first, second].into_iter().chain(self.elements).collect()
    }

    /// The number of an element of a sequence's token.
    fn at(&self, head_first: bool, [sequence, token, head, element]: [usize; 4]) -> usize {
        let (batch, token) = match self.packed {
            true => (0, self.lengths[..sequence].iter().sum::<usize>() + token),
            false => (sequence, token),
        };
        let (tokens, heads) = (self.tokens(), self.heads);
        let row = match head_first {
            true => (batch * heads + head) * tokens + token,
            false => (batch * tokens + token) * heads + head,
        };
        row * self.elements.unwrap_or(1) + element
    }

    fn case(self) -> Case {
        let op = if self.elements.is_some() { "cumsum_vector" } else { "cumsum_scalar" };
        let Self { name, chunk, reverse, scale, head_first, .. } = self;
        let mut title = format!("{name}, chunks of {chunk}");
        for (is_said, what) in [
            (self.packed, ", packed"),
            (reverse, ", reverse"),
            (head_first[0], ", heads first"),
            (head_first[1] != head_first[0], ", to the other order"),
            (self.in_place, ", in place"),
        ] {
            title += if is_said { what } else { "" };
        }
        title += &scale.map(|scale| format!(", times {scale}")).unwrap_or_default();
        title += &self.place.carry.map(|at| format!(", 4 GiB at {at}")).unwrap_or_default();
        let mut shape = self.shape(head_first[0]);
        if self.packed {
            shape[0] = self.lengths.len();
        }
        let info = CaseInfo::new("cumsum", op, title, &self.dtypes, &shape);
        let (place, in_place, size) = (self.place, self.in_place, self.size);
        let [from, to] = self.dtypes;
        let set_up =
            move |s: &mut Setup| real!(from, T => real!(to, O => set_up::<T, O>(s, &self)));
        Case::new(info, set_up).place(place).in_place(in_place).size(size).writes_once()
    }
}

fn set_up<T: Real, O: Real>(s: &mut Setup, spec: &Spec) {
    let [from, to] = spec.head_first;
    let shape = spec.shape(from);
    let mut elements: Vec<T> = s.draw("s", &shape, Draw::Normal);
    if spec.special {
        for (i, number) in [f64::NEG_INFINITY, f64::NAN, f64::INFINITY].into_iter().enumerate() {
            let at = spec.at(from, [0, 5 + 7 * i, i % spec.heads, 0]);
            elements[at] = T::from_f64(number);
        }
    }
    let x = s.given("s", &shape, elements);
    let numbers = x.numbers();
    let mut values = vec![0.0; numbers.len()];
    let mut allowed = values.clone();
    let scale = f64::from(spec.scale.unwrap_or(1.0));
    for (sequence, length) in spec.lengths.iter().enumerate() {
        for head in 0..spec.heads {
            for element in 0..spec.elements.unwrap_or(1) {
                let at = |order, token| spec.at(order, [sequence, token, head, element]);
                let column: Vec<f64> = (0..*length).map(|t| numbers[at(from, t)]).collect();
                let sums = reference(&column, spec.chunk, spec.reverse, scale);
                for (t, (sum, size)) in sums.into_iter().enumerate() {
                    values[at(to, t)] = sum;
                    allowed[at(to, t)] = 4e-6 * size;
                }
            }
        }
    }
    let rounding = match O::DTYPE {
        DType::F32 => 0.0,
        dtype => unit_roundoff(dtype),
    };
    for (value, allowed) in values.iter().zip(&mut allowed) {
        *allowed += rounding * (value.abs() + *allowed) + half_subnormal(O::DTYPE);
        // Infinities and NaN are exact.
        *allowed = if value.is_finite() { *allowed } else { 0.0 };
    }
    let o = Expected { values, allowed, ..Expected::default() };
    let o = s.output::<O>("o", &spec.shape(to), o);
    let bounds = spec.packed.then(|| {
        let mut bounds = bounds_of(&spec.lengths);
        if spec.wild {
            bounds[0] = i64::MIN;
            bounds[spec.lengths.len()] = i64::MAX;
        }
        indices(s, "cu_seqlens", bounds, spec.wild)
    });
    let spec = spec.clone();
    s.call(move || {
        let bounds = bounds.as_ref().map(IndexArg::get);
        let mut options = CumsumOptions::default().reverse(spec.reverse).head_first(from);
        if to != from {
            options = options.output_head_first(to);
        }
        if let Some(scale) = spec.scale {
            options = options.scale(scale);
        }
        if let Some(bounds) = bounds.as_ref().map(IndexTensor::indices) {
            options = options.cu_seqlens(bounds).validate_indices(!spec.wild);
        }
        let (x, o): (&Arg<T>, &Arg<O>) = (&x, &o);
        match spec.elements {
            Some(_) => cumsum_vector_into(&x.get(), spec.chunk, &options, &mut o.get()),
            None => cumsum_scalar_into(&x.get(), spec.chunk, &options, &mut o.get()),
        }
    });
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    let mut add = |spec: Spec| specs.extend(spec.both_ways());
    let plain = |lengths: &[usize], heads, chunk| Spec::new("plain", lengths, heads, chunk);
    add(plain(&[256, 256], 4, 64));
    add(Spec { elements: Some(32), ..plain(&[256, 256], 4, 64) });
    for tokens in [1, 63, 64, 65, 1000] {
        add(plain(&[tokens; 2], 3, 64));
        add(Spec { head_first: [true; 2], ..plain(&[tokens; 2], 3, 64) });
    }
    for chunk in [16, 32, 64, 128, 256] {
        for head_first in [[false, false], [true, true], [false, true], [true, false]] {
            add(Spec { head_first, ..plain(&[300, 300], 20, chunk) });
        }
        add(plain(&[15, 85, 200, 0, 33], 33, chunk).packed());
        add(Spec { elements: Some(31), head_first: [true, false], ..plain(&[290; 2], 2, chunk) });
    }
    let scale = Some(std::f32::consts::LOG2_E);
    for (head_first, elements) in [([false, true], None), ([true, false], Some(3))] {
        let dtypes = [DType::Bf16, DType::F16];
        let spec = Spec { head_first, elements, scale, dtypes, ..plain(&[15, 40, 0, 33], 5, 32) };
        add(spec.packed());
    }
    for elements in [1, 31, 128] {
        add(Spec { elements: Some(elements), ..plain(&[70, 70], 2, 64) });
        add(Spec { elements: Some(elements), ..plain(&[70, 3, 2], 2, 16) }.packed());
    }
    let long = [15, 85, 200, 900, 800];
    add(plain(&long, 4, 64).packed());
    add(Spec { head_first: [true; 2], ..plain(&long, 4, 64).packed() });
    add(plain(&[0, 0, 1, 0, 64, 65, 0], 5, 64).packed());
    add(Spec { name: "wild bounds", wild: true, ..plain(&[20, 0, 33], 5, 16).packed() });
    for from in REALS {
        for to in REALS {
            let dtypes = [from, to];
            let scale = Some(std::f32::consts::LOG2_E);
            for head_first in [[false; 2], [true; 2]] {
                add(Spec { dtypes, scale, head_first, ..plain(&[77, 77], 18, 32) });
            }
        }
        let dtypes = [from; 2];
        add(Spec { dtypes, in_place: true, ..plain(&[77, 77], 18, 32) });
        let gap = Placement::DENSE.gap(16).shift(1);
        add(Spec { name: "gaps", dtypes, place: gap, ..plain(&[77, 77], 18, 32) });
    }
    for head_first in [[false; 2], [true; 2]] {
        let special = Spec { special: true, head_first, ..plain(&[80, 80], 2, 32) };
        add(Spec { name: "infinities and NaN", ..special });
        let carry = Placement::DENSE.carry(777);
        let spec = Spec { head_first, place: carry, ..plain(&[77, 77], 18, 32) };
        add(Spec { size: Size::Core, ..spec });
    }
    add(Spec { size: Size::Large, ..plain(&[8192], 32, 64) });
    add(Spec { size: Size::Large, elements: Some(128), ..plain(&[2048], 4, 64) });
    specs.into_iter().map(Spec::case).collect()
}
