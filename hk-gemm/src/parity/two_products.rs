//! Cases of two products of the same rows.

use hk_core::dtype::{DType, Element, Real, Real16, bf16, decode, f16};
use hk_core::op::stored::Stored;
use hk_core::{Arch, Result, Tensor, TensorSlice};
use hk_ref::gemm::fused_gemm_a8w8_blockscale_a16w16::{Operands, Step, Term, dequantised, expect};
use hk_ref::{Arg, Case, CaseInfo, Draw, Edge, Held, HeldScale, Placement, Setup, Size};
use ndarray::{Array2, ArrayView2};

use super::config::Config;
use crate::{TwoProductsOptions, TwoProductsOut};

/// The narrow operands of an op, and how it is called.
pub(super) trait Kind: 'static {
    /// Elements of x and w.
    type T: Element;
    /// Their scales.
    type Scale: HeldScale;
    /// The module.
    const MODULE: &'static str;
    /// The core.
    const CORE: &'static str;
    /// Names of x, w, their scales, the bias and the result.
    const NAMES: [&'static str; 6];
    /// Rows of w, and k, that have one scale.
    const GROUPS: [usize; 2];
    /// What scales are drawn from.
    const SCALES: Draw;

    /// Calls the op.
    fn call<U: Real16, Y: Real>(
        narrow: (&TensorSlice<Self::T>, Stored<'_, Self::T>),
        scales: [Stored<'_, Self::Scale>; 2],
        wide: [&TensorSlice<U>; 2],
        options: &TwoProductsOptions<'_>,
        out: TwoProductsOut<'_, Y>,
    ) -> Result<()>;
}

/// A case as data.
#[derive(Clone)]
struct Spec {
    name: String,
    /// m, columns of both results, k.
    shape: [usize; 4],
    draw: Draw,
    biases: [bool; 2],
    /// Has narrow w, and scales of blocks, shuffled.
    shuffled: bool,
    splits: Option<u32>,
    compute_units: Option<u32>,
    tile: Option<(Arch, &'static str)>,
    place: Placement,
    size: Size,
}

fn spec(name: impl Into<String>, shape: [usize; 4]) -> Spec {
    Spec {
        name: name.into(),
        shape,
        draw: Draw::Normal,
        biases: [false; 2],
        shuffled: false,
        splits: None,
        compute_units: None,
        tile: None,
        place: Placement::default(),
        size: Size::Quick,
    }
}

/// An operand in rows, and its numbers as a matrix.
fn operand<T: Element>(
    s: &mut Setup,
    name: &'static str,
    shape: [usize; 2],
    draw: Draw,
    place: Placement,
) -> (Arg<T>, Array2<f64>) {
    let of = s.input::<T>(name, &shape, draw).place(place);
    let numbers = matrix(&decode(&of.elements()), shape);
    (of, numbers)
}

fn matrix(numbers: &[f64], shape: [usize; 2]) -> Array2<f64> {
    ArrayView2::from_shape(shape, numbers).expect("a matrix of that shape").to_owned()
}

fn case<K: Kind, U: Real16, Y: Real>(spec: Spec) -> Case {
    let info = CaseInfo::new(K::MODULE, K::MODULE, spec.name.clone(), &[], &spec.shape);
    let dtype = format!("{}, {}->{}", K::T::DTYPE, U::DTYPE, Y::DTYPE);
    let arch = match K::T::DTYPE {
        DType::F8E4M3 => Some(Arch::Gfx950),
        DType::F8E4M3Fnuz => Some(Arch::Gfx942),
        _ => spec.tile.map(|(arch, _)| arch),
    };
    Case::new(CaseInfo { dtype, arch, size: spec.size, ..info }, move |s| {
        let ([m, n1, n2, k], place) = (spec.shape, spec.place);
        let [x_name, w_name, x_scale_name, w_scale_name, bias_name, y_name] = K::NAMES;
        let [group_n, group_k] = K::GROUPS;
        let (x, x_numbers) = operand::<K::T>(s, x_name, [m, k], Draw::Codes, place);
        let elements = s.draw(w_name, &[n1, k], Draw::Codes);
        let w = Held::<K::T>::weights(s, w_name, (elements, [n1, k]), spec.shuffled).place(place);
        let w_numbers = matrix(&w.numbers(), [n1, k]);
        let groups = k.div_ceil(group_k);
        let mut scales = |name, shape: [usize; 2]| {
            let elements = s.draw(name, &shape, K::SCALES);
            let of = K::Scale::hold(s, name, (elements, shape), spec.shuffled);
            let numbers = matrix(&of.numbers(), shape);
            (of, numbers)
        };
        let (x_scale, x_scales) = scales(x_scale_name, [m, groups]);
        let (w_scale, w_scales) = scales(w_scale_name, [n1.div_ceil(group_n), groups]);
        let (wide_x, wide_x_numbers) = operand::<U>(s, "x_bf16", [m, k], spec.draw, place);
        let (wide_w, wide_w_numbers) = operand::<U>(s, "w_bf16", [n2, k], spec.draw, place);
        let [narrow_has, wide_has] = spec.biases;
        let narrow_bias = narrow_has.then(|| s.input::<f32>(bias_name, &[n1], Draw::Normal));
        let wide_bias = wide_has.then(|| s.input::<bf16>("bias_bf16", &[n2], Draw::Normal));

        let add = |values| Step::Add(Term { values, row_stride: 0, column_stride: 1 }, 1.0);
        let narrow_is = {
            let x = dequantised(x_numbers.view(), x_scales.view(), [1, group_k]);
            let w = dequantised(w_numbers.view(), w_scales.view(), [group_n, group_k]);
            let steps: Vec<_> = narrow_bias.iter().map(|bias| add(bias.numbers())).collect();
            let operands = Operands { x: x.view(), w: w.view(), integers: false };
            expect(operands, &steps, Y::DTYPE, false)
        };
        let wide_is = {
            let steps: Vec<_> = wide_bias.iter().map(|bias| add(bias.numbers())).collect();
            let (x, w) = (wide_x_numbers.view(), wide_w_numbers.view());
            expect(Operands { x, w, integers: false }, &steps, Y::DTYPE, false)
        };
        let narrow_y = s.output::<Y>(y_name, &[m, n1], narrow_is).place(place);
        let wide_y = s.output::<Y>("y_bf16", &[m, n2], wide_is).place(place);

        let spec = spec.clone();
        s.call(move || {
            let narrow_bias: Option<Tensor<f32>> = narrow_bias.as_ref().map(|bias| bias.get());
            let wide_bias: Option<Tensor<bf16>> = wide_bias.as_ref().map(|bias| bias.get());
            let options = TwoProductsOptions::default();
            let options = narrow_bias.iter().fold(options, TwoProductsOptions::narrow_bias);
            let options = wide_bias.iter().fold(options, TwoProductsOptions::wide_bias);
            let options = spec.splits.into_iter().fold(options, TwoProductsOptions::splits);
            let units = spec.compute_units.into_iter();
            let options = units.fold(options, TwoProductsOptions::compute_units);
            let tile = spec.tile.map(|(_, tile)| tile);
            let options = tile.into_iter().fold(options, TwoProductsOptions::tile);
            let out = TwoProductsOut { narrow: &mut narrow_y.get(), wide: &mut wide_y.get() };
            K::call(
                (&x.get(), w.get().stored()),
                [x_scale.get().stored(), w_scale.get().stored()],
                [&wide_x.get(), &wide_w.get()],
                &options,
                out,
            )
        });
    })
}

/// Those of an op: with the tiles of its core, if its elements are of a chip, for that chip.
pub(super) fn add<K: Kind>(cases: &mut Vec<Case>, arch: Option<Arch>) {
    for shape in [
        [1, 1, 1, 128],
        [3, 6, 5, 64],
        [5, 129, 17, 256],
        [33, 256, 256, 384],
        [5, 64, 48, 96],
        [33, 128, 256, 256],
        [17, 40, 300, 416],
        [128, 256, 64, 512],
        [0, 8, 8, 64],
        [65, 7, 131, 2048],
    ] {
        for biases in [[false; 2], [true, false], [false, true], [true; 2]] {
            let spec = Spec { biases, ..spec(format!("biases {biases:?}"), shape) };
            cases.push(case::<K, bf16, bf16>(spec));
        }
        cases.push(case::<K, f16, f32>(spec("f16", shape)));
        cases.push(case::<K, f16, f16>(spec("f16", shape)));
    }
    for splits in [1, 2, 3, 7] {
        for shape in [[5, 72, 33, 2048], [40, 129, 65, 1056]] {
            let biases = [true; 2];
            let spec =
                Spec { splits: Some(splits), biases, ..spec(format!("{splits} splits"), shape) };
            cases.push(case::<K, bf16, f32>(spec));
        }
    }
    for (place, name) in [
        (Placement::DENSE.gap(64), "rows of wider tensors"),
        (Placement::DENSE.gap(6).shift(2), "rows off alignment"),
        (Placement::DENSE.edge(Edge::Start), "start of memory"),
        (Placement::DENSE.edge(Edge::End), "end of memory"),
    ] {
        for (shape, splits) in [([21, 40, 72, 192], None), ([17, 33, 9, 1120], Some(2))] {
            let spec = Spec { place, splits, biases: [true; 2], ..spec(name, shape) };
            cases.push(case::<K, bf16, bf16>(spec));
        }
    }
    for (shape, splits) in
        [([5, 16, 9, 256], None), ([70, 272, 40, 512], None), ([33, 80, 48, 2304], Some(3))]
    {
        let spec = Spec { shuffled: true, splits, ..spec("shuffled", shape) };
        cases.push(case::<K, bf16, f32>(spec));
    }
    // Sums of one product do not reach the other.
    let loud = Spec { draw: Draw::Scaled(40), ..spec("far apart", [9, 40, 40, 256]) };
    cases.push(case::<K, bf16, f32>(loud));
    for config in Config::all(K::CORE).filter(|config| arch.is_none_or(|arch| config.arch == arch))
    {
        let Config { m, n, k, stages, .. } = config;
        let mut push = |what: &str, shape, size| {
            let is_cut = what.ends_with("cut");
            let spec = Spec {
                tile: Some((config.arch, config.name)),
                splits: (!is_cut).then_some(1),
                compute_units: is_cut.then_some(2),
                biases: [is_cut; 2],
                place: Placement::DENSE.edge(Edge::End),
                size,
                ..spec(format!("tile {}{what}", config.name), shape)
            };
            cases.push(match config.dtype {
                DType::F16 => case::<K, f16, f32>(spec),
                _ => case::<K, bf16, bf16>(spec),
            });
        };
        let steps = 3 * stages - 1;
        push("", [m + 3, n + 9, 2 * n + 5, steps * k + 32], Size::Quick);
        push(", whole", [m, 2 * n, n, 2 * k], Size::Core);
        // Where a row begins does not depend on how many a block has. On two compute units, whole rounds are
        // of rows of two blocks, or of three, however many workgroups each unit holds.
        if m == 16 {
            let (rows, deep) = config.tail();
            let (rows, deep) = (rows * m - 3, deep.max(4096));
            push(", the last row of two blocks cut", [rows, n - 5, 9, deep], Size::Core);
            push(", the last row of three blocks cut", [rows, n - 5, n + 9, deep], Size::Core);
        }
    }
    let model = Spec { size: Size::Large, ..spec("model", [64, 4096, 256, 7168]) };
    cases.push(case::<K, bf16, bf16>(model));
}
