//! Cases of `mean_pool`.

use hk_core::dtype::{DType, Real};
use hk_ref::norm::mean_pool::mean_pool as reference;
use hk_ref::{Case, CaseInfo, Draw, Edge, Expected, Placement, REALS, Setup, Size, real};

use crate::{MeanPoolOptions, mean_pool_into};

/// What rows hold.
#[derive(Clone, Copy)]
enum Content {
    /// Drawn numbers.
    Drawn,
    /// Integers whose sums and means are integers, too.
    Exact,
}

/// What varies between cases, apart from element types.
#[derive(Clone)]
struct Spec {
    /// As they count.
    bounds: Vec<i64>,
    width: usize,
    name: &'static str,
    /// Bits of bounds.
    bits: u32,
    /// Whether bounds of 0 are given as less, and those of all tokens as more, and not looked at.
    wild: bool,
    content: Content,
    place: Placement,
    size: Size,
}

impl Spec {
    fn new(bounds: &[i64], width: usize, name: &'static str) -> Self {
        let (bits, wild, content) = (32, false, Content::Drawn);
        let (place, size) = (Placement::DENSE, Size::Quick);
        Self { bounds: bounds.to_vec(), width, name, bits, wild, content, place, size }
    }

    /// Of which every line of the grid but the last is full, and few have tokens.
    fn lines() -> Self {
        let with_tokens = [0, (1 << 16) - 1, 1 << 16, (1 << 16) + 2];
        let bound = |i: i64| with_tokens.iter().filter(|sequence| **sequence < i).count() as i64;
        let bounds: Vec<i64> = (0..=(1 << 16) + 3).map(bound).collect();
        Self { size: Size::Core, ..Self::new(&bounds, 2, "lines of sequences") }
    }

    fn tokens(&self) -> usize {
        self.bounds.last().copied().unwrap_or_default() as usize
    }

    fn case(self, x: DType, y: DType) -> Case {
        let wild = if self.wild { ", wild" } else { "" };
        let name = format!("{}, i{}{wild}", self.name, self.bits);
        let shape = [self.tokens(), self.bounds.len() - 1, self.width];
        let info = CaseInfo::new("mean_pool", "mean_pool", name, &[x, y], &shape);
        let (place, size) = (self.place, self.size);
        let set_up = move |s: &mut Setup| real!(x, X => real!(y, Y => set_up::<X, Y>(s, &self)));
        Case::new(info, set_up).place(place).size(size).writes_once()
    }

    /// Bounds as the op is given them.
    fn given(&self) -> Vec<i64> {
        let all = self.tokens() as i64;
        // The lower half of one of 64 bits is another number, which may be right.
        let [least, most, few] = match self.bits {
            64 => [i64::MIN, i64::MAX, 1 << 32],
            _ => [i32::MIN.into(), i32::MAX.into(), all + 1],
        };
        let last = self.bounds.len() - 1;
        let bound = |(i, bound): (usize, &i64)| match *bound {
            0 if self.wild && i == 0 => least,
            0 if self.wild => -1,
            bound if self.wild && bound == all && i == last => most,
            bound if self.wild && bound == all => few,
            bound => bound,
        };
        self.bounds.iter().enumerate().map(bound).collect()
    }

    /// Rows of integers. Those from both ends of a sequence cancel each other but for the mean.
    fn exact<X: Real>(&self) -> Vec<X> {
        let mut x = Vec::new();
        for bound in self.bounds.windows(2) {
            let count = bound[1] - bound[0];
            for row in 0..count {
                let other = count - 1 - row;
                let from_end = row.min(other);
                x.extend((0..self.width as i64).map(|column| {
                    let mean = 24 + (5 * column + 11 * bound[1]) % 97;
                    let moved = (other - row).signum() * ((5 * from_end + column) % 13 - 6);
                    let sign = if (column / 3) % 2 == 0 { 1 } else { -1 };
                    X::from_f64((sign * (mean + moved)) as f64)
                }));
            }
        }
        x
    }
}

fn set_up<X: Real, Y: Real>(s: &mut Setup, spec: &Spec) {
    let (bounds, width) = (&spec.bounds, spec.width);
    let shape = [spec.tokens(), width];
    let x = match spec.content {
        Content::Drawn => s.input::<X>("x", &shape, Draw::Normal),
        Content::Exact => s.given::<X>("x", &shape, spec.exact()),
    };
    let (y, slack) = reference(&x.numbers(), bounds, width);
    let y = match spec.content {
        Content::Drawn => Expected::rounded(y, Y::DTYPE, false).plus(slack),
        Content::Exact => Expected::exact(y),
    };
    let options = MeanPoolOptions::default();
    let options = if spec.wild { options.validate_indices(false) } else { options };
    let y = s.output::<Y>("y", &[bounds.len() - 1, width], y);
    let (given, place) = (spec.given(), s.carried(|_| 1));
    if spec.bits == 64 {
        let bounds = s.given("cu_seqlens", &[given.len()], given).place(place);
        s.call(move || mean_pool_into(&x.get(), &bounds.get(), &options, &mut y.get()));
    } else {
        let narrow: Vec<i32> = given.iter().map(|bound| *bound as i32).collect();
        let bounds = s.given("cu_seqlens", &[narrow.len()], narrow).place(place);
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
        // As many tokens as have a mean in f32 that is exact.
        let exact = Spec::new(&[0, 3, 8, 14, 23, 34, 67, 68], width, "exact means");
        specs.push(Spec { content: Content::Exact, ..exact });
        for bits in [32, 64] {
            // One of the sequences ends before it starts.
            let wild = Spec::new(&[0, 0, 5, 3, 9, 9], width, "bounds");
            specs.push(Spec { bits, wild: true, ..wild });
            // Of x the second row, of bounds the second one.
            let carried = Spec::new(&[0, 2, 3, 5], width, "across 4 GiB");
            let place = Placement::DENSE.carry(width + 3);
            specs.push(Spec { bits, place, size: Size::Core, ..carried });
        }
        // Rows beyond 2^32 bytes.
        let far = Placement::DENSE.gap(3 << 30);
        let rows = Spec::new(&[0, 2, 3], width, "rows far apart");
        specs.push(Spec { place: far, size: Size::Core, ..rows });
    }
    let mut cases: Vec<_> = specs
        .into_iter()
        .flat_map(|spec| REALS.into_iter().map(move |dtype| spec.clone().case(dtype, dtype)))
        .collect();
    // Every pair of types, of whole chunks or not; the last element of a row is the first of a chunk.
    for (x, y) in REALS.into_iter().flat_map(|x| REALS.map(|y| (x, y))) {
        for (width, bits) in [(200, 32), (265, 32), (96, 64), (99, 64)] {
            cases.push(Spec { bits, ..Spec::new(&[0, 6, 6, 7, 30], width, "types") }.case(x, y));
        }
    }
    cases.push(Spec::lines().case(DType::Bf16, DType::Bf16));
    let model = Spec::new(&[0, 256, 300, 556, 812, 1068], 384, "model");
    cases.push(Spec { size: Size::Large, ..model }.case(DType::F16, DType::F32));
    cases
}
