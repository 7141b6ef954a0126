//! What a case is of.

use hk_core::Tensor;
use hk_ref::Placement;
use hk_ref::moe::moe_topk::{self as reference, Norm, Rule};

use super::super::loads::Load;
use super::Chosen;
use crate::{Activation, FusedMoeConfig, Score, WeightNorm};

/// How experts are chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Route {
    /// A softmax over the chosen ones.
    Softmax,
    /// One over all, as it is.
    SoftmaxFirst,
    /// One over all, whose chosen weights add up to 1.
    Renorm,
    /// The root of the softplus.
    SqrtSoftplus,
    /// DeepSeek's: sigmoids and a bias, in so many of so many groups.
    Grouped(usize, usize),
    /// Llama's: the sigmoid of one, by which the input is multiplied.
    OnInput,
    /// As `Softmax`, of logits of the type of tokens.
    Rounded,
    /// As `Softmax`, of logits that the layer makes.
    Weights,
    /// Before the call, so.
    Chosen(Load),
}

/// A case as data.
#[derive(Debug, Clone)]
pub(super) struct Spec {
    pub(super) name: &'static str,
    /// Tokens, experts, those of a token, hidden and inner size.
    pub(super) shape: [usize; 5],
    pub(super) act: Activation,
    pub(super) route: Route,
    /// Experts that all tokens have.
    pub(super) shared: usize,
    /// Whether there are rows to be added, and a gate of these.
    pub(super) residual: Option<bool>,
    pub(super) biases: bool,
    /// Whether every other expert is elsewhere.
    pub(super) map: bool,
    pub(super) in_pairs: bool,
    pub(super) place: Placement,
    /// Tokens that there may be, if these are not a few more than there are.
    pub(super) most: Option<usize>,
}

impl Spec {
    pub(super) fn new(name: &'static str, shape: [usize; 5]) -> Self {
        Self {
            name,
            shape,
            act: Activation::SiluAndMul,
            route: Route::Softmax,
            shared: 0,
            residual: None,
            biases: false,
            map: false,
            in_pairs: false,
            place: Placement::default(),
            most: None,
        }
    }

    pub(super) fn title(&self) -> String {
        let Self { name, act, route, .. } = self;
        let mut title = format!("{name}, {act:?}, {route:?}");
        let mut say = |is_said: bool, what: &str| title += if is_said { what } else { "" };
        say(self.shared > 0, ", shared experts");
        say(self.residual == Some(false), ", residual");
        say(self.residual == Some(true), ", gated residual");
        say(self.biases, ", biases");
        say(self.map, ", half of the experts");
        say(self.in_pairs, ", pairs");
        title
    }

    /// Experts of a token.
    pub(super) fn slots(&self) -> usize {
        self.shape[2] + self.shared
    }

    /// Experts, with those that all tokens have.
    pub(super) fn all(&self) -> usize {
        self.shape[1] + self.shared
    }

    /// Those that there are matrices of.
    pub(super) fn here(&self) -> usize {
        if self.map { self.all().div_ceil(2) } else { self.all() }
    }

    pub(super) fn expert_map(&self) -> Vec<i32> {
        (0..self.all() as i32).map(|id| if id % 2 == 0 { id / 2 } else { -1 }).collect()
    }

    /// The matrix of an expert, or -1.
    pub(super) fn local(&self, id: i32) -> i32 {
        let map = self.expert_map();
        match usize::try_from(id).ok().filter(|id| *id < self.all()) {
            Some(id) if self.map => map[id],
            Some(_) => id,
            None => -1,
        }
    }

    pub(super) fn weighs_input(&self) -> bool {
        self.route == Route::OnInput
    }

    /// What is added to scores that are compared.
    pub(super) fn correction(&self) -> Option<Vec<f32>> {
        let is_biased = matches!(self.route, Route::Grouped(..));
        let bias = |expert: usize| (expert * 7919 % 101) as f32 / 101.0 - 0.5;
        is_biased.then(|| (0..self.shape[1]).map(bias).collect())
    }

    /// What choices are multiplied by.
    fn factor(&self) -> Option<f32> {
        matches!(self.route, Route::Grouped(..)).then_some(2.5)
    }

    /// The weight of experts that all tokens have.
    const SHARED: f32 = 0.75;

    pub(super) fn config(
        &self,
        correction: Option<Tensor<f32>>,
        map: Option<Tensor<i32>>,
    ) -> FusedMoeConfig {
        let config = FusedMoeConfig::new(self.shape[2], self.act);
        let config = match self.route {
            Route::SoftmaxFirst => config.score(Score::SoftmaxFirst, WeightNorm::None),
            Route::Renorm => config.score(Score::SoftmaxFirst, WeightNorm::Renorm),
            Route::SqrtSoftplus => config.score(Score::SqrtSoftplus, WeightNorm::Renorm),
            Route::Grouped(count, kept) => {
                config.score(Score::Sigmoid, WeightNorm::Renorm).groups(count, kept)
            }
            Route::OnInput => {
                config.score(Score::Sigmoid, WeightNorm::None).apply_router_weight_on_input()
            }
            Route::Softmax | Route::Rounded | Route::Weights | Route::Chosen(_) => config,
        };
        let config = correction.into_iter().fold(config, FusedMoeConfig::correction_bias);
        let config = map.into_iter().fold(config, FusedMoeConfig::expert_map);
        let config = self.factor().into_iter().fold(config, FusedMoeConfig::routed_scaling_factor);
        if self.shared > 0 { config.shared_experts(self.shared, Self::SHARED) } else { config }
    }

    /// What the router chooses, of logits.
    pub(super) fn choose(&self, logits: &[f32]) -> Chosen {
        let [_, experts, k, ..] = self.shape;
        let (score, norm) = match self.route {
            Route::SoftmaxFirst => (reference::Score::SoftmaxFirst, Norm::None),
            Route::Renorm => (reference::Score::SoftmaxFirst, Norm::Renorm),
            Route::SqrtSoftplus => (reference::Score::SqrtSoftplus, Norm::Renorm),
            Route::Grouped(..) => (reference::Score::Sigmoid, Norm::Renorm),
            Route::OnInput => (reference::Score::Sigmoid, Norm::None),
            _ => (reference::Score::Logits, Norm::Softmax),
        };
        let groups = match self.route {
            Route::Grouped(count, kept) => {
                let size = experts / count;
                Some(((0..experts).map(|expert| expert / size).collect(), count, kept))
            }
            _ => None,
        };
        let rule = Rule {
            k,
            score,
            bias: self.correction(),
            takes_low: groups.is_some(),
            groups,
            by_value: false,
            norm,
            scale: self.factor().unwrap_or(1.0).into(),
        };
        let mut all = Chosen { ids: Vec::new(), weights: Vec::new() };
        for logits in logits.chunks(experts) {
            let chosen = reference::moe_topk(logits, &rule);
            assert!(!chosen.is_close, "another seed, of experts that are not as good");
            all.ids.extend(chosen.experts.iter().map(|expert| *expert as i32));
            all.weights.extend(chosen.weights);
            all.ids.extend((experts..self.all()).map(|expert| expert as i32));
            all.weights.extend(vec![f64::from(Self::SHARED); self.shared]);
        }
        all
    }
}
