//! Cases of `gemm_a16w16_atomic`.

use hk_core::Arch;
use hk_core::dtype::{DType, Real16, bf16, f16};
use hk_ref::gemm::gemm_a16w16_atomic::expect_in_shares;
use hk_ref::{Case, CaseInfo, Draw, Edge, Placement, Size};
use ndarray::ArrayView2;

use super::config::Config;
use super::gemm_a16w16_limits::TURNS;
use crate::{AtomicOptions, Layout, gemm_a16w16_atomic_into};

/// A case as data.
#[derive(Clone)]
struct Spec {
    name: String,
    /// m, n, k.
    shape: [usize; 3],
    layout: Layout,
    accumulate: bool,
    splits: Option<u32>,
    compute_units: Option<u32>,
    tile: Option<(Arch, &'static str)>,
    place: Placement,
    size: Size,
}

fn spec(name: impl Into<String>, shape: [usize; 3], splits: Option<u32>) -> Spec {
    Spec {
        name: name.into(),
        shape,
        layout: Layout::Tn,
        accumulate: false,
        splits,
        compute_units: None,
        tile: None,
        place: Placement::default(),
        size: Size::Quick,
    }
}

fn case<T: Real16>(spec: Spec) -> Case {
    let splits = spec.splits.map_or_else(|| "any".into(), |splits| splits.to_string());
    let added = if spec.accumulate { ", added" } else { "" };
    let name = format!("{}, {}, {splits} splits{added}", spec.name, spec.layout.name());
    let info = CaseInfo::new("gemm_a16w16_atomic", "gemm_a16w16_atomic", name, &[], &spec.shape);
    let dtype = format!("{}->f32", T::DTYPE);
    let arch = spec.tile.map(|(arch, _)| arch);
    Case::new(CaseInfo { dtype, arch, size: spec.size, ..info }, move |s| {
        let [m, n, k] = spec.shape;
        let [x_transposed, w_transposed] =
            [spec.layout.x_is_transposed(), spec.layout.w_is_transposed()];
        let shape = |rows, transposed| if transposed { [k, rows] } else { [rows, k] };
        let x_shape = shape(m, x_transposed);
        let x = s.input::<T>("x", &x_shape, Draw::Normal).place(spec.place);
        let w_shape = shape(n, w_transposed);
        let w = s.input::<T>("w", &w_shape, Draw::Normal).place(spec.place);
        let held: Option<Vec<f32>> = spec.accumulate.then(|| s.draw("held", &[m, n], Draw::Normal));
        let expected = {
            let of = |numbers: &[f64], shape: [usize; 2], transposed: bool| {
                let view = ArrayView2::from_shape(shape, numbers).expect("a matrix of that shape");
                if transposed { view.reversed_axes().to_owned() } else { view.to_owned() }
            };
            let x = of(&x.numbers(), x_shape, x_transposed);
            let w = of(&w.numbers(), w_shape, w_transposed);
            let numbers = held.as_ref().map(|of| of.iter().map(|x| f64::from(*x)).collect());
            expect_in_shares(x.view(), w.view(), numbers, spec.splits.unwrap_or(64))
        };
        let y = s.output::<f32>("y", &[m, n], expected).place(spec.place).in_any_order();
        let y = held.into_iter().fold(y, |y, held| y.holding(held));
        let spec = spec.clone();
        s.call(move || {
            let mut options = AtomicOptions::default().layout(spec.layout);
            options = options.accumulate(spec.accumulate);
            options = spec.splits.into_iter().fold(options, AtomicOptions::splits);
            options = spec.compute_units.into_iter().fold(options, AtomicOptions::compute_units);
            options = spec.tile.into_iter().fold(options, |options, (_, tile)| options.tile(tile));
            gemm_a16w16_atomic_into(&x.get(), &w.get(), &options, &mut y.get())
        });
    })
}

/// k that are no multiples of shares of steps, among them.
const SHAPES: [[usize; 3]; 10] = [
    [1, 1, 1],
    [3, 5, 2],
    [17, 33, 70],
    [1, 256, 512],
    [31, 48, 200],
    [64, 64, 1000],
    [129, 127, 650],
    [64, 192, 320],
    [16, 16, 16_384],
    [5, 2, 131_072],
];

pub(super) fn add(cases: &mut Vec<Case>) {
    for shape in SHAPES {
        for splits in [None, Some(1), Some(2), Some(3), Some(7)] {
            if splits.is_some_and(|splits| splits as usize > shape[2]) {
                continue;
            }
            for accumulate in [false, true] {
                let spec = Spec { accumulate, ..spec("plain", shape, splits) };
                cases.push(case::<bf16>(spec.clone()));
                cases.push(case::<f16>(Spec { size: Size::Core, ..spec }));
            }
        }
    }
    cases.push(case::<bf16>(spec("no rows", [0, 64, 64], Some(2))));
    for (place, name) in [
        (Placement::DENSE.gap(24), "rows of wider tensors"),
        (Placement::DENSE.gap(5).shift(3), "rows off alignment"),
        (Placement::DENSE.edge(Edge::Start), "start of memory"),
        (Placement::DENSE.edge(Edge::End), "end of memory"),
        // In the first row of operands whose rows are along k, on the way from one step to the next.
        (Placement::DENSE.carry(605), "a step across 4 GiB"),
        (Placement::DENSE.carry(640), "a step behind 4 GiB"),
    ] {
        for layout in Layout::ALL {
            for accumulate in [false, true] {
                let spec = spec(name, [17, 33, 1210], Some(2));
                let spec = Spec { place, layout, accumulate, ..spec };
                cases.push(case::<bf16>(spec.clone()));
                cases.push(case::<f16>(spec));
            }
        }
    }
    for [m, n] in TURNS {
        let few = spec("several turns of few workgroups", [m, n, 600], Some(2));
        cases.push(case::<bf16>(Spec { compute_units: Some(1), ..few }));
    }
    let end = Placement::DENSE.edge(Edge::End);
    for config in Config::all("a16w16_atomic") {
        let Config { m, n, k, stages, layout, .. } = config;
        let steps = (3 * stages - 1).max(4);
        let shapes = [[m + 5, n + 9, (steps - 1) * k + 7], [m, n, 4 * k], [11 * m, 3 * n, 16]];
        for (i, shape) in shapes.into_iter().enumerate() {
            for (splits, accumulate) in [(1, true), (3, false)] {
                let spec = spec(format!("tile {}", config.name), shape, Some(splits));
                let spec = Spec {
                    accumulate,
                    layout,
                    tile: Some((config.arch, config.name)),
                    size: if i == 0 { Size::Quick } else { Size::Core },
                    place: end,
                    ..spec
                };
                cases.push(match config.dtype {
                    DType::Bf16 => case::<bf16>(spec),
                    _ => case::<f16>(spec),
                });
            }
        }
    }
    for shape in [[128, 128, 65_536], [256, 256, 131_072]] {
        cases.push(case::<bf16>(Spec { size: Size::Large, ..spec("long", shape, None) }));
    }
}
