//! Cases of `mean_pool`.

use hk_core::dtype::{DType, Real};
use hk_ref::norm::mean_pool::mean_pool as reference;
use hk_ref::{Case, CaseInfo, Draw, Edge, Expected, Placement, REALS, Setup, Size, real};

use crate::{MeanPoolOptions, mean_pool_into};

/// What varies between cases, apart from element types.
#[derive(Clone, Copy)]
struct Spec {
    bounds: &'static [i64],
    width: usize,
    name: &'static str,
    /// Bits of bounds.
    bits: u32,
    place: Placement,
    size: Size,
}

impl Spec {
    const fn new(bounds: &'static [i64], width: usize, name: &'static str) -> Self {
        let (bits, place, size) = (32, Placement::DENSE, Size::Quick);
        Self { bounds, width, name, bits, place, size }
    }

    fn case(self, x: DType, y: DType) -> Case {
        let tokens = self.bounds.last().copied().unwrap_or_default() as usize;
        let name = format!("{}, i{}", self.name, self.bits);
        let shape = [tokens, self.bounds.len() - 1, self.width];
        let info = CaseInfo::new("mean_pool", "mean_pool", name, &[x, y], &shape);
        let set_up = move |s: &mut Setup| real!(x, X => real!(y, Y => set_up::<X, Y>(s, self)));
        Case::new(info, set_up).place(self.place).size(self.size).writes_once()
    }
}

fn set_up<X: Real, Y: Real>(s: &mut Setup, spec: Spec) {
    let Spec { bounds, width, .. } = spec;
    let [tokens, sequences] = [bounds[bounds.len() - 1] as usize, bounds.len() - 1];
    let x = s.input::<X>("x", &[tokens, width], Draw::Normal);
    let (y, slack) = reference(&x.numbers(), bounds, width);
    let y = Expected::rounded(y, Y::DTYPE, false).plus(slack);
    let options = MeanPoolOptions::default();
    let y = s.output::<Y>("y", &[sequences, width], y);
    if spec.bits == 64 {
        let bounds = s.given("cu_seqlens", &[bounds.len()], bounds.to_vec());
        s.call(move || mean_pool_into(&x.get(), &bounds.get(), &options, &mut y.get()));
    } else {
        let narrow = bounds.iter().map(|bound| *bound as i32).collect();
        let bounds = s.given("cu_seqlens", &[bounds.len()], narrow);
        s.call(move || mean_pool_into(&x.get(), &bounds.get(), &options, &mut y.get()));
    }
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut specs = vec![
        Spec::new(&[0, 7, 12, 40], 384, "sentences"),
        // Waves without tokens, sequences without any, and no sequence.
        Spec::new(&[0, 1], 64, "one token"),
        Spec::new(&[0, 0, 3, 3, 20, 20], 96, "empty sequences"),
        Spec::new(&[0], 16, "no sequences"),
        // Less than a chunk, an odd end, more pieces than one.
        Spec::new(&[0, 5, 6], 1, "narrow"),
        Spec::new(&[0, 5, 9], 7, "narrow"),
        Spec::new(&[0, 17, 50], 1029, "wide"),
        Spec::new(&[0, 3, 36], 1534, "wide"),
        Spec { bits: 64, ..Spec::new(&[0, 4, 21], 130, "plain") },
    ];
    for width in [40, 43] {
        let gaps = Placement::DENSE.gap(5).shift(3);
        specs.push(Spec { place: gaps, ..Spec::new(&[0, 33, 64, 80], width, "gaps") });
        let end = Placement::DENSE.gap(3).edge(Edge::End);
        specs.push(Spec { place: end, ..Spec::new(&[0, 18, 19], width, "end of memory") });
    }
    let mut cases: Vec<_> = specs
        .into_iter()
        .flat_map(|spec| REALS.into_iter().map(move |dtype| spec.case(dtype, dtype)))
        .collect();
    // Every pair of types, of whole chunks or not.
    for (x, y) in REALS.into_iter().flat_map(|x| REALS.map(|y| (x, y))) {
        for (width, bits) in [(200, 32), (203, 32), (96, 64), (97, 64)] {
            cases.push(Spec { bits, ..Spec::new(&[0, 6, 6, 7, 30], width, "types") }.case(x, y));
        }
    }
    // Rows beyond 2^32 bytes.
    let far = Placement::DENSE.gap(3 << 30);
    for dtype in REALS {
        let spec = Spec::new(&[0, 2, 3], 44, "rows far apart");
        cases.push(Spec { place: far, size: Size::Core, ..spec }.case(dtype, dtype));
    }
    let model = Spec::new(&[0, 256, 300, 556, 812, 1068], 384, "model");
    cases.push(Spec { size: Size::Large, ..model }.case(DType::F16, DType::F32));
    cases
}
