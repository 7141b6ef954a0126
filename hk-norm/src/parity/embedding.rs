//! Cases of `embedding`.

use hk_core::dtype::{DType, Real, decode};
use hk_core::op::indices::Indices;
use hk_core::op::rows::RowOptions;
use hk_ref::norm::embedding::embedding as reference;
use hk_ref::{Arg, Case, CaseInfo, Draw, Edge, Expected, Placement, REALS, Setup, Size, real};

use crate::{EmbeddingOptions, embedding_into};

/// How tables and their ids are called.
const NAMES: [[&str; 2]; 3] =
    [["table", "ids"], ["second_table", "second_ids"], ["third_table", "third_ids"]];

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
    /// Whether every third element is a zero with a sign, which a row of one table keeps.
    zeros: bool,
    workgroups: Option<u32>,
    place: Placement,
    size: Size,
}

impl Spec {
    const fn new(shape: [usize; 3], tables: [usize; 3], name: &'static str) -> Self {
        let (bits, wild, zeros, workgroups) = (32, false, false, None);
        let (place, size) = (Placement::DENSE, Size::Quick);
        Self { shape, tables, name, bits, wild, zeros, workgroups, place, size }
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
        let id = |i: i64| match i {
            _ if self.wild && i % 5 == t as i64 => [-1, rows, i64::from(i32::MAX)][i as usize % 3],
            0 => rows - 1,
            i => (i - 1) * (7 + t as i64) % rows,
        };
        (0..(a * b) as i64).map(id).collect()
    }
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
    for (t, [name, ids_name]) in NAMES.into_iter().enumerate().take(count) {
        let mut table: Vec<T> = s.draw(name, &[spec.tables[t], width], Draw::Normal);
        if spec.zeros {
            table.iter_mut().step_by(3).for_each(|element| *element = T::from_f64(-0.0));
        }
        let ids = spec.ids(t);
        numbers.push((decode(&table), ids.clone()));
        let table = s.given(name, &[spec.tables[t], width], table);
        let narrow = ids.iter().filter_map(|id| i32::try_from(*id).ok()).collect();
        let ids = match spec.bits {
            64 => Ids::I64(s.given(ids_name, &[a, b], ids)),
            _ => Ids::I32(s.given(ids_name, &[a, b], narrow)),
        };
        tables.push((table, ids));
    }
    let lookups: Vec<_> = numbers.iter().map(|(table, ids)| (&table[..], &ids[..])).collect();
    let (y, slack) = reference(&lookups, width);
    let y = match count {
        1 if spec.zeros => {
            // Not sums, which begin with a zero that has no sign.
            let (table, ids) = &numbers[0];
            let row = |id: &i64| table[*id as usize * width..][..width].to_vec();
            Expected::bits(&Y::encode(&ids.iter().flat_map(row).collect::<Vec<_>>()))
        }
        // Of one table, each is its element, rounded.
        1 => Expected::exact(decode(&Y::encode(&y))),
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
        Spec { zeros: true, ..Spec::new([1, 5, 41], [7, 0, 0], "zeros with signs") },
        Spec { wild: true, ..Spec::new([2, 8, 130], [9, 4, 3], "plain") },
        Spec { bits: 64, ..Spec::new([2, 3, 96], [11, 5, 0], "plain") },
        Spec { bits: 64, wild: true, ..Spec::new([1, 16, 41], [3, 4, 5], "plain") },
    ];
    for width in [520, 521] {
        let end = Placement::DENSE.gap(3).edge(Edge::End);
        specs.push(Spec { place: end, ..Spec::new([1, 6, width], [4, 3, 2], "end of memory") });
    }
    let mut cases: Vec<_> = specs
        .into_iter()
        .flat_map(|spec| REALS.into_iter().map(move |dtype| spec.case(dtype, dtype)))
        .collect();
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
    let model = Spec { size: Size::Large, ..Spec::new([32, 256, 384], [30_522, 512, 2], "model") };
    cases.push(model.case(DType::F16, DType::F16));
    cases
}
