//! Cases of `reduce_grouped` and `moe_sum`.

use hk_core::dtype::{DType, Real, decode};
use hk_ref::draw::Random;
use hk_ref::moe::reduce_grouped::{Reduced, Sums, reduce_grouped as reference};
use hk_ref::{Arg, Case, CaseInfo, Draw, Edge, Expected, Placement, REALS, Setup, Size, real};

use super::ragged::SWIGLU;
use crate::{
    Activation, ReduceGroupedOptions, Residual, RowOptions, moe_sum_into, reduce_grouped_into,
};

const MODULE: &str = "moe_routing";

/// Which rows a group has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rows {
    /// Those that follow each other, by `moe_sum`.
    OfToken,
    /// One each.
    Own,
    /// Any, and none.
    Drawn,
    /// Others that there are not, too.
    Wrong,
    /// None, as x has none.
    Absent,
}

/// What varies between cases.
#[derive(Debug, Clone, Copy)]
struct Spec {
    /// Shares, groups, rows of a group, and columns.
    shape: [usize; 4],
    rows: Rows,
    activation: Activation,
    has_gammas: bool,
    has_residual: bool,
    has_gate: bool,
    types: [DType; 2],
    workgroups: Option<u32>,
    place: Placement,
    in_place: bool,
    /// Whether the first share has numbers at the ends of what there is.
    is_special: bool,
    size: Size,
}

/// Gates, and what they let through, each with each.
const SPECIAL: [[f64; 6]; 2] = [
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 100.0, -1000.0, 0.0],
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.0, -3.0, 0.5],
];

impl Spec {
    const fn new(shape: [usize; 4], rows: Rows) -> Self {
        Self {
            shape,
            rows,
            activation: Activation::None,
            has_gammas: false,
            has_residual: false,
            has_gate: false,
            types: [DType::Bf16; 2],
            workgroups: None,
            place: Placement::DENSE,
            in_place: false,
            is_special: false,
            size: Size::Quick,
        }
    }

    fn case(self) -> Case {
        let [shares, groups, k, width] = self.shape;
        let (op, shape) = match self.rows {
            Rows::OfToken => ("moe_sum", vec![groups, k, width]),
            Rows::Own => ("reduce_grouped", vec![shares, groups, width]),
            _ => ("reduce_grouped", vec![shares, groups, k, width]),
        };
        let mut title = format!("{:?} {:?}", self.rows, self.activation);
        for (is_set, flag) in [
            (self.has_gammas, " gammas"),
            (self.has_residual, " residual"),
            (self.has_gate, " gate"),
            (self.in_place, " in place"),
            (self.is_special, " special numbers"),
        ] {
            title += if is_set { flag } else { "" };
        }
        title += &self.workgroups.map(|most| format!(" in {most} workgroups")).unwrap_or_default();
        if self.place != Placement::DENSE {
            title += &format!(" {:?}", self.place);
        }
        let info = CaseInfo::new(MODULE, op, title, &self.types, &shape);
        let [x, out] = self.types;
        let case = Case::new(info, move |s| {
            real!(x, T => real!(out, V => set_up::<T, V>(s, self)));
        });
        case.place(self.place).in_place(self.in_place).size(self.size)
    }

    /// The rows of each group, of so many.
    fn indices(&self, rows: usize) -> Vec<i32> {
        let [_, groups, k, _] = self.shape;
        let mut random = Random::new((groups * 31 + k) as u64);
        let mut draw = |at: usize| match self.rows {
            Rows::OfToken | Rows::Own => at as i32,
            Rows::Absent => -1,
            _ if at % 5 == 3 => -1,
            Rows::Wrong if at % 5 == 1 => [rows as i32, i32::MAX, i32::MIN, -2][random.below(4)],
            _ => random.below(rows) as i32,
        };
        (0..groups * k).map(&mut draw).collect()
    }
}

fn set_up<T: Real, V: Real>(s: &mut Setup, spec: Spec) {
    let Spec { shape: [shares, groups, k, width], rows: kind, .. } = spec;
    // Of drawn ones, some belong to several groups and some to none.
    let rows = match kind {
        Rows::Drawn | Rows::Wrong => groups * k + 3,
        Rows::OfToken | Rows::Own => groups * k,
        Rows::Absent => 0,
    };
    let act = match spec.activation {
        Activation::None => Reduced::None,
        Activation::SiluAndMul => Reduced::Gated { alpha: 1.0, limit: f64::INFINITY, offset: 0.0 },
        Activation::Swiglu { alpha, limit, add_residual } => Reduced::Gated {
            alpha: f64::from(alpha),
            limit: limit.map_or(f64::INFINITY, f64::from),
            offset: f64::from(u8::from(add_residual)),
        },
        Activation::GeluTanh => Reduced::GeluTanh,
    };
    let wide = if spec.activation.is_gated() { width / 2 } else { width };
    let (name, x_shape) = match kind {
        Rows::OfToken => ("c", vec![groups, k, width]),
        _ => ("x", vec![shares, rows, width]),
    };
    // So large that limits matter.
    let mut drawn = s.draw::<T>(name, &x_shape, Draw::Scaled(2));
    if spec.is_special {
        for (at, number) in drawn.iter_mut().take(rows * width).enumerate() {
            let (pair, [gates, linears]) = (at / 2, SPECIAL);
            let of_pair = if at % 2 == 0 { gates[pair % 6] } else { linears[pair / 6 % 6] };
            *number = T::from_f64(of_pair);
        }
    }
    let x = s.given(name, &x_shape, drawn);
    let indices = spec.indices(rows);
    let gammas = spec.has_gammas.then(|| s.input::<f32>("gammas", &[rows], Draw::Normal));
    let residual =
        spec.has_residual.then(|| s.input::<V>("residual", &[groups, wide], Draw::Normal));
    let gate = spec.has_gate.then(|| s.input::<f32>("residual_gate", &[groups], Draw::Normal));
    let numbers = |arg: &Option<Arg<f32>>| arg.as_ref().map(|arg| decode(&arg.elements()));
    let (of_rows, gates) = (numbers(&gammas), numbers(&gate));
    let added = residual.as_ref().map(|residual| residual.numbers());
    let x_numbers = x.numbers();
    let (mut values, mut slack) = (Vec::new(), Vec::new());
    for group in 0..groups {
        let of_group = indices[group * k..][..k].iter();
        let of_group: Vec<_> =
            of_group.map(|row| usize::try_from(*row).ok().filter(|row| *row < rows)).collect();
        let Sums { values: mut sums, slack: mut most } =
            reference(&x_numbers, [rows, width], &of_group, of_rows.as_deref(), act);
        let factor = gates.as_ref().map_or(1.0, |gates| 1.0 / (1.0 + (-gates[group]).exp()));
        if let Some(added) = &added {
            for (at, residual) in added[group * wide..][..wide].iter().enumerate() {
                sums[at] += factor * residual;
                most[at] += 1e-6 * (factor * residual).abs() + 1e-6 * sums[at].abs();
            }
        }
        values.extend(sums);
        slack.extend(most);
    }
    let expected = match V::DTYPE {
        DType::F32 => Expected::relative(values, 4.0 * 2f64.powi(-24)),
        dtype => Expected::rounded(values, dtype, false),
    };
    let out = s.output::<V>("out", &[groups, wide], expected.plus(slack));
    let has_indx = !matches!(kind, Rows::OfToken | Rows::Own);
    let indx = has_indx.then(|| s.given("indx", &[groups, k], indices));
    s.call(move || {
        let (residual, gate) =
            (residual.as_ref().map(|arg| arg.get()), gate.as_ref().map(|arg| arg.get()));
        let residual = residual.as_deref().map(|rows| Residual { rows, gate: gate.as_deref() });
        if kind == Rows::OfToken {
            let options = spec.workgroups.into_iter();
            let options = options.fold(RowOptions::default(), RowOptions::workgroups);
            return moe_sum_into(&x.get(), residual, &options, &mut out.get());
        }
        let gammas = gammas.as_ref().map(|arg| arg.get());
        let indx = indx.as_ref().map(|arg| arg.get());
        let mut options = ReduceGroupedOptions::new(spec.activation);
        options = gammas.as_deref().into_iter().fold(options, ReduceGroupedOptions::gammas);
        options = spec.workgroups.into_iter().fold(options, ReduceGroupedOptions::workgroups);
        let options = options.validate_indices(kind != Rows::Wrong);
        reduce_grouped_into(&x.get(), indx.as_deref(), residual, &options, &mut out.get())
    });
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    let types = REALS.into_iter().flat_map(|x| REALS.map(|out| [x, out]));
    for types in types {
        specs.push(Spec { types, ..Spec::new([1, 5, 8, 300], Rows::OfToken) });
        let residual =
            Spec { types, has_residual: true, ..Spec::new([1, 7, 4, 64], Rows::OfToken) };
        specs.push(Spec { has_gate: true, ..residual });
        specs.push(Spec { types, ..Spec::new([3, 9, 2, 70], Rows::Drawn) });
        // Rows of odd length, with all that may be added, multiplied and computed.
        specs.push(Spec { has_gate: true, shape: [1, 5, 5, 301], ..residual });
        for (shares, activation) in [
            (1, Activation::GeluTanh),
            (6, Activation::GeluTanh),
            (1, Activation::None),
            (6, Activation::None),
        ] {
            for shape in [[shares, 4, 5, 75], [shares, 3, 6, 1028]] {
                let odd = Spec { types, activation, ..Spec::new(shape, Rows::Drawn) };
                specs.push(odd);
                specs.push(Spec { has_gammas: true, has_residual: true, has_gate: true, ..odd });
            }
        }
        let pairs = Spec { types, activation: SWIGLU, ..Spec::new([2, 6, 3, 90], Rows::Drawn) };
        specs.push(Spec { has_gate: true, has_residual: true, shape: [1, 6, 7, 38], ..pairs });
        specs.push(Spec { has_gammas: true, has_residual: true, ..pairs });
    }
    let f32s = [DType::F32, DType::Bf16];
    for (shape, rows) in [
        ([1, 3, 1, 1], Rows::OfToken),
        ([1, 2, 10, 2048], Rows::OfToken),
        ([1, 0, 2, 8], Rows::OfToken),
        ([1, 4, 2, 513], Rows::OfToken),
        ([4, 5, 1, 1030], Rows::Own),
        ([9, 3, 1, 16], Rows::Own),
        ([2, 0, 1, 16], Rows::Own),
        ([1, 6, 5, 33], Rows::Drawn),
        ([5, 4, 3, 130], Rows::Wrong),
        ([1, 30, 9, 24], Rows::Wrong),
    ] {
        for types in [[DType::Bf16; 2], f32s] {
            let spec = Spec { types, ..Spec::new(shape, rows) };
            specs.push(spec);
            specs.push(Spec { has_residual: true, in_place: true, ..spec });
            specs.push(Spec { place: Placement::DENSE.gap(3).shift(1), ..spec });
            specs.push(Spec { place: Placement::DENSE.gap(8).edge(Edge::End), ..spec });
            specs.push(Spec { workgroups: Some(1), ..spec });
        }
    }
    specs.retain(|spec| !spec.in_place || spec.shape[1] > 0);
    let alone = Activation::Swiglu { alpha: 1.0, limit: None, add_residual: false };
    for activation in [Activation::SiluAndMul, SWIGLU, alone, Activation::GeluTanh] {
        for (shape, rows) in [
            ([3, 5, 1, 96], Rows::Own),
            ([1, 4, 2, 1046], Rows::Drawn),
            ([2, 5, 3, 50], Rows::Wrong),
            ([1, 3, 2, 2], Rows::Drawn),
        ] {
            for types in [f32s, [DType::F32; 2]] {
                let spec = Spec { types, activation, ..Spec::new(shape, rows) };
                specs.push(spec);
                let residual = Spec { has_gammas: true, has_residual: true, ..spec };
                specs.push(residual);
                specs.push(Spec { has_gate: true, workgroups: Some(1), ..residual });
                specs.push(Spec { place: Placement::DENSE.gap(5).shift(1), ..residual });
            }
        }
    }
    for activation in [Activation::SiluAndMul, SWIGLU, Activation::GeluTanh] {
        for types in [f32s, [DType::F32; 2]] {
            let special = Spec { types, activation, ..Spec::new([2, 3, 1, 72], Rows::Own) };
            specs.push(Spec { is_special: true, ..special });
        }
    }
    // What is left is what is added.
    for shares in [1, 3] {
        let absent = Spec::new([shares, 5, 3, 90], Rows::Absent);
        specs.push(absent);
        specs.push(Spec { has_gammas: true, has_residual: true, has_gate: true, ..absent });
        specs.push(Spec { activation: SWIGLU, types: f32s, has_residual: true, ..absent });
    }
    for shape in [[1, 64, 8, 7168], [1, 128, 4, 2880]] {
        specs.push(Spec { size: Size::Core, ..Spec::new(shape, Rows::OfToken) });
    }
    specs.push(Spec { size: Size::Core, types: f32s, ..Spec::new([4, 64, 8, 4096], Rows::Drawn) });
    for shape in [[1, 4096, 8, 7168], [1, 4096, 10, 2048], [1, 4096, 2, 4096]] {
        specs.push(Spec { size: Size::Large, ..Spec::new(shape, Rows::OfToken) });
    }
    specs.into_iter().map(Spec::case).collect()
}
