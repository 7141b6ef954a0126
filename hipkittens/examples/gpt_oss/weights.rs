//! Seeded weights, the tables of rotary embedding, and tokens.

use hipkittens::moe::{F4x2E2M1, FusedMoe, FusedMoeConfig, MxMatrices, Mxfp4Weights};
use hipkittens::{Result, Stream, Tensor};
use hk_ref::Draw;

use super::model::{
    EXPERTS, HEAD_DIM, HEADS, HIDDEN, INNER, KV_HEADS, LAYERS, Layer, Linear, Model, WINDOW,
};
use super::step::{Buffers, Step};
use crate::paged::Cache;
use crate::shared::{CONTEXT, Decoder, SEQUENCES, Seeded, rope_tables};

const SEED: u64 = 1000;

impl Decoder for Model {
    type Buffers = Buffers;
    type Memory = Vec<Cache>;

    const TOKENS: [&'static [u64]; SEQUENCES] = [
        &[
            3, 12, 19, 24, 31, 38, 45, 52, 59, 2, 9, 16, 23, 30, 37, 45, 51, 58, 1, 8, 15, 22, 29,
            36, 43, 50, 57, 0, 7, 14, 21, 28, 35, 42, 49, 56, 63,
        ],
        &[
            34, 41, 48, 55, 62, 5, 12, 19, 26, 33, 40, 48, 54, 61, 4, 11, 18, 25, 32, 39, 46, 53,
            60, 3, 10,
        ],
    ];

    fn seeded(stream: &Stream) -> Result<Self> {
        let layers = (0..LAYERS).map(|i| Layer::seeded(stream, i)).collect::<Result<_>>()?;
        let [cos, sin] = yarn(stream)?;
        Ok(Self { layers, cos, sin })
    }

    fn memory(stream: &Stream) -> Result<Self::Memory> {
        (0..LAYERS).map(|_| Cache::new(stream, KV_HEADS, HEAD_DIM)).collect()
    }

    fn forward(&mut self, step: &mut Step, memory: &mut Self::Memory) -> Result<()> {
        self.forward(step, memory)
    }
}

impl Layer {
    /// Every other layer sees the window.
    fn seeded(stream: &Stream, i: usize) -> Result<Self> {
        let mut seeded = Seeded(stream, SEED + 100 * i as u64);
        let Experts { w1, b1, w2, b2 } = Experts::seeded(stream, i)?;
        let weights = Mxfp4Weights::new(w1, w2).biases(b1, b2);
        Ok(Self {
            attention_norm: seeded.norm(HIDDEN)?,
            qkv: Linear::seeded(&mut seeded, [(HEADS + 2 * KV_HEADS) * HEAD_DIM, HIDDEN])?,
            sinks: seeded.draw(Draw::Normal, &[HEADS])?,
            window: i.is_multiple_of(2).then_some(WINDOW as u32 - 1),
            out: Linear::seeded(&mut seeded, [HIDDEN, HEADS * HEAD_DIM])?,
            mlp_norm: seeded.norm(HIDDEN)?,
            router: Linear::seeded(&mut seeded, [EXPERTS, HIDDEN])?,
            experts: FusedMoe::new(FusedMoeConfig::gpt_oss(), weights, SEQUENCES * CONTEXT)?,
        })
    }
}

impl Linear {
    fn seeded(seeded: &mut Seeded<'_>, [n, k]: [usize; 2]) -> Result<Self> {
        Ok(Self { weight: seeded.linear([n, k])?, bias: seeded.draw(Draw::Scaled(-2), &[n])? })
    }
}

/// The experts' weights: rows of gates, then those of what they let through, which alternate in the
/// published files.
pub(crate) struct Experts {
    pub(crate) w1: MxMatrices<F4x2E2M1>,
    pub(crate) b1: Tensor<f32>,
    pub(crate) w2: MxMatrices<F4x2E2M1>,
    pub(crate) b2: Tensor<f32>,
}

impl Experts {
    /// Those of a layer.
    pub(crate) fn seeded(stream: &Stream, layer: usize) -> Result<Self> {
        let mut seeded = Seeded(stream, SEED + 100 * layer as u64 + 50);
        Ok(Self {
            w1: mx(&mut seeded, [2 * INNER, HIDDEN])?,
            b1: seeded.draw(Draw::Scaled(-2), &[EXPERTS, 2 * INNER])?,
            w2: mx(&mut seeded, [HIDDEN, INNER])?,
            b2: seeded.draw(Draw::Scaled(-2), &[EXPERTS, HIDDEN])?,
        })
    }
}

fn mx(seeded: &mut Seeded<'_>, [rows, columns]: [usize; 2]) -> Result<MxMatrices<F4x2E2M1>> {
    Ok(MxMatrices {
        codes: seeded.draw(Draw::Codes, &[EXPERTS, rows, columns])?,
        scales: seeded.draw(Draw::Powers(-7, -4), &[EXPERTS, rows, columns / 32])?,
    })
}

/// Cosines and sines of each position, with YaRN (arXiv 2309.00071) for 32 times the 4096 tokens that
/// the model was trained on first: slow pairs turn so much slower, fast ones as they did.
fn yarn(stream: &Stream) -> Result<[Tensor<f32>; 2]> {
    let (base, factor, trained, pairs) = (150_000f64, 32f64, 4096f64, HEAD_DIM / 2);
    // The pair that turns so often within the tokens trained on.
    let pair = |turns: f64| {
        let angle = trained / (turns * std::f64::consts::TAU);
        pairs as f64 * angle.ln() / base.ln()
    };
    let (fast, slow) = (pair(32.0), pair(1.0));
    let concentration = 0.1 * factor.ln() + 1.0;
    rope_tables(stream, pairs, concentration, |position, i| {
        let is_slow = ((i - fast) / (slow - fast)).clamp(0.0, 1.0);
        position * base.powf(-i / pairs as f64) * (is_slow / factor + 1.0 - is_slow)
    })
}
