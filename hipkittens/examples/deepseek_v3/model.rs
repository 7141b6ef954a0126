//! The decoder of DeepSeek-V3: latent attention, then a dense feed-forward part or experts.

use hipkittens::attn::{
    Angles, AttentionOptions, FusedQkCatOut, FusedQkRopeCatAndCacheMlaOut, KvCacheOptions, MhaOut,
    MlaDecodeOptions, MlaDecodeOut, MlaRope, RopeOptions, RopeStyle, cat_and_cache_mla,
    fused_qk_rope_cat_and_cache_mla_into, fused_qk_rope_cat_into, mha_varlen_fwd_into,
    mla_decode_rope_into,
};
use hipkittens::core::op::quant::Fp8;
use hipkittens::gemm::{
    FeedForwardOptions, GemmOptions, Layout, batched_gemm_bf16_into, ff_a16w16_fused_gated_into,
    gemm_a16w16_into,
};
use hipkittens::moe::{Fp8BlockWeights, FusedMoe, RaggedElement, Router, SharedExpert};
use hipkittens::norm::{
    Activation, RmsnormOptions, RmsnormOut, RowOptions, fused_mul_add_inplace, rmsnorm_inplace,
    rmsnorm_into,
};
use hipkittens::{Result, Tensor, bf16};

use super::step::{Buffers, Cache, Form, Prompts, Step, Tokens};

// Of DeepSeek-V3: 7168; 128, 1536, 512, 128, 64 and 128; 18432; 256 and 2048. Of its 61 layers, the first
// three are dense.
pub(crate) const HIDDEN: usize = 256;
pub(crate) const HEADS: usize = 4;
pub(crate) const Q_RANK: usize = 96;
pub(crate) const KV_RANK: usize = 64;
pub(crate) const NOPE: usize = 32;
pub(crate) const ROPE: usize = 16;
pub(crate) const VALUE: usize = 32;
pub(crate) const DENSE_INNER: usize = 384;
pub(crate) const EXPERTS: usize = 32;
pub(crate) const INNER: usize = 128;
pub(crate) const LAYERS: usize = 3;
pub(crate) const DENSE_LAYERS: usize = 1;
pub(crate) const EPS: f32 = 1e-6;

/// The layers, and the cosines and sines of rotary embedding.
pub(crate) struct Model<C: Fp8 + RaggedElement> {
    pub(crate) layers: Vec<Layer<C>>,
    pub(crate) cos: Tensor<f32>,
    pub(crate) sin: Tensor<f32>,
}

/// A layer, with experts of the chip's flavour of fp8.
pub(crate) struct Layer<C: Fp8 + RaggedElement> {
    pub(crate) attention: Attention,
    pub(crate) mlp_norm: Tensor<f32>,
    pub(crate) mlp: Mlp<C>,
}

/// Multi-head latent attention.
pub(crate) struct Attention {
    pub(crate) norm: Tensor<f32>,
    /// To the latent rows of queries, to those of keys and values, and to the rotated part of keys, which
    /// all heads share.
    pub(crate) down: Tensor<bf16>,
    pub(crate) q_norm: Tensor<f32>,
    pub(crate) q_up: Tensor<bf16>,
    pub(crate) kv_norm: Tensor<f32>,
    /// To the part of keys that is not rotated, and to values, of each head.
    pub(crate) kv_up: Tensor<bf16>,
    pub(crate) out: Tensor<bf16>,
}

/// What feeds tokens forward.
pub(crate) enum Mlp<C: Fp8 + RaggedElement> {
    Dense { up: Tensor<bf16>, down: Tensor<bf16> },
    Experts { router: Tensor<bf16>, experts: Box<FusedMoe<Fp8BlockWeights<bf16, C>>> },
}

impl<C: Fp8 + RaggedElement> Model<C> {
    /// Puts a step's tokens through all layers.
    pub(crate) fn forward(&mut self, step: &mut Step, caches: &mut [Cache]) -> Result<()> {
        let Self { layers, cos, sin } = self;
        let angles = Angles::tables(cos, sin);
        layers.iter_mut().zip(caches).try_for_each(|(layer, cache)| {
            layer.attention.attend(step, angles, cache)?;
            layer.feed_forward(step)
        })
    }
}

impl Attention {
    /// `x += out(attention(up(norm(down(norm(x))))))`.
    fn attend(&self, step: &mut Step, angles: Angles<'_, f32>, cache: &mut Cache) -> Result<()> {
        let Step { x, positions, slots, buffers } = step;
        let Buffers { normed, latent, q, form, attended, .. } = buffers;
        let (tokens, plain) = (x.rows(), GemmOptions::default());
        let angles = angles.positions(&*positions);
        norm(x, &self.norm, normed)?;
        gemm_a16w16_into(normed, &self.down, &plain, latent)?;
        let [mut q_latent, mut kv_latent, k_pe] = latent.split_mut(1, [Q_RANK, KV_RANK, ROPE])?;
        rmsnorm_inplace(&mut q_latent, &self.q_norm, EPS, &RmsnormOptions::default())?;
        rmsnorm_inplace(&mut kv_latent, &self.kv_norm, EPS, &RmsnormOptions::default())?;
        gemm_a16w16_into(&q_latent, &self.q_up, &plain, q)?;
        let [q_nope, q_pe] = q.reshape(&[tokens, HEADS, NOPE + ROPE])?.split(2, [NOPE, ROPE])?;
        let k_pe = k_pe.reshape(&[tokens, 1, ROPE])?;
        let kv_rows = kv_latent.reshape(&[tokens, 1, KV_RANK])?;
        match form {
            Form::Prompts(Prompts { kv, q, k, sequences }) => {
                gemm_a16w16_into(&kv_latent, &self.kv_up, &plain, kv)?;
                let kv = kv.reshape(&[tokens, HEADS, NOPE + VALUE])?;
                let [k_nope, v] = kv.split(2, [NOPE, VALUE])?;
                let k_pe = k_pe.broadcast(&[tokens, HEADS, ROPE])?;
                let out = FusedQkCatOut { q: &mut **q, k: &mut **k };
                fused_qk_rope_cat_into(&q_nope, &q_pe, &k_nope, &k_pe, &angles, &rope(), out)?;
                let [_, k_pe] = k.narrow(1, 0..1)?.split(2, [NOPE, ROPE])?;
                cat_and_cache_mla(&kv_rows, &k_pe, &*slots, &KvCacheOptions::default(), cache)?;
                let options = AttentionOptions::default().causal(true).scale(scale());
                let out = MhaOut { out: &mut **attended, lse: None, s_dmask: None };
                mha_varlen_fwd_into(q, k, &v, &sequences.varlen(), &options, out)?;
            }
            // Keys' up-projection is put to queries, and that of values to their mean: `q (W c) = (q W) c`.
            Form::Tokens(Tokens { absorbed, q, mean, rows }) => {
                let up = self.kv_up.reshape(&[HEADS, NOPE + VALUE, KV_RANK])?;
                let [k_up, v_up] = up.split(1, [NOPE, VALUE])?;
                let by_heads = GemmOptions::default().transpose_bm();
                let options = by_heads.clone().layout(Layout::Tt);
                batched_gemm_bf16_into(&q_nope.permute(&[1, 0, 2])?, &k_up, &options, absorbed)?;
                let out = FusedQkRopeCatAndCacheMlaOut {
                    q: &mut **q,
                    k_pe: None,
                    decode_q_pe: None,
                    q_nope_zeros: None,
                    kv_cache: &mut **cache,
                };
                let options = KvCacheOptions::default().rope(rope());
                fused_qk_rope_cat_and_cache_mla_into(
                    absorbed, &q_pe, &kv_rows, &k_pe, &*slots, &angles, &options, out,
                )?;
                let rotated = None::<MlaRope<'_, bf16, f32>>;
                let out = MlaDecodeOut { out: &mut **mean, attn_logits: None };
                let options = MlaDecodeOptions::default();
                mla_decode_rope_into(q, cache, None, &rows.mla(), rotated, scale(), &options, out)?;
                batched_gemm_bf16_into(&mean.permute(&[1, 0, 2])?, &v_up, &by_heads, attended)?;
            }
        }
        let (residual, mut sum) = x.in_place();
        let attended = attended.reshape(&[tokens, HEADS * VALUE])?;
        gemm_a16w16_into(&attended, &self.out, &plain.residual(&residual), &mut sum)
    }
}

impl<C: Fp8 + RaggedElement> Layer<C> {
    /// `x += mlp(norm(x))`: of experts, eight by their biased sigmoids in the four best groups, and the last
    /// one for all tokens.
    fn feed_forward(&mut self, step: &mut Step) -> Result<()> {
        let Step { x, buffers: Buffers { normed, fed, .. }, .. } = step;
        norm(x, &self.mlp_norm, normed)?;
        match &mut self.mlp {
            Mlp::Dense { up, down } => {
                let options = FeedForwardOptions::default().activation(Activation::Silu);
                ff_a16w16_fused_gated_into(normed, up, &down.permute(&[1, 0])?, &options, fed)?;
                fused_mul_add_inplace(x, 1.0, &**fed, &RowOptions::default())
            }
            Mlp::Experts { router, experts } => {
                let router = Router::Weights { weights: &**router, bias: None };
                let (residual, mut sum) = x.in_place();
                experts.forward_into(normed, router, Some(SharedExpert::plain(&residual)), &mut sum)
            }
        }
    }
}

fn norm(x: &Tensor<bf16>, weight: &Tensor<f32>, y: &mut Tensor<bf16>) -> Result<()> {
    let out = RmsnormOut { y: &mut **y, rstd: None };
    rmsnorm_into(x, weight, EPS, &RmsnormOptions::default(), out)
}

/// Neighbours are pairs.
fn rope() -> RopeOptions<'static> {
    RopeOptions::default().style(RopeStyle::Gptj)
}

/// Factor of scores.
fn scale() -> f32 {
    ((NOPE + ROPE) as f32).powf(-0.5)
}
