//! Cases of `routing`, `sort_tokens`, `sort_tokens_fused` and `routing_compute_indx`.

use hk_core::dtype::{DType, Real};
use hk_ref::draw::Random;
use hk_ref::moe::moe_expt_data::{moe_expt_data, packed};
use hk_ref::moe::moe_routing::{Sorted, block_m, moe_routing as reference};
use hk_ref::moe::moe_topk::{Norm, Rule, Score as Scored};
use hk_ref::{Arg, Case, CaseInfo, Draw, Expected, Placement, REALS, Setup, Size, real};

use super::loads::{Load, ids};
use super::moe_topk::choose_all;
use crate::{
    ChosenOut, ExpertGroups, RoutingIndxOut, RoutingOptions, Score, SortOptions, SortTokensOut,
    max_num_tiles, routing_compute_indx_into, routing_into, sort_tokens_fused_into,
    sort_tokens_into,
};

const MODULE: &str = "moe_routing";

/// An integer that must come out; -1 for none.
fn exactly(values: impl IntoIterator<Item = Option<usize>>) -> Expected {
    let number = |value: Option<usize>| value.map_or(-1.0, |value| value as f64);
    Expected::exact(values.into_iter().map(number).collect())
}

/// The outputs that say in which order gates are.
struct Order<W: Real> {
    gate_scal: Arg<W>,
    gather: Arg<i32>,
    scatter: Arg<i32>,
}

/// The outputs that say where experts and their tiles are.
struct Tiles {
    hist: Arg<i32>,
    raw: Arg<i32>,
    pad: Arg<i32>,
    map: Arg<i32>,
}

impl<W: Real> Order<W> {
    /// Of gates of which `weight` says the weight, and how far off it may be.
    fn new(s: &mut Setup, sorted: &Sorted, weight: impl Fn(usize) -> (f64, f64)) -> Self {
        let gates = [sorted.gather.len()];
        let weights = sorted.gather.iter().map(|gate| gate.map_or((0.0, 0.0), &weight));
        let (values, slack): (Vec<_>, Vec<_>) = weights.unzip();
        let values = match slack.iter().all(|slack| *slack == 0.0) {
            true => Expected::exact(values),
            false => Expected::rounded(values, W::DTYPE, false).plus(slack),
        };
        Self {
            gate_scal: s.output("gate_scal", &gates, values),
            gather: s.output("gather_indx", &gates, exactly(sorted.gather.iter().copied())),
            scatter: s.output("scatter_indx", &gates, exactly(sorted.scatter.iter().copied())),
        }
    }
}

impl Tiles {
    fn new(s: &mut Setup, hist: &[usize], gates: usize, rows: usize) -> Self {
        let data = moe_expt_data(hist, rows);
        let experts = hist.len();
        let most = max_num_tiles(gates, experts, rows.ilog2());
        let mut map: Vec<i32> = data.tiles.into_iter().map(packed).collect();
        map.resize(most, -1);
        let all = |values: Vec<usize>| exactly(values.into_iter().map(Some));
        Self {
            hist: s.output("expt_hist", &[experts], all(hist.to_vec())),
            raw: s.output("token_offs_raw", &[experts + 1], all(data.offsets)),
            pad: s.output("token_offs_pad", &[experts + 1], all(data.first_tiles)),
            map: s.output("block_pid_map", &[most], Expected::bits(&map)),
        }
    }

    /// Makes a call with all outputs.
    fn with<W: Real, R>(
        &self,
        order: &Order<W>,
        call: impl FnOnce(SortTokensOut<'_, W>) -> R,
    ) -> R {
        let (mut gate_scal, mut gather, mut scatter) =
            (order.gate_scal.get(), order.gather.get(), order.scatter.get());
        let (mut hist, mut raw) = (self.hist.get(), self.raw.get());
        let (mut pad, mut map) = (self.pad.get(), self.map.get());
        call(SortTokensOut {
            indx: RoutingIndxOut {
                gate_scal: &mut gate_scal,
                gather_indx: &mut gather,
                scatter_indx: &mut scatter,
            },
            expt_hist: &mut hist,
            token_offs_raw: &mut raw,
            token_offs_pad: &mut pad,
            block_pid_map: &mut map,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SortOp {
    Sort,
    Fused,
    Indx,
}

/// What varies between cases of ops that are given ids.
#[derive(Debug, Clone, Copy)]
struct SortSpec {
    op: SortOp,
    /// Tokens, experts and those of a token.
    shape: [usize; 3],
    rows: usize,
    load: Load,
    weights: DType,
    place: Placement,
    size: Size,
}

impl SortSpec {
    const fn new(op: SortOp, shape: [usize; 3]) -> Self {
        let (load, weights, place) = (Load::Uniform, DType::F32, Placement::DENSE);
        Self { op, shape, rows: 16, load, weights, place, size: Size::Quick }
    }

    fn case(self) -> Case {
        let op = match self.op {
            SortOp::Sort => "sort_tokens",
            SortOp::Fused => "sort_tokens_fused",
            SortOp::Indx => "routing_compute_indx",
        };
        let mut title = format!("{:?}, tiles of {}", self.load, self.rows);
        if self.place != Placement::DENSE {
            title += ", not aligned";
        }
        let info = CaseInfo::new(MODULE, op, title, &[self.weights, DType::I32], &self.shape);
        let case = Case::new(info, move |s| real!(self.weights, W => set_up_sort::<W>(s, self)));
        case.size(self.size).place(self.place).writes_once()
    }
}

fn set_up_sort<W: Real>(s: &mut Setup, spec: SortSpec) {
    let SortSpec { op, shape: [tokens, experts, k], rows, load, .. } = spec;
    let ids = ids([tokens, k, experts], load);
    let sorted = reference(&ids, experts);
    // No two weights near each other are the same.
    let weights: Vec<W> = (0..tokens * k).map(|gate| W::from_f64((gate % 251) as f64)).collect();
    let scal = s.given("expt_scal", &[tokens, k], weights);
    let indx = s.given("expt_indx", &[tokens, k], ids);
    let order = Order::<W>::new(s, &sorted, |gate| ((gate % 251) as f64, 0.0));
    // Of these, tokens may have an expert twice.
    let is_right = !matches!(load, Load::Wrong | Load::One(_));
    let options = SortOptions::default().validate_indices(is_right);
    if op == SortOp::Indx {
        s.call(move || {
            let (mut gate_scal, mut gather, mut scatter) =
                (order.gate_scal.get(), order.gather.get(), order.scatter.get());
            let out = RoutingIndxOut {
                gate_scal: &mut gate_scal,
                gather_indx: &mut gather,
                scatter_indx: &mut scatter,
            };
            routing_compute_indx_into(&scal.get(), &indx.get(), experts, &options, out)
        });
        return;
    }
    let tiles = Tiles::new(s, &sorted.hist, tokens * k, rows);
    s.call(move || {
        tiles.with(&order, |out| match op {
            SortOp::Fused => {
                sort_tokens_fused_into(&scal.get(), &indx.get(), experts, rows, &options, out)
            }
            _ => sort_tokens_into(&scal.get(), &indx.get(), experts, rows, &options, out),
        })
    });
}

/// How models choose experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Preset {
    Mixtral,
    Qwen2Moe,
    DeepSeekV2,
    DeepSeekV3,
    Glm,
    Llama4,
    /// A score, whether there is a bias, whether weights are divided by their sum, and whether they
    /// are multiplied by 2.5.
    Scored(Score, bool, bool, bool),
    /// One group, which is none.
    OneGroup,
}

/// What varies between cases of `routing`.
#[derive(Debug, Clone, Copy)]
struct Spec {
    shape: [usize; 3],
    preset: Preset,
    shared: usize,
    has_bitmatrix: bool,
    /// Whether all tokens have the same experts.
    is_one: bool,
    weights: DType,
    size: Size,
}

impl Spec {
    const fn new(shape: [usize; 3], preset: Preset) -> Self {
        let (shared, has_bitmatrix, is_one) = (0, false, false);
        Self {
            shape,
            preset,
            shared,
            has_bitmatrix,
            is_one,
            weights: DType::F32,
            size: Size::Quick,
        }
    }

    fn is_biased(&self) -> bool {
        match self.preset {
            Preset::DeepSeekV3 | Preset::Glm => true,
            Preset::Scored(_, is_biased, ..) => is_biased,
            _ => false,
        }
    }

    fn case(self, dtype: DType) -> Case {
        let mut title = format!("{:?}", self.preset);
        if self.shared > 0 {
            title += &format!(", {} shared", self.shared);
        }
        title += if self.has_bitmatrix { ", bitmatrix" } else { "" };
        title += if self.is_one { ", all the same" } else { "" };
        let info = CaseInfo::new(MODULE, "routing", title, &[dtype, self.weights], &self.shape);
        let case = Case::new(info, move |s| {
            real!(dtype, T => real!(self.weights, W => set_up::<T, W>(s, self)));
        });
        case.size(self.size)
    }

    /// As the reference has it.
    fn rule(&self, bias: Option<Vec<f32>>) -> Rule {
        let [_, experts, k] = self.shape;
        let plain = Rule {
            k,
            score: Scored::Sigmoid,
            bias,
            groups: None,
            takes_low: false,
            by_value: false,
            norm: Norm::None,
            scale: 1.0,
        };
        let eight = |kept| Some(((0..experts).map(|e| e / (experts / 8)).collect(), 8, kept));
        match self.preset {
            Preset::Mixtral => Rule { score: Scored::Logits, norm: Norm::Softmax, ..plain },
            Preset::Qwen2Moe => Rule { score: Scored::SoftmaxFirst, ..plain },
            Preset::DeepSeekV2 => {
                let (groups, takes_low) = (eight(3), true);
                Rule { score: Scored::SoftmaxFirst, groups, takes_low, scale: 16.0, ..plain }
            }
            Preset::DeepSeekV3 => {
                let (groups, takes_low) = (eight(4), true);
                Rule { norm: Norm::Renorm, groups, takes_low, scale: 2.5, ..plain }
            }
            Preset::Glm => Rule { norm: Norm::Renorm, ..plain },
            Preset::Llama4 | Preset::OneGroup => plain,
            Preset::Scored(score, _, renorm, scale) => Rule {
                score: match score {
                    Score::Logits => Scored::Logits,
                    Score::Sigmoid => Scored::Sigmoid,
                    Score::SqrtSoftplus => Scored::SqrtSoftplus,
                    Score::SoftmaxFirst => Scored::SoftmaxFirst,
                },
                norm: if renorm { Norm::Renorm } else { Norm::None },
                scale: if scale { 2.5 } else { 1.0 },
                ..plain
            },
        }
    }
}

fn set_up<T: Real, W: Real>(s: &mut Setup, spec: Spec) {
    let Spec { shape: [tokens, experts, k], preset, shared, .. } = spec;
    let bias = spec.is_biased().then(|| s.input::<f32>("bias", &[experts], Draw::Alternating));
    let rule = spec.rule(bias.as_ref().map(|bias| bias.elements()));
    let mut x = s.draw::<T>("logits", &[tokens, experts], Draw::Normal);
    if spec.is_one {
        let mut random = Random::new(experts as u64);
        let row: Vec<T> = (0..experts).map(|_| T::from_f64(random.normal())).collect();
        x.chunks_mut(experts).for_each(|of| of.copy_from_slice(&row));
    }
    let chosen = choose_all(&mut x, experts, &rule, !spec.is_one);
    let logits = s.given("logits", &[tokens, experts], x);

    let (slots, all) = (k + shared, experts + shared);
    let of_token = |chosen: &hk_ref::moe::moe_topk::Chosen| {
        let routed = chosen.experts.iter().copied().zip(chosen.weights.iter().copied());
        routed.chain((experts..all).map(|id| (id, 0.5))).collect::<Vec<_>>()
    };
    let (ids, weights): (Vec<usize>, Vec<f64>) = chosen.iter().flat_map(of_token).unzip();
    let slack = |weight: f64| 1e-7 + 4e-6 * weight.abs();
    let near = Expected::rounded(weights.clone(), W::DTYPE, false);
    let near = near.plus(weights.iter().map(|weight| slack(*weight)).collect());
    let expt_scal = s.output::<W>("expt_scal", &[tokens, slots], near);
    let expt_indx =
        s.output::<i32>("expt_indx", &[tokens, slots], exactly(ids.iter().copied().map(Some)));
    let words = experts.div_ceil(32);
    let bitmatrix = spec.has_bitmatrix.then(|| {
        let mut bits = vec![0u32; tokens * words];
        for (token, chosen) in chosen.iter().enumerate() {
            chosen.experts.iter().for_each(|id| bits[token * words + id / 32] |= 1 << (id % 32));
        }
        s.output::<u32>("bitmatrix", &[tokens, words], Expected::bits(&bits)).order(&[1, 0])
    });
    let ids: Vec<i32> = ids.into_iter().map(|id| id as i32).collect();
    let sorted = reference(&ids, all);
    let order = Order::<W>::new(s, &sorted, |gate| (weights[gate], slack(weights[gate])));
    let rows = block_m(tokens * k, experts);
    let tiles = Tiles::new(s, &sorted.hist, tokens * slots, rows);
    s.call(move || {
        let bias = bias.as_ref().map(|bias| bias.get());
        let of_bias = bias.as_deref();
        let options = match (preset, of_bias) {
            (Preset::DeepSeekV3, Some(bias)) => RoutingOptions::deepseek_v3(bias),
            (Preset::Glm, Some(bias)) => RoutingOptions::glm(bias),
            (Preset::Qwen2Moe, _) => RoutingOptions::qwen2_moe(),
            (Preset::DeepSeekV2, _) => RoutingOptions::deepseek_v2(),
            (Preset::Llama4, _) => RoutingOptions::llama4(),
            (Preset::OneGroup, _) => RoutingOptions::llama4().groups(ExpertGroups {
                num_expert_group: 1,
                topk_group: 1,
                expert_group: None,
            }),
            (Preset::Scored(score, _, renorm, scale), bias) => {
                let mut options = RoutingOptions::default().score_mode(score).renorm(renorm);
                options = bias.into_iter().fold(options, RoutingOptions::bias);
                if scale { options.routed_scaling_factor(2.5) } else { options }
            }
            _ => RoutingOptions::default(),
        };
        let options = options.shared_experts(shared, 0.5);
        let (mut scal, mut indx) = (expt_scal.get(), expt_indx.get());
        let mut bits = bitmatrix.as_ref().map(|bits| bits.get());
        let bitmatrix = bits.as_deref_mut();
        let chosen = ChosenOut { expt_scal: &mut scal, expt_indx: &mut indx, bitmatrix };
        tiles.with(&order, |out| routing_into(&logits.get(), k, &options, chosen, out))
    });
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut specs = vec![SortSpec::new(SortOp::Sort, [128, 8, 4])];
    for op in [SortOp::Sort, SortOp::Fused, SortOp::Indx] {
        let mut add = |spec| specs.push(spec);
        for shape in [
            [1, 8, 2],
            [16, 128, 4],
            [17, 128, 4],
            [33, 12, 6],
            [8, 1500, 8],
            [256, 64, 8],
            [4, 2, 1],
            [700, 40, 6],
            [0, 8, 2],
        ] {
            add(SortSpec::new(op, shape));
        }
        for load in [Load::Zipf, Load::One(5), Load::Even, Load::Wrong, Load::Absent] {
            add(SortSpec { load, rows: 64, ..SortSpec::new(op, [37, 24, 6]) });
            add(SortSpec { load, rows: 256, ..SortSpec::new(op, [900, 520, 5]) });
        }
        for weights in REALS {
            let spec = SortSpec { weights, rows: 32, ..SortSpec::new(op, [45, 9, 3]) };
            add(spec);
            add(SortSpec { place: Placement::DENSE.shift(1), load: Load::Wrong, ..spec });
            // In slices.
            add(SortSpec { shape: [1500, 24, 3], load: Load::Wrong, ..spec });
        }
        // As many experts of a token, and in all, as there may be.
        add(SortSpec::new(op, [5, 70, 64]));
        add(SortSpec { load: Load::Wrong, ..SortSpec::new(op, [70, 65, 64]) });
        add(SortSpec { size: Size::Core, ..SortSpec::new(op, [100, 32_767, 3]) });
        add(SortSpec { size: Size::Core, ..SortSpec::new(op, [16_384, 256, 8]) });
    }
    // More gates than the tiles that an expert may have, but not of one expert.
    specs.push(SortSpec { size: Size::Core, ..SortSpec::new(SortOp::Sort, [131_073, 64, 4]) });
    let mut cases: Vec<_> = specs.into_iter().map(SortSpec::case).collect();

    let mut add = |spec: Spec| cases.extend(REALS.map(|dtype| spec.case(dtype)));
    for (shape, preset) in [
        ([16, 128, 4], Preset::Mixtral),
        ([17, 8, 2], Preset::Mixtral),
        ([1, 128, 8], Preset::Mixtral),
        ([33, 64, 6], Preset::Mixtral),
        ([5, 1500, 8], Preset::Mixtral),
        ([64, 60, 4], Preset::Qwen2Moe),
        ([7, 160, 6], Preset::DeepSeekV2),
        ([16, 256, 8], Preset::DeepSeekV3),
        ([12, 160, 8], Preset::Glm),
        ([20, 16, 1], Preset::Llama4),
        ([20, 16, 1], Preset::OneGroup),
        ([9, 512, 10], Preset::Mixtral),
        ([0, 8, 2], Preset::Mixtral),
    ] {
        add(Spec::new(shape, preset));
    }
    for score in [Score::Sigmoid, Score::SqrtSoftplus, Score::SoftmaxFirst] {
        let can_be_biased = score != Score::SoftmaxFirst;
        add(Spec::new([8, 128, 4], Preset::Scored(score, can_be_biased, true, true)));
        add(Spec::new([16, 128, 4], Preset::Scored(score, false, false, true)));
    }
    let few = Spec::new([40, 8, 2], Preset::Mixtral);
    add(Spec { is_one: true, ..few });
    add(Spec { shared: 1, has_bitmatrix: true, ..few });
    add(Spec { shared: 2, weights: DType::Bf16, ..few });
    add(Spec { weights: DType::F16, ..few });
    // As many experts of a token, and in all, as there may be.
    add(Spec::new([3, 70, 64], Preset::Mixtral));
    add(Spec { size: Size::Core, ..Spec::new([3, 32_767, 64], Preset::Mixtral) });
    // In slices.
    add(Spec::new([1100, 16, 4], Preset::Mixtral));
    add(Spec { size: Size::Core, ..Spec::new([1024, 256, 8], Preset::DeepSeekV3) });
    add(Spec { size: Size::Core, ..Spec::new([1024, 128, 4], Preset::Mixtral) });
    for shape in [[4096, 512, 10], [4096, 128, 4], [4096, 8, 2]] {
        add(Spec { size: Size::Large, ..Spec::new(shape, Preset::Mixtral) });
    }
    cases
}
