//! The decoder of Qwen3-Next: the gated delta rule or gated attention, then experts.

use hipkittens::attn::{
    Angles, FusedQkvSplitQkNormRopeCacheOut, GateOrder, KvCaches, QkNormOptions, QkWeights,
    UnifiedAttnOptions, fused_qkv_split_qk_norm_rope_cache_into, unified_attn_fwd_into,
};
use hipkittens::gdr::{
    ConvFilter, DecodeStates, DecodeStepOptions, DecodeStepOut, GatingInputs, PrefillOptions,
    PrefillOut, PrefillStates, QkvzbaHeads, QkvzbaSplitOptions, QkvzbaSplitOut,
    fused_qkvzba_split_into, gated_delta_net_prefill_into, gated_delta_rule_decode_step_into,
};
use hipkittens::gemm::{
    FeedForwardOptions, GemmOptions, ff_a16w16_fused_gated_into, gemm_a16w16_into,
};
use hipkittens::moe::{DenseWeights, FusedMoe, Router, SharedExpert};
use hipkittens::norm::{
    Activation, RmsnormOptions, RmsnormOut, RowOptions, activation_inplace, fused_mul_add_inplace,
    rmsnorm_inplace, rmsnorm_into, silu_inplace,
};
use hipkittens::{Result, Tensor, TensorSlice, bf16};

use super::step::{Buffers, Memory, Prompts, Step};
use crate::paged::Cache;

// Of Qwen3-Next 80B-A3B: 2048; 16, 32 and 128; 16, 2, 256 and 64; 512 and 512. Of its 48 layers, every
// fourth is of attention.
pub(crate) const HIDDEN: usize = 128;
pub(crate) const DELTA: QkvzbaHeads =
    QkvzbaHeads { num_heads_qk: 2, num_heads_v: 4, head_qk: 32, head_v: 32 };
pub(crate) const HEADS: usize = 4;
pub(crate) const KV_HEADS: usize = 2;
pub(crate) const HEAD_DIM: usize = 64;
pub(crate) const ROTATED: usize = 16;
pub(crate) const EXPERTS: usize = 512;
pub(crate) const INNER: usize = 16;
pub(crate) const TAPS: usize = 4;
pub(crate) const EPS: f32 = 1e-6;

/// Elements of a token's values, and of its queries, keys and values, in the layer of the delta rule.
pub(crate) const VALUES: usize = DELTA.num_heads_v * DELTA.head_v;
pub(crate) const CHANNELS: usize = 2 * DELTA.num_heads_qk * DELTA.head_qk + VALUES;

/// The layers, and the cosines and sines of rotary embedding.
pub(crate) struct Model {
    pub(crate) delta: DeltaNet,
    pub(crate) attention: Attention,
    pub(crate) mlps: [Mlp; 2],
    pub(crate) cos: Tensor<f32>,
    pub(crate) sin: Tensor<f32>,
}

/// What mixes tokens by the gated delta rule.
pub(crate) struct DeltaNet {
    pub(crate) norm: Tensor<f32>,
    pub(crate) qkvz: Tensor<bf16>,
    pub(crate) ba: Tensor<bf16>,
    pub(crate) conv: Tensor<bf16>,
    pub(crate) a_log: Tensor<f32>,
    pub(crate) dt_bias: Tensor<f32>,
    pub(crate) out_norm: Tensor<f32>,
    pub(crate) out: Tensor<bf16>,
}

/// What mixes tokens by gated attention.
pub(crate) struct Attention {
    pub(crate) norm: Tensor<f32>,
    pub(crate) qkv: Tensor<bf16>,
    pub(crate) q_norm: Tensor<f32>,
    pub(crate) k_norm: Tensor<f32>,
    pub(crate) out: Tensor<bf16>,
}

/// Ten of the experts for each token, and one for all tokens.
pub(crate) struct Mlp {
    pub(crate) norm: Tensor<f32>,
    pub(crate) router: Tensor<bf16>,
    pub(crate) up: Tensor<bf16>,
    pub(crate) down: Tensor<bf16>,
    pub(crate) gate: Tensor<bf16>,
    pub(crate) experts: FusedMoe<DenseWeights<bf16>>,
}

impl Model {
    /// Puts a step's tokens through both layers.
    pub(crate) fn forward(&mut self, step: &mut Step, memory: &mut Memory) -> Result<()> {
        let Self { delta, attention, mlps: [first, second], cos, sin } = self;
        delta.mix(step, memory)?;
        first.feed_forward(step)?;
        attention.attend(step, Angles::tables(cos, sin), &mut memory.cache)?;
        second.feed_forward(step)
    }
}

impl DeltaNet {
    /// `x += out(norm(delta_rule(silu(conv(qkv)))) * silu(z))`, of the projections of `norm(x)`.
    fn mix(&self, step: &mut Step, memory: &mut Memory) -> Result<()> {
        let Step { x, buffers, .. } = step;
        let Buffers { normed, qkvz, ba, mixed, convolved, z, b, a, learnt, prompts, .. } = buffers;
        let tokens = x.rows();
        norm(x, &self.norm, normed)?;
        product(normed, &self.qkvz, qkvz)?;
        product(normed, &self.ba, ba)?;
        let out = QkvzbaSplitOut { mixed_qkv: &mut *mixed, z: &mut *z, b: &mut *b, a: &mut *a };
        fused_qkvzba_split_into(qkvz, ba, DELTA, &QkvzbaSplitOptions::default(), out)?;

        let conv = ConvFilter { weight: &self.conv, bias: None };
        let (a_log, dt_bias) = (&*self.a_log, &*self.dt_bias);
        let gating = GatingInputs { a_log, dt_bias, a, b };
        let Memory { conv: conv_state, state, .. } = memory;
        if let Some(Prompts { schedule, has_initial_state, qkv: [q, k, v], g, beta }) = prompts {
            let states =
                PrefillStates { conv_state, state: &mut **state, indices: None, has_initial_state };
            let out = PrefillOut { o: &mut *learnt, q, k, v, g, beta, states };
            let options = PrefillOptions::default();
            gated_delta_net_prefill_into(mixed, conv, gating, DELTA, schedule, &options, out)?;
        } else {
            let states = DecodeStates { conv_state, state: &mut **state };
            let out = DecodeStepOut { o: &mut *learnt, conv_qkv: &mut *convolved, states };
            let options = DecodeStepOptions::default();
            gated_delta_rule_decode_step_into(mixed, conv, gating, DELTA, &options, out)?;
        }

        rmsnorm_inplace(learnt, &self.out_norm, EPS, &RmsnormOptions::default())?;
        silu_inplace(z, &RowOptions::default())?;
        fused_mul_add_inplace(learnt, &**z, 0.0, &RowOptions::default())?;
        add_product(&learnt.reshape(&[tokens, VALUES])?, &self.out, x)
    }
}

impl Attention {
    /// `x += out(attention(q, k, v) * sigmoid(gate))`, of the projections of `norm(x)`.
    fn attend(&self, step: &mut Step, angles: Angles<'_, f32>, cache: &mut Cache) -> Result<()> {
        let Step { x, positions, slots, buffers } = step;
        let Buffers { normed, qkv, q, k, v, gate, attended, sequences, .. } = buffers;
        let tokens = x.rows();
        norm(x, &self.norm, normed)?;
        product(normed, &self.qkv, qkv)?;

        let weights = QkWeights { q: &*self.q_norm, k: &*self.k_norm };
        let angles = angles.positions(&*positions);
        let options = QkNormOptions::default().eps(EPS).gate(GateOrder::Interleaved);
        let caches = KvCaches { key: &mut *cache.key, value: &mut *cache.value };
        let gates = Some(&mut **gate);
        let out = FusedQkvSplitQkNormRopeCacheOut { q: &mut *q, k, v, gate: gates, caches };
        fused_qkv_split_qk_norm_rope_cache_into(qkv, weights, &angles, &*slots, &options, out)?;
        let Cache { key, value } = cache;
        let options = UnifiedAttnOptions::default();
        unified_attn_fwd_into(q, key, value, &sequences.paged(), &options, attended)?;

        activation_inplace(gate, Activation::Sigmoid, &RowOptions::default())?;
        fused_mul_add_inplace(attended, &**gate, 0.0, &RowOptions::default())?;
        add_product(&attended.reshape(&[tokens, HEADS * HEAD_DIM])?, &self.out, x)
    }
}

impl Mlp {
    /// `x += experts(h) + sigmoid(gate h) shared(h)` with `h = norm(x)`, by the ten experts of the
    /// router's largest logits.
    fn feed_forward(&mut self, step: &mut Step) -> Result<()> {
        let Step { x, buffers: Buffers { normed, fed, .. }, .. } = step;
        norm(x, &self.norm, normed)?;
        let options = FeedForwardOptions::default().activation(Activation::Silu);
        let down = self.down.permute(&[1, 0])?;
        ff_a16w16_fused_gated_into(normed, &self.up, &down, &options, fed)?;
        let router = Router::Weights { weights: &self.router, bias: None };
        let (rows, mut sum) = fed.in_place();
        let shared = SharedExpert::gated(&rows, &self.gate);
        self.experts.forward_into(normed, router, Some(shared), &mut sum)?;
        fused_mul_add_inplace(x, 1.0, &**fed, &RowOptions::default())
    }
}

/// Zero-centred: weights are what is added to 1.
fn norm(x: &Tensor<bf16>, weight: &Tensor<f32>, y: &mut Tensor<bf16>) -> Result<()> {
    let out = RmsnormOut { y: &mut **y, rstd: None };
    rmsnorm_into(x, weight, EPS, &RmsnormOptions::default().weight_offset(1.0), out)
}

/// `y = x w^T`.
fn product(x: &Tensor<bf16>, w: &Tensor<bf16>, y: &mut Tensor<bf16>) -> Result<()> {
    gemm_a16w16_into(x, w, &GemmOptions::default(), y)
}

/// `x += rows w^T`.
fn add_product(rows: &TensorSlice<bf16>, w: &Tensor<bf16>, x: &mut Tensor<bf16>) -> Result<()> {
    let (residual, mut sum) = x.in_place();
    gemm_a16w16_into(rows, w, &GemmOptions::default().residual(&residual), &mut sum)
}
