//! Cases of `per_group_quant`.

use hk_core::dtype::{DType, Real};
use hk_core::op::quant::{ByteCode, ScaleLayout};
use hk_ref::quant::quant::per_group_quant as reference;
use hk_ref::{Case, CaseInfo, Draw, Edge, Placement, REALS, Setup, Size, real};

use super::{CODES, Content, TILES, code, expected, in_layout, rows};
use crate::{PerGroupQuantOptions, PerGroupQuantOut, RowOptions, per_group_quant_into};

/// `[rows, width]`: rows that share a wave, that have one or a workgroup, that are in pieces; last
/// groups of every size.
const SHAPES: [[usize; 2]; 15] = [
    [1, 1],
    [1, 32],
    [32, 32],
    [2, 16],
    [10, 128],
    [256, 13],
    [193, 75],
    [400, 400],
    [48, 96],
    [32, 4096],
    [3, 8192],
    [3, 1710],
    [2, 5003],
    [2, 20_001],
    [0, 64],
];

const GROUPS: [usize; 3] = [32, 64, 128];

const LAYOUTS: [ScaleLayout; 2] = [ScaleLayout::RowMajor, ScaleLayout::ColMajor];

/// Shapes of models: DeepSeek-V3.
const LARGE: [[usize; 2]; 2] = [[8192, 7168], [8192, 2048]];

/// What varies between cases, apart from element types and places.
#[derive(Clone, Copy)]
struct Spec {
    shape: [usize; 2],
    name: &'static str,
    content: Content,
    group: usize,
    layout: ScaleLayout,
    /// So few workgroups that they take several turns.
    workgroups: Option<u32>,
    tile: Option<&'static str>,
}

impl Spec {
    const fn new(shape: [usize; 2], name: &'static str, group: usize, layout: ScaleLayout) -> Self {
        let content = Content::Drawn(Draw::Spread);
        Self { shape, name, content, group, layout, workgroups: None, tile: None }
    }

    fn options(&self) -> PerGroupQuantOptions<'static> {
        let rows = self.tile.into_iter().fold(RowOptions::default(), RowOptions::tile);
        let rows = self.workgroups.into_iter().fold(rows, RowOptions::workgroups);
        let options = PerGroupQuantOptions::default().group(self.group);
        options.scale_layout(self.layout).rows(rows)
    }

    /// From each type to each type of codes.
    fn cases(self) -> impl Iterator<Item = Case> {
        let pairs = REALS.into_iter().flat_map(|x| CODES.map(|codes| (x, codes)));
        pairs.map(move |(x, (codes, arch))| {
            let Self { name, group, layout, .. } = self;
            let tile = self.tile.map(|tile| format!(", tile {tile}")).unwrap_or_default();
            let name = format!("{name}, groups of {group}, {layout:?}{tile}");
            let mut info =
                CaseInfo::new("quant", "per_group_quant", name, &[x, codes], &self.shape);
            info.arch = arch;
            Case::new(info, move |s| real!(x, T => code!(codes, C => set_up::<T, C>(s, self))))
        })
    }
}

fn set_up<T: Real, C: ByteCode>(s: &mut Setup, spec: Spec) {
    let [count, width] = spec.shape;
    let x = rows::<T>(s, spec.shape, spec.content, C::MOST);
    let (codes, scales) = reference::<C>(&x.numbers(), width, spec.group, C::MOST);
    let groups = width.div_ceil(spec.group);
    let scale_of = |i: usize| scales[i / width * groups + i % width / spec.group];
    let codes = s.output::<C>("codes", &spec.shape, expected(&codes, |i| scale_of(i).is_finite()));
    let scales = scales.into_iter().map(f64::from).collect();
    let (shape, scales) = in_layout(spec.layout, [count, groups], scales, 1.0);
    let scales = s.output::<f32>("scales", &shape, hk_ref::Expected::exact(scales));
    s.call(move || {
        let out = PerGroupQuantOut { codes: &mut codes.get(), scales: &mut scales.get() };
        per_group_quant_into(&x.get(), &spec.options(), out)
    });
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |spec: Spec, place| cases.extend(spec.cases().map(|case| case.place(place)));
    for (i, shape) in SHAPES.into_iter().enumerate() {
        add(Spec::new(shape, "plain", GROUPS[i % 3], LAYOUTS[i % 2]), Placement::DENSE);
    }
    let gaps = Placement::DENSE.gap(5).shift(3);
    let end = Placement::DENSE.gap(3).edge(Edge::End);
    for (i, (tile, shape)) in TILES.into_iter().enumerate() {
        let tile = Some(tile);
        let even = [shape[0], shape[1] / 8 * 8];
        for (j, group) in GROUPS.into_iter().enumerate() {
            let layout = LAYOUTS[(i + j) % 2];
            let turns =
                Spec { workgroups: Some(2), tile, ..Spec::new(shape, "turns", group, layout) };
            add(turns, gaps);
            add(Spec { shape: even, ..turns }, gaps);
            add(Spec { workgroups: None, name: "end of memory", ..turns }, end);
        }
        let special = [12, 300.min(shape[1])];
        let special = Spec::new(special, "special", GROUPS[i % 3], LAYOUTS[i % 2]);
        add(Spec { content: Content::Special, tile, ..special }, gaps);
    }
    for shape in LARGE {
        let large = Spec::new(shape, "model", 128, ScaleLayout::ColMajor).cases();
        cases.extend(large.map(|case| case.size(Size::Large)));
    }
    cases
}
