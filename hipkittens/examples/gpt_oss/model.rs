//! The decoder of GPT-OSS: attention with sinks, in every other layer to a window, then experts.

use hipkittens::attn::{
    Angles, AttentionOptions, FusedQkRopeReshapeAndCacheOut, KvCacheOptions, KvCaches,
    UnifiedAttnOptions, fused_qk_rope_reshape_and_cache_into, unified_attn_fwd_into,
};
use hipkittens::gemm::{GemmOptions, gemm_a16w16_into};
use hipkittens::moe::{FusedMoe, Mxfp4Weights, Router, SharedExpert};
use hipkittens::norm::{RmsnormOptions, RmsnormOut, rmsnorm_into};
use hipkittens::{Result, Tensor, bf16};

use super::step::{Buffers, Step};
use crate::paged::Cache;

// Of GPT-OSS 20B: 2880, 64, 8, 64, 32, 2880, 128 and 24.
pub(crate) const HIDDEN: usize = 128;
pub(crate) const HEADS: usize = 8;
pub(crate) const KV_HEADS: usize = 2;
pub(crate) const HEAD_DIM: usize = 32;
pub(crate) const EXPERTS: usize = 8;
pub(crate) const INNER: usize = 64;
pub(crate) const WINDOW: usize = 12;
pub(crate) const LAYERS: usize = 2;
pub(crate) const EPS: f32 = 1e-5;

/// The layers, and the cosines and sines of rotary embedding.
pub(crate) struct Model {
    pub(crate) layers: Vec<Layer>,
    pub(crate) cos: Tensor<f32>,
    pub(crate) sin: Tensor<f32>,
}

/// A layer.
pub(crate) struct Layer {
    pub(crate) attention_norm: Tensor<f32>,
    pub(crate) qkv: Linear,
    pub(crate) sinks: Tensor<bf16>,
    pub(crate) window: Option<u32>,
    pub(crate) out: Linear,
    pub(crate) mlp_norm: Tensor<f32>,
    pub(crate) router: Linear,
    pub(crate) experts: FusedMoe<Mxfp4Weights<bf16>>,
}

/// `x weight^T + bias`.
pub(crate) struct Linear {
    pub(crate) weight: Tensor<bf16>,
    pub(crate) bias: Tensor<f32>,
}

impl Model {
    /// Puts a step's tokens through all layers.
    pub(crate) fn forward(&mut self, step: &mut Step, caches: &mut [Cache]) -> Result<()> {
        let Self { layers, cos, sin } = self;
        let angles = Angles::tables(cos, sin);
        layers.iter_mut().zip(caches).try_for_each(|(layer, cache)| {
            layer.attend(step, angles, cache)?;
            layer.feed_forward(step)
        })
    }
}

impl Layer {
    /// `x += out(attention(qkv(norm(x))))`.
    fn attend(&self, step: &mut Step, angles: Angles<'_, f32>, cache: &mut Cache) -> Result<()> {
        let Step { x, positions, slots, buffers } = step;
        let Buffers { normed, qkv, q, attended, sequences } = buffers;
        let tokens = x.rows();
        norm(x, &self.attention_norm, normed)?;
        gemm_a16w16_into(normed, &self.qkv.weight, &self.qkv.options(), qkv)?;

        let heads = qkv.reshape(&[tokens, HEADS + 2 * KV_HEADS, HEAD_DIM])?;
        let [of_q, k, v] = heads.split(1, [HEADS, KV_HEADS, KV_HEADS])?;
        let angles = angles.positions(&*positions);
        let caches = KvCaches { key: &mut *cache.key, value: &mut *cache.value };
        let out = FusedQkRopeReshapeAndCacheOut { q: &mut **q, k: None, zeros: None, caches };
        let options = KvCacheOptions::default();
        fused_qk_rope_reshape_and_cache_into(&of_q, &k, &v, &*slots, &angles, &options, out)?;

        let attention = AttentionOptions::default().sink(&self.sinks).window(self.window, None);
        let options = UnifiedAttnOptions { attention, ..UnifiedAttnOptions::default() };
        let Cache { key, value } = cache;
        unified_attn_fwd_into(q, key, value, &sequences.paged(), &options, attended)?;

        let attended = attended.reshape(&[tokens, HEADS * HEAD_DIM])?;
        let (residual, mut sum) = x.in_place();
        let options = self.out.options().residual(&residual);
        gemm_a16w16_into(&attended, &self.out.weight, &options, &mut sum)
    }

    /// `x += experts(norm(x))`, by the four experts of the router's largest logits.
    fn feed_forward(&mut self, step: &mut Step) -> Result<()> {
        let Step { x, buffers: Buffers { normed, .. }, .. } = step;
        norm(x, &self.mlp_norm, normed)?;
        let Linear { weight, bias } = &self.router;
        let router = Router::Weights { weights: weight, bias: Some(bias) };
        let (residual, mut sum) = x.in_place();
        self.experts.forward_into(normed, router, Some(SharedExpert::plain(&residual)), &mut sum)
    }
}

impl Linear {
    fn options(&self) -> GemmOptions<'_> {
        GemmOptions::default().bias(&self.bias)
    }
}

fn norm(x: &Tensor<bf16>, weight: &Tensor<f32>, y: &mut Tensor<bf16>) -> Result<()> {
    let out = RmsnormOut { y: &mut **y, rstd: None };
    rmsnorm_into(x, weight, EPS, &RmsnormOptions::default(), out)
}
