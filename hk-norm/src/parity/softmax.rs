//! Cases of `softmax`.

use hk_core::dtype::{DType, Real};
use hk_ref::norm::softmax::{expected, softmax as reference};
use hk_ref::{Case, CaseInfo, Draw, Edge, Placement, REALS, Setup, Size, real};

use crate::{RowOptions, softmax_into};

/// `[rows, width]`: rows that share a wave, that have one or a workgroup, that are read twice; widths
/// with every remainder of a chunk.
const SHAPES: [[usize; 2]; 17] = [
    [1, 1],
    [128, 1],
    [359, 1],
    [1, 128],
    [1, 359],
    [182, 781],
    [64, 1024],
    [8, 8192],
    [1, 89_999],
    [1, 131_072],
    [7, 27],
    [6, 122],
    [3, 1710],
    [2, 2047],
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

/// Shapes of models: attention, and logits of Llama 3, Qwen3 and GPT-OSS.
const LARGE: [[usize; 2]; 10] = [
    [512, 128],
    [512, 1024],
    [512, 4096],
    [512, 8192],
    [1823, 781],
    [4096, 8192],
    [8192, 8192],
    [256, 128_256],
    [256, 151_936],
    [64, 201_088],
];

/// What is put into rows after they were drawn.
#[derive(Clone, Copy, PartialEq)]
enum Special {
    None,
    /// -inf in the first part of each row, of so many elements.
    Masked(usize),
    /// A row each with one -inf, with nothing else, with +inf, with NaN at its end, and with all three.
    Values,
}

/// What varies between cases, apart from element types and places.
#[derive(Clone, Copy)]
struct Spec {
    shape: [usize; 2],
    name: &'static str,
    draw: Draw,
    special: Special,
    /// So few workgroups that they take several turns.
    workgroups: Option<u32>,
    tile: Option<&'static str>,
}

impl Spec {
    const fn new(shape: [usize; 2], name: &'static str) -> Self {
        let (draw, special) = (Draw::Normal, Special::None);
        Self { shape, name, draw, special, workgroups: None, tile: None }
    }
}

/// Rows of type `x` to rows of type `y`.
fn case(spec: Spec, x: DType, y: DType) -> Case {
    let tile = spec.tile.map(|tile| format!(", tile {tile}")).unwrap_or_default();
    let name = format!("{}{tile}", spec.name);
    let info = CaseInfo::new("softmax", "softmax", name, &[x, y], &spec.shape);
    Case::new(info, move |s| real!(x, X => real!(y, Y => set_up::<X, Y>(s, spec))))
}

fn set_up<X: Real, Y: Real>(s: &mut Setup, spec: Spec) {
    let (shape, width) = (&spec.shape, spec.shape[1]);
    let mut x = s.draw::<X>("x", shape, spec.draw);
    let [inf, nan] = [f64::INFINITY, f64::NAN].map(X::from_f64);
    let least = X::from_f64(f64::NEG_INFINITY);
    match spec.special {
        Special::None => {}
        Special::Masked(count) => x.chunks_mut(width).for_each(|row| row[..count].fill(least)),
        Special::Values => {
            x[width / 3] = least;
            x[width..2 * width].fill(least);
            x[3 * width - 1] = inf;
            x[4 * width - 1] = nan;
            x[4 * width..][..3].copy_from_slice(&[inf, nan, least]);
        }
    }
    let x = s.given("x", shape, x);
    let comparable = (spec.draw, spec.special) == (Draw::Normal, Special::None);
    let y = expected(reference(&x.numbers(), width), Y::DTYPE, comparable);
    let y = s.output::<Y>("y", shape, y);
    let options = spec.tile.into_iter().fold(RowOptions::default(), RowOptions::tile);
    let options = spec.workgroups.into_iter().fold(options, RowOptions::workgroups);
    s.call(move || softmax_into(&x.get(), &options, &mut *y.get()));
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    // Every type, and every pair of types unless it is in place.
    let mut add = |spec: Spec, place: Placement, in_place: bool, pairs: bool| {
        for x in REALS {
            let others = REALS.into_iter().filter(|y| *y == x || (pairs && !in_place));
            cases.extend(others.map(|y| case(spec, x, y).place(place).in_place(in_place)));
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
        add(Spec { name: "turns in place", ..even }, gaps, true, false);
        let at_end = Spec { workgroups: None, name: "end of memory", ..turns };
        add(at_end, end, false, false);
        for width in [24, 26, 27, 29] {
            let ends = Spec { tile, ..Spec::new([3, width], "ends of rows") };
            add(ends, Placement::DENSE, false, true);
        }
        let special = Spec { special: Special::Values, ..Spec::new([6, shape[1]], "special") };
        add(Spec { tile, ..special }, Placement::DENSE, false, false);
    }
    for (power, name) in [(-30, "all but equal"), (4, "apart"), (12, "far apart")] {
        for shape in [[5, 301], [2, 17_003]] {
            let spec = Spec { draw: Draw::Scaled(power), ..Spec::new(shape, name) };
            add(spec, Placement::DENSE, false, false);
        }
    }
    // The first pieces of rows have no finite number.
    let special = Special::Masked(40_000);
    let masked = Spec { special, ..Spec::new([2, 50_003], "begins with -inf") };
    add(masked, Placement::DENSE, false, false);
    // So many pieces that sums are folded.
    for width in [530_000, 530_001] {
        let long = Spec::new([1, width], "long");
        for x in [DType::Bf16, DType::F32] {
            cases.extend(REALS.map(|y| case(long, x, y).size(Size::Core)));
        }
    }
    for shape in LARGE {
        let large = Spec::new(shape, "model");
        cases.extend(REALS.map(|dtype| case(large, dtype, dtype).size(Size::Large)));
    }
    // Beyond 2^32 elements, and 2^32 bytes.
    let far = Spec::new([2, 43], "rows far apart");
    for (dtype, gap) in [(DType::Bf16, 1 << 32), (DType::F32, 1 << 31)] {
        let place = Placement::DENSE.gap(gap);
        cases.push(case(far, dtype, dtype).place(place).size(Size::Core));
    }
    cases
}
