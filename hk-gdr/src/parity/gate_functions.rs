//! Cases of the elementary functions.

use hk_core::dtype::DType;
use hk_core::{Result, TensorSlice};
use hk_ref::gdr::gate_functions::{FUNCTIONS, of};
use hk_ref::{Case, CaseInfo, Draw, Expected, Placement, Setup};

use crate::gate_functions::*;

/// What x a case has.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Content {
    /// Normal, deviation 2.
    Drawn,
    /// From -104 to 89, evenly.
    Sweep,
    /// Around the threshold of softplus, infinities, NaN, zeros, subnormal numbers, limits of powers.
    Special,
}

/// What varies between cases.
#[derive(Debug, Clone, Copy)]
struct Spec {
    count: usize,
    content: Content,
    softplus: [f32; 2],
    fast: bool,
    workgroups: Option<u32>,
    place: Placement,
    in_place: bool,
}

const SPECIAL: [f32; 30] = [
    f32::NAN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    0.0,
    -0.0,
    1.0,
    -1.0,
    19.999_998,
    20.0,
    20.000_002,
    5.0,
    5.000_001,
    1e-40,
    1e-44,
    -1e-40,
    f32::MIN_POSITIVE,
    1.000_000_1,
    0.999_999_94,
    88.7,
    89.0,
    -87.3,
    -88.8,
    -104.0,
    127.999,
    128.0,
    -126.0,
    -149.0,
    f32::MAX,
    f32::MIN,
    -17.5,
];

type Op = fn(&TensorSlice<f32>, &OpOptions, &mut TensorSlice<f32>) -> Result<()>;

const OPS: [(&str, Op); 8] = [
    ("op_exp", op_exp_into),
    ("op_exp2", op_exp2_into),
    ("op_log", op_log_into),
    ("op_log2", op_log2_into),
    ("op_safe_exp", op_safe_exp_into),
    ("op_softplus", op_softplus_into),
    ("op_sigmoid", op_sigmoid_into),
    ("op_silu", op_silu_into),
];

impl Spec {
    fn new(count: usize, content: Content) -> Self {
        let (softplus, place) = ([1.0, 20.0], Placement::DENSE);
        let (fast, workgroups, in_place) = (false, None, false);
        Self { count, content, softplus, fast, workgroups, place, in_place }
    }

    fn x(&self, s: &Setup) -> Vec<f32> {
        let last = (self.count - 1).max(1) as f64;
        match self.content {
            Content::Drawn => s.draw("x", &[self.count], Draw::Scaled(1)),
            Content::Sweep => {
                (0..self.count).map(|i| (-104.0 + 193.0 * i as f64 / last) as f32).collect()
            }
            Content::Special => SPECIAL.iter().copied().cycle().take(self.count).collect(),
        }
    }

    fn options(&self) -> OpOptions {
        let [factor, threshold] = self.softplus;
        let options = OpOptions::default().fast(self.fast);
        let options = options.softplus_beta(factor).softplus_threshold(threshold);
        self.workgroups.into_iter().fold(options, OpOptions::workgroups)
    }

    fn expected(&self, function: &str, x: &[f64]) -> Expected {
        let [factor, threshold] = self.softplus;
        let results = x.iter().map(|x| of(function, *x, factor, threshold, self.fast));
        let (values, allowed) = results.unzip();
        Expected { values, allowed, ..Expected::default() }
    }

    fn case(self, op: &'static str, set_up: impl Fn(&mut Setup) + Send + Sync + 'static) -> Case {
        let Self { content, softplus: [factor, threshold], fast, workgroups, .. } = self;
        let mut title = format!("{content:?}, softplus {factor} to {threshold}");
        title += if fast { ", fast" } else { "" };
        title += if workgroups.is_some() { ", one workgroup" } else { "" };
        title += if self.in_place { ", in place" } else { "" };
        title += if self.place.shift > 0 { ", shifted" } else { "" };
        let info = CaseInfo::new("op", op, title, &[DType::F32], &[self.count]);
        let case = Case::new(info, set_up).place(self.place).in_place(self.in_place);
        case.writes_once()
    }

    /// The case of each op.
    fn cases(self) -> Vec<Case> {
        let mut cases = Vec::new();
        for (function, (name, op)) in FUNCTIONS.into_iter().zip(OPS) {
            cases.push(self.case(name, move |s: &mut Setup| {
                let elements = self.x(s);
                let x = s.given("x", &[self.count], elements);
                let y = self.expected(function, &x.numbers());
                let y = s.output::<f32>("y", &[self.count], y);
                let options = self.options();
                s.call(move || op(&x.get(), &options, &mut y.get()));
            }));
        }
        if !self.in_place {
            cases.push(self.case("op_all", move |s| self.set_up_all(s)));
        }
        cases
    }

    fn set_up_all(&self, s: &mut Setup) {
        let elements = self.x(s);
        let x = s.given("x", &[self.count], elements);
        let numbers = x.numbers();
        let results = FUNCTIONS.map(|function| {
            s.output::<f32>(function, &[self.count], self.expected(function, &numbers))
        });
        let options = self.options();
        s.call(move || {
            let [exp, exp2, log, log2, safe_exp, softplus, sigmoid, silu] =
                &mut results.each_ref().map(|result| result.get());
            let out = OpAllOut { exp, exp2, log, log2, safe_exp, softplus, sigmoid, silu };
            op_all_into(&x.get(), &options, out)
        });
    }
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    for fast in [false, true] {
        for count in [1, 3, 1024, 4097] {
            specs.push(Spec { fast, ..Spec::new(count, Content::Drawn) });
        }
        specs.push(Spec { fast, ..Spec::new(20_000, Content::Sweep) });
        for softplus in [[1.0, 20.0], [4.0, 20.0], [0.5, 2.0], [1.0, f32::INFINITY]] {
            specs.push(Spec { fast, softplus, ..Spec::new(61, Content::Special) });
        }
    }
    let some = Spec::new(2051, Content::Drawn);
    specs.push(Spec { workgroups: Some(1), ..some });
    specs.push(Spec { in_place: true, ..some });
    specs.push(Spec { place: Placement::DENSE.shift(1), ..some });
    specs.into_iter().flat_map(Spec::cases).collect()
}
