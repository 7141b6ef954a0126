//! Cases of `fused_qkvzba_split`.

use hk_core::dtype::{DType, Real};
use hk_ref::gdr::fused_qkvzba_split::{Heads, fused_qkvzba_split};
use hk_ref::{Arg, Case, CaseInfo, Draw, Edge, Expected, Placement, REALS, Setup, Size, real};

use crate::{QkvzbaHeads, QkvzbaSplitOptions, QkvzbaSplitOut, fused_qkvzba_split_into};

/// What varies between cases.
#[derive(Debug, Clone, Copy)]
struct Spec {
    tokens: usize,
    heads: QkvzbaHeads,
    /// Element types of `mixed_qkvz` and `mixed_ba`.
    dtypes: [DType; 2],
    /// The order of z in memory.
    order: [usize; 3],
    workgroups: Option<u32>,
    place: Placement,
    size: Size,
}

impl Spec {
    /// Of the numbers of heads of queries and of values, and of their channels.
    fn new(tokens: usize, [num_heads_qk, num_heads_v, head_qk, head_v]: [usize; 4]) -> Self {
        Self {
            tokens,
            heads: QkvzbaHeads { num_heads_qk, num_heads_v, head_qk, head_v },
            dtypes: [DType::Bf16; 2],
            order: [0, 1, 2],
            workgroups: None,
            place: Placement::DENSE,
            size: Size::Quick,
        }
    }

    fn case(self) -> Case {
        let QkvzbaHeads { num_heads_qk, num_heads_v, head_qk, head_v } = self.heads;
        let mut title = "split".to_owned();
        if self.place != Placement::DENSE {
            let Placement { gap, shift, .. } = self.place;
            title += &format!(", gap {gap}, shift {shift}");
        }
        if self.order != [0, 1, 2] {
            title += &format!(", z in order {:?}", self.order);
        }
        title += &self.workgroups.map(|most| format!(", {most} workgroups")).unwrap_or_default();
        let shape = [self.tokens, num_heads_qk, num_heads_v, head_qk, head_v];
        let op = "fused_qkvzba_split";
        let info = CaseInfo::new(op, op, title, &self.dtypes, &shape);
        let [x, y] = self.dtypes;
        let case = Case::new(info, move |s| {
            real!(x, T => real!(y, B => set_up::<T, B>(s, self)));
        });
        case.place(self.place).size(self.size).writes_once()
    }
}

fn set_up<T: Real, B: Real>(s: &mut Setup, spec: Spec) {
    let QkvzbaHeads { num_heads_qk: qk, num_heads_v: v, head_qk: qk_dim, head_v: v_dim } =
        spec.heads;
    let sources = fused_qkvzba_split(Heads { qk, v, qk_dim, v_dim });
    let [n, qkvz, ba] = [spec.tokens, sources.mixed_qkv.len() + sources.z.len(), 2 * v];
    // Hardly any two are the same, and what NaNs have in their mantissas is copied, too.
    let mixed_qkvz = s.input::<T>("mixed_qkvz", &[n, qkvz], Draw::Bits);
    let mixed_ba = s.input::<B>("mixed_ba", &[n, ba], Draw::Bits);
    let mixed_qkv = moved(&mixed_qkvz, qkvz, &sources.mixed_qkv);
    let mixed_qkv = s.output::<T>("mixed_qkv", &[n, sources.mixed_qkv.len()], mixed_qkv);
    let z = s.output::<T>("z", &[n, v, v_dim], moved(&mixed_qkvz, qkvz, &sources.z));
    let z = z.order(&spec.order);
    let b = s.output::<B>("b", &[n, v], moved(&mixed_ba, ba, &sources.b));
    let a = s.output::<B>("a", &[n, v], moved(&mixed_ba, ba, &sources.a));
    let mut options = QkvzbaSplitOptions::default();
    if let Some(most) = spec.workgroups {
        options = options.workgroups(most);
    }
    s.call(move || {
        let (mut mixed_qkv, mut z, mut b, mut a) = (mixed_qkv.get(), z.get(), b.get(), a.get());
        let out = QkvzbaSplitOut { mixed_qkv: &mut mixed_qkv, z: &mut z, b: &mut b, a: &mut a };
        fused_qkvzba_split_into(&mixed_qkvz.get(), &mixed_ba.get(), spec.heads, &options, out)
    });
}

/// The elements of each row that are there.
fn moved<T: Real>(rows: &Arg<T>, width: usize, sources: &[usize]) -> Expected {
    let rows = rows.elements();
    let rows = rows.chunks(width).flat_map(|row| sources.iter().map(|source| row[*source]));
    Expected::bits(&rows.collect::<Vec<_>>())
}

/// Heads, and their channels, of Qwen3-Next on 1 and 8 chips, and of Qwen3.5-397B.
const MODELS: [[usize; 4]; 3] = [[16, 32, 128, 128], [2, 4, 128, 128], [16, 64, 128, 128]];

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    // Those of the specification: also of which pieces have 8, 4 and 2 bytes.
    for heads in [[4, 16, 128, 128], [2, 8, 256, 512], [1, 4, 256, 512], [2, 8, 128, 128]] {
        specs.push(Spec::new(4, heads));
    }
    for (tokens, heads) in [
        (1, [3, 9, 60, 36]),
        (7, [3, 9, 60, 36]),
        (513, [1, 3, 60, 36]),
        (7, [2, 6, 10, 6]),
        (7, [2, 6, 5, 7]),
        (33, [1, 1, 1, 1]),
        (0, [2, 4, 8, 8]),
        (3, MODELS[0]),
        (7, MODELS[1]),
        (2, MODELS[2]),
    ] {
        for (x, y) in REALS.into_iter().flat_map(|x| REALS.map(|y| (x, y))) {
            specs.push(Spec { dtypes: [x, y], ..Spec::new(tokens, heads) });
        }
    }
    // Few workgroups take rows in several turns, with the last one full and not, in rows of fewer
    // pieces than lanes and of more.
    for (tokens, heads) in [
        (32, [2, 4, 128, 128]),
        (45, [2, 4, 128, 128]),
        (45, [1, 3, 60, 36]),
        (45, [2, 4, 10, 6]),
        (45, [3, 3, 15, 7]),
        (530, [1, 2, 8, 8]),
        (2100, [1, 1, 1, 1]),
    ] {
        for dtype in REALS {
            let spec = Spec::new(tokens, heads);
            specs.push(Spec { dtypes: [dtype; 2], workgroups: Some(1), ..spec });
        }
    }
    // Rows that are apart, by multiples of 16 bytes and not, and not aligned; z in any order.
    for (gap, shift) in [(8, 0), (4, 0), (2, 2), (3, 0), (0, 1)] {
        for dtype in REALS {
            let place = Placement::DENSE.gap(gap).shift(shift);
            let place = if gap == 8 { place.edge(Edge::End) } else { place };
            for heads in [[2, 4, 16, 32], [3, 6, 5, 7]] {
                specs.push(Spec { dtypes: [dtype; 2], place, ..Spec::new(9, heads) });
            }
        }
    }
    // More rows than one turn takes, gigabytes apart, in the narrowest and the widest pieces.
    for heads in [[1, 1, 33, 5], [1, 1, 256, 64]] {
        let place = Placement::DENSE.gap(1 << 29);
        let far = Spec { place, workgroups: Some(1), ..Spec::new(5, heads) };
        specs.push(Spec { size: Size::Core, ..far });
    }
    for order in [[1, 0, 2], [0, 2, 1], [2, 1, 0]] {
        for heads in [[2, 4, 16, 32], [3, 6, 5, 7], [2, 4, 16, 1], [1, 1, 16, 8]] {
            specs.push(Spec { order, ..Spec::new(9, heads) });
        }
    }
    specs.extend(MODELS.map(|heads| Spec { size: Size::Large, ..Spec::new(8192, heads) }));
    specs.into_iter().map(Spec::case).collect()
}
