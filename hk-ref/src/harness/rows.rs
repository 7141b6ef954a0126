//! What the cases of all row-wise ops have in common: rows for every way in which `hk/rows.h` takes
//! them.

use hk_core::dtype::DType;
use hk_core::op::rows::RowOptions;

use super::{Case, CaseInfo, REALS, Setup, Size};
use crate::guarded::{Edge, Placement};

/// Rows of a case: how many, where, and how the op is launched on them.
#[derive(Debug, Clone, Copy)]
pub struct RowCase {
    /// `[rows, width]`.
    pub shape: [usize; 2],
    /// What the case is about.
    pub name: &'static str,
    /// The tile configuration, if it is not the one that is chosen for such rows.
    pub tile: Option<&'static str>,
    /// So few workgroups that they take several turns.
    pub workgroups: Option<u32>,
    /// Where tensors are.
    pub place: Placement,
    /// Whether outputs are inputs.
    pub in_place: bool,
    /// How much work it is.
    pub size: Size,
    /// For which element types it is.
    pub types: Types,
}

/// Element types of rows that are read and of rows that are written.
#[derive(Debug, Clone, Copy)]
pub enum Types {
    /// Each of [`REALS`] to each.
    Pairs,
    /// Each of [`REALS`] to itself.
    Each,
    /// Each of these to itself.
    Only(&'static [DType]),
}

/// The names of the tile configurations that most row-wise cores take, with a shape for each, of
/// which the last workgroup's waves do not all have a row, and the last row several pieces. The last
/// column tells chunks, lanes and dwords apart: its bits for the lanes that two more and fewer
/// dwords would reach are set, those of its dword are not.
const TILES: [(&str, [usize; 2]); 5] = [
    ("n128", [83, 43]),
    ("n512", [21, 301]),
    ("n2048", [13, 905]),
    ("n8192", [5, 3593]),
    ("any", [3, 19_465]),
];

/// Shapes for which each tile configuration is chosen, with every remainder of a chunk.
const SHAPES: [[usize; 2]; 9] =
    [[7, 27], [6, 122], [2, 509], [3, 1710], [2, 2047], [2, 5003], [1, 8191], [1, 17_997], [0, 64]];

impl RowCase {
    /// Quick, dense, of every pair of types.
    pub const fn new(shape: [usize; 2], name: &'static str) -> Self {
        let (tile, workgroups, place) = (None, None, Placement::DENSE);
        let (in_place, size, types) = (false, Size::Quick, Types::Pairs);
        Self { shape, name, tile, workgroups, place, in_place, size, types }
    }

    /// What every row-wise op is to pass, beside the shapes of its own: each tile with even and odd
    /// rows, in several turns, in place, at the ends of memory, just behind 32 columns and far apart, and
    /// rows of very many pieces.
    pub fn suite() -> Vec<Self> {
        Self::suite_of(&TILES)
    }

    /// As [`suite`](Self::suite), of a core with other tiles: their names, with a shape for each. The
    /// last two are for rows that have a wave alone, and for rows in pieces of at most 16,384 elements.
    ///
    /// # Panics
    /// If there are not two.
    pub fn suite_of(tiles: &[(&'static str, [usize; 2])]) -> Vec<Self> {
        let mut cases: Vec<_> = SHAPES.map(|shape| Self::new(shape, "plain")).into();
        cases.extend(tiles.iter().flat_map(|(tile, shape)| Self::of_tile(tile, *shape)));
        let [.., (whole, _), (in_pieces, _)] = tiles else { panic!("two tiles at least") };
        cases.extend(Self::far_rows(whole, in_pieces));
        // So many pieces, of 16,384 elements at most, that sums are folded.
        for width in [1_050_001, 1_050_002] {
            cases.push(Self { size: Size::Core, ..Self::new([1, width], "long") });
        }
        cases.extend(Self::rows_behind_32(tiles));
        cases
    }

    /// A case of each tile configuration: of so many of its rows, or fewer, and columns at most.
    pub fn of_tiles([rows, width]: [usize; 2], name: &'static str) -> impl Iterator<Item = Self> {
        TILES.into_iter().map(move |(tile, shape)| {
            // Every tile holds rows to the next 128 columns.
            let fits = width <= shape[1].next_multiple_of(128);
            let shape = [rows, if fits { width } else { shape[1] }];
            Self { tile: Some(tile), types: Types::Each, ..Self::new(shape, name) }
        })
    }

    /// The part of the suite that is of one tile configuration.
    pub fn of_tile(tile: &'static str, shape: [usize; 2]) -> Vec<Self> {
        let each =
            |shape, name| Self { tile: Some(tile), types: Types::Each, ..Self::new(shape, name) };
        let gaps = Placement::DENSE.gap(5).shift(3);
        let turns = Self { workgroups: Some(2), place: gaps, ..each(shape, "turns") };
        let even = Self { shape: [shape[0], shape[1].next_multiple_of(8)], ..turns };
        let end = Placement::DENSE.gap(3).edge(Edge::End);
        let mut cases = vec![
            Self { types: Types::Pairs, ..turns },
            Self { types: Types::Pairs, ..even },
            Self { name: "turns in place", in_place: true, ..even },
            Self { place: end, ..each(shape, "end of memory") },
        ];
        // Whole chunks, whole dwords and neither, which the tile holds as it does the given width.
        let chunks = (shape[1].saturating_sub(5) / 8 * 8).min(16);
        let ends = [8, 2, 3, 5].map(|more| each([3, chunks + more], "ends of rows"));
        cases.extend(ends.map(|case| Self { types: Types::Pairs, ..case }));
        cases
    }

    /// Rows of each tile up to the end of memory, the last of which are loaded in the first turn, where
    /// [`of_tile`](Self::of_tile) has odd ones, or in a later one.
    pub fn end_rows(tiles: &[(&'static str, [usize; 2])]) -> Vec<Self> {
        let of_tile = |(tile, shape): &(&'static str, [usize; 2])| {
            let (tile, even) = (Some(*tile), [shape[0], shape[1].next_multiple_of(8)]);
            let place = Placement::DENSE.gap(3).edge(Edge::End);
            [(even, None), (*shape, Some(1)), (even, Some(1))].map(|(shape, workgroups)| Self {
                tile,
                workgroups,
                place,
                size: Size::Core,
                types: Types::Each,
                ..Self::new(shape, "end of memory")
            })
        };
        tiles.iter().flat_map(of_tile).collect()
    }

    /// Rows of each tile that has room for them, in several turns of one workgroup, that end just behind
    /// 32 columns. A shift counts five bits, so that one by such a width, in the place of one of it,
    /// leaves a number that shows.
    pub fn rows_behind_32(tiles: &[(&'static str, [usize; 2])]) -> Vec<Self> {
        let wide = tiles.iter().filter(|(_, shape)| shape[1] > 35);
        let of_tile = |(tile, shape): &(&'static str, [usize; 2])| {
            // More than a workgroup has waves for.
            let (tile, count) = (Some(*tile), shape[0].max(5));
            let widths =
                [(33, &[DType::Bf16, DType::F32][..]), (34, &[DType::F16]), (35, &[DType::F16])];
            widths.map(|(width, types)| Self {
                tile,
                workgroups: Some(1),
                place: Placement::DENSE.gap(5).shift(3),
                size: Size::Core,
                types: Types::Only(types),
                ..Self::new([count, width], "just behind 32 columns")
            })
        };
        wide.flat_map(of_tile).collect()
    }

    /// Rows beyond 2^32 bytes, and those of 16-bit elements beyond 2^32 elements; pieces behind a
    /// multiple of 4 GiB. In the first turn and in a later one. With a tile for rows that have a wave
    /// alone, and one for rows in pieces of at most 16,384 elements.
    pub fn far_rows(whole: &'static str, in_pieces: &'static str) -> Vec<Self> {
        let mut cases = Vec::new();
        for workgroups in [None, Some(1)] {
            let core = |tile, width, name| Self {
                tile: Some(tile),
                workgroups,
                size: Size::Core,
                ..Self::new([2, width], name)
            };
            let rows = [(whole, 43), (whole, 44), (in_pieces, 16_901), (in_pieces, 16_902)];
            for (tile, width) in rows {
                let far = core(tile, width, "rows far apart");
                for (types, gap) in
                    [(&[DType::Bf16, DType::F16][..], 3 << 31), (&[DType::F32], 3 << 30)]
                {
                    let place = Placement::DENSE.gap(gap);
                    cases.push(Self { place, types: Types::Only(types), ..far });
                }
            }
            for width in [16_400, 16_401] {
                let pieces = core(in_pieces, width, "pieces across 4 GiB");
                let place = Placement::DENSE.carry(width + 7000);
                cases.push(Self { place, ..pieces });
            }
        }
        cases
    }

    /// Shapes of models.
    pub fn models(shapes: &[[usize; 2]]) -> impl Iterator<Item = Self> {
        shapes.iter().map(|shape| {
            let (types, size) = (Types::Each, Size::Large);
            Self { types, size, ..Self::new(*shape, "model") }
        })
    }

    /// Element types of the rows that are read, each once.
    pub fn inputs(&self) -> &'static [DType] {
        if let Types::Only(types) = self.types { types } else { &REALS }
    }

    /// Element types of rows that are read, and of rows that are written.
    pub fn pairs(self) -> impl Iterator<Item = (DType, DType)> {
        let all = matches!(self.types, Types::Pairs) && !self.in_place;
        let outputs = move |x| REALS.into_iter().filter(move |y| *y == x || all);
        self.inputs().iter().flat_map(move |x| outputs(*x).map(|y| (*x, y)))
    }

    /// How the op is launched.
    pub fn options(&self) -> RowOptions<'static> {
        let options = self.tile.into_iter().fold(RowOptions::default(), RowOptions::tile);
        self.workgroups.into_iter().fold(options, RowOptions::workgroups)
    }

    /// The case of an op of a module. In several turns, it writes no byte twice.
    pub fn case(
        &self,
        module: &'static str,
        op: &'static str,
        dtypes: &[DType],
        set_up: impl Fn(&mut Setup) + Send + Sync + 'static,
    ) -> Case {
        let tile = self.tile.map(|tile| format!(", tile {tile}")).unwrap_or_default();
        let groups = self.workgroups.map(|of| format!(", workgroups {of}")).unwrap_or_default();
        let name = format!("{}{tile}{groups}", self.name);
        let info = CaseInfo::new(module, op, name, dtypes, &self.shape);
        let case = Case::new(info, set_up).place(self.place).in_place(self.in_place);
        case.size(self.size).in_turns(self.workgroups)
    }
}
