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
    [1, 17_997],
    [0, 64],
];

/// Every tile configuration, with a shape for it.
const TILES: [(&str, [usize; 2]); 5] = [
    ("n128", [83, 11]),
    ("n512", [21, 301]),
    ("n2048", [21, 601]),
    ("n8192", [7, 2501]),
    ("any", [3, 16_901]),
];

/// Shapes of models: queries and keys of Qwen3-Next, and rows as wide as two heads.
const LARGE: [[usize; 2]; 2] = [[131_072, 128], [65_536, 256]];

/// What varies between cases, apart from element types and places.
#[derive(Clone, Copy)]
struct Spec {
    shape: [usize; 2],
    name: &'static str,
    draw: Draw,
    /// Results are next to the middle between two numbers of their type, and exact. Forward, since
    /// the first element of a row is so large that the other squares do not count; backward, since y
    /// is zero, so that only rstd does.
    ties: bool,
    eps: f32,
    rstd: bool,
    /// So few workgroups that they take several turns.
    workgroups: Option<u32>,
    tile: Option<&'static str>,
}

impl Spec {
    const fn new(shape: [usize; 2], name: &'static str) -> Self {
        let (draw, eps) = (Draw::Normal, 1e-6);
        Self { shape, name, draw, ties: false, eps, rstd: true, workgroups: None, tile: None }
    }

    fn options(&self) -> RowOptions<'static> {
        let options = self.tile.into_iter().fold(RowOptions::default(), RowOptions::tile);
        self.workgroups.into_iter().fold(options, RowOptions::workgroups)
    }

    /// Elements of x.
    fn x<T: Real>(&self, s: &Setup) -> Vec<T> {
        let [rows, width] = self.shape;
        if !self.ties {
            return s.draw("x", &self.shape, self.draw);
        }
        let number = |i| if i % width == 0 { 1.0 / FIRST } else { between(i) };
        (0..rows * width).map(|i| T::from_f64(number(i))).collect()
    }

    fn info(&self, op: &'static str, dtypes: &[DType]) -> CaseInfo {
        let tile = self.tile.map(|tile| format!(", tile {tile}")).unwrap_or_default();
        let groups = self.workgroups.map(|of| format!(", workgroups {of}")).unwrap_or_default();
        CaseInfo::new("l2norm", op, format!("{}{tile}{groups}", self.name), dtypes, &self.shape)
    }
}

/// The reciprocal norm of rows that begin with its inverse.
const FIRST: f64 = 1.0 / (1 << 20) as f64;

/// A number above one of bf16 by a half of the distance to the next, or by a little less or more.
fn between(i: usize) -> f64 {
    let parts = [0.5, 0.5 - 2f64.powi(-12), 0.5 + 2f64.powi(-12), 0.25];
    1.0 + ((i / 4 % 100) as f64 + parts[i % 4]) / 128.0
}

/// Rows of type `x` to rows of type `y`.
fn forward(spec: Spec, x: DType, y: DType) -> Case {
    let info = spec.info("l2norm", &[x, y]);
    Case::new(info, move |s| real!(x, X => real!(y, Y => set_up::<X, Y>(s, spec))))
}

fn set_up<X: Real, Y: Real>(s: &mut Setup, spec: Spec) {
    let ([rows, width], eps) = (spec.shape, spec.eps);
    let x = s.given("x", &spec.shape, spec.x::<X>(s));
    let (y, rstd) = reference(&x.numbers(), width, eps);
    let scaled = || x.numbers().iter().map(|x| x * FIRST).collect::<Vec<_>>();
    let y = match spec.ties {
        true => Expected::exact(decode(&Y::encode(&scaled()))),
        false => Expected::rounded(y, Y::DTYPE, spec.draw == Draw::Normal),
    };
    let y = s.output::<Y>("y", &spec.shape, y);
    let rstd = Expected::relative(rstd, 2e-6);
    let each_row = s.carried(|element| element / width);
    let rstd = spec.rstd.then(|| s.output::<f32>("rstd", &[rows], rstd).place(each_row));
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
    let (y, rstd) = reference(&decode(&spec.x::<T>(s)), width, spec.eps);
    let (mut y, mut rstd) = (T::encode(&y), f32::encode(&rstd));
    let mut dy: Vec<T> = s.draw("dy", &spec.shape, spec.draw);
    if spec.ties {
        y = vec![T::from_f64(0.0); y.len()];
        rstd = (0..rows).map(|i| between(i) as f32).collect();
        dy = (0..dy.len()).map(|i| T::from_f64([1.0, -1.0][i % 2])).collect();
    }
    let each_row = s.carried(|element| element / width);
    let y = s.given("y", &spec.shape, y);
    let rstd = s.given("rstd", &[rows], rstd).place(each_row);
    let dy = s.given("dy", &spec.shape, dy);
    let (dx, slack) = reference_bwd(&y.numbers(), &rstd.numbers(), &dy.numbers(), width);
    let dx = match spec.ties {
        true => Expected::exact(decode(&T::encode(&dx))),
        false => Expected::rounded(dx, T::DTYPE, false).plus(slack),
    };
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
        add(Spec { name: "turns in place", ..even }, gaps, true, false);
        add(Spec { workgroups: None, ..turns }, end, false, false);
        let carry = Placement::DENSE.carry(shape[0] / 2 * shape[1]);
        for shape in [shape, even.shape] {
            let across = Spec { shape, name: "across 4 GiB", ..turns };
            add(across, carry, false, false);
            add(Spec { workgroups: None, ..across }, carry, false, false);
        }
        for width in [24, 26, 27, 29] {
            let rstd = [24, 27].contains(&width);
            let ends = Spec { rstd, tile, ..Spec::new([3, width], "ends of rows") };
            add(ends, Placement::DENSE, false, true);
        }
    }
    let zeros = Spec { draw: Draw::Zeros, ..Spec::new([9, 130], "zeros") };
    add(zeros, Placement::DENSE, false, false);
    for (tile, width) in ["n128", "n8192", "any"].into_iter().flat_map(|t| [(t, 63), (t, 64)]) {
        let ties = Spec { ties: true, tile: Some(tile), ..Spec::new([9, width], "ties") };
        cases.push(forward(ties, DType::F32, DType::Bf16));
        cases.push(backward(ties, DType::Bf16));
    }
    // Magnitudes whose squares are subnormal.
    let small = Spec { draw: Draw::Scaled(-56), eps: 1e-36, ..Spec::new([5, 301], "small") };
    for shape in [small.shape, [5, 300], [2, 16_901], [2, 16_896]] {
        let small = |dtype| forward(Spec { shape, ..small }, dtype, dtype);
        cases.extend([DType::Bf16, DType::F32].map(small));
    }
    let mut large = |spec: Spec, dtypes: &[DType], place: Placement, size: Size| {
        for &dtype in dtypes {
            let both = [forward(spec, dtype, dtype), backward(spec, dtype)];
            cases.extend(both.map(|case| case.place(place).size(size)));
        }
    };
    // Sums of so many pieces that they are folded.
    for width in [530_001, 530_002] {
        large(Spec::new([1, width], "long"), &REALS, Placement::DENSE, Size::Core);
    }
    for shape in LARGE {
        large(Spec::new(shape, "model"), &REALS, Placement::DENSE, Size::Large);
    }
    for workgroups in [None, Some(1)] {
        // Beyond 2^32 elements, and 2^32 bytes; in the first turn and in a later one.
        for (tile, width) in [("n8192", 43), ("n8192", 44), ("any", 16_901), ("any", 16_902)] {
            let far = Spec::new([2, width], "rows far apart");
            let far = Spec { tile: Some(tile), workgroups, ..far };
            large(far, &[DType::Bf16, DType::F16], Placement::DENSE.gap(1 << 32), Size::Core);
            large(far, &[DType::F32], Placement::DENSE.gap(1 << 31), Size::Core);
        }
        // The second piece of the second row is behind a multiple of 4 GiB.
        for width in [16_400, 16_401] {
            let pieces = Spec::new([2, width], "pieces across 4 GiB");
            let pieces = Spec { tile: Some("any"), workgroups, ..pieces };
            let place = Placement::DENSE.carry(width + 7000);
            large(pieces, &[DType::Bf16], place, Size::Core);
        }
    }
    for (workgroups, y) in [(None, DType::F16), (None, DType::F32), (Some(1), DType::F32)] {
        let pieces = Spec::new([2, 16_401], "pieces across 4 GiB");
        let pieces = Spec { tile: Some("any"), workgroups, ..pieces };
        let place = Placement::DENSE.carry(16_401 + 7000);
        cases.push(forward(pieces, DType::Bf16, y).place(place).size(Size::Core));
    }
    cases
}
