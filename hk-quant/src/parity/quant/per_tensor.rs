//! Cases of `static_per_tensor_quant`.

use hk_core::dtype::{DType, Real};
use hk_core::op::quant::ByteCode;
use hk_ref::quant::quant::codes as reference;
use hk_ref::{Case, CaseInfo, Draw, Edge, Expected, Placement, REALS, Setup, real};

use super::{CODES, Content, TILES, code, rows};
use crate::{RowOptions, static_per_tensor_quant_into};

/// `[rows, width]`: rows that share a wave, that have one or a workgroup, that are in pieces.
const SHAPES: [[usize; 2]; 10] = [
    [1, 1],
    [32, 32],
    [10, 128],
    [256, 13],
    [193, 75],
    [400, 400],
    [32, 4096],
    [3, 8192],
    [2, 20_001],
    [0, 64],
];

/// Scales by which some elements are clamped, and none; of no use, which give codes all the same.
const SCALES: [f32; 4] = [0.01, 1.0, 0.0, f32::NAN];

/// What varies between cases, apart from element types and places.
#[derive(Clone, Copy)]
struct Spec {
    shape: [usize; 2],
    name: &'static str,
    content: Content,
    scale: f32,
    /// So few workgroups that they take several turns.
    workgroups: Option<u32>,
    tile: Option<&'static str>,
}

impl Spec {
    const fn new(shape: [usize; 2], name: &'static str, scale: f32) -> Self {
        let content = Content::Drawn(Draw::Outliers);
        Self { shape, name, content, scale, workgroups: None, tile: None }
    }

    fn options(&self) -> RowOptions<'static> {
        let options = self.tile.into_iter().fold(RowOptions::default(), RowOptions::tile);
        self.workgroups.into_iter().fold(options, RowOptions::workgroups)
    }

    /// From each type to each type of codes.
    fn cases(self) -> impl Iterator<Item = Case> {
        let pairs = REALS.into_iter().flat_map(|x| CODES.map(|codes| (x, codes)));
        pairs.map(move |(x, (codes, arch))| {
            let tile = self.tile.map(|tile| format!(", tile {tile}")).unwrap_or_default();
            let name = format!("{}, scale {}{tile}", self.name, self.scale);
            let dtypes = [x, codes];
            let mut info =
                CaseInfo::new("quant", "static_per_tensor_quant", name, &dtypes, &self.shape);
            info.arch = arch;
            Case::new(info, move |s| real!(x, T => code!(codes, C => set_up::<T, C>(s, self))))
        })
    }
}

fn set_up<T: Real, C: ByteCode>(s: &mut Setup, spec: Spec) {
    let x = rows::<T>(s, spec.shape, spec.content, C::MOST);
    let scale = s.given("scale", &[1], vec![spec.scale]);
    let codes = reference::<C>(&x.numbers(), spec.scale, C::MOST);
    let codes = s.output::<C>("codes", &spec.shape, Expected::exact(codes));
    s.call(move || {
        static_per_tensor_quant_into(&x.get(), &scale.get(), &spec.options(), &mut codes.get())
    });
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |spec: Spec, place| cases.extend(spec.cases().map(|case| case.place(place)));
    for shape in SHAPES {
        add(Spec::new(shape, "plain", 0.01), Placement::DENSE);
    }
    let gaps = Placement::DENSE.gap(5).shift(3);
    let end = Placement::DENSE.gap(3).edge(Edge::End);
    for (tile, shape) in TILES {
        let tile = Some(tile);
        let turns = Spec { tile, workgroups: Some(2), ..Spec::new(shape, "turns", 0.01) };
        add(turns, gaps);
        add(Spec { shape: [shape[0], shape[1] / 8 * 8], ..turns }, gaps);
        add(Spec { workgroups: None, name: "end of memory", ..turns }, end);
        for scale in SCALES {
            let special = Spec::new([12, 300.min(shape[1])], "special", scale);
            add(Spec { tile, content: Content::Special, ..special }, gaps);
        }
    }
    cases
}
