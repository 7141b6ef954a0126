//! Cases of `gmm`, `ptgmm` and `nptgmm`.

use hk_core::dtype::{DType, Real, Real16, bf16, f16};
use hk_core::op::indices::Indices;
use hk_core::{Arch, Tensor};
use hk_ref::gemm::gmm::{expect_bias, expect_grouped, expect_sums};
use hk_ref::gemm::product::{Step, Term};
use hk_ref::{Case, CaseInfo, Draw, Edge, Expected, Placement, Setup, Size};
use ndarray::{ArrayView2, ArrayView3, Axis};

use super::config::Config;
use crate::{GmmOptions, GroupedForm, TgmmOut, gmm_into, nptgmm_into, ptgmm_into};

/// How an operand is given, and stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stored {
    form: GroupedForm,
    /// The last dimension but one has the adjacent elements.
    turned: bool,
}

const ALL: [Stored; 4] = [
    Stored { form: GroupedForm::Plain, turned: false },
    Stored { form: GroupedForm::Plain, turned: true },
    Stored { form: GroupedForm::Transposed, turned: false },
    Stored { form: GroupedForm::Transposed, turned: true },
];

/// A case as data.
#[derive(Clone)]
struct Spec {
    name: String,
    /// Rows in all, k and n.
    shape: [usize; 3],
    sizes: Vec<usize>,
    /// Of rhs of `gmm`, of lhs of the others.
    stored: Stored,
    wide_sizes: bool,
    /// Of `gmm`, a bias; of the others, sums of lhs.
    bias: bool,
    accumulate: bool,
    grid: Option<u32>,
    tile: Option<(Arch, &'static str)>,
    place: Placement,
    size: Size,
}

fn spec(name: impl Into<String>, shape: [usize; 3], sizes: &[usize]) -> Spec {
    Spec {
        name: name.into(),
        shape,
        sizes: sizes.to_vec(),
        stored: ALL[0],
        wide_sizes: false,
        bias: false,
        accumulate: false,
        grid: None,
        tile: None,
        place: Placement::default(),
        size: Size::Quick,
    }
}

impl Spec {
    fn info<T: Real16, Y: Real>(&self, op: &'static str) -> CaseInfo {
        let Stored { form, turned } = self.stored;
        let order = if turned { ", turned" } else { "" };
        let bias = if self.bias { ", bias" } else { "" };
        let integers = if self.wide_sizes { ", i64" } else { "" };
        let case = format!("{}, {op}, {form:?}{order}{bias}{integers}", self.name);
        let shape = [&[self.sizes.len()], self.shape.as_slice()].concat();
        let info = CaseInfo::new("gmm", op, case, &[], &shape);
        let dtype = format!("{}->{}", T::DTYPE, Y::DTYPE);
        let arch = self.tile.map(|(arch, _)| arch);
        CaseInfo { dtype, arch, size: self.size, ..info }
    }

    /// The options but the bias.
    fn options<'a>(&self) -> GmmOptions<'a> {
        let options = GmmOptions::default().form(self.stored.form);
        let options = self.grid.into_iter().fold(options, GmmOptions::grid);
        let tile = self.tile.map(|(_, tile)| tile);
        let options = tile.into_iter().fold(options, GmmOptions::tile);
        if self.accumulate { options.accumulate() } else { options }
    }
}

/// Sizes on the device.
enum Sizes {
    I32(Tensor<i32>),
    I64(Tensor<i64>),
}

impl Sizes {
    fn indices(&self) -> Indices<'_> {
        match self {
            Self::I32(sizes) => sizes.into(),
            Self::I64(sizes) => sizes.into(),
        }
    }
}

/// Gives those of a case.
fn sizes_of(s: &mut Setup, spec: &Spec) -> Box<dyn Fn() -> Sizes> {
    let shape = [spec.sizes.len()];
    if spec.wide_sizes {
        let sizes = spec.sizes.iter().map(|size| *size as i64).collect();
        let sizes = s.given::<i64>("group_sizes", &shape, sizes);
        return Box::new(move || Sizes::I64(sizes.get()));
    }
    let sizes = spec.sizes.iter().map(|size| *size as i32).collect();
    let sizes = s.given::<i32>("group_sizes", &shape, sizes);
    Box::new(move || Sizes::I32(sizes.get()))
}

fn of_rows<T: Real16, Y: Real>(spec: Spec) -> Case {
    Case::new(spec.info::<T, Y>("gmm"), move |s| {
        let ([m, k, n], groups, place) = (spec.shape, spec.sizes.len(), spec.place);
        let lhs = s.input::<T>("lhs", &[m, k], Draw::Normal).place(place);
        let plain = spec.stored.form == GroupedForm::Plain;
        let shape = if plain { [groups, k, n] } else { [groups, n, k] };
        let rhs = s.input::<T>("rhs", &shape, Draw::Normal).place(place);
        let rhs = if spec.stored.turned { rhs.order(&[0, 2, 1]) } else { rhs };
        let sizes = sizes_of(s, &spec);
        let bias = spec.bias.then(|| s.input::<f32>("bias", &[groups, n], Draw::Normal));
        let expected = {
            let (lhs, rhs) = (lhs.numbers(), rhs.numbers());
            let lhs = ArrayView2::from_shape((m, k), &lhs).expect("a matrix of that shape");
            let rhs = ArrayView3::from_shape(shape, &rhs).expect("matrices of that shape");
            let of = |group| {
                let matrix = rhs.index_axis(Axis(0), group);
                if plain { matrix.reversed_axes() } else { matrix }
            };
            let matrices: Vec<_> = (0..groups).map(of).collect();
            let biases = bias.as_ref().map(|bias| bias.numbers());
            let steps: Vec<_> = (0..groups)
                .map(|group| {
                    let values = biases.iter().map(|all| all[group * n..][..n].to_vec());
                    let terms =
                        values.map(|values| Term { values, row_stride: 0, column_stride: 1 });
                    terms.map(|term| Step::Add(term, 1.0)).collect()
                })
                .collect();
            expect_grouped(lhs, &matrices, &spec.sizes, &steps, (Y::DTYPE, LEFT))
        };
        let held = vec![LEFT; m * n];
        let out = s.output::<Y>("out", &[m, n], expected).place(place).holding(Y::encode(&held));

        let spec = spec.clone();
        s.call(move || {
            let bias: Option<Tensor<f32>> = bias.as_ref().map(|bias| bias.get());
            let options = bias.iter().fold(spec.options(), GmmOptions::bias);
            let (lhs, rhs, sizes) = (lhs.get(), rhs.get(), sizes());
            gmm_into(&lhs, &rhs, sizes.indices(), &options, &mut out.get())
        });
    })
}

/// What is in rows behind the last group.
const LEFT: f64 = 17.0;

fn of_sums<T: Real16, Y: Real>(spec: Spec, op: &'static str) -> Case {
    Case::new(spec.info::<T, Y>(op), move |s| {
        let ([m, k, n], groups, place) = (spec.shape, spec.sizes.len(), spec.place);
        let plain = spec.stored.form == GroupedForm::Plain;
        let shape = if plain { [k, m] } else { [m, k] };
        let lhs = s.input::<T>("lhs", &shape, Draw::Normal).place(place);
        let lhs = if spec.stored.turned { lhs.order(&[1, 0]) } else { lhs };
        let rhs = s.input::<T>("rhs", &[m, n], Draw::Normal).place(place);
        let sizes = sizes_of(s, &spec);
        let held: Vec<Y> = s.draw("out before", &[groups, k, n], Draw::Normal);
        let before = hk_core::dtype::decode(&held);
        let (expected, expected_bias) = {
            let (lhs, rhs) = (lhs.numbers(), rhs.numbers());
            let lhs = ArrayView2::from_shape(shape, &lhs).expect("a matrix of that shape");
            let lhs = if plain { lhs.reversed_axes() } else { lhs };
            let rhs = ArrayView2::from_shape((m, n), &rhs).expect("a matrix of that shape");
            let steps: Vec<Vec<_>> = (0..groups)
                .map(|group| {
                    let values = before[group * k * n..][..k * n].to_vec();
                    let term = Term { values, row_stride: n, column_stride: 1 };
                    spec.accumulate.then_some(Step::Add(term, 1.0)).into_iter().collect()
                })
                .collect();
            let sums = expect_sums(lhs, rhs, &spec.sizes, &steps, Y::DTYPE);
            (sums, expect_bias(lhs, &spec.sizes))
        };
        let out = s.output::<Y>("out", &[groups, k, n], expected).place(place);
        let out = if spec.accumulate { out.holding(held) } else { out };
        let bias = spec.bias.then(|| s.output::<f32>("bias_grad", &[groups, k], expected_bias));

        let spec = spec.clone();
        s.call(move || {
            let options = spec.options();
            let (lhs, rhs, sizes) = (lhs.get(), rhs.get(), sizes());
            let (mut out, mut bias) = (out.get(), bias.as_ref().map(|bias| bias.get()));
            let to = TgmmOut { out: &mut out, bias_grad: bias.as_deref_mut() };
            match op {
                "ptgmm" => ptgmm_into(&lhs, &rhs, sizes.indices(), &options, to),
                _ => nptgmm_into(&lhs, &rhs, sizes.indices(), &options, to),
            }
        });
    })
}

/// Sums of no rows, of which wider tensors have some: all are zero. Rows of lhs are not adjacent.
fn without_rows(op: &'static str) -> Case {
    let (k, n, groups) = (40, 24, 2);
    let info = CaseInfo::new("gmm", op, format!("no rows of some, {op}"), &[], &[groups, 0, k, n]);
    // A tensor of which a part is taken cannot come in other shapes.
    let info = CaseInfo { dtype: "bf16->f32".into(), size: Size::Core, ..info };
    Case::new(info, move |s| {
        let lhs = s.input::<bf16>("lhs", &[k, 16], Draw::Normal);
        let rhs = s.input::<bf16>("rhs", &[16, n], Draw::Normal);
        let sizes = s.given::<i32>("group_sizes", &[groups], vec![0; groups]);
        let zeros = |count| Expected::bits(&vec![0.0f32; count]);
        let out = s.output::<f32>("out", &[groups, k, n], zeros(groups * k * n));
        let bias = s.output::<f32>("bias_grad", &[groups, k], zeros(groups * k));
        s.call(move || {
            let (lhs, rhs, sizes) = (lhs.get(), rhs.get(), sizes.get());
            let (lhs, rhs) = (lhs.narrow(1, 0..0)?, rhs.slice(0..0)?);
            let (mut out, mut bias) = (out.get(), bias.get());
            let to = TgmmOut { out: &mut out, bias_grad: Some(&mut bias) };
            match op {
                "ptgmm" => ptgmm_into(&lhs, &rhs, &sizes, &GmmOptions::default(), to),
                _ => nptgmm_into(&lhs, &rhs, &sizes, &GmmOptions::default(), to),
            }
        });
    })
}

/// Adds the case for each of the ops.
fn push<T: Real16, Y: Real>(cases: &mut Vec<Case>, spec: &Spec) {
    cases.push(of_rows::<T, Y>(spec.clone()));
    push_sums::<T, Y>(cases, spec);
}

fn push_sums<T: Real16, Y: Real>(cases: &mut Vec<Case>, spec: &Spec) {
    cases.push(of_sums::<T, Y>(spec.clone(), "ptgmm"));
    cases.push(of_sums::<T, Y>(spec.clone(), "nptgmm"));
}

pub(super) fn add(cases: &mut Vec<Case>) {
    let many: Vec<_> = (0..17).map(|group| group * 7 % 16).collect();
    let most: Vec<_> = (0..70).map(|group| usize::from(group % 3 == 1) * (group % 7)).collect();
    for (shape, sizes) in [
        ([10, 2, 3], vec![3, 0, 5, 2]),
        ([7, 5, 6], vec![0, 0, 0, 7]),
        ([9, 40, 24], vec![1, 1, 1, 1]),
        ([32, 16, 8], vec![32, 0, 0, 0]),
        ([33, 72, 130], vec![33]),
        ([130, 64, 40], many.clone()),
        ([70, 136, 41], vec![20, 33, 9]),
        ([80, 24, 32], most.clone()),
        ([6, 16, 16], vec![0, 0, 0]),
        ([0, 8, 8], vec![0, 0]),
    ] {
        for stored in ALL.into_iter().take(if sizes.len() > 64 { 1 } else { ALL.len() }) {
            let spec = Spec { stored, ..spec("plain", shape, &sizes) };
            push::<bf16, bf16>(cases, &spec);
            push::<f16, f32>(cases, &Spec { wide_sizes: true, bias: true, ..spec });
        }
        let spec = Spec { accumulate: true, bias: true, ..spec("added to", shape, &sizes) };
        if sizes.len() <= 64 {
            push_sums::<bf16, bf16>(cases, &spec);
            push_sums::<f16, f16>(cases, &spec);
            push_sums::<bf16, f32>(cases, &spec);
        }
    }
    cases.extend(["ptgmm", "nptgmm"].map(without_rows));
    for grid in [3, 10_000] {
        let few = spec(format!("{grid} workgroups"), [130, 64, 96], &many);
        // Groups are found again where the order of blocks goes back.
        let more = spec(format!("{grid} workgroups, many groups"), [80, 24, 72], &most);
        for spec in [few, more] {
            push::<bf16, f32>(cases, &Spec { grid: Some(grid), ..spec });
        }
    }
    for (place, name) in [
        (Placement::DENSE.gap(48), "rows of wider tensors"),
        (Placement::DENSE.gap(5).shift(3), "rows off alignment"),
        (Placement::DENSE.edge(Edge::Start), "start of memory"),
        (Placement::DENSE.edge(Edge::End), "end of memory"),
    ] {
        for stored in ALL {
            let spec = Spec { place, stored, bias: true, ..spec(name, [61, 40, 72], &[17, 0, 29]) };
            push::<bf16, bf16>(cases, &spec);
        }
    }
    for config in Config::all("grouped") {
        let Config { m, n, k, stages, .. } = config;
        let sums = config.variant.ends_with("sums");
        let steps = 3 * stages - 1;
        let (rows, inner) = if sums { (steps * k + 7, m + 9) } else { (2 * m + 5, steps * k + 7) };
        let turned = config.variant.ends_with("tn");
        let spec = Spec {
            tile: Some((config.arch, config.name)),
            stored: Stored { turned, ..ALL[0] },
            place: Placement::DENSE.edge(Edge::End),
            bias: true,
            ..spec(format!("tile {}", config.name), [rows + 20, inner, n + 9], &[rows, 0, 9, 11])
        };
        match (config.dtype, sums) {
            (DType::F16, false) => cases.push(of_rows::<f16, bf16>(spec)),
            (_, false) => cases.push(of_rows::<bf16, bf16>(spec)),
            (DType::F16, true) => push_sums::<f16, bf16>(cases, &spec),
            (_, true) => push_sums::<bf16, bf16>(cases, &spec),
        }
    }
    // Of one chain, and of more: a few rows and columns suffice.
    let long = spec("chains", [65_600, 8, 8], &[5, 65_580, 15]);
    let long = Spec { stored: ALL[2], size: Size::Core, bias: true, ..long };
    push_sums::<bf16, f32>(cases, &long);
    // Rows of one chain and a little, and of two; in blocks within the result, and in others.
    for (shape, sizes) in [([9, 65_548, 5], vec![4, 0, 3]), ([6, 131_080, 8], vec![2, 4])] {
        let spec = Spec { size: Size::Core, bias: true, ..spec("chains of k", shape, &sizes) };
        cases.push(of_rows::<bf16, f32>(spec.clone()));
        cases.push(of_rows::<f16, bf16>(Spec { stored: ALL[2], wide_sizes: true, ..spec }));
    }
    let whole = spec("chains of k, whole blocks", [16, 65_600, 64], &[16]);
    cases.push(of_rows::<bf16, f32>(Spec { stored: ALL[2], size: Size::Core, ..whole }));
    let model = spec("Qwen3-Next", [4096, 2048, 1024], &[8; 512]);
    push::<bf16, bf16>(cases, &Spec { size: Size::Large, ..model });
}
