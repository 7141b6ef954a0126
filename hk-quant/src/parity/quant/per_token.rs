//! Cases of `per_token_quant`.

use hk_core::dtype::{DType, Real};
use hk_core::op::quant::ByteCode;
use hk_ref::quant::quant::per_token_quant as reference;
use hk_ref::{Case, CaseInfo, Draw, Edge, Expected, Placement, REALS, Setup, Size, real};

use super::{CODES, Content, TILES, code, expected, rows};
use crate::{PerTokenQuantOut, RowOptions, per_token_quant_into};

/// `[rows, width]`: rows that share a wave, that have one or a workgroup, that are read twice; widths
/// with every remainder of a chunk, lengths that leave a wave with some of its rows.
const SHAPES: [[usize; 2]; 20] = [
    [1, 1],
    [1, 32],
    [32, 32],
    [2, 16],
    [10, 128],
    [256, 13],
    [193, 75],
    [93, 75],
    [400, 400],
    [48, 96],
    [32, 4096],
    [3, 8192],
    [7, 27],
    [6, 122],
    [2, 509],
    [3, 1710],
    [2, 2047],
    [2, 5003],
    [1, 8997],
    [0, 64],
];

/// Shapes of models: Llama 3 70B, and DeepSeek-V3.
const LARGE: [[usize; 2]; 2] = [[16_384, 8192], [8192, 7168]];

/// What varies between cases, apart from element types and places.
#[derive(Clone, Copy)]
struct Spec {
    shape: [usize; 2],
    name: &'static str,
    content: Content,
    /// So few workgroups that they take several turns.
    workgroups: Option<u32>,
    tile: Option<&'static str>,
}

impl Spec {
    const fn new(shape: [usize; 2], name: &'static str) -> Self {
        let content = Content::Drawn(Draw::Outliers);
        Self { shape, name, content, workgroups: None, tile: None }
    }

    fn options(&self) -> RowOptions<'static> {
        let options = self.tile.into_iter().fold(RowOptions::default(), RowOptions::tile);
        self.workgroups.into_iter().fold(options, RowOptions::workgroups)
    }

    /// From each type to each type of codes.
    fn cases(self) -> impl Iterator<Item = Case> {
        REALS.into_iter().flat_map(move |x| self.cases_of(x))
    }

    /// To each type of codes.
    fn cases_of(self, x: DType) -> impl Iterator<Item = Case> {
        CODES.into_iter().map(move |(codes, arch)| {
            let tile = self.tile.map(|tile| format!(", tile {tile}")).unwrap_or_default();
            let name = format!("{}{tile}", self.name);
            let mut info =
                CaseInfo::new("quant", "per_token_quant", name, &[x, codes], &self.shape);
            info.arch = arch;
            Case::new(info, move |s| real!(x, T => code!(codes, C => set_up::<T, C>(s, self))))
        })
    }
}

fn set_up<T: Real, C: ByteCode>(s: &mut Setup, spec: Spec) {
    let [count, width] = spec.shape;
    let x = rows::<T>(s, spec.shape, spec.content, C::MOST);
    let (codes, scales) = reference::<C>(&x.numbers(), width, C::MOST);
    let expected = expected(&codes, |i| scales[i / width].is_finite());
    let codes = s.output::<C>("codes", &spec.shape, expected);
    let scales = scales.into_iter().map(f64::from).collect();
    let scales = s.output::<f32>("scales", &[count], Expected::exact(scales));
    s.call(move || {
        let out = PerTokenQuantOut { codes: &mut codes.get(), scales: &mut scales.get() };
        per_token_quant_into(&x.get(), &spec.options(), out)
    });
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |spec: Spec, place| cases.extend(spec.cases().map(|case| case.place(place)));
    for shape in SHAPES {
        add(Spec::new(shape, "plain"), Placement::DENSE);
    }
    let gaps = Placement::DENSE.gap(5).shift(3);
    let end = Placement::DENSE.gap(3).edge(Edge::End);
    for (tile, shape) in TILES {
        let tile = Some(tile);
        let turns = Spec { tile, workgroups: Some(2), ..Spec::new(shape, "turns") };
        let even = Spec { shape: [shape[0], shape[1] / 8 * 8], ..turns };
        add(turns, gaps);
        add(even, gaps);
        add(Spec { workgroups: None, name: "end of memory", ..turns }, end);
        for width in [24, 25, 26, 27, 28, 29, 31] {
            add(Spec { tile, ..Spec::new([3, width], "ends of rows") }, Placement::DENSE);
        }
        let content = Content::Special;
        add(Spec { tile, content, ..Spec::new([12, 300.min(shape[1])], "special") }, gaps);
    }
    for shape in LARGE {
        let large = Spec::new(shape, "model").cases();
        cases.extend(large.map(|case| case.size(Size::Large)));
    }
    // 2^33 bytes of x.
    for x in REALS {
        let far = Spec::new([2, 43], "rows far apart").cases_of(x);
        let place = Placement::DENSE.gap((1 << 33) / x.size());
        cases.extend(far.map(|case| case.place(place).size(Size::Core)));
    }
    cases
}
