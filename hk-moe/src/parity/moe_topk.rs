//! Cases of `moe_topk` and `moe_grouped_topk`.

use hk_core::dtype::{DType, Real};
use hk_ref::draw::Random;
use hk_ref::moe::moe_topk::{Chosen, Norm, Rule, Score as Scored, moe_topk as reference};
use hk_ref::{Case, CaseInfo, Draw, Edge, Expected, Placement, REALS, Setup, Size, real};

use crate::moe_topk::{MoeTopkOptions, MoeTopkOut, Order, Score, Ties, WeightNorm};
use crate::{ExpertGroups, moe_grouped_topk_into, moe_topk_into};

/// What rows of logits hold.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Content {
    Drawn,
    /// Integers, so few that most are equal to others.
    Few,
    /// NaN of both signs, infinities and zeros of both signs among few numbers.
    Special,
    /// All the same.
    All(f64),
}

/// The groups of experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Groups {
    count: usize,
    kept: usize,
    /// Experts of a group are apart.
    is_shuffled: bool,
}

/// What varies between cases, apart from the type of the logits and places.
#[derive(Debug, Clone, Copy)]
struct Spec {
    /// Tokens, experts, and those of a token.
    shape: [usize; 3],
    content: Content,
    score: Score,
    norm: WeightNorm,
    is_biased: bool,
    groups: Option<Groups>,
    order: Order,
    ties: Option<Ties>,
    scale: Option<f32>,
    shared: usize,
    has_bitmatrix: bool,
    vals: DType,
    workgroups: Option<u32>,
    place: Placement,
    size: Size,
}

impl Spec {
    const fn new(shape: [usize; 3]) -> Self {
        Self {
            shape,
            content: Content::Drawn,
            score: Score::Logits,
            norm: WeightNorm::Softmax,
            is_biased: false,
            groups: None,
            order: Order::ByExpert,
            ties: None,
            scale: None,
            shared: 0,
            has_bitmatrix: true,
            vals: DType::F32,
            workgroups: None,
            place: Placement::DENSE,
            size: Size::Quick,
        }
    }

    /// As DeepSeek-V3 does it.
    const fn biased_groups(shape: [usize; 3], count: usize, kept: usize) -> Self {
        Self {
            score: Score::Sigmoid,
            norm: WeightNorm::Renorm,
            is_biased: true,
            groups: Some(Groups { count, kept, is_shuffled: false }),
            scale: Some(2.5),
            ..Self::new(shape)
        }
    }

    fn title(&self) -> String {
        let Self { content, score, norm, order, ties, shared, place, .. } = self;
        let mut title = format!("{score:?} {norm:?} {order:?}");
        if *content != Content::Drawn {
            title += &format!(" {content:?}");
        }
        if let Some(Groups { count, kept, is_shuffled }) = self.groups {
            title += &format!(" {kept} of {count}{}", if is_shuffled { " shuffled" } else { "" });
        }
        let flags = [(self.is_biased, " bias"), (!self.has_bitmatrix, " no bitmatrix")];
        flags.iter().filter(|(is_set, _)| *is_set).for_each(|(_, flag)| title += flag);
        title += &ties.map(|ties| format!(" {ties:?}")).unwrap_or_default();
        title += &self.scale.map(|scale| format!(" x{scale}")).unwrap_or_default();
        title += &self.workgroups.map(|most| format!(" in {most} workgroups")).unwrap_or_default();
        if *shared > 0 {
            title += &format!(" {shared} shared");
        }
        if *place != Placement::DENSE {
            title += &format!(" {place:?}");
        }
        title
    }

    fn case(self, dtype: DType) -> Case {
        let op = if self.groups.is_some() { "moe_grouped_topk" } else { "moe_topk" };
        let info = CaseInfo::new("moe_topk", op, self.title(), &[dtype, self.vals], &self.shape);
        let case = Case::new(info, move |s| {
            real!(dtype, T => real!(self.vals, W => set_up::<T, W>(s, self)));
        });
        case.place(self.place).size(self.size)
    }

    fn rule(&self, bias: Option<Vec<f32>>, group_of: Option<Vec<usize>>) -> Rule {
        let is_low = self.groups.is_some();
        Rule {
            k: self.shape[2],
            score: match self.score {
                Score::Logits => Scored::Logits,
                Score::Sigmoid => Scored::Sigmoid,
                Score::SqrtSoftplus => Scored::SqrtSoftplus,
                Score::SoftmaxFirst => Scored::SoftmaxFirst,
            },
            bias,
            groups: group_of.zip(self.groups).map(|(of, groups)| (of, groups.count, groups.kept)),
            takes_low: self.ties.map_or(is_low, |ties| ties == Ties::LowIndex),
            by_value: self.order == Order::ByValue,
            norm: match self.norm {
                WeightNorm::None => Norm::None,
                WeightNorm::Softmax => Norm::Softmax,
                WeightNorm::Renorm => Norm::Renorm,
            },
            scale: f64::from(self.scale.unwrap_or(1.0)),
        }
    }
}

/// Logits of all tokens.
fn logits<T: Real>(s: &Setup, spec: Spec) -> Vec<T> {
    let [tokens, experts, _] = spec.shape;
    let draw = |draw| s.draw::<T>("x", &[tokens, experts], draw);
    match spec.content {
        Content::Drawn => draw(Draw::Normal),
        Content::Few => draw(Draw::Integers(-3, 4)),
        Content::All(value) => vec![T::from_f64(value); tokens * experts],
        Content::Special => {
            let numbers = [-0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.0, -f64::NAN];
            let special = numbers.into_iter().cycle().map(T::from_f64);
            let mut x = draw(Draw::Integers(-3, 4));
            // Rows with many of them, and with none.
            for row in x.chunks_mut(experts).step_by(2) {
                row.iter_mut().step_by(3).zip(special.clone()).for_each(|(x, of)| *x = of);
            }
            x
        }
    }
}

/// Draws of a row until rounding errors do not decide; a rule by which they decide in each row would
/// draw for ever.
const MOST_DRAWS: usize = 1 << 20;

/// The experts of each token; of rows that may be, others are drawn where rounding errors would
/// decide.
pub(super) fn choose_all<T: Real>(
    x: &mut [T],
    experts: usize,
    rule: &Rule,
    may_be_drawn: bool,
) -> Vec<Chosen> {
    let choose = |row: &[T]| {
        let row: Vec<f32> = row.iter().map(|x| x.to_f64() as f32).collect();
        reference(&row, rule)
    };
    let mut random = Random::new(x.len() as u64);
    let mut of_row = |row: &mut [T]| {
        for _ in 0..MOST_DRAWS {
            let chosen = choose(row);
            if !chosen.is_close {
                return chosen;
            }
            assert!(may_be_drawn, "rounding errors decide");
            row.iter_mut().for_each(|x| *x = T::from_f64(random.normal()));
        }
        panic!("rounding errors decide in {MOST_DRAWS} rows of this case")
    };
    x.chunks_mut(experts).map(&mut of_row).collect()
}

fn set_up<T: Real, W: Real>(s: &mut Setup, spec: Spec) {
    let [tokens, experts, k] = spec.shape;
    let slots = k + spec.shared;
    let bias = spec.is_biased.then(|| s.input::<f32>("bias", &[experts], Draw::Alternating));
    let group_of = spec.groups.map(|groups| {
        let of = |expert: usize| match groups.is_shuffled {
            true => expert * 7 % experts % groups.count,
            false => expert / (experts / groups.count),
        };
        (0..experts).map(of).collect::<Vec<usize>>()
    });
    let map = spec.groups.filter(|groups| groups.is_shuffled).map(|_| {
        let of = group_of.iter().flatten().map(|group| *group as i32).collect();
        s.given("expert_group", &[experts], of)
    });
    let rule = spec.rule(bias.as_ref().map(|bias| bias.elements()), group_of);

    let mut x = logits::<T>(s, spec);
    let chosen = choose_all(&mut x, experts, &rule, spec.content == Content::Drawn);

    let shared = (0..spec.shared).map(|i| (experts + i, SHARED_WEIGHT));
    let of_token = |chosen: &Chosen| {
        let routed = chosen.experts.iter().copied().zip(chosen.weights.iter().copied());
        routed.chain(shared.clone()).collect::<Vec<_>>()
    };
    let (ids, weights): (Vec<_>, Vec<_>) = chosen.iter().flat_map(of_token).unzip();
    let slack = weights.iter().map(|weight| 1e-7 + 4e-6 * weight.abs()).collect();
    let weights = Expected::rounded(weights, W::DTYPE, false).plus(slack);
    let x = s.given("x", &[tokens, experts], x);
    let y_vals = s.output::<W>("y_vals", &[tokens, slots], weights);
    let ids = Expected::exact(ids.into_iter().map(|id| id as f64).collect());
    let y_indx = s.output::<i32>("y_indx", &[tokens, slots], ids);
    let words = experts.div_ceil(32);
    let bitmatrix = spec.has_bitmatrix.then(|| {
        let mut bits = vec![0u32; tokens * words];
        for (token, chosen) in chosen.iter().enumerate() {
            chosen.experts.iter().for_each(|id| bits[token * words + id / 32] |= 1 << (id % 32));
        }
        let bits = s.output::<u32>("bitmatrix", &[tokens, words], Expected::bits(&bits));
        bits.order(&[1, 0])
    });
    s.call(move || {
        let bias = bias.as_ref().map(|bias| bias.get());
        let map = map.as_ref().map(|map| map.get());
        let mut options = MoeTopkOptions::default()
            .score(spec.score)
            .weight_norm(spec.norm)
            .order(spec.order)
            .shared_experts(spec.shared, SHARED_WEIGHT as f32);
        options = bias.as_deref().into_iter().fold(options, MoeTopkOptions::bias);
        options = spec.ties.into_iter().fold(options, MoeTopkOptions::ties);
        options = spec.scale.into_iter().fold(options, MoeTopkOptions::routed_scaling_factor);
        options = spec.workgroups.into_iter().fold(options, MoeTopkOptions::workgroups);
        let (mut y_vals, mut y_indx) = (y_vals.get(), y_indx.get());
        let mut bitmatrix = bitmatrix.as_ref().map(|bits| bits.get());
        let bitmatrix = bitmatrix.as_deref_mut();
        let out = MoeTopkOut { y_vals: &mut y_vals, y_indx: &mut y_indx, bitmatrix };
        let Some(Groups { count, kept, .. }) = spec.groups else {
            return moe_topk_into(&x.get(), k, &options, out);
        };
        let (num_expert_group, topk_group) = (count, kept);
        let expert_group = map.as_deref();
        let groups = ExpertGroups { num_expert_group, topk_group, expert_group };
        moe_grouped_topk_into(&x.get(), k, groups, &options, out)
    });
}

/// The weight of experts that all tokens have.
const SHARED_WEIGHT: f64 = 0.375;

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |spec: Spec| cases.extend(REALS.map(|dtype| spec.case(dtype)));
    // Those of the specification, and edges of rows and pieces.
    for shape in [
        [128, 256, 4],
        [64, 128, 4],
        [255, 128, 6],
        [7, 128, 32],
        [8, 1500, 8],
        [256, 8, 2],
        [4, 512, 10],
        [9, 16, 1],
        [1, 1, 1],
        [3, 33, 33],
        [5, 64, 64],
        [3, 513, 3],
        [2, 1024, 64],
        [2, 5003, 7],
        [0, 64, 4],
    ] {
        add(Spec::new(shape));
    }
    // All of a wave's numbers of rows, and many equal logits, whichever comes first.
    for tokens in [1, 4, 8, 33] {
        for ties in [None, Some(Ties::LowIndex)] {
            let spec = Spec { content: Content::Few, ties, ..Spec::new([tokens, 301, 6]) };
            add(spec);
            add(Spec { order: Order::ByValue, vals: DType::Bf16, ..spec });
        }
    }
    for (shape, content) in [
        ([8, 32, 4], Content::Special),
        ([16, 64, 4], Content::Special),
        ([24, 128, 4], Content::Special),
        ([6, 700, 40], Content::Special),
        ([5, 37, 5], Content::All(f64::NEG_INFINITY)),
        ([5, 37, 5], Content::All(f64::NAN)),
        ([5, 530, 5], Content::All(-f64::NAN)),
        ([5, 37, 5], Content::All(1.5)),
    ] {
        for norm in [WeightNorm::None, WeightNorm::Softmax] {
            add(Spec { content, norm, ..Spec::new(shape) });
        }
        for order in [Order::ByExpert, Order::ByValue] {
            let scored = Spec { content, order, ..Spec::new(shape) };
            let norm = WeightNorm::Renorm;
            add(Spec { score: Score::SoftmaxFirst, norm, ..scored });
        }
    }
    for content in [f64::NEG_INFINITY, f64::NAN].map(Content::All) {
        let spec = Spec { content, norm: WeightNorm::Renorm, ..Spec::new([5, 37, 5]) };
        add(Spec { score: Score::Sigmoid, ..spec });
        add(Spec { score: Score::SqrtSoftplus, is_biased: true, ..spec });
    }
    for score in [Score::Sigmoid, Score::SqrtSoftplus, Score::SoftmaxFirst] {
        for (norm, scale) in [(WeightNorm::None, None), (WeightNorm::Renorm, Some(2.5))] {
            let spec = Spec { score, norm, scale, ..Spec::new([16, 128, 4]) };
            add(spec);
            add(Spec { shape: [5, 1300, 8], order: Order::ByValue, ..spec });
            if score != Score::SoftmaxFirst {
                add(Spec { is_biased: true, shape: [16, 256, 8], ..spec });
                add(Spec { is_biased: true, shape: [3, 999, 5], ..spec });
            }
        }
    }
    // Far below zero, and above.
    for score in [Score::Sigmoid, Score::SqrtSoftplus, Score::SoftmaxFirst] {
        for value in [-40.0, 60.0] {
            let spec = Spec { score, content: Content::All(value), ..Spec::new([5, 70, 3]) };
            add(Spec { norm: WeightNorm::Renorm, ..spec });
        }
    }
    let far =
        Spec { content: Content::All(-40.0), score: Score::SqrtSoftplus, ..Spec::new([3, 64, 4]) };
    let of_four = Some(Groups { count: 4, kept: 2, is_shuffled: false });
    add(Spec { norm: WeightNorm::Renorm, groups: of_four, ..far });
    // In every lane of a wave: for groups and experts to choose from, and for weights.
    add(Spec { norm: WeightNorm::Renorm, groups: of_four, shape: [1, 512, 4], ..far });
    add(Spec { norm: WeightNorm::Renorm, shape: [1, 512, 64], ..far });
    // A lane that lacks only the last of eight experts, and one with -inf only before it.
    let of_lane =
        Spec { score: Score::SoftmaxFirst, norm: WeightNorm::Renorm, ..Spec::new([2, 7, 2]) };
    add(of_lane);
    add(Spec { shape: [2, 8, 2], content: Content::Special, ..of_lane });
    // Groups: of DeepSeek-V3 and others, of each size, with all kept, in pieces, and equal ones.
    let v3 = Spec::biased_groups([16, 256, 8], 8, 4);
    add(v3);
    add(Spec { shape: [8, 128, 6], ..v3 });
    let apart = Spec { groups: Some(Groups { count: 8, kept: 4, is_shuffled: true }), ..v3 };
    add(apart);
    add(Spec { shape: [8, 128, 6], ..apart });
    for (shape, count, kept) in
        [([7, 48, 5], 3, 1), ([5, 160, 6], 16, 3), ([6, 64, 8], 2, 2), ([3, 1040, 16], 13, 5)]
    {
        let mut spec = Spec::biased_groups(shape, count, kept);
        add(spec);
        spec.groups = Some(Groups { count, kept, is_shuffled: true });
        add(Spec { score: Score::SqrtSoftplus, order: Order::ByValue, ..spec });
        add(Spec {
            score: Score::SoftmaxFirst,
            is_biased: false,
            ties: Some(Ties::HighIndex),
            ..spec
        });
        let logits = Spec { score: Score::Logits, is_biased: false, ..spec };
        add(Spec { content: Content::Few, norm: WeightNorm::Softmax, ..logits });
        add(Spec { content: Content::Special, norm: WeightNorm::None, ..logits });
    }
    // No lane has more than four experts, or than seven.
    for (shape, count, kept) in [([3, 4, 2], 2, 1), ([3, 7, 2], 7, 3)] {
        add(Spec { is_biased: false, ..Spec::biased_groups(shape, count, kept) });
    }
    let equal = Spec { content: Content::All(0.5), is_biased: false, ..v3 };
    add(Spec { ..equal });
    add(Spec { content: Content::All(f64::NAN), is_biased: true, ..equal });
    // What results may look like, and rows in turns and apart.
    for vals in REALS {
        let spec = Spec { vals, shared: 2, scale: Some(0.5), ..Spec::new([9, 72, 5]) };
        add(spec);
        add(Spec { has_bitmatrix: false, shared: 64, ..spec });
    }
    for spec in [Spec::new([23, 600, 3]), Spec::biased_groups([23, 96, 3], 4, 2)] {
        let turns = Spec { workgroups: Some(1), ..spec };
        add(turns);
        add(Spec { place: Placement::DENSE.gap(5).shift(3), ..turns });
        add(Spec { place: Placement::DENSE.gap(3).edge(Edge::End), ..spec });
    }
    for [experts, k] in [[256, 8], [512, 10], [128, 4], [8, 2], [16, 1], [1500, 8], [32_767, 8]] {
        let tokens = if experts > 512 { 64 } else { 4096 };
        add(Spec { size: Size::Large, ..Spec::new([tokens, experts, k]) });
    }
    add(Spec { size: Size::Core, ..Spec::new([1024, 128, 4]) });
    add(Spec { size: Size::Core, ..Spec::biased_groups([371, 256, 8], 8, 4) });
    add(Spec { size: Size::Core, ..Spec::new([2, 32_767, 64]) });
    cases
}
