//! Cases of `fused_qk_cat` and `fused_qk_rope_cat`.

use hk_core::dtype::{DType, Real, Scalar};
use hk_ref::attn::fused_qk_concat::concat;
use hk_ref::attn::rope::Rotated;
use hk_ref::{Case, CaseInfo, Draw, Expected, Placement, REALS, Setup, Size, real};

use super::angles::{Turns, size_of_rows, tables};
use crate::{FusedQkCatOut, RopeStyle, RowOptions, fused_qk_cat_into, fused_qk_rope_cat_into};

/// What varies between cases, apart from element types and places.
#[derive(Clone, Copy)]
struct Spec {
    /// Tokens, query and key heads, elements of both parts, and positions, if there is a dimension
    /// of them.
    shape: [usize; 6],
    turns: Option<Turns>,
    name: &'static str,
    workgroups: Option<u32>,
}

impl Spec {
    const fn new(shape: [usize; 6], name: &'static str) -> Self {
        Self { shape, turns: None, name, workgroups: None }
    }

    fn rows(&self) -> RowOptions<'static> {
        self.workgroups.into_iter().fold(RowOptions::default(), RowOptions::workgroups)
    }

    fn size(&self) -> Size {
        let [b, qh, kh, n, r, s] = self.shape;
        size_of_rows(b * (qh + kh) * (n + r) * s.max(1))
    }

    /// The shape of a tensor of so many heads and elements.
    fn dims(&self, heads: usize, width: usize) -> Vec<usize> {
        match self.shape {
            [b, .., 0] => vec![b, heads, width],
            [b, .., s] => vec![b, heads, s, width],
        }
    }

    fn copies<T: Scalar>(self) -> Case {
        let dtypes = [T::DTYPE];
        let op = "fused_qk_cat";
        let shape = if self.shape[5] == 0 { &self.shape[..5] } else { &self.shape };
        let info = CaseInfo::new("fused_qk_concat", op, self.name, &dtypes, shape);
        let info = CaseInfo { size: self.size(), ..info };
        Case::new(info, move |s| copy::<T>(s, self)).in_turns(self.workgroups)
    }

    fn rotates(self, x: DType, table: DType) -> Case {
        let turns = self.turns.unwrap_or(Turns::DEFAULT);
        let name = format!("{}{turns}", self.name);
        let op = "fused_qk_rope_cat";
        let info = CaseInfo::new("fused_qk_concat", op, name, &[x, table, x], &self.shape[..5]);
        let info = CaseInfo { size: self.size(), ..info };
        Case::new(info, move |s| real!(x, T => real!(table, W => rotate::<T, W>(s, self, turns))))
            .in_turns(self.workgroups)
    }
}

/// Names of tensors: of both parts, and of the result.
const Q: [&str; 3] = ["q1", "q2", "q_out"];
const K: [&str; 3] = ["k1", "k2", "k_out"];

fn copy<T: Scalar>(s: &mut Setup, spec: Spec) {
    let [_, qh, kh, n, r, _] = spec.shape;
    let mut add = |[first, second, out]: [&'static str; 3], heads: usize| {
        let first = s.input::<T>(first, &spec.dims(heads, n), Draw::Codes);
        let second = s.input::<T>(second, &spec.dims(heads, r), Draw::Codes);
        let all = concat([&first.elements(), &second.elements()], [n, r]);
        let out = s.output::<T>(out, &spec.dims(heads, n + r), Expected::bits(&all));
        (first, second, out)
    };
    let ((q1, q2, q), (k1, k2, k)) = (add(Q, qh), add(K, kh));
    s.call(move || {
        let out = FusedQkCatOut { q: &mut q.get(), k: &mut k.get() };
        fused_qk_cat_into(&q1.get(), &q2.get(), &k1.get(), &k2.get(), &spec.rows(), out)
    });
}

fn rotate<T: Real, W: Real>(s: &mut Setup, spec: Spec, turns: Turns) {
    let [b, qh, kh, n, r, _] = spec.shape;
    let rope = turns.rope(r, r);
    let angles = tables::<W>(s, &rope, turns, &[b], |token| token);
    let mut add = |[first, second, out]: [&'static str; 3], heads: usize| {
        let first = s.input::<T>(first, &[b, heads, n], Draw::Normal);
        let second = s.input::<T>(second, &[b, heads, r], Draw::Normal);
        let (of_first, of_second) = (first.numbers(), second.numbers());
        let mut all = Rotated::default();
        let rows = of_first.chunks_exact(n).zip(of_second.chunks_exact(r));
        for (row, (first, second)) in rows.enumerate() {
            let [cos, sin] = angles.rows(angles.positions[row / heads]);
            all.copy(first);
            rope.rotate(second, cos, sin, &mut all);
        }
        let all = all.expected(T::DTYPE, T::DTYPE, turns.slack());
        let out = s.output::<T>(out, &[b, heads, n + r], all);
        (first, second, out)
    };
    let ((q1, q2, q), (k1, k2, k)) = (add(Q, qh), add(K, kh));
    let options = turns.options().rows(spec.rows());
    s.call(move || {
        angles.with(|angles| {
            let out = FusedQkCatOut { q: &mut q.get(), k: &mut k.get() };
            let (q1, q2, k1, k2) = (q1.get(), q2.get(), k1.get(), k2.get());
            fused_qk_rope_cat_into(&q1, &q2, &k1, &k2, angles, &options, out)
        })
    });
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let dense = Placement::DENSE;
    let gaps = dense.gap(8).shift(3);
    let mut copies = |spec: Spec, place: Placement| {
        let all = [spec.copies::<i8>(), spec.copies::<hk_core::dtype::f16>(), spec.copies::<f32>()];
        cases.extend(all.map(|case| case.place(place)));
    };
    for shape in
        [[2, 32, 8, 64, 64, 0], [2, 4, 2, 64, 128, 3], [3, 6, 2, 5, 3, 0], [2, 2, 1, 1, 1, 0]]
    {
        copies(Spec::new(shape, "shapes"), dense);
        copies(Spec::new(shape, "shapes with gaps"), gaps);
    }
    copies(Spec::new([3, 4, 2, 7, 3, 2], "positions"), gaps);
    copies(Spec::new([3, 4, 2, 16, 32, 2], "positions"), gaps);
    // Rows that no wave has at once; more heads than waves have turns for.
    copies(Spec::new([2, 2, 1, 1536, 80, 0], "wide"), dense);
    let few = Spec { workgroups: Some(1), ..Spec::new([19, 70, 2, 32, 16, 0], "turns") };
    copies(few, gaps);
    copies(Spec { shape: [7, 23, 1, 133, 3, 0], ..few }, gaps);
    copies(Spec::new([0, 4, 2, 16, 16, 0], "nothing"), dense);
    let mut turn = 0;
    let mut rotates = |spec: Spec, place: Placement| {
        turn += 1;
        let (x, table) = (REALS[turn % 3], REALS[turn / 3 % 3]);
        cases.push(spec.rotates(x, table).place(place));
    };
    for b in [1, 4, 8] {
        for (qh, kh) in [(1, 1), (4, 1), (16, 1), (4, 4), (16, 4), (64, 4)] {
            for r in [64, 128] {
                let spec = Spec::new([b, qh, kh, 512, r, 0], "heads");
                rotates(spec, if qh == 4 { gaps } else { dense });
            }
        }
    }
    for turns in Turns::all().filter(|turns| !turns.nope_first) {
        for (i, positions) in [None, Some(32), Some(64)].into_iter().enumerate() {
            for (n, r) in [(24, 32), (5, 6)] {
                let turns = Turns { positions, offsets: i == 2, freqs: i == 1, ..turns };
                let spec = Spec { turns: Some(turns), ..Spec::new([5, 4, 2, n, r, 0], "styles") };
                rotates(spec, dense);
            }
        }
    }
    for (shape, style) in
        [([4096, 128, 1, 512, 64, 0], RopeStyle::Gptj), ([8192, 64, 8, 64, 64, 0], RopeStyle::Neox)]
    {
        let turns = Some(Turns { style, ..Turns::DEFAULT });
        let spec = Spec { turns, ..Spec::new(shape, "model") };
        cases.push(spec.rotates(DType::Bf16, DType::F32).size(Size::Large));
    }
    cases
}
