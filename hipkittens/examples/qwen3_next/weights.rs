//! Seeded weights, the tables of rotary embedding, and tokens.

use hipkittens::gdr::QkvzbaHeads;
use hipkittens::moe::{DenseWeights, FusedMoe, FusedMoeConfig};
use hipkittens::{Result, Stream, Tensor, bf16};
use hk_ref::Draw;

use super::model::{
    Attention, CHANNELS, DELTA, DeltaNet, EXPERTS, HEAD_DIM, HEADS, HIDDEN, INNER, KV_HEADS, Mlp,
    Model, ROTATED, TAPS, VALUES,
};
use super::step::{Buffers, Memory, Step};
use crate::paged::Cache;
use crate::shared::{CONTEXT, Decoder, SEQUENCES, Seeded, rope_tables};

const SEED: u64 = 2000;

impl Decoder for Model {
    type Buffers = Buffers;
    type Memory = Memory;

    const TOKENS: [&'static [u64]; SEQUENCES] = [
        &[
            0, 11, 14, 30, 30, 53, 60, 50, 61, 69, 77, 79, 85, 96, 99, 146, 122, 123, 126, 143,
            140, 149, 161, 165, 168, 177, 182, 193, 205, 207, 216, 224, 231, 233, 261, 246, 255,
        ],
        &[
            126, 110, 114, 126, 131, 143, 147, 162, 163, 166, 182, 177, 203, 199, 202, 215, 217,
            227, 235, 250, 240, 252, 261, 273, 273,
        ],
    ];

    fn seeded(stream: &Stream) -> Result<Self> {
        let pairs = ROTATED / 2;
        let angle = |position: f64, i: f64| position * 1e7f64.powf(-i / pairs as f64);
        let [cos, sin] = rope_tables(stream, pairs, 1.0, angle)?;
        Ok(Self {
            delta: DeltaNet::seeded(stream)?,
            attention: Attention::seeded(stream)?,
            mlps: [Mlp::seeded(stream, 0)?, Mlp::seeded(stream, 1)?],
            cos,
            sin,
        })
    }

    fn memory(stream: &Stream) -> Result<Self::Memory> {
        let QkvzbaHeads { num_heads_v, head_qk, head_v, .. } = DELTA;
        Ok(Memory {
            conv: Tensor::empty(stream, &[SEQUENCES, CHANNELS, TAPS - 1])?,
            state: Tensor::empty(stream, &[SEQUENCES, num_heads_v, head_qk, head_v])?,
            cache: Cache::new(stream, KV_HEADS, HEAD_DIM)?,
        })
    }

    fn forward(&mut self, step: &mut Step, memory: &mut Self::Memory) -> Result<()> {
        self.forward(step, memory)
    }
}

/// The weights of a norm that are zero-centred.
fn centred(seeded: &mut Seeded<'_>, width: usize) -> Result<Tensor<f32>> {
    seeded.draw(Draw::Scaled(-3), &[width])
}

impl DeltaNet {
    fn seeded(stream: &Stream) -> Result<Self> {
        let heads = DELTA.num_heads_v;
        let mut seeded = Seeded(stream, SEED);
        Ok(Self {
            norm: centred(&mut seeded, HIDDEN)?,
            qkvz: seeded.linear([CHANNELS + VALUES, HIDDEN])?,
            ba: seeded.linear([2 * heads, HIDDEN])?,
            conv: seeded.draw(Draw::Scaled(-1), &[CHANNELS, TAPS])?,
            a_log: seeded.draw(Draw::Uniform, &[heads])?,
            // Heads that forget within a few tokens, and heads that hardly do.
            dt_bias: Tensor::from_slice(stream, &[-4.0, -3.0, -2.0, -1.0], &[heads])?,
            out_norm: seeded.norm(DELTA.head_v)?,
            out: seeded.linear([HIDDEN, VALUES])?,
        })
    }
}

impl Attention {
    fn seeded(stream: &Stream) -> Result<Self> {
        let mut seeded = Seeded(stream, SEED + 100);
        Ok(Self {
            norm: centred(&mut seeded, HIDDEN)?,
            qkv: seeded.linear([(2 * HEADS + 2 * KV_HEADS) * HEAD_DIM, HIDDEN])?,
            q_norm: centred(&mut seeded, HEAD_DIM)?,
            k_norm: centred(&mut seeded, HEAD_DIM)?,
            out: seeded.linear([HIDDEN, HEADS * HEAD_DIM])?,
        })
    }
}

impl Mlp {
    fn seeded(stream: &Stream, layer: u64) -> Result<Self> {
        let mut seeded = Seeded(stream, SEED + 100 * layer + 60);
        let Experts { w1, w2 } = Experts::seeded(stream, layer)?;
        let (config, weights) = (FusedMoeConfig::qwen3_next(), DenseWeights::new(w1, w2));
        Ok(Self {
            norm: centred(&mut seeded, HIDDEN)?,
            router: seeded.linear([EXPERTS, HIDDEN])?,
            up: seeded.linear([2 * INNER, HIDDEN])?,
            down: seeded.draw(Draw::Scaled(-2), &[HIDDEN, INNER])?,
            gate: seeded.draw(Draw::Scaled(-3), &[HIDDEN])?,
            experts: FusedMoe::new(config, weights, SEQUENCES * CONTEXT)?,
        })
    }
}

/// The experts' weights: rows of gates, then those of what they let through.
pub(crate) struct Experts {
    pub(crate) w1: Tensor<bf16>,
    pub(crate) w2: Tensor<bf16>,
}

impl Experts {
    /// Those of a layer.
    pub(crate) fn seeded(stream: &Stream, layer: u64) -> Result<Self> {
        let mut seeded = Seeded(stream, SEED + 100 * layer + 50);
        Ok(Self {
            w1: seeded.draw(Draw::Scaled(-3), &[EXPERTS, 2 * INNER, HIDDEN])?,
            w2: seeded.draw(Draw::Scaled(-2), &[EXPERTS, HIDDEN, INNER])?,
        })
    }
}
