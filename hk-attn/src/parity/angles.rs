//! Angles of cases, and how their rows are rotated.

use std::fmt;

use hk_core::Result;
use hk_core::dtype::Real;
use hk_core::op::indices::Indices;
use hk_ref::attn::rope::{ANGLES, Rope, TABLES};
use hk_ref::{Arg, Draw, Setup, Size};

use crate::{Angles, RopeOptions, RopeStyle};

/// How rows of a case are rotated.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Turns {
    pub(super) style: RopeStyle,
    pub(super) per_element: bool,
    pub(super) nope_first: bool,
    /// Angles instead of tables.
    pub(super) freqs: bool,
    /// Bits of positions, if there are any.
    pub(super) positions: Option<u32>,
    pub(super) offsets: bool,
    /// Rows of the tables, if there are positions.
    pub(super) rows: usize,
    /// Indices outside of what they count.
    pub(super) wild: bool,
}

impl Turns {
    pub(super) const DEFAULT: Self = Self {
        style: RopeStyle::Neox,
        per_element: false,
        nope_first: false,
        freqs: false,
        positions: None,
        offsets: false,
        rows: 37,
        wild: false,
    };

    /// Each style, with tables of pairs and of elements, of the first and of the last elements of a
    /// row.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        (0..8).map(|bits| Self {
            style: if bits & 1 == 0 { RopeStyle::Neox } else { RopeStyle::Gptj },
            per_element: bits & 2 != 0,
            nope_first: bits & 4 != 0,
            ..Self::DEFAULT
        })
    }

    pub(super) fn options(&self) -> RopeOptions<'static> {
        let options = RopeOptions::default().style(self.style).nope_first(self.nope_first);
        let options = options.reuse_freqs_front_part(!self.per_element);
        if self.wild { options.validate_indices(false) } else { options }
    }

    /// Parts of a pair's magnitudes that its elements may be off.
    pub(super) fn slack(&self) -> f64 {
        if self.freqs { ANGLES } else { TABLES }
    }

    /// Of rows of `width` elements of which `dim` are rotated.
    pub(super) fn rope(&self, dim: usize, width: usize) -> Rope {
        Rope {
            dim,
            first: if self.nope_first { width - dim } else { 0 },
            interleaved: self.style == RopeStyle::Gptj,
            paired: !self.per_element,
        }
    }
}

impl fmt::Display for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ", {:?}", self.style)?;
        for (holds, name) in [
            (self.per_element, "columns of elements"),
            (self.nope_first, "nope first"),
            (self.freqs, "angles"),
            (self.offsets, "offsets"),
        ] {
            if holds {
                write!(f, ", {name}")?;
            }
        }
        let Some(bits) = self.positions else { return Ok(()) };
        write!(f, ", positions of {bits} bits")?;
        if self.rows == Self::DEFAULT.rows { Ok(()) } else { write!(f, " below {}", self.rows) }
    }
}

/// The size of a case with so many elements.
pub(super) fn size_of_rows(elements: usize) -> Size {
    if elements < 10_000 { Size::Quick } else { Size::Core }
}

/// Positions, offsets or slots.
pub(super) enum Numbers {
    I32(Arg<i32>),
    I64(Arg<i64>),
}

impl Numbers {
    pub(super) fn given(
        s: &mut Setup,
        name: &'static str,
        dims: &[usize],
        numbers: &[i64],
        bits: u32,
    ) -> Self {
        match bits {
            32 => {
                let numbers = numbers.iter().map(|number| *number as i32).collect();
                Self::I32(s.given(name, dims, numbers))
            }
            _ => Self::I64(s.given(name, dims, numbers.to_vec())),
        }
    }

    pub(super) fn with<R>(&self, body: impl FnOnce(Indices<'_>) -> R) -> R {
        match self {
            Self::I32(list) => body((&list.get()).into()),
            Self::I64(list) => body((&list.get()).into()),
        }
    }

    pub(super) fn with_one<R>(
        list: Option<&Self>,
        body: impl FnOnce(Option<Indices<'_>>) -> R,
    ) -> R {
        match list {
            None => body(None),
            Some(list) => list.with(|list| body(Some(list))),
        }
    }
}

/// Tables of a case, and the position of each token.
pub(super) struct CaseAngles<W: Real> {
    /// Of cosines and sines, or of angles.
    tables: Vec<Arg<W>>,
    positions_of_tokens: Option<Numbers>,
    offsets: Option<Numbers>,
    columns: usize,
    cos: Vec<f64>,
    sin: Vec<f64>,
    /// The row of the tables for each token.
    pub(super) positions: Vec<usize>,
}

/// Angles for tokens of those dimensions, which are at `place_of` if no positions are given.
pub(super) fn tables<W: Real>(
    s: &mut Setup,
    rope: &Rope,
    turns: Turns,
    dims: &[usize],
    place_of: impl Fn(usize) -> usize,
) -> CaseAngles<W> {
    let tokens: usize = dims.iter().product();
    let places: Vec<usize> = (0..tokens).map(place_of).collect();
    let needed = places.iter().max().map_or(1, |last| last + 1).max(dims[0]);
    let rows = if turns.positions.is_some() { turns.rows } else { needed };
    // Tables of more dimensions than two are the same.
    let columns = rope.columns();
    let shape = if turns.freqs { vec![rows, 1, 1, columns] } else { vec![rows, columns] };
    let angles: Vec<f64> = s
        .draw::<f32>("angles", &shape, Draw::Spread)
        .into_iter()
        .map(|angle| f64::from(angle).clamp(-1048576.0, 1048576.0))
        .collect();
    let (mut tables, cos, sin);
    if turns.freqs {
        let freqs = s.given("freqs", &shape, W::encode(&angles));
        let angles = freqs.numbers();
        cos = angles.iter().map(|angle| angle.cos()).collect();
        sin = angles.iter().map(|angle| angle.sin()).collect();
        tables = vec![freqs];
    } else {
        tables = Vec::new();
        let mut given = |name, function: fn(f64) -> f64| {
            let values: Vec<f64> = angles.iter().map(|angle| function(*angle)).collect();
            let table = s.given(name, &shape, W::encode(&values));
            let numbers = table.numbers();
            tables.push(table);
            numbers
        };
        cos = given("cos", f64::cos);
        sin = given("sin", f64::sin);
    }
    let (mut positions, mut positions_of_tokens, mut offsets) = (places, None, None);
    if let Some(bits) = turns.positions {
        let last = rows as i64 - 1;
        let range = if turns.wild { Draw::Integers(-60, 100) } else { Draw::Integers(0, last + 1) };
        let mut given: Vec<i64> = s.draw("positions", dims, range);
        if turns.wild {
            // The nearest that there are not.
            given.iter_mut().skip(1).zip([-1, last + 1]).for_each(|(at, to)| *at = to);
        }
        let mut more = vec![0; tokens];
        if turns.offsets {
            let wanted = given.clone();
            more = s.draw("offsets", dims, Draw::Integers(-20, 20));
            given.iter_mut().zip(&more).zip(wanted).for_each(|((at, more), to)| *at = to - more);
            offsets = Some(Numbers::given(s, "offsets", dims, &more, bits));
        }
        if turns.wild && bits == 64 {
            given.iter_mut().step_by(3).for_each(|at| *at <<= 32);
        }
        let rows = given.iter().zip(&more).map(|(at, more)| (at + more).clamp(0, last) as usize);
        positions = rows.collect();
        positions_of_tokens = Some(Numbers::given(s, "positions", dims, &given, bits));
    }
    CaseAngles { tables, positions_of_tokens, offsets, columns, cos, sin, positions }
}

impl<W: Real> CaseAngles<W> {
    /// The rows of cosines and of sines for a position.
    pub(super) fn rows(&self, position: usize) -> [&[f64]; 2] {
        [&self.cos, &self.sin].map(|table| &table[position * self.columns..][..self.columns])
    }

    /// Calls `body` with what an op takes.
    pub(super) fn with(&self, body: impl FnOnce(&Angles<'_, W>) -> Result<()>) -> Result<()> {
        let tables: Vec<_> = self.tables.iter().map(Arg::get).collect();
        let angles = match &tables[..] {
            [cos, sin] => Angles::tables(cos, sin),
            tables => Angles::freqs(&tables[0]),
        };
        Numbers::with_one(self.positions_of_tokens.as_ref(), |positions| {
            Numbers::with_one(self.offsets.as_ref(), |offsets| {
                let angles = positions.into_iter().fold(angles, Angles::positions);
                body(&offsets.into_iter().fold(angles, Angles::offsets))
            })
        })
    }
}
