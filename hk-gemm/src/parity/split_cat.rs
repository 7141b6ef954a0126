//! Cases of products whose columns are heads of two parts.

use hk_core::dtype::{DType, Element, Real, bf16, f16};
use hk_core::op::stored::Stored;
use hk_core::{Arch, Result, Tensor, TensorSlice};
use hk_ref::gemm::fused_gemm_a8w8_blockscale_split_cat::{Parts, split_cat};
use hk_ref::gemm::gemm_a8w8_blockscale::dequantised;
use hk_ref::gemm::product::{Operands, Step, Term, expect};
use hk_ref::{
    Case, CaseInfo, Draw, Edge, Expected, Held, HeldScale, Placement, Setup, Size, in_rows,
};
use ndarray::{Array2, ArrayView2};

use super::config::Config;

use crate::{GemmOptions, SplitCatOut};

/// A case as data.
#[derive(Clone)]
struct Spec {
    name: String,
    m: usize,
    parts: Parts,
    k: usize,
    /// Has the same y for all heads.
    broadcast: bool,
    /// The order of y's dimensions in memory.
    order: [usize; 3],
    /// Type of y, and of what is added to the product.
    copied: DType,
    bias: bool,
    /// Has w, and scales of blocks, shuffled.
    shuffled: bool,
    /// Of small integers: sums are exact, and many lie in the middle between two numbers of 16 bits.
    bits: bool,
    splits: Option<u32>,
    compute_units: Option<u32>,
    tile: Option<(Arch, &'static str)>,
    place: Placement,
    size: Size,
}

/// What scales are that change nothing.
const ONES: Draw = Draw::Powers(0, 1);

/// Heads, and columns of the first part, the second and the copy.
fn parts([heads, s1, s2, s3]: [usize; 4]) -> Parts {
    Parts { heads, s1, s2, s3 }
}

fn spec(name: impl Into<String>, m: usize, of: [usize; 4], k: usize) -> Spec {
    Spec {
        name: name.into(),
        m,
        parts: parts(of),
        k,
        broadcast: false,
        order: [0, 1, 2],
        copied: DType::Bf16,
        bias: false,
        shuffled: false,
        bits: false,
        splits: None,
        compute_units: None,
        tile: None,
        place: Placement::default(),
        size: Size::Quick,
    }
}

/// The operands of an op over a core, and how it is called with them.
pub(super) trait Kind: 'static {
    /// Elements of x and w.
    type T: Element;
    /// Their scales.
    type Scale: HeldScale;
    /// The module.
    const MODULE: &'static str;
    /// Rows of x, of w, and k that have one scale.
    const GROUPS: [usize; 3];
    /// What scales are drawn from.
    const SCALES: Draw;

    /// Calls the op.
    #[expect(clippy::too_many_arguments, reason = "as the ops")]
    fn call<U: Real, Y: Real>(
        x: &TensorSlice<Self::T>,
        w: Stored<'_, Self::T>,
        x_scale: Stored<'_, Self::Scale>,
        w_scale: Stored<'_, Self::Scale>,
        y: &TensorSlice<U>,
        s1: usize,
        options: &GemmOptions<'_>,
        out: SplitCatOut<'_, Y>,
    ) -> Result<()>;
}

/// An operand with its scales, and what it stands for.
fn operand<K: Kind>(
    s: &mut Setup,
    [name, scale_name]: [&'static str; 2],
    [rows, k]: [usize; 2],
    group: usize,
    spec: &Spec,
    [is_tiled, scales_are]: [bool; 2],
) -> (Held<K::T>, Held<K::Scale>, Array2<f64>) {
    let draws = [Draw::Codes, K::SCALES];
    let [elements, scales] = if spec.bits { [Draw::Integers(-4, 5), ONES] } else { draws };
    let elements = s.draw(name, &[rows, k], elements);
    let of = Held::<K::T>::weights(s, name, (elements, [rows, k]), is_tiled).place(spec.place);
    let groups = [rows.div_ceil(group), k.div_ceil(K::GROUPS[2])];
    let elements = s.draw(scale_name, &groups, scales);
    let scale = K::Scale::hold(s, scale_name, (elements, groups), scales_are);
    let numbers = of.numbers();
    let numbers = ArrayView2::from_shape((rows, k), &numbers).expect("a matrix of that shape");
    let scales = scale.numbers();
    let scales = ArrayView2::from_shape(groups, &scales).expect("a scale for each group");
    let stands_for = dequantised(numbers, scales, [group, K::GROUPS[2]]);
    (of, scale, stands_for)
}

fn case<K: Kind, U: Real, Y: Real>(spec: Spec) -> Case {
    let Parts { heads, s1, s2, s3 } = spec.parts;
    let name = format!("{}, y {}", spec.name, if spec.broadcast { "of all" } else { "of each" });
    let shape = [spec.m, heads, s1, s2, s3, spec.k];
    let info = CaseInfo::new(K::MODULE, K::MODULE, name, &[], &shape);
    let dtype = format!("{}, {}->{}", K::T::DTYPE, U::DTYPE, Y::DTYPE);
    let arch = match K::T::DTYPE {
        DType::F8E4M3 => Some(Arch::Gfx950),
        DType::F8E4M3Fnuz => Some(Arch::Gfx942),
        _ => spec.tile.map(|(arch, _)| arch),
    };
    Case::new(CaseInfo { dtype, arch, size: spec.size, ..info }, move |s| {
        let (m, k, place) = (spec.m, spec.k, spec.place);
        let n = heads * (s1 + s2);
        let (x, x_scale, x_is) =
            operand::<K>(s, ["x", "x_scale"], [m, k], K::GROUPS[0], &spec, [false, spec.shuffled]);
        let (w, w_scale, w_is) =
            operand::<K>(s, ["w", "w_scale"], [n, k], K::GROUPS[1], &spec, [spec.shuffled; 2]);
        let y_heads = if spec.broadcast { 1 } else { heads };
        let y = s.input::<U>("y", &[m, y_heads, s3], Draw::Normal).place(place);
        let y = y.order(&spec.order);
        let bias = spec.bias.then(|| s.input::<f32>("bias", &[n], Draw::Normal));

        let steps: Vec<_> = bias
            .iter()
            .map(|bias| Term { values: bias.numbers(), row_stride: 0, column_stride: 1 })
            .map(|term| Step::Add(term, 1.0))
            .collect();
        let operands = Operands { x: x_is.view(), w: w_is.view(), integers: false };
        let product = expect(operands, &steps, Y::DTYPE, false);
        let parts = split_cat(&product, &y.numbers(), spec.parts, m, Y::DTYPE);
        let [c1_is, c2_is] = parts.map(|part| match spec.bits {
            true => Expected::bits(&Y::encode(&part.values)),
            false => part,
        });
        let c1 = s.output::<Y>("c1", &[m, heads, s1 + s3], c1_is).place(place);
        let c2 = s.output::<Y>("c2", &[m, heads, s2], c2_is).place(place);

        let spec = spec.clone();
        s.call(move || {
            let bias = bias.as_ref().map(|bias| bias.get());
            let mut options = bias.iter().fold(GemmOptions::default(), GemmOptions::bias);
            options = spec.splits.into_iter().fold(options, GemmOptions::splits);
            options = spec.compute_units.into_iter().fold(options, GemmOptions::compute_units);
            options = spec.tile.into_iter().fold(options, |options, (_, tile)| options.tile(tile));
            let y: Tensor<U> = y.get();
            let all =
                [y.shape()[0], if spec.broadcast { heads } else { y.shape()[1] }, y.shape()[2]];
            let y = if spec.broadcast { y.broadcast(&all)? } else { y.view() };
            let out = SplitCatOut { c1: &mut c1.get(), c2: &mut c2.get() };
            let (x, w, x_scale, w_scale) = (x.get(), w.get(), x_scale.get(), w_scale.get());
            let (x, w) = (in_rows(x.stored()), w.stored());
            K::call(x, w, x_scale.stored(), w_scale.stored(), &y, s1, &options, out)
        });
    })
}

/// Adds the case, with other types of y and the results.
fn push<K: Kind>(cases: &mut Vec<Case>, spec: Spec) {
    cases.push(match spec.copied {
        DType::Bf16 => case::<K, bf16, bf16>(spec),
        DType::F16 => case::<K, f16, f32>(spec),
        _ => case::<K, f32, f16>(spec),
    });
}

/// Those of an op, with the tiles of a core that are for the chip of its elements.
pub(super) fn add<K: Kind>(cases: &mut Vec<Case>, core: &'static str, arch: Option<Arch>) {
    for (m, of, k) in [
        (5, [3, 48, 80, 16], 256),
        (1, [1, 1, 1, 0], 128),
        (3, [2, 5, 3, 7], 128),
        (33, [16, 24, 40, 64], 128),
        (5, [3, 32, 64, 16], 96),
        (17, [5, 7, 9, 3], 160),
        (64, [4, 64, 64, 64], 512),
        (0, [2, 8, 8, 8], 64),
    ] {
        for copied in [DType::Bf16, DType::F16, DType::F32] {
            for broadcast in [false, true] {
                push::<K>(cases, Spec { copied, broadcast, ..spec("plain", m, of, k) });
            }
        }
        if k >= 128 && m > 0 {
            for splits in [2, 3] {
                for copied in [DType::Bf16, DType::F16, DType::F32] {
                    let spec = spec(format!("{splits} splits"), m, of, 8 * k);
                    push::<K>(cases, Spec { splits: Some(splits), bias: true, copied, ..spec });
                }
            }
        }
    }
    // Waves of columns of one part, of whole runs and others; a wave with one column; rows of less than
    // a run.
    let wide = [[1, 1024, 1024, 8], [1, 1003, 1021, 3], [1, 200, 313, 0]].map(|of| (1, of));
    let narrow = (2..8).map(|n| (70, [1, 1, n - 1, 0]));
    for (m, of) in wide.into_iter().chain(narrow) {
        for copied in [DType::Bf16, DType::F16, DType::F32] {
            let spec = spec("wide or narrow", m, of, 512);
            push::<K>(cases, Spec { splits: Some(2), copied, ..spec });
        }
    }
    // Elements of heads apart by heads, by rows, and by both; heads of whole runs and others.
    for order in [[0, 2, 1], [1, 2, 0], [2, 0, 1]] {
        for (of, copied) in [
            ([3, 48, 80, 16], DType::Bf16),
            ([3, 48, 80, 16], DType::F32),
            ([2, 5, 3, 7], DType::F16),
        ] {
            for broadcast in [false, true] {
                let spec = spec(format!("y in order {order:?}"), 5, of, 128);
                push::<K>(cases, Spec { order, copied, broadcast, ..spec });
            }
        }
    }
    for splits in [None, Some(2)] {
        let name = if splits.is_some() { "split" } else { "whole" };
        let spec = spec(format!("{name}, bit by bit"), 5, [3, 48, 80, 16], 512);
        push::<K>(cases, Spec { bits: true, splits, ..spec });
    }
    // As [`TURNS`](super::gemm_a16w16_limits::TURNS) of plain products.
    for (m, of) in [(331, [2, 20, 32, 8]), (2100, [1, 2, 3, 0]), (3, [3, 2000, 3467, 16])] {
        let few = spec("several turns of few workgroups", m, of, 512);
        let few = Spec { splits: Some(2), compute_units: Some(1), bias: true, ..few };
        push::<K>(cases, few);
    }
    for (place, name) in [
        (Placement::DENSE.gap(48), "rows of wider tensors"),
        (Placement::DENSE.gap(6).shift(2), "rows off alignment"),
        (Placement::DENSE.edge(Edge::Start), "start of memory"),
        (Placement::DENSE.edge(Edge::End), "end of memory"),
    ] {
        for of in [[3, 16, 24, 8], [3, 5, 7, 2]] {
            let spec = Spec { place, bias: true, ..spec(format!("{name}, {of:?}"), 21, of, 192) };
            push::<K>(cases, spec);
        }
    }
    for (m, of, k, splits) in [
        (5, [3, 48, 80, 16], 256, None),
        (33, [16, 24, 40, 64], 512, None),
        (17, [5, 7, 9, 3], 2304, Some(2)),
    ] {
        let spec = Spec { shuffled: true, splits, ..spec("shuffled", m, of, k) };
        push::<K>(cases, spec);
    }
    for config in Config::all(core).filter(|config| arch.is_none_or(|arch| config.arch == arch)) {
        let Config { m, n, k, .. } = config;
        let of_tile = |what: &str, m, of, k| Spec {
            tile: Some((config.arch, config.name)),
            splits: Some(1),
            place: Placement::DENSE.edge(Edge::End),
            ..spec(format!("tile {}{what}", config.name), m, of, k)
        };
        // Only one core's variant takes groups of 128.
        if !config.variant.ends_with("any") {
            push::<K>(cases, of_tile("", m + 3, [3, n / 2, n / 4 + 8, 8], 3 * k + 64));
            let whole = of_tile(", whole", m, [2, n / 2, n / 2, 0], 2 * k);
            push::<K>(cases, Spec { size: Size::Core, ..whole });
            let (lines, deep) = config.tail();
            let parts = [2, n / 4, n / 4 - 3, 8];
            let cut = of_tile(", the last row of blocks cut", lines * m - 3, parts, deep + 32);
            let cut = Spec { splits: None, compute_units: Some(2), bias: true, ..cut };
            push::<K>(cases, Spec { size: Size::Core, ..cut });
        }
    }
    let spec = spec("model", 64, [128, 128, 128, 64], 512);
    push::<K>(cases, Spec { size: Size::Large, broadcast: true, ..spec });
}
