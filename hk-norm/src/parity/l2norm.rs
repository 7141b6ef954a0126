//! Cases of `l2norm` and `l2norm_bwd`.

use hk_core::dtype::{DType, Element, Real, decode};
use hk_ref::norm::l2norm::{l2norm as reference, l2norm_bwd as reference_bwd};
use hk_ref::{Arg, Case, CaseInfo, Draw, Edge, Expected, Placement, REALS, Setup, Size, real};

use crate::{L2normOut, RowOptions, l2norm_bwd_into, l2norm_into};

/// `[rows, width]`: rows that share a wave, that have one or a workgroup, that are read twice; widths
/// with every remainder of a chunk, lengths that leave a wave with some of its rows.
const SHAPES: [[usize; 2]; 17] = [
    [512, 128],
    [1, 1],
    [3, 64],
    [33, 96],
    [5, 512],
    [5, 513],
    [2, 4096],
    [1, 65_536],
    [7, 27],
    [6, 122],
    [2, 509],
    [3, 1710],
    [2, 2047],
    [2, 5003],
    [1, 8191],
    [1, 8997],
    [0, 64],
];

/// Every tile configuration, with a shape for it.
const TILES: [(&str, [usize; 2]); 5] = [
    ("n128", [83, 11]),
    ("n512", [21, 301]),
    ("n2048", [21, 601]),
    ("n8192", [7, 2501]),
    ("any", [5, 8401]),
];

/// Shapes of models: queries and keys of Qwen3-Next, and rows as wide as two heads.
const LARGE: [[usize; 2]; 2] = [[131_072, 128], [65_536, 256]];

/// What varies between cases, apart from element types and places.
#[derive(Clone, Copy)]
struct Spec {
    shape: [usize; 2],
    name: &'static str,
    draw: Draw,
    rstd: bool,
    /// So few workgroups that they take several turns.
    workgroups: Option<u32>,
    tile: Option<&'static str>,
}

impl Spec {
    const fn new(shape: [usize; 2], name: &'static str) -> Self {
        Self { shape, name, draw: Draw::Normal, rstd: true, workgroups: None, tile: None }
    }

    fn options(&self) -> RowOptions<'static> {
        let options = self.tile.into_iter().fold(RowOptions::default(), RowOptions::tile);
        self.workgroups.into_iter().fold(options, RowOptions::workgroups)
    }

    fn info(&self, op: &'static str, dtypes: &[DType]) -> CaseInfo {
        let tile = self.tile.map(|tile| format!(", tile {tile}")).unwrap_or_default();
        CaseInfo::new("l2norm", op, format!("{}{tile}", self.name), dtypes, &self.shape)
    }
}

/// Rows of type `x` to rows of type `y`.
fn forward(spec: Spec, x: DType, y: DType) -> Case {
    let info = spec.info("l2norm", &[x, y]);
    Case::new(info, move |s| real!(x, X => real!(y, Y => set_up::<X, Y>(s, spec))))
}

fn set_up<X: Real, Y: Real>(s: &mut Setup, spec: Spec) {
    let ([rows, width], eps) = (spec.shape, 1e-6);
    let x = s.input::<X>("x", &[rows, width], spec.draw);
    let (y, rstd) = reference(&x.numbers(), width, eps);
    let comparable = spec.draw == Draw::Normal;
    let y = s.output::<Y>("y", &[rows, width], Expected::rounded(y, Y::DTYPE, comparable));
    let rstd = Expected::relative(rstd, 2e-6);
    let rstd = spec.rstd.then(|| s.output::<f32>("rstd", &[rows], rstd));
    s.call(move || {
        let mut rstd = rstd.as_ref().map(Arg::get);
        let out = L2normOut { y: &mut y.get(), rstd: rstd.as_deref_mut() };
        l2norm_into(&x.get(), eps, &spec.options(), out)
    });
}

fn backward(spec: Spec, dtype: DType) -> Case {
    Case::new(
        spec.info("l2norm_bwd", &[dtype]),
        move |s| real!(dtype, T => set_up_bwd::<T>(s, spec)),
    )
}

fn set_up_bwd<T: Real>(s: &mut Setup, spec: Spec) {
    let [rows, width] = spec.shape;
    // What the forward pass would store: rounded.
    let x = s.draw::<T>("x", &spec.shape, spec.draw);
    let (y, rstd) = reference(&decode(&x), width, 1e-6);
    let y = s.given("y", &spec.shape, T::encode(&y));
    let rstd = s.given("rstd", &[rows], f32::encode(&rstd));
    let dy = s.input::<T>("dy", &spec.shape, spec.draw);
    let (dx, slack) = reference_bwd(&y.numbers(), &rstd.numbers(), &dy.numbers(), width);
    let dx = Expected::rounded(dx, T::DTYPE, false).plus(slack);
    let dx = s.output::<T>("dx", &spec.shape, dx);
    s.call(move || {
        l2norm_bwd_into(&y.get(), &rstd.get(), &dy.get(), &spec.options(), &mut dx.get())
    });
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    // Every type, and every pair of types unless it is in place.
    let mut add = |spec: Spec, place: Placement, in_place: bool, pairs: bool| {
        for x in REALS {
            let others = REALS.into_iter().filter(|y| *y == x || (pairs && !in_place));
            let forward = others.map(|y| forward(spec, x, y));
            let both = forward.chain([backward(spec, x)]);
            cases.extend(both.map(|case| case.place(place).in_place(in_place)));
        }
    };
    for shape in SHAPES {
        add(Spec::new(shape, "plain"), Placement::DENSE, false, true);
    }
    let gaps = Placement::DENSE.gap(5).shift(3);
    let end = Placement::DENSE.gap(3).edge(Edge::End);
    for (tile, shape) in TILES {
        let tile = Some(tile);
        let turns = Spec { tile, workgroups: Some(2), ..Spec::new(shape, "turns") };
        let even = Spec { shape: [shape[0], shape[1] / 8 * 8], ..turns };
        add(turns, gaps, false, true);
        add(even, gaps, false, true);
        add(even, gaps, true, false);
        add(Spec { workgroups: None, ..turns }, end, false, false);
        for width in [24, 26, 27, 29] {
            let rstd = [24, 27].contains(&width);
            let ends = Spec { rstd, tile, ..Spec::new([3, width], "ends of rows") };
            add(ends, Placement::DENSE, false, true);
        }
    }
    let zeros = Spec { draw: Draw::Zeros, ..Spec::new([9, 130], "zeros") };
    add(zeros, Placement::DENSE, false, false);
    // Sums of so many pieces that they are folded.
    let long = Spec::new([1, 530_001], "long");
    let large = LARGE.map(|shape| (Spec::new(shape, "model"), Size::Large));
    for (spec, size) in large.into_iter().chain([(long, Size::Core)]) {
        for dtype in REALS {
            let both = [forward(spec, dtype, dtype), backward(spec, dtype)];
            cases.extend(both.map(|case| case.size(size)));
        }
    }
    // Beyond 2^32 elements, and 2^32 bytes.
    let far = Spec::new([2, 43], "rows far apart");
    for (dtype, gap) in [(DType::Bf16, 1 << 32), (DType::F32, 1 << 31)] {
        let both = [forward(far, dtype, dtype), backward(far, dtype)];
        let place = Placement::DENSE.gap(gap);
        cases.extend(both.map(|case| case.place(place).size(Size::Core)));
    }
    cases
}
