//! How tokens are routed.

use hk_core::op::Arguments;
use hk_core::{Result, TensorSlice};

use crate::moe_topk::{ExpertGroups, MoeTopkOptions, Score, Ties, WeightNorm};

/// How gates are sorted, where the default is not wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct SortOptions {
    pub(super) validate: Option<bool>,
}

impl SortOptions {
    /// Whether ids are looked at before the launch, which waits for the stream; on the simulator,
    /// and in builds with debug assertions, if not given.
    #[must_use]
    pub fn validate_indices(mut self, validate: bool) -> Self {
        self.validate = Some(validate);
        self
    }
}

/// How experts are chosen; by the softmax over those that are, as Mixtral, Qwen3 and GPT-OSS do it,
/// if nothing else is said.
#[derive(Debug, Clone, Copy, Default)]
pub struct RoutingOptions<'a> {
    score_mode: Option<Score>,
    sm_first: bool,
    bias: Option<&'a TensorSlice<f32>>,
    renorm: bool,
    factor: Option<f32>,
    groups: Option<ExpertGroups<'a>>,
    ties: Option<Ties>,
    shared: usize,
    shared_weight: f32,
    validate: Option<bool>,
    workgroups: Option<u32>,
}

impl<'a> RoutingOptions<'a> {
    /// Weights are those of the softmax over all experts, as in Qwen2-MoE.
    pub fn qwen2_moe() -> Self {
        Self::default().sm_first(true)
    }

    /// As DeepSeek-V2: a softmax over all experts, of the three best of eight groups, times 16.
    pub fn deepseek_v2() -> Self {
        let groups = ExpertGroups { num_expert_group: 8, topk_group: 3, expert_group: None };
        let options = Self::default().score_mode(Score::SoftmaxFirst).groups(groups);
        options.routed_scaling_factor(16.0)
    }

    /// As DeepSeek-V3: sigmoids with a bias, of the four best of eight groups, divided by their
    /// sum, times 2.5.
    pub fn deepseek_v3(bias: &'a TensorSlice<f32>) -> Self {
        let groups = ExpertGroups { num_expert_group: 8, topk_group: 4, expert_group: None };
        let options = Self::default().score_mode(Score::Sigmoid).bias(bias).groups(groups);
        options.renorm(true).routed_scaling_factor(2.5)
    }

    /// As GLM: sigmoids with a bias, divided by their sum.
    pub fn glm(bias: &'a TensorSlice<f32>) -> Self {
        Self::default().score_mode(Score::Sigmoid).bias(bias).renorm(true)
    }

    /// As Llama 4: the sigmoid of the best.
    pub fn llama4() -> Self {
        Self::default().score_mode(Score::Sigmoid)
    }

    /// Scores by this, rather than by a flavour of the softmax.
    #[must_use]
    pub fn score_mode(mut self, score: Score) -> Self {
        self.score_mode = Some(score);
        self
    }

    /// Which flavour of the softmax, if nothing else scores: that over all experts, rather than
    /// over those that are chosen.
    #[must_use]
    pub fn sm_first(mut self, is_first: bool) -> Self {
        self.sm_first = is_first;
        self
    }

    /// Adds this, `[E]`, to the scores that are compared.
    #[must_use]
    pub fn bias(mut self, bias: &'a TensorSlice<f32>) -> Self {
        self.bias = Some(bias);
        self
    }

    /// Divides weights by their sum.
    #[must_use]
    pub fn renorm(mut self, renorm: bool) -> Self {
        self.renorm = renorm;
        self
    }

    /// Multiplies weights by this.
    #[must_use]
    pub fn routed_scaling_factor(mut self, factor: f32) -> Self {
        self.factor = Some(factor);
        self
    }

    /// Takes experts of the best groups only; of a single group, all.
    #[must_use]
    pub fn groups(mut self, groups: ExpertGroups<'a>) -> Self {
        self.groups = Some(groups);
        self
    }

    /// Which of equal experts comes first: see [`MoeTopkOptions::ties`].
    #[must_use]
    pub fn ties(mut self, ties: Ties) -> Self {
        self.ties = Some(ties);
        self
    }

    /// Gives each token so many more experts, E, E + 1 and so on, with this weight.
    #[must_use]
    pub fn shared_experts(mut self, count: usize, weight: f32) -> Self {
        (self.shared, self.shared_weight) = (count, weight);
        self
    }

    /// Whether groups of experts are looked at before the launch: see
    /// [`MoeTopkOptions::validate_indices`].
    #[must_use]
    pub fn validate_indices(mut self, validate: bool) -> Self {
        self.validate = Some(validate);
        self
    }

    /// Launches at most so many workgroups for the choice of experts.
    #[must_use]
    pub fn workgroups(mut self, most: u32) -> Self {
        self.workgroups = Some(most);
        self
    }

    /// Experts that every token has in addition.
    pub(super) const fn shared(&self) -> usize {
        self.shared
    }

    /// The groups, if there are several.
    pub(super) fn grouped(&self) -> Option<ExpertGroups<'a>> {
        self.groups.filter(|groups| groups.num_expert_group != 1)
    }

    /// Checks what only scores other than the softmax's flavours have.
    pub(super) fn check(&self, args: &Arguments) -> Result<()> {
        let is_scored = self.score_mode.is_some();
        for (is_given, name) in [
            (self.bias.is_some(), "bias"),
            (self.renorm, "renorm"),
            (self.factor.is_some(), "routed_scaling_factor"),
        ] {
            args.require(is_scored || !is_given, name, "a score_mode as well", "none")?;
        }
        let constraint = "none with a score_mode";
        args.require(!is_scored || !self.sm_first, "sm_first", constraint, "true")
    }

    /// As the choice of experts takes them.
    pub(super) fn topk(&self) -> MoeTopkOptions<'a> {
        let (score, norm) = match self.score_mode {
            None if self.sm_first => (Score::SoftmaxFirst, WeightNorm::None),
            None => (Score::Logits, WeightNorm::Softmax),
            Some(score) if self.renorm => (score, WeightNorm::Renorm),
            Some(score) => (score, WeightNorm::None),
        };
        let mut options = MoeTopkOptions::default().score(score).weight_norm(norm);
        options = self.bias.into_iter().fold(options, MoeTopkOptions::bias);
        options = self.factor.into_iter().fold(options, MoeTopkOptions::routed_scaling_factor);
        options = self.ties.into_iter().fold(options, MoeTopkOptions::ties);
        options = self.validate.into_iter().fold(options, MoeTopkOptions::validate_indices);
        options = self.workgroups.into_iter().fold(options, MoeTopkOptions::workgroups);
        options.shared_experts(self.shared, self.shared_weight)
    }
}
