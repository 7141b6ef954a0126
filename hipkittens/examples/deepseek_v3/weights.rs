//! Seeded weights, their published layout, the tables of rotary embedding, and tokens.

use hipkittens::core::op::quant::Fp8;
use hipkittens::moe::{
    Fp8BlockWeights, Fp8Matrices, FusedMoe, FusedMoeConfig, RaggedElement, moe_interleave_gate_up,
};
use hipkittens::{Result, Stream, Tensor, bf16};
use hk_ref::Draw;

use super::model::{
    Attention, DENSE_INNER, DENSE_LAYERS, EXPERTS, HEADS, HIDDEN, INNER, KV_RANK, LAYERS, Layer,
    Mlp, Model, NOPE, Q_RANK, ROPE, VALUE,
};
use super::step::{Buffers, Cache, Step};
use crate::shared::{CONTEXT, Decoder, SEQUENCES, Seeded, rope_tables};

/// Rows and columns of a block of fp8 numbers with the same scale.
pub(crate) const BLOCK: usize = 128;

const SEED: u64 = 3000;

impl<C: Fp8 + RaggedElement> Decoder for Model<C> {
    type Buffers = Buffers;
    type Memory = Vec<Cache>;

    const TOKENS: [&'static [u64]; SEQUENCES] = [
        &[
            0, 1, 1041, 1086, 1282, 1283, 1284, 1387, 1388, 1389, 1619, 1646, 1698, 1720, 1744,
            1570, 1764, 1860, 1842, 1876, 1844, 1924, 1936, 2094, 2110, 2115, 2103, 2126, 2133,
            2184, 2178, 2189, 2220, 2227, 2230, 2236, 2239,
        ],
        &[
            100, 1026, 1140, 1223, 1224, 1225, 1266, 1305, 1376, 1408, 1467, 1556, 1636, 1713,
            1714, 1756, 1737, 1757, 1817, 1872, 1887, 1910, 1934, 1975, 1976,
        ],
    ];

    fn seeded(stream: &Stream) -> Result<Self> {
        let layers = (0..LAYERS).map(|i| Layer::<C>::seeded(stream, i)).collect::<Result<_>>()?;
        // As the model is up to the 4096 tokens that it was trained on first: beyond, it has YaRN.
        let pairs = ROPE / 2;
        let angle = |position: f64, i: f64| position * 1e4f64.powf(-i / pairs as f64);
        let [cos, sin] = rope_tables(stream, pairs, 1.0, angle)?;
        Ok(Self { layers, cos, sin })
    }

    fn memory(stream: &Stream) -> Result<Self::Memory> {
        let rows = [SEQUENCES * CONTEXT, 1, KV_RANK + ROPE];
        (0..LAYERS).map(|_| Tensor::empty(stream, &rows)).collect()
    }

    fn forward(&mut self, step: &mut Step, memory: &mut Self::Memory) -> Result<()> {
        self.forward(step, memory)
    }
}

impl<C: Fp8 + RaggedElement> Layer<C> {
    fn seeded(stream: &Stream, i: usize) -> Result<Self> {
        let mut seeded = Seeded(stream, SEED + 100 * i as u64 + 60);
        Ok(Self {
            attention: Attention::seeded(stream, i)?,
            mlp_norm: seeded.norm(HIDDEN)?,
            mlp: if i < DENSE_LAYERS {
                let up = seeded.draw(Draw::Scaled(-4), &[2 * DENSE_INNER, HIDDEN])?;
                Mlp::Dense { up, down: seeded.draw(Draw::Scaled(-4), &[HIDDEN, DENSE_INNER])? }
            } else {
                let router = seeded.linear([EXPERTS, HIDDEN])?;
                Mlp::Experts { router, experts: Box::new(Experts::seeded(stream, i)?.layer()?) }
            },
        })
    }
}

impl Attention {
    fn seeded(stream: &Stream, layer: usize) -> Result<Self> {
        let mut seeded = Seeded(stream, SEED + 100 * layer as u64);
        Ok(Self {
            norm: seeded.norm(HIDDEN)?,
            down: seeded.linear([Q_RANK + KV_RANK + ROPE, HIDDEN])?,
            q_norm: seeded.norm(Q_RANK)?,
            q_up: seeded.linear([HEADS * (NOPE + ROPE), Q_RANK])?,
            kv_norm: seeded.norm(KV_RANK)?,
            kv_up: seeded.linear([HEADS * (NOPE + VALUE), KV_RANK])?,
            out: seeded.linear([HIDDEN, HEADS * VALUE])?,
        })
    }
}

/// The experts' weights, as published: rows of gates, then those of what they let through; the last one is
/// the expert that all tokens have.
pub(crate) struct Experts<C: Fp8> {
    pub(crate) w1: Fp8Matrices<C>,
    pub(crate) w2: Fp8Matrices<C>,
    pub(crate) bias: Tensor<f32>,
}

impl<C: Fp8 + RaggedElement> Experts<C> {
    /// Those of a layer.
    pub(crate) fn seeded(stream: &Stream, layer: usize) -> Result<Self> {
        let mut seeded = Seeded(stream, SEED + 100 * layer as u64 + 50);
        Ok(Self {
            w1: blocks(&mut seeded, [2 * INNER, HIDDEN])?,
            w2: blocks(&mut seeded, [HIDDEN, INNER])?,
            bias: seeded.draw(Draw::Scaled(-3), &[EXPERTS])?,
        })
    }

    /// With each gate beside what it lets through, and each row with the scales of its block.
    fn layer(self) -> Result<FusedMoe<Fp8BlockWeights<bf16, C>>> {
        let Self { w1, w2, bias } = self;
        let [blocks, columns] = [2 * INNER / BLOCK, HIDDEN / BLOCK];
        let scales = w1.scales.reshape(&[EXPERTS + 1, blocks, 1, columns])?;
        let scales = scales.broadcast(&[EXPERTS + 1, blocks, BLOCK, columns])?.to_contiguous()?;
        let scales = scales.reshape(&[EXPERTS + 1, 2 * INNER, columns])?;
        let w1 = Fp8Matrices {
            codes: moe_interleave_gate_up(&w1.codes)?,
            scales: moe_interleave_gate_up(&scales)?,
        };
        let config = FusedMoeConfig::deepseek_v3(bias).shared_experts(1, 1.0);
        FusedMoe::new(config, Fp8BlockWeights::new(w1, w2), SEQUENCES * CONTEXT)
    }
}

fn blocks<C: Fp8>(seeded: &mut Seeded<'_>, [rows, columns]: [usize; 2]) -> Result<Fp8Matrices<C>> {
    let blocks = [EXPERTS + 1, rows / BLOCK, columns / BLOCK];
    Ok(Fp8Matrices {
        codes: seeded.draw(Draw::Codes, &[EXPERTS + 1, rows, columns])?,
        scales: seeded.draw(Draw::Powers(-12, -9), &blocks)?,
    })
}
