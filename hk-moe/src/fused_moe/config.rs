//! What a layer does, whatever its weights are.

use hk_core::dtype::Real;
use hk_core::op::Arguments;
use hk_core::{Result, Stream, Tensor, TensorSlice};

use super::OP;
use crate::activation::Activation;
use crate::moe_topk::{
    ExpertGroups, MOST_OF_TOKEN, MoeTopkOptions, MoeTopkOut, Score, WeightNorm, launch,
    moe_grouped_topk_into, moe_topk_into,
};

/// How a layer chooses experts, and what it does between their products.
#[derive(Debug)]
pub struct FusedMoeConfig {
    pub(super) top_k: usize,
    pub(super) activation: Activation,
    score: Score,
    weight_norm: WeightNorm,
    correction_bias: Option<Tensor<f32>>,
    groups: Option<[usize; 2]>,
    routed_scaling_factor: Option<f32>,
    pub(super) shared: usize,
    shared_weight: f32,
    pub(super) weighs_input: bool,
    pub(super) expert_map: Option<Tensor<i32>>,
}

impl FusedMoeConfig {
    /// With the `top_k` experts of the largest logits, whose weights are a softmax over these, and
    /// this activation.
    pub const fn new(top_k: usize, activation: Activation) -> Self {
        Self {
            top_k,
            activation,
            score: Score::Logits,
            weight_norm: WeightNorm::Softmax,
            correction_bias: None,
            groups: None,
            routed_scaling_factor: None,
            shared: 0,
            shared_weight: 1.0,
            weighs_input: false,
            expert_map: None,
        }
    }

    /// Mixtral 8x7B: 2 of 8 experts.
    pub const fn mixtral() -> Self {
        Self::new(2, Activation::SiluAndMul)
    }

    /// Qwen3-30B-A3B and Qwen3-235B-A22B: 8 of 128 experts. That their softmax is over all and then
    /// made to add up to 1 comes to the same.
    pub const fn qwen3() -> Self {
        Self::new(8, Activation::SiluAndMul)
    }

    /// Qwen3-Next-80B-A3B: 10 of 512 experts; its shared expert is [given](crate::SharedExpert)
    /// with each call.
    pub const fn qwen3_next() -> Self {
        Self::new(10, Activation::SiluAndMul)
    }

    /// DeepSeek-V3 and R1: 8 of 256 experts, in 4 of 8 groups, by their sigmoids and this bias;
    /// weights add up to 2.5.
    #[must_use]
    pub fn deepseek_v3(correction_bias: Tensor<f32>) -> Self {
        Self::new(8, Activation::SiluAndMul)
            .score(Score::Sigmoid, WeightNorm::Renorm)
            .correction_bias(correction_bias)
            .groups(8, 4)
            .routed_scaling_factor(2.5)
    }

    /// GPT-OSS 120B and 20B: 4 of 128 or 32 experts, with its own activation.
    pub const fn gpt_oss() -> Self {
        let activation = Activation::Swiglu { alpha: 1.702, limit: Some(7.0), add_residual: true };
        Self::new(4, activation)
    }

    /// Llama-4 Maverick and Scout: one expert, by whose sigmoid its input is multiplied.
    #[must_use]
    pub fn llama4() -> Self {
        Self::new(1, Activation::SiluAndMul)
            .score(Score::Sigmoid, WeightNorm::None)
            .apply_router_weight_on_input()
    }

    /// Scores logits by this, and normalises weights so.
    #[must_use]
    pub const fn score(mut self, score: Score, weight_norm: WeightNorm) -> Self {
        (self.score, self.weight_norm) = (score, weight_norm);
        self
    }

    /// Adds this, `[E]`, to the scores that are compared.
    #[must_use]
    pub fn correction_bias(mut self, bias: Tensor<f32>) -> Self {
        self.correction_bias = Some(bias);
        self
    }

    /// Chooses from the experts of the `topk_group` best of so many groups next to each other; of a
    /// single group, from all.
    #[must_use]
    pub const fn groups(mut self, num_expert_group: usize, topk_group: usize) -> Self {
        self.groups = Some([num_expert_group, topk_group]);
        self
    }

    /// Multiplies the weights of all experts, but those that are shared, by this.
    #[must_use]
    pub const fn routed_scaling_factor(mut self, factor: f32) -> Self {
        self.routed_scaling_factor = Some(factor);
        self
    }

    /// The last `count` matrices are those of experts that each token has besides, with this
    /// weight: with those that are chosen, at most 64.
    #[must_use]
    pub const fn shared_experts(mut self, count: usize, weight: f32) -> Self {
        (self.shared, self.shared_weight) = (count, weight);
        self
    }

    /// Multiplies the sums of the first product by the weight, before a bias is added, rather than those of
    /// the second one: of one expert for each token, besides those that are shared, whose weight is there as
    /// well. Products are linear, so that this is what multiplying the tokens would be, but for roundings:
    /// where tokens are made codes, these are those of the tokens as they are, once for all their experts.
    #[must_use]
    pub const fn apply_router_weight_on_input(mut self) -> Self {
        self.weighs_input = true;
        self
    }

    /// The number of each expert among the matrices, or -1 if they do not have it, `[E + shared]`:
    /// tokens get nothing of experts that are elsewhere.
    #[must_use]
    pub fn expert_map(mut self, map: Tensor<i32>) -> Self {
        self.expert_map = Some(map);
        self
    }

    /// Experts of a token.
    pub(super) const fn slots(&self) -> usize {
        self.top_k.saturating_add(self.shared)
    }

    fn topk(&self) -> MoeTopkOptions<'_> {
        let options = MoeTopkOptions::default()
            .score(self.score)
            .weight_norm(self.weight_norm)
            .shared_experts(self.shared, self.shared_weight);
        let factor = self.routed_scaling_factor;
        let options = factor.into_iter().fold(options, MoeTopkOptions::routed_scaling_factor);
        self.correction_bias.iter().fold(options, |options, bias| options.bias(bias))
    }

    /// The groups, if there are several.
    fn grouped(&self) -> Option<ExpertGroups<'_>> {
        let [num_expert_group, topk_group] = self.groups.filter(|[count, _]| *count != 1)?;
        Some(ExpertGroups { num_expert_group, topk_group, expert_group: None })
    }

    /// Requires that so many experts can be chosen from so.
    pub(super) fn check(&self, stream: &Stream, experts: usize) -> Result<()> {
        let mut args = Arguments::new(OP);
        let is_one = !self.weighs_input || self.top_k == 1;
        let constraint = "one expert for each token, besides those that are shared";
        args.require(is_one, "apply_router_weight_on_input", constraint, self.top_k)?;
        args.require(self.shared_weight.is_finite(), "shared_experts", "a finite weight", "not")?;
        // As if of no tokens.
        let logits = Tensor::<f32>::empty(stream, &[0, experts])?;
        let shape = [0, self.slots()];
        let (mut weights, mut ids) =
            (Tensor::<f32>::empty(stream, &shape)?, Tensor::empty(stream, &shape)?);
        let out = MoeTopkOut { y_vals: &mut *weights, y_indx: &mut ids, bitmatrix: None };
        let names = launch::Names {
            logits: "logits",
            weights: "topk_weights",
            experts: "topk_ids",
            are_contiguous: true,
        };
        let (groups, options) = (self.grouped(), self.topk());
        launch::Plan::declare(&mut args, names, &logits, self.top_k, groups, &options, out)?;
        let (slots, top_k) = (self.slots(), self.top_k);
        let few = format!("at most {MOST_OF_TOKEN} experts of a token, with the {top_k} chosen");
        args.require(slots <= MOST_OF_TOKEN, "shared_experts", few, self.shared)
    }

    /// Declares its tensors.
    pub(super) fn declare(&self, args: &mut Arguments) -> Result<()> {
        if let Some(bias) = &self.correction_bias {
            args.input("bias", bias, &["E"]).contiguous()?;
        }
        if let Some(map) = &self.expert_map {
            args.input("expert_map", map, &["E + shared"]).contiguous()?;
        }
        Ok(())
    }

    /// Chooses the experts of each row of logits.
    pub(super) fn choose<T: Real>(
        &self,
        logits: &TensorSlice<T>,
        y_vals: &mut TensorSlice<f32>,
        y_indx: &mut TensorSlice<i32>,
    ) -> Result<()> {
        let out = MoeTopkOut { y_vals, y_indx, bitmatrix: None };
        match self.grouped() {
            Some(groups) => moe_grouped_topk_into(logits, self.top_k, groups, &self.topk(), out),
            None => moe_topk_into(logits, self.top_k, &self.topk(), out),
        }
    }
}
