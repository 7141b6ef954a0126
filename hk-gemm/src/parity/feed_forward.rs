//! Cases of feed-forward layers.

use hk_core::dtype::{DType, Real, Real16, bf16, f16};
use hk_core::{Arch, Result, TensorSlice};
use hk_ref::{Case, CaseInfo, Draw, Edge, Expected, Placement, Size};
use ndarray::ArrayView2;

use super::config::Config;
use crate::{Activation, FeedForwardOptions};

/// What distinguishes the two ops.
pub(super) trait Kind: 'static {
    /// The module.
    const MODULE: &'static str;
    /// The op.
    const OP: &'static str;
    /// Rows of w_up for each of the hidden layer.
    const ROWS: usize;
    /// How the fused kernels' variants name it.
    const FORM: &'static str;

    /// Calls the op.
    fn call<T: Real16, Y: Real>(
        x: &TensorSlice<T>,
        w: [&TensorSlice<T>; 2],
        options: &FeedForwardOptions<'_>,
        y: &mut TensorSlice<Y>,
    ) -> Result<()>;

    /// The reference.
    fn expect<T: Real16>(
        x: ArrayView2<'_, f64>,
        w: [ArrayView2<'_, f64>; 2],
        activation: Option<Activation>,
        dtype: DType,
    ) -> Expected;
}

/// A case as data.
#[derive(Clone)]
struct Spec {
    name: String,
    /// m, k, and the size of the hidden layer.
    shape: [usize; 3],
    /// Stores w_down as a linear layer does, `(k, i)`.
    linear: bool,
    activation: Option<Activation>,
    fused: Option<bool>,
    compute_units: Option<u32>,
    tile: Option<(Arch, &'static str)>,
    place: Placement,
    size: Size,
}

fn spec(name: impl Into<String>, shape: [usize; 3]) -> Spec {
    Spec {
        name: name.into(),
        shape,
        linear: false,
        activation: Some(Activation::Silu),
        fused: None,
        compute_units: None,
        tile: None,
        place: Placement::default(),
        size: Size::Quick,
    }
}

fn case<K: Kind, T: Real16, Y: Real>(spec: Spec) -> Case {
    let launches = match spec.fused {
        None => "",
        Some(true) => ", one launch",
        Some(false) => ", two launches",
    };
    let order = if spec.linear { ", w_down by columns" } else { "" };
    let gate = spec.activation.map_or_else(|| "none".into(), |of| format!("{of:?}"));
    let name = format!("{}, {gate}{order}{launches}", spec.name);
    let info = CaseInfo::new(K::MODULE, K::OP, name, &[], &spec.shape);
    let dtype = format!("{}->{}", T::DTYPE, Y::DTYPE);
    let arch = spec.tile.map(|(arch, _)| arch);
    Case::new(CaseInfo { dtype, arch, size: spec.size, ..info }, move |s| {
        let ([m, k, hidden], place) = (spec.shape, spec.place);
        let x = s.input::<T>("x", &[m, k], Draw::Normal).place(place);
        let w_up = s.input::<T>("w_up", &[K::ROWS * hidden, k], Draw::Normal).place(place);
        let w_down = s.input::<T>("w_down", &[hidden, k], Draw::Normal).place(place);
        let w_down = if spec.linear { w_down.order(&[1, 0]) } else { w_down };

        let expected = {
            let [x, up, down] = [&x, &w_up, &w_down].map(|of| of.numbers());
            let matrix = |rows, numbers| {
                ArrayView2::from_shape((rows, k), numbers).expect("a matrix of that shape")
            };
            let w = [matrix(K::ROWS * hidden, &up), matrix(hidden, &down)];
            K::expect::<T>(matrix(m, &x), w, spec.activation, Y::DTYPE)
        };
        let y = s.output::<Y>("y", &[m, k], expected).place(place);

        let spec = spec.clone();
        s.call(move || {
            let options = FeedForwardOptions::default();
            let options = spec.activation.into_iter().fold(options, FeedForwardOptions::activation);
            let options = spec.fused.into_iter().fold(options, FeedForwardOptions::fused);
            let units = spec.compute_units.into_iter();
            let options = units.fold(options, FeedForwardOptions::compute_units);
            let tile = spec.tile.map(|(_, tile)| tile);
            let options = tile.into_iter().fold(options, FeedForwardOptions::tile);
            K::call(&x.get(), [&w_up.get(), &w_down.get()], &options, &mut y.get())
        });
    })
}

/// Those of an op.
pub(super) fn add<K: Kind>(cases: &mut Vec<Case>) {
    use Activation::{Gelu, GeluTanh, Relu, Silu, SiluExp2};
    for shape in [[1, 1, 1], [3, 5, 2], [16, 64, 96], [17, 96, 130], [64, 128, 128], [0, 64, 64]] {
        for fused in [true, false] {
            for linear in [true, false] {
                let spec = Spec { fused: Some(fused), linear, ..spec("plain", shape) };
                cases.push(case::<K, bf16, bf16>(spec.clone()));
                cases.push(case::<K, f16, f32>(spec));
            }
        }
    }
    for (shape, name) in [([2, 264, 1024], "few rows"), ([100, 72, 80], "many rows")] {
        cases.push(case::<K, bf16, f16>(spec(name, shape)));
    }
    let gates = [Gelu, GeluTanh, Silu, SiluExp2, Relu].map(Some);
    for activation in [None].into_iter().chain(gates) {
        for fused in [true, false] {
            let spec = Spec { activation, fused: Some(fused), ..spec("activation", [9, 40, 72]) };
            cases.push(case::<K, bf16, f32>(spec));
        }
    }
    for (place, name) in [
        (Placement::DENSE.gap(48), "rows of wider tensors"),
        (Placement::DENSE.gap(5).shift(3), "rows off alignment"),
        (Placement::DENSE.edge(Edge::Start), "start of memory"),
        (Placement::DENSE.edge(Edge::End), "end of memory"),
    ] {
        for fused in [true, false] {
            for linear in [true, false] {
                let fused = Some(fused);
                let spec = Spec { place, fused, linear, ..spec(name, [21, 72, 200]) };
                cases.push(case::<K, bf16, bf16>(spec));
            }
        }
    }
    // On so few compute units, the last columns of blocks of the second product, or of the first, are cut
    // along k if the tile is one of 64 columns.
    for shape in [[48, 448, 2048], [48, 2048, 448]] {
        for (linear, compute_units) in [(false, 2), (false, 3), (true, 3)] {
            let spec = spec(format!("{compute_units} compute units"), shape);
            let (fused, compute_units) = (Some(false), Some(compute_units));
            let spec = Spec { linear, fused, compute_units, size: Size::Core, ..spec };
            cases.push(case::<K, bf16, bf16>(spec.clone()));
            cases.push(case::<K, f16, f32>(spec));
        }
    }
    let form = |config: &Config| config.variant.split('_').nth(1) == Some(K::FORM);
    for config in Config::all("feed_forward").filter(form) {
        let Config { m, k, stages, .. } = config;
        for (what, shape, size) in [
            ("", [m + 5, (3 * stages - 1) * k + 8, 200], Size::Quick),
            (", whole", [m, 2 * k, 192], Size::Core),
            (", one slab", [m, k, 40], Size::Core),
        ] {
            let spec = Spec {
                tile: Some((config.arch, config.name)),
                linear: config.variant.ends_with("_n"),
                fused: Some(true),
                place: Placement::DENSE.edge(Edge::End),
                size,
                ..spec(format!("tile {}{what}", config.name), shape)
            };
            cases.push(match config.dtype {
                DType::F16 => case::<K, f16, f32>(spec),
                _ => case::<K, bf16, bf16>(spec),
            });
        }
    }
    // Of w_down by columns, blocks have more rows than those of w_up: of these, here, all are within
    // 2^31 bytes, but 128 of w_down are not within 2^32.
    let far = Spec {
        linear: true,
        fused: Some(true),
        place: Placement::DENSE.gap(17_000_000),
        size: Size::Core,
        ..spec("rows far apart", [1, 136, 64])
    };
    cases.push(case::<K, bf16, bf16>(far.clone()));
    cases.push(case::<K, f16, f32>(far));
    for (shape, name) in [([16, 2048, 512], "Qwen3-Next"), ([1, 2880, 2880], "GPT-OSS")] {
        let spec = Spec { size: Size::Large, ..spec(name, shape) };
        cases.push(case::<K, bf16, bf16>(spec));
    }
}
