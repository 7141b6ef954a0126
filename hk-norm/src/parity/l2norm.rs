//! Cases of `l2norm` and `l2norm_bwd`.

use hk_core::dtype::{Real, bf16, f16};
use hk_core::{Result, Stream};
use hk_ref::draw::to_f64;
use hk_ref::norm::l2norm::{l2norm as reference, l2norm_bwd as reference_bwd};
use hk_ref::norm::rmsnorm::{expect_rstd, expect_y};
use hk_ref::{Case, CaseInfo, Draw, Edge, Guarded, Placement, Prepared, Size};

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

/// Shapes of models: queries and keys of Qwen3-Next, and rows as wide as two heads.
const LARGE: [[usize; 2]; 2] = [[131_072, 128], [65_536, 256]];

/// A case as data.
#[derive(Clone, Copy)]
struct Spec {
    shape: [usize; 2],
    name: &'static str,
    draw: Draw,
    place: Placement,
    in_place: bool,
    rstd: bool,
    /// So few workgroups that they take several turns.
    workgroups: Option<u32>,
    tile: Option<&'static str>,
}

impl Spec {
    const fn new(shape: [usize; 2], name: &'static str) -> Self {
        let (draw, place) = (Draw::Normal, Placement::DENSE);
        Self { shape, name, draw, place, in_place: false, rstd: true, workgroups: None, tile: None }
    }

    fn options(&self) -> RowOptions<'static> {
        let options = self.tile.into_iter().fold(RowOptions::default(), RowOptions::tile);
        self.workgroups.into_iter().fold(options, RowOptions::workgroups)
    }

    fn case<T: Real, Y: Real>(
        self,
        op: &'static str,
        size: Size,
        prepare: impl Fn(&Stream, Self, Vec<T>) -> Result<Prepared> + Send + Sync + 'static,
    ) -> Case {
        let mut dtype = T::DTYPE.name().to_owned();
        if T::DTYPE != Y::DTYPE {
            dtype += &format!(" -> {}", Y::DTYPE);
        }
        let case =
            self.tile.map_or(self.name.to_owned(), |tile| format!("{}, tile {tile}", self.name));
        let shape = self.shape.to_vec();
        let info = CaseInfo { module: "l2norm", op, case, dtype, shape, size, arch: None };
        Case::new(info, move |stream| {
            let [rows, width] = self.shape;
            prepare(stream, self, self.draw.values((rows * 29 + width) as u64, rows * width))
        })
    }
}

fn forward<T: Real, Y: Real>(spec: Spec, size: Size) -> Case {
    spec.case::<T, Y>("l2norm", size, |stream, spec, x: Vec<T>| {
        let ([rows, width], place, eps) = (spec.shape, spec.place, 1e-6);
        let (y, rstd) = reference(&to_f64(&x), width, eps);
        let expected = expect_y(y, Y::DTYPE, spec.draw == Draw::Normal && rows * width >= 1024);
        let y_memory = Guarded::<Y>::new(stream, rows, width, place)?;
        let rstd_memory = Guarded::<f32>::new(stream, 1, rows, place.gap(0))?;
        let (mut y, mut rstd_tensor) = (y_memory.matrix()?, rstd_memory.vector()?);
        let initial: Option<Vec<Y>> =
            spec.in_place.then(|| x.iter().map(|x| Y::from_f64(x.to_f64())).collect());
        let x_memory = Guarded::input(stream, &x, rows, width, place)?;
        let x = x_memory.matrix()?;
        let launch = move || {
            let rstd = spec.rstd.then_some(&mut *rstd_tensor);
            if spec.in_place {
                let (x, mut y) = y.in_place();
                return l2norm_into(&x, eps, &spec.options(), L2normOut { y: &mut y, rstd });
            }
            l2norm_into(&x, eps, &spec.options(), L2normOut { y: &mut y, rstd })
        };
        let prepared = Prepared::new(launch).output("y", y_memory, initial, expected);
        Ok(if spec.rstd {
            prepared.output("rstd", rstd_memory, None, expect_rstd(rstd))
        } else {
            prepared
        })
    })
}

fn backward<T: Real>(spec: Spec, size: Size) -> Case {
    spec.case::<T, T>("l2norm_bwd", size, |stream, spec, x: Vec<T>| {
        let ([rows, width], place) = (spec.shape, spec.place);
        // What the forward pass would store: rounded.
        let (y, rstd) = reference(&to_f64(&x), width, 1e-6);
        let y: Vec<T> = y.into_iter().map(T::from_f64).collect();
        let rstd: Vec<f32> = rstd.into_iter().map(|r| r as f32).collect();
        let dy: Vec<T> = spec.draw.values((rows * 31 + width) as u64, rows * width);
        let (dx, slack) = reference_bwd(&to_f64(&y), &to_f64(&rstd), &to_f64(&dy), width);
        let mut expected = expect_y(dx, T::DTYPE, false);
        expected.allowed.iter_mut().zip(slack).for_each(|(allowed, slack)| *allowed += slack);
        let upload = |values: &[T]| Guarded::input(stream, values, rows, width, place);
        let (y_memory, dy_memory) = (upload(&y)?, upload(&dy)?);
        let rstd_memory = Guarded::input(stream, &rstd, 1, rows, place.gap(0))?;
        let dx_memory = Guarded::<T>::new(stream, rows, width, place)?;
        let (y, rstd, dy_tensor) = (y_memory.matrix()?, rstd_memory.vector()?, dy_memory.matrix()?);
        let mut dx = dx_memory.matrix()?;
        let launch = move || {
            if spec.in_place {
                let (dy, mut dx) = dx.in_place();
                return l2norm_bwd_into(&y, &rstd, &dy, &spec.options(), &mut dx);
            }
            l2norm_bwd_into(&y, &rstd, &dy_tensor, &spec.options(), &mut dx)
        };
        let initial = spec.in_place.then_some(dy);
        Ok(Prepared::new(launch).output("dx", dx_memory, initial, expected))
    })
}

/// All element types.
fn add_dtypes(cases: &mut Vec<Case>, spec: Spec, size: Size) {
    cases.extend([
        forward::<bf16, bf16>(spec, size),
        forward::<f16, f16>(spec, size),
        forward::<f32, f32>(spec, size),
        backward::<bf16>(spec, size),
        backward::<f16>(spec, size),
        backward::<f32>(spec, size),
    ]);
}

/// All pairs of different element types.
fn add_pairs(cases: &mut Vec<Case>, spec: Spec) {
    cases.extend([
        forward::<bf16, f16>(spec, Size::Quick),
        forward::<bf16, f32>(spec, Size::Quick),
        forward::<f16, bf16>(spec, Size::Quick),
        forward::<f16, f32>(spec, Size::Quick),
        forward::<f32, bf16>(spec, Size::Quick),
        forward::<f32, f16>(spec, Size::Quick),
    ]);
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for shape in SHAPES {
        let plain = Spec::new(shape, "plain");
        add_dtypes(&mut cases, plain, Size::Quick);
        add_pairs(&mut cases, plain);
    }
    let gaps = Placement::DENSE.gap(5).shift(3);
    for (tile, shape) in [
        ("n128", [83, 11]),
        ("n512", [21, 301]),
        ("n2048", [21, 601]),
        ("n8192", [7, 2501]),
        ("any", [5, 8401]),
    ] {
        let turns = Spec {
            workgroups: Some(2),
            place: gaps,
            tile: Some(tile),
            ..Spec::new(shape, "turns")
        };
        let [rows, width] = shape;
        let even = Spec { shape: [rows, width / 8 * 8], in_place: true, ..turns };
        let end = Placement::DENSE.gap(3).edge(Edge::End);
        let end = Spec { place: end, workgroups: None, ..turns };
        for spec in [turns, even, end] {
            add_dtypes(&mut cases, spec, Size::Quick);
        }
        for width in [24, 26, 27, 29] {
            let rstd = [24, 27].contains(&width);
            let ends = Spec { rstd, ..Spec::new([3, width], "ends of rows") };
            let ends = Spec { tile: Some(tile), ..ends };
            add_dtypes(&mut cases, ends, Size::Quick);
            add_pairs(&mut cases, ends);
        }
        for spec in [turns, Spec { in_place: false, ..even }] {
            add_pairs(&mut cases, spec);
        }
    }
    // Sums of so many pieces that they are folded.
    add_dtypes(&mut cases, Spec::new([1, 530_001], "long"), Size::Core);
    let spec = Spec::new([9, 130], "zeros");
    add_dtypes(&mut cases, Spec { draw: Draw::Zeros, ..spec }, Size::Quick);
    // Beyond 2^32 elements, and 2^32 bytes.
    let far =
        |gap| Spec { place: Placement::DENSE.gap(gap), ..Spec::new([2, 43], "rows far apart") };
    cases.push(forward::<bf16, bf16>(far(1 << 32), Size::Core));
    cases.push(backward::<bf16>(far(1 << 32), Size::Core));
    cases.push(forward::<f32, f32>(far(1 << 31), Size::Core));
    cases.push(backward::<f32>(far(1 << 31), Size::Core));
    for shape in LARGE {
        add_dtypes(&mut cases, Spec::new(shape, "model"), Size::Large);
    }
    cases
}
