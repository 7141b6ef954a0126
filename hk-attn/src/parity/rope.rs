//! Cases of `rope`, `rope_2c` and `rope_thd`.

use hk_core::dtype::{DType, Real};
use hk_ref::attn::rope::{Rope, Rotated};
use hk_ref::{Case, CaseInfo, Draw, Edge, Expected, Placement, REALS, Setup, Size, real};

use super::angles::{Numbers, Turns, size_of_rows, tables};
use crate::{
    Rope2cOut, RopeLayout, RopeOptions, RopeStyle, RowOptions, rope_2c_into, rope_into,
    rope_thd_into,
};

/// What varies between cases, apart from element types and places.
#[derive(Clone, Copy)]
pub(super) struct Spec {
    op: &'static str,
    layout: RopeLayout,
    /// Positions, sequences, heads, key heads if there are two tensors, elements of a row.
    shape: [usize; 5],
    /// Elements that are rotated.
    dim: usize,
    name: &'static str,
    turns: Turns,
    /// Bounds of sequences, of `rope_thd`.
    bounds: &'static [i32],
    /// Bits of bounds.
    bits: u32,
    workgroups: Option<u32>,
    tile: Option<&'static str>,
}

impl Spec {
    const fn new(shape: [usize; 5], name: &'static str) -> Self {
        Self {
            op: "rope",
            layout: RopeLayout::Sbhd,
            shape,
            dim: shape[4],
            name,
            turns: Turns::DEFAULT,
            bounds: &[],
            bits: 32,
            workgroups: None,
            tile: None,
        }
    }

    const fn two(self) -> Self {
        Self { op: "rope_2c", ..self }
    }

    fn options(&self) -> RopeOptions<'static> {
        let rows = self.tile.into_iter().fold(RowOptions::default(), RowOptions::tile);
        let rows = self.workgroups.into_iter().fold(rows, RowOptions::workgroups);
        self.turns.options().rows(rows)
    }

    /// The shape of a tensor of so many heads.
    fn dims(&self, heads: usize) -> Vec<usize> {
        let [s, b, _, _, d] = self.shape;
        match self.layout {
            RopeLayout::Sbhd => vec![s, b, heads, d],
            RopeLayout::Bshd => vec![b, s, heads, d],
            RopeLayout::Bhsd => vec![b, heads, s, d],
            RopeLayout::Thd => vec![s, heads, d],
        }
    }

    fn tokens(&self) -> Vec<usize> {
        let [s, b, ..] = self.shape;
        match self.layout {
            RopeLayout::Sbhd => vec![s, b],
            RopeLayout::Bshd | RopeLayout::Bhsd => vec![b, s],
            RopeLayout::Thd => vec![s],
        }
    }

    /// The token of a row of a tensor of so many heads.
    fn token_of(&self, row: usize, heads: usize) -> usize {
        let s = self.shape[0];
        match self.layout {
            RopeLayout::Bhsd => row / s / heads * s + row % s,
            _ => row / heads,
        }
    }

    /// The position of a token that none is given for.
    fn place_of(&self, token: usize) -> usize {
        let [s, b, ..] = self.shape;
        match self.layout {
            RopeLayout::Sbhd => token / b,
            _ if self.bounds.is_empty() => token % s,
            _ => {
                let starts = self.bounds.iter().map(|start| usize::try_from(*start).unwrap_or(0));
                token - starts.filter(|start| *start <= token).max().unwrap_or(0)
            }
        }
    }

    fn rope(&self) -> Rope {
        self.turns.rope(self.dim, self.shape[4])
    }

    fn case(self, x: DType, table: DType) -> Case {
        let tile = self.tile.map(|tile| format!(", tile {tile}")).unwrap_or_default();
        let tile = if self.bits == 64 { format!("{tile}, bounds of 64 bits") } else { tile };
        let name = format!("{}, {:?}, r {}{}{tile}", self.name, self.layout, self.dim, self.turns);
        let info = CaseInfo::new("rope", self.op, name, &[x, table, x], &self.shape);
        let [s, b, heads, key_heads, width] = self.shape;
        let heads = if self.op == "rope_2c" { heads + key_heads } else { heads };
        let size = size_of_rows(s * b * heads * width);
        Case::new(
            CaseInfo { size, ..info },
            move |s| real!(x, T => real!(table, W => set_up::<T, W>(s, self))),
        )
        .in_turns(self.workgroups)
    }
}

fn set_up<T: Real, W: Real>(s: &mut Setup, spec: Spec) {
    let [length, b, heads, key_heads, width] = spec.shape;
    let rope = spec.rope();
    let count = if spec.layout == RopeLayout::Thd { length } else { length * b };
    let angles = tables::<W>(s, &rope, spec.turns, &spec.tokens(), |token| spec.place_of(token));
    assert_eq!(angles.positions.len(), count);
    let mut add = |name: [&'static str; 2], heads: usize| {
        let x = s.input::<T>(name[0], &spec.dims(heads), Draw::Normal);
        let mut y = Rotated::default();
        for (row, elements) in x.numbers().chunks_exact(width).enumerate() {
            let position = angles.positions[spec.token_of(row, heads)];
            let [cos, sin] = angles.rows(position);
            rope.rotate(elements, cos, sin, &mut y);
        }
        let mut y = y.expected(T::DTYPE, T::DTYPE, spec.turns.slack());
        if spec.op == "rope_thd" && spec.turns.wild {
            // Where tokens are is not specified.
            y = Expected { at: Some(Vec::new()), ..Expected::default() };
        }
        let y = s.output::<T>(name[1], &spec.dims(heads), y);
        (x, y)
    };
    let options = spec.options();
    let layout = spec.layout;
    match spec.op {
        "rope" => {
            let (x, y) = add(["x", "y"], heads);
            s.call(move || {
                angles.with(|angles| rope_into(&x.get(), layout, angles, &options, &mut y.get()))
            });
        }
        "rope_2c" => {
            let (q, q_out) = add(["q", "q_out"], heads);
            let (k, k_out) = add(["k", "k_out"], key_heads);
            s.call(move || {
                angles.with(|angles| {
                    let out = Rope2cOut { q: &mut q_out.get(), k: &mut k_out.get() };
                    rope_2c_into(&q.get(), &k.get(), layout, angles, &options, out)
                })
            });
        }
        _ => {
            let (x, y) = add(["x", "y"], heads);
            let bounds: Vec<i64> = spec.bounds.iter().map(|bound| i64::from(*bound)).collect();
            let bounds = Numbers::given(s, "cu_seqlens", &[spec.bounds.len()], &bounds, spec.bits);
            s.call(move || {
                angles.with(|angles| {
                    bounds.with(|bounds| {
                        rope_thd_into(&x.get(), bounds, angles, &options, &mut y.get())
                    })
                })
            });
        }
    }
}

/// Sequences of T tokens in all: one, of one token and of more, two, and five, one of them empty.
const SEQUENCES: [&[i32]; 4] = [&[0, 1], &[0, 11], &[0, 13, 32], &[0, 20, 20, 71, 72, 103]];

/// 57 sequences of 1024 tokens.
const MANY: [i32; 58] = {
    let mut bounds = [0; 58];
    let mut at = 0;
    while at < bounds.len() {
        bounds[at] = (at * 1024 / 57) as i32;
        at += 1;
    }
    bounds
};

/// Shapes of models: Llama 3 70B, GPT-OSS, Qwen3-Next, DeepSeek-V3, with the elements that are
/// rotated, and which of them are pairs.
const LARGE: [([usize; 5], usize, RopeStyle); 4] = [
    ([8192, 1, 64, 8, 128], 128, RopeStyle::Neox),
    ([8192, 1, 64, 8, 64], 64, RopeStyle::Neox),
    ([8192, 1, 16, 2, 256], 64, RopeStyle::Neox),
    ([8192, 1, 128, 1, 64], 64, RopeStyle::Gptj),
];

/// Each style, with tables and with angles.
fn all_angles() -> impl Iterator<Item = Turns> {
    Turns::all().flat_map(|turns| [false, true].map(|freqs| Turns { freqs, ..turns }))
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let dense = Placement::DENSE;
    let gaps = dense.gap(8).shift(3);
    // Types in turn, where a case is not about them.
    let mut turn = 0;
    let mut one = move || {
        turn += 1;
        REALS[turn % REALS.len()]
    };
    let mut add = |spec: Spec, place: Placement, in_place: bool, pairs: bool| {
        let all = ["styles", "turns", "layouts"].iter().any(|name| spec.name.starts_with(name));
        let types = if all { REALS.to_vec() } else { vec![one(), one()] };
        for x in types {
            let tables = REALS.into_iter().filter(|table| *table == x || pairs);
            let all = tables.map(|table| spec.case(x, table));
            cases.extend(all.map(|case| case.place(place).in_place(in_place)));
        }
    };
    // Every style, of all and of a part of a row, with tables of pairs and of elements, and with
    // angles.
    for turns in Turns::all() {
        for (shape, dim) in [([3, 2, 8, 1, 64], 32), ([5, 1, 3, 1, 64], 64), ([3, 2, 2, 1, 22], 18)]
        {
            for freqs in [false, true] {
                let turns = Turns { freqs, ..turns };
                let spec = Spec { dim, turns, ..Spec::new(shape, "styles") };
                add(spec, gaps, false, !turns.nope_first && dim < 64);
            }
            add(Spec { dim, turns, ..Spec::new(shape, "in place") }, dense, true, false);
        }
    }
    // The shapes that AITER's tests have.
    for turns in Turns::all() {
        for (s, b) in [(1, 1), (1, 3), (32, 1), (32, 3)] {
            // Of whole rows, the last elements are the first ones.
            let dim = if turns.nope_first { 32 } else { 64 };
            let spec = Spec { turns, dim, ..Spec::new([s, b, 8, 1, 64], "sequences of heads") };
            add(spec, dense, false, false);
            add(Spec { name: "sequences in place", ..spec }, dense, true, false);
        }
    }
    // Rows of every kind: with runs of 16 bytes, and without; more than a wave has lanes for.
    for width in [2, 6, 8, 32, 80, 96, 136, 192, 256, 1040] {
        for style in [RopeStyle::Neox, RopeStyle::Gptj] {
            let turns = Turns { style, ..Turns::DEFAULT };
            add(Spec { turns, ..Spec::new([7, 1, 5, 1, width], "widths") }, dense, false, false);
        }
    }
    for (width, dim) in
        [(256, 64), (256, 192), (24, 4), (40, 16), (7, 2), (80, 20), (200, 150), (129, 2)]
    {
        for nope_first in [false, true] {
            let turns = Turns { nope_first, ..Turns::DEFAULT };
            let spec = Spec { dim, turns, ..Spec::new([3, 3, 2, 1, width], "parts of rows") };
            add(spec, gaps, false, false);
        }
    }
    for layout in [RopeLayout::Sbhd, RopeLayout::Bshd, RopeLayout::Bhsd] {
        let spec = Spec { layout, dim: 32, ..Spec::new([11, 3, 4, 2, 48], "layouts") };
        add(spec, dense, false, false);
        add(Spec { name: "layouts in place", ..spec }, gaps, true, false);
        add(Spec { name: "layouts at the end", ..spec }, gaps.edge(Edge::End), false, false);
        for (i, positions) in [32, 64].into_iter().enumerate() {
            let turns = Turns { positions: Some(positions), offsets: i == 0, ..Turns::DEFAULT };
            add(Spec { turns, name: "positions", ..spec }, dense, false, false);
        }
    }
    for (q, k) in [(1, 1), (4, 1), (16, 1), (8, 8), (32, 8), (128, 8), (9, 3)] {
        for (i, positions) in [None, Some(32), Some(64)].into_iter().enumerate() {
            let turns = Turns { positions, offsets: i == 2, ..Turns::DEFAULT };
            let spec = Spec { turns, ..Spec::new([33, 1, q, k, 64], "queries and keys").two() };
            add(Spec { layout: RopeLayout::Thd, ..spec }, dense, false, false);
            add(Spec { shape: [5, 3, q, k, 64], dim: 16, ..spec }, gaps, i == 1, false);
        }
    }
    for (i, turns) in all_angles().enumerate() {
        let positions = [None, Some(32), Some(64)][i % 3];
        let turns = Turns { positions, offsets: i % 3 == 2, ..turns };
        let spec = Spec { turns, dim: 32, ..Spec::new([13, 1, 4, 2, 64], "each style of two") };
        add(Spec { layout: RopeLayout::Thd, ..spec.two() }, dense, false, false);
        add(Spec { shape: [5, 2, 4, 2, 64], ..spec.two() }, gaps, (i / 2 + i / 8) % 2 == 1, false);
    }
    let two = Spec::new([5, 3, 4, 2, 10], "queries and keys").two();
    for layout in [RopeLayout::Bshd, RopeLayout::Bhsd] {
        add(Spec { layout, ..two }, gaps, false, false);
    }
    for bounds in SEQUENCES {
        let length = bounds[bounds.len() - 1] as usize;
        let thd = Spec { op: "rope_thd", layout: RopeLayout::Thd, bounds, ..Spec::new([0; 5], "") };
        for (shape, dim) in [([length, 2, 3, 2, 64], 64), ([length, 2, 3, 2, 18], 10)] {
            let spec = Spec { shape, dim, name: "sequences", ..thd };
            add(spec, gaps, false, false);
            let name = "sequences in place";
            add(Spec { name, bits: 64, ..spec }, gaps, true, false);
        }
        for (i, turns) in all_angles().enumerate() {
            let bits = [32, 64][(i + i / 4) % 2];
            let spec = Spec { turns, bits, dim: 32, shape: [length, 2, 2, 2, 64], ..thd };
            let spec = Spec { name: "each style of sequences", ..spec };
            add(spec, gaps, (i / 2 + i / 8) % 2 == 1, false);
        }
    }
    // Indices outside of tables and of tensors, in bounds of sequences too.
    for positions in [32, 64] {
        let turns = Turns { positions: Some(positions), wild: true, ..Turns::DEFAULT };
        let spec = Spec { turns, ..Spec::new([40, 1, 2, 2, 32], "positions outside") };
        add(spec, dense, false, false);
        add(Spec { turns: Turns { offsets: true, ..turns }, ..spec }, dense, false, false);
    }
    for (name, bounds) in [
        ("bounds outside", &[7, 3, 90, 11, 20][..]),
        ("extreme bounds", &[i32::MIN, i32::MAX, -1]),
        ("one bound", &[5]),
    ] {
        let turns = Turns { wild: true, ..Turns::DEFAULT };
        for bits in [32, 64] {
            let thd = Spec { op: "rope_thd", layout: RopeLayout::Thd, bounds, bits, turns, ..two };
            add(Spec { shape: [23, 2, 2, 2, 32], dim: 32, name, ..thd }, dense, false, false);
        }
    }
    // Several turns of few workgroups, and several turns of heads.
    for tile in ["any", "vector"] {
        for (shape, dim) in [([37, 1, 21, 3, 64], 64), ([23, 2, 70, 2, 24], 8)] {
            let spec = Spec { dim, workgroups: Some(2), ..Spec::new(shape, "turns") };
            let spec = Spec { tile: (tile == "any").then_some("any"), ..spec };
            add(spec, gaps, false, false);
            add(spec.two(), gaps, true, false);
        }
    }
    for shape in [[0, 2, 3, 1, 64], [2, 0, 3, 1, 64]] {
        add(Spec::new(shape, "nothing"), dense, false, false);
    }
    for (shape, dim, style) in LARGE {
        let turns = Turns { style, ..Turns::DEFAULT };
        let spec = Spec { dim, turns, layout: RopeLayout::Thd, ..Spec::new(shape, "model").two() };
        cases.push(spec.case(DType::Bf16, DType::F32).size(Size::Large));
    }
    let spec = Spec { layout: RopeLayout::Bhsd, ..Spec::new([2048, 4, 32, 1, 128], "model") };
    cases.push(spec.case(DType::Bf16, DType::F32).size(Size::Large));
    let thd = Spec::new([1024, 1, 32, 1, 128], "many sequences");
    let thd = Spec { op: "rope_thd", layout: RopeLayout::Thd, bounds: &MANY, ..thd };
    cases.push(thd.case(DType::Bf16, DType::F32).size(Size::Large));
    // A sequence of a length for which the estimate of a division is one too low of a token of the
    // second one that is not its first; as many sequences, where it is so of the second position.
    let long = Spec::new([65_792, 2, 1, 1, 2], "long sequences");
    cases.push(Spec { layout: RopeLayout::Bshd, ..long }.case(DType::F32, DType::F32));
    let short = Spec::new([2, 65_792, 1, 1, 2], "short sequences");
    cases.push(short.case(DType::F32, DType::F32));
    // Tokens and heads beyond 2^32 bytes.
    for (layout, dtype) in
        [RopeLayout::Sbhd, RopeLayout::Bhsd].into_iter().zip([DType::Bf16, DType::F32])
    {
        let far = Spec { layout, ..Spec::new([2, 1, 2, 1, 64], "rows far apart") };
        cases.push(far.case(dtype, dtype).place(dense.gap(3 << 27)).size(Size::Core));
    }
    cases
}
