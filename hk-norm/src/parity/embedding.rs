//! Cases of `embedding`.

use hk_core::dtype::{DType, Element, Real, decode};
use hk_core::op::indices::Indices;
use hk_core::op::rows::RowOptions;
use hk_ref::norm::embedding::embedding as reference;
use hk_ref::{
    Arg, Case, CaseInfo, Draw, Edge, Expected, Placement, REALS, Setup, Size, real, unit_roundoff,
};

use crate::{EmbeddingOptions, embedding_into};

/// How tables and their ids are called.
const NAMES: [[&str; 2]; 3] =
    [["table", "ids"], ["second_table", "second_ids"], ["third_table", "third_ids"]];

/// What tables hold.
#[derive(Clone, Copy, PartialEq)]
enum Content {
    /// Drawn numbers.
    Drawn,
    /// The same, of which every third is a zero with a sign, which a row of one table keeps.
    Zeros,
    /// In each column, numbers of one table, half a step of y of another, and zeros: sums that are exact,
    /// and ties where signs are alike.
    Exact,
}

/// What varies between cases, apart from element types.
#[derive(Clone, Copy)]
struct Spec {
    /// Ids in two dimensions, and elements of a row.
    shape: [usize; 3],
    /// Rows of each table; 0 if there is none.
    tables: [usize; 3],
    name: &'static str,
    /// Bits of ids.
    bits: u32,
    /// Whether some ids are no rows, and not looked at.
    wild: bool,
    content: Content,
    workgroups: Option<u32>,
    place: Placement,
    size: Size,
}

impl Spec {
    const fn new(shape: [usize; 3], tables: [usize; 3], name: &'static str) -> Self {
        let (bits, wild, content, workgroups) = (32, false, Content::Drawn, None);
        let (place, size) = (Placement::DENSE, Size::Quick);
        Self { shape, tables, name, bits, wild, content, workgroups, place, size }
    }

    fn case(self, table: DType, y: DType) -> Case {
        let [a, b, width] = self.shape;
        let tables = self.tables;
        let wild = if self.wild { ", wild ids" } else { "" };
        let groups = self.workgroups.map(|of| format!(", workgroups {of}")).unwrap_or_default();
        let name = format!("{}, tables {tables:?}, i{}{wild}{groups}", self.name, self.bits);
        let info = CaseInfo::new("embedding", "embedding", name, &[table, y], &[a, b, width]);
        let set_up = move |s: &mut Setup| real!(table, T => real!(y, Y => set_up::<T, Y>(s, self)));
        Case::new(info, set_up).place(self.place).size(self.size).writes_once()
    }

    /// Ids of table `t`: its last and its first row among them.
    fn ids(&self, t: usize) -> Vec<i64> {
        let [a, b, _] = self.shape;
        let rows = self.tables[t] as i64;
        // The lower half of those of 64 bits is a row.
        let far =
            if self.bits == 64 { [1 << 32, i64::MIN] } else { [i32::MAX, i32::MIN].map(i64::from) };
        let wrong = [-1, rows, far[0], far[1]];
        let id = |i: i64| match i {
            _ if self.wild && i % 5 == t as i64 => wrong[(i as usize / 5 + t) % 4],
            0 => rows - 1,
            i => (i - 1) * (7 + t as i64) % rows,
        };
        (0..(a * b) as i64).map(id).collect()
    }
}

/// Elements of table `t`, whose sums become numbers of that type.
fn elements<T: Real>(s: &Setup, spec: Spec, t: usize, y: DType) -> Vec<T> {
    let (shape, name) = ([spec.tables[t], spec.shape[2]], NAMES[t][0]);
    let drawn = |draw| s.draw::<T>(name, &shape, draw);
    match spec.content {
        Content::Drawn => drawn(Draw::Normal),
        Content::Zeros => {
            let mut table = drawn(Draw::Normal);
            table.iter_mut().step_by(3).for_each(|element| *element = T::from_f64(-0.0));
            table
        }
        Content::Exact => {
            let number = |(at, drawn): (usize, &T)| {
                let (row, column) = (at / shape[1], at % shape[1]);
                let size = match (column + t) % 3 {
                    // An even number of 8 bits.
                    0 => 2.0 * (64.0 + drawn.to_f64()),
                    1 => 128.0 * unit_roundoff(y),
                    _ => 0.0,
                };
                T::from_f64(if row % 2 == 0 { size } else { -size })
            };
            drawn(Draw::Integers(0, 64)).iter().enumerate().map(number).collect()
        }
    }
}

/// Ids at that place, if it is one across 4 GiB.
fn carried<I: Element>(ids: Arg<I>, place: Placement) -> Arg<I> {
    if place.carry.is_some() { ids.place(place) } else { ids }
}

/// Ids as the op takes them.
enum Ids {
    I32(Arg<i32>),
    I64(Arg<i64>),
}

fn set_up<T: Real, Y: Real>(s: &mut Setup, spec: Spec) {
    let [a, b, width] = spec.shape;
    let count = spec.tables.iter().filter(|rows| **rows > 0).count();
    let mut tables = Vec::new();
    let mut numbers = Vec::new();
    let second = s.carried(|_| 1);
    for (t, [name, ids_name]) in NAMES.into_iter().enumerate().take(count) {
        let table: Vec<T> = elements(s, spec, t, Y::DTYPE);
        let ids = spec.ids(t);
        numbers.push((decode(&table), ids.clone()));
        let table = s.given(name, &[spec.tables[t], width], table);
        let narrow = ids.iter().filter_map(|id| i32::try_from(*id).ok()).collect();
        let ids = match spec.bits {
            64 => Ids::I64(carried(s.given(ids_name, &[a, b], ids), second)),
            _ => Ids::I32(carried(s.given(ids_name, &[a, b], narrow), second)),
        };
        tables.push((table, ids));
    }
    let lookups: Vec<_> = numbers.iter().map(|(table, ids)| (&table[..], &ids[..])).collect();
    let (y, slack) = reference(&lookups, width);
    let y = match count {
        1 if spec.content == Content::Zeros => {
            // Not sums, which begin with a zero that has no sign.
            let (table, ids) = &numbers[0];
            let row = |id: &i64| table[*id as usize * width..][..width].to_vec();
            Expected::bits(&Y::encode(&ids.iter().flat_map(row).collect::<Vec<_>>()))
        }
        // Of one table, each is its element, rounded.
        1 => Expected::exact(decode(&Y::encode(&y))),
        _ if spec.content == Content::Exact => Expected::exact(decode(&Y::encode(&y))),
        _ => Expected::rounded(y, Y::DTYPE, false).plus(slack),
    };
    let y = s.output::<Y>("y", &[a, b, width], y);
    s.call(move || {
        let tensors: Vec<_> = tables.iter().map(|(table, _)| table.get()).collect();
        let rows = spec.workgroups.into_iter().fold(RowOptions::default(), RowOptions::workgroups);
        let options = EmbeddingOptions::default().rows(rows);
        let options = if spec.wild { options.validate_indices(false) } else { options };
        let of = |ids: &Ids| match ids {
            Ids::I32(ids) => (Some(ids.get()), None),
            Ids::I64(ids) => (None, Some(ids.get())),
        };
        let ids: Vec<_> = tables.iter().map(|(_, ids)| of(ids)).collect();
        let indices = ids.iter().filter_map(|(narrow, wide)| {
            narrow.as_ref().map(Indices::from).or_else(|| wide.as_ref().map(Indices::from))
        });
        let mut lookups = tensors.iter().zip(indices);
        let Some((table, ids)) = lookups.next() else { return Ok(()) };
        let options = lookups.fold(options, |options, (table, ids)| options.plus(table, ids));
        embedding_into(table, ids, &options, &mut y.get())
    });
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut specs = vec![
        // As BERT has it, and a plain lookup.
        Spec::new([2, 9, 384], [61, 16, 2], "sentences"),
        Spec::new([1, 5, 64], [17, 0, 0], "plain"),
        // Less than a chunk, an odd end, more pieces than one, and nothing.
        Spec::new([1, 3, 1], [2, 3, 0], "narrow"),
        Spec::new([3, 2, 7], [2, 3, 1], "narrow"),
        Spec::new([1, 4, 1029], [5, 2, 0], "wide"),
        Spec::new([1, 4, 1534], [5, 0, 0], "wide"),
        Spec::new([0, 3, 16], [5, 0, 0], "no ids"),
        Spec { wild: true, ..Spec::new([2, 8, 130], [9, 4, 3], "plain") },
        Spec { bits: 64, ..Spec::new([2, 3, 96], [11, 5, 0], "plain") },
        Spec { bits: 64, wild: true, ..Spec::new([1, 16, 41], [3, 4, 5], "plain") },
    ];
    let alone = |spec| Spec { workgroups: Some(1), ..spec };
    for width in [41, 42] {
        let zeros = Spec::new([1, 6, width], [7, 0, 0], "zeros with signs");
        specs.push(alone(Spec { content: Content::Zeros, ..zeros }));
    }
    // Three pieces of a row, which four waves do not take all at once.
    for width in [1030, 1031] {
        specs.push(alone(Spec::new([1, 5, width], [5, 2, 0], "turns of pieces")));
    }
    let mut cases: Vec<_> = specs
        .into_iter()
        .flat_map(|spec| REALS.into_iter().map(move |dtype| spec.case(dtype, dtype)))
        .collect();
    // Last rows in the first turn of a wave and in later ones, up to the end of memory; and sums that
    // show every bit, of rows that end in the first lanes or in others.
    let end = Placement::DENSE.gap(3).edge(Edge::End);
    for (table, y) in REALS.into_iter().flat_map(|table| REALS.map(|y| (table, y))) {
        for width in [520, 521] {
            let ends = alone(Spec::new([1, 6, width], [4, 3, 2], "end of memory"));
            cases.push(Spec { place: end, ..ends }.case(table, y));
        }
        for width in [43, 44, 265] {
            let exact = alone(Spec::new([2, 3, width], [5, 4, 3], "exact sums"));
            cases.push(Spec { content: Content::Exact, ..exact }.case(table, y));
        }
    }
    // Several turns of each wave, with gaps, of whole dwords or not.
    for (width, bits) in [(520, 32), (521, 32), (520, 64), (521, 64)] {
        let place = Placement::DENSE.gap(5).shift(3);
        let turns = Spec::new([3, 5, width], [23, 8, 2], "turns");
        let turns = Spec { bits, wild: bits == 64, workgroups: Some(2), place, ..turns };
        for table in REALS {
            cases.extend(REALS.map(|y| turns.case(table, y)));
        }
    }
    // Rows beyond 2^32 bytes.
    let far = Placement::DENSE.gap(3 << 30);
    for dtype in REALS {
        let spec = Spec::new([1, 3, 44], [3, 0, 0], "rows far apart");
        cases.push(Spec { place: far, size: Size::Core, ..spec }.case(dtype, dtype));
    }
    for (width, y) in [43, 44].into_iter().flat_map(|width| REALS.map(|y| (width, y))) {
        // Beyond 2^32 elements, in the first turn of a wave and in a later one.
        for count in [2, 6] {
            let place = Placement::DENSE.gap(1 << 32);
            let far = alone(Spec::new([1, count, width], [2, 0, 0], "rows far apart"));
            let far = Spec { place, size: Size::Core, ..far };
            cases.push(far.case(DType::Bf16, y));
        }
        // Of tables and of y the second row, of ids the second one.
        for bits in [32, 64] {
            let place = Placement::DENSE.carry(width + 3);
            let carried = alone(Spec::new([1, 6, width], [3, 3, 0], "across 4 GiB"));
            cases.push(Spec { bits, place, size: Size::Core, ..carried }.case(y, y));
        }
    }
    let model = Spec { size: Size::Large, ..Spec::new([32, 256, 384], [30_522, 512, 2], "model") };
    cases.push(model.case(DType::F16, DType::F16));
    cases
}
