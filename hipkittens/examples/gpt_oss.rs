//! The decoder of GPT-OSS (arXiv 2508.10925) at reduced size, with seeded weights: prompts of two
//! sequences at once, then a token of each per step, with keys and values in a paged cache.
//!
//! `cargo run -p hipkittens --example gpt_oss --features cdna4`

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use std::ops::Range;
use std::time::Instant;

use hipkittens::attn::{
    Angles, AttentionOptions, CacheLayout, FusedQkRopeReshapeAndCacheOut, KvCacheOptions, KvCaches,
    PagedSequences, UnifiedAttnOptions, fused_qk_rope_reshape_and_cache_into,
    unified_attn_fwd_into,
};
use hipkittens::gemm::{GemmOptions, gemm_a16w16_into};
use hipkittens::moe::{
    F4x2E2M1, FusedMoe, FusedMoeConfig, MxMatrices, Mxfp4Weights, Router, SharedExpert,
};
use hipkittens::norm::{RmsnormOptions, RmsnormOut, rmsnorm_into};
use hipkittens::{Device, Error, Result, Stream, Tensor, bf16, dtype::Element};
use hk_ref::Draw;

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

/// Sequences, the most tokens of each, and slots of a page of the cache.
pub(crate) const SEQUENCES: usize = 2;
pub(crate) const CONTEXT: usize = 48;
const PAGE: usize = 8;
const PAGES: usize = CONTEXT / PAGE;

/// A layer.
pub(crate) struct Layer {
    pub(crate) attention_norm: Tensor<f32>,
    pub(crate) qkv: Linear,
    pub(crate) sinks: Tensor<bf16>,
    pub(crate) window: Option<u32>,
    pub(crate) out: Linear,
    pub(crate) mlp_norm: Tensor<f32>,
    pub(crate) router: Linear,
    experts: FusedMoe<Mxfp4Weights<bf16>>,
}

/// `x weight^T + bias`.
pub(crate) struct Linear {
    pub(crate) weight: Tensor<bf16>,
    pub(crate) bias: Tensor<f32>,
}

/// Keys and values of a layer, in pages.
pub(crate) struct Cache {
    key: Tensor<bf16>,
    value: Tensor<bf16>,
}

/// Tokens that go through the layers together, and what ops hand to each other. All of it stays
/// where it is, so that a graph finds what was written there.
pub(crate) struct Step {
    /// The tokens' hidden states, `[tokens, HIDDEN]`, which each layer adds to.
    pub(crate) x: Tensor<bf16>,
    positions: Tensor<i32>,
    slots: Tensor<i32>,
    bounds: Tensor<i32>,
    lengths: Tensor<i32>,
    pages: Tensor<i32>,
    longest: usize,
    normed: Tensor<bf16>,
    qkv: Tensor<bf16>,
    q: Tensor<bf16>,
    attended: Tensor<bf16>,
}

/// The layers, and the cosines and sines of rotary embedding.
pub(crate) struct Model {
    pub(crate) layers: Vec<Layer>,
    pub(crate) cos: Tensor<f32>,
    pub(crate) sin: Tensor<f32>,
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
        let Step { x, normed, qkv, q, attended, .. } = step;
        let tokens = x.rows();
        norm(x, &self.attention_norm, normed)?;
        gemm_a16w16_into(normed, &self.qkv.weight, &self.qkv.options(), qkv)?;

        let heads = qkv.reshape(&[tokens, HEADS + 2 * KV_HEADS, HEAD_DIM])?;
        let of_q = heads.narrow(1, 0..HEADS)?;
        let k = heads.narrow(1, HEADS..HEADS + KV_HEADS)?;
        let v = heads.narrow(1, HEADS + KV_HEADS..HEADS + 2 * KV_HEADS)?;
        let angles = angles.positions(&step.positions);
        let caches = KvCaches { key: &mut *cache.key, value: &mut *cache.value };
        let out = FusedQkRopeReshapeAndCacheOut { q: &mut **q, k: None, zeros: None, caches };
        let options = KvCacheOptions::default();
        fused_qk_rope_reshape_and_cache_into(&of_q, &k, &v, &step.slots, &angles, &options, out)?;

        let sequences = PagedSequences {
            cu_seqlens_q: (&step.bounds).into(),
            max_seqlen_q: step.longest,
            seqused_k: (&step.lengths).into(),
            max_seqlen_k: CONTEXT,
            block_table: (&step.pages).into(),
        };
        let attention = AttentionOptions::default().sink(&self.sinks).window(self.window, None);
        let options = UnifiedAttnOptions { attention, layout: CacheLayout::Nhd };
        unified_attn_fwd_into(q, &cache.key, &cache.value, &sequences, &options, attended)?;

        let attended = attended.reshape(&[tokens, HEADS * HEAD_DIM])?;
        let (residual, mut sum) = x.in_place();
        let options = self.out.options().residual(&residual);
        gemm_a16w16_into(&attended, &self.out.weight, &options, &mut sum)
    }

    /// `x += experts(norm(x))`, by the four experts of the router's largest logits.
    fn feed_forward(&mut self, step: &mut Step) -> Result<()> {
        let Step { x, normed, .. } = step;
        norm(x, &self.mlp_norm, normed)?;
        let router =
            Router::Weights { weights: &self.router.weight, bias: Some(&self.router.bias) };
        let (residual, mut sum) = x.in_place();
        let residual = SharedExpert { rows: &residual, gate: None };
        self.experts.forward_into(normed, router, Some(residual), &mut sum)
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

impl Step {
    /// Room for the tokens at these positions of the sequences.
    pub(crate) fn new(stream: &Stream, ranges: &[Range<usize>; SEQUENCES]) -> Result<Self> {
        let tokens = ranges.iter().map(Range::len).sum();
        // Pages of sequences alternate, the last one comes first.
        let page = |at: usize| (SEQUENCES * PAGES - 1 - at % PAGES * SEQUENCES - at / PAGES) as i32;
        let pages: Vec<_> = (0..SEQUENCES * PAGES).map(page).collect();
        let mut bounds = vec![0];
        ranges.iter().for_each(|range| bounds.push(bounds[bounds.len() - 1] + range.len() as i32));
        Ok(Self {
            x: Tensor::empty(stream, &[tokens, HIDDEN])?,
            positions: Tensor::empty(stream, &[tokens])?,
            slots: Tensor::empty(stream, &[tokens])?,
            bounds: Tensor::from_slice(stream, &bounds, &[SEQUENCES + 1])?,
            lengths: Tensor::empty(stream, &[SEQUENCES])?,
            pages: Tensor::from_slice(stream, &pages, &[SEQUENCES, PAGES])?,
            longest: ranges.iter().map(Range::len).max().unwrap_or_default(),
            normed: Tensor::empty(stream, &[tokens, HIDDEN])?,
            qkv: Tensor::empty(stream, &[tokens, (HEADS + 2 * KV_HEADS) * HEAD_DIM])?,
            q: Tensor::empty(stream, &[tokens, HEADS, HEAD_DIM])?,
            attended: Tensor::empty(stream, &[tokens, HEADS, HEAD_DIM])?,
        })
    }

    /// Takes the tokens at these positions, as many of each sequence as there were first.
    ///
    /// # Errors
    /// [`Error::Value`] if the cache has not as many positions.
    pub(crate) fn write(&mut self, x: &[bf16], ranges: &[Range<usize>; SEQUENCES]) -> Result<()> {
        let most = ranges.iter().map(|range| range.end).max().unwrap_or_default();
        if most > CONTEXT {
            let constraint = format!("within the {CONTEXT} positions of the cache");
            return Err(Error::value("Step::write", "ranges", constraint, format!("{ranges:?}")));
        }
        let pages = self.pages.to_vec()?;
        let each = |(b, range): (usize, &Range<usize>)| range.clone().map(move |at| (b, at));
        let tokens: Vec<_> = ranges.iter().enumerate().flat_map(each).collect();
        let slot = |(b, at): &(usize, usize)| {
            pages[b * PAGES + at / PAGE] * PAGE as i32 + (at % PAGE) as i32
        };
        self.x.write(x)?;
        self.positions.write(&tokens.iter().map(|(_, at)| *at as i32).collect::<Vec<_>>())?;
        self.slots.write(&tokens.iter().map(slot).collect::<Vec<_>>())?;
        self.lengths.write(&ranges.clone().map(|range| range.end as i32))
    }
}

/// Draws weights, each from the next seed.
struct Seeded<'a>(&'a Stream, u64);

impl Seeded<'_> {
    fn draw<T: Element>(&mut self, draw: Draw, shape: &[usize]) -> Result<Tensor<T>> {
        self.1 += 1;
        Tensor::from_slice(self.0, &draw.values(self.1, shape.iter().product()), shape)
    }

    fn linear(&mut self, [n, k]: [usize; 2]) -> Result<Linear> {
        Ok(Linear {
            weight: self.draw(Draw::Scaled(-3), &[n, k])?,
            bias: self.draw(Draw::Scaled(-2), &[n])?,
        })
    }

    fn mx(&mut self, [rows, columns]: [usize; 2]) -> Result<MxMatrices<F4x2E2M1>> {
        Ok(MxMatrices {
            codes: self.draw(Draw::Codes, &[EXPERTS, rows, columns])?,
            scales: self.draw(Draw::Powers(-7, -4), &[EXPERTS, rows, columns / 32])?,
        })
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
            w1: seeded.mx([2 * INNER, HIDDEN])?,
            b1: seeded.draw(Draw::Scaled(-2), &[EXPERTS, 2 * INNER])?,
            w2: seeded.mx([HIDDEN, INNER])?,
            b2: seeded.draw(Draw::Scaled(-2), &[EXPERTS, HIDDEN])?,
        })
    }
}

const SEED: u64 = 1000;

impl Model {
    /// Of weights that the seed stands for. Every other layer sees the window.
    pub(crate) fn seeded(stream: &Stream) -> Result<Self> {
        let layer = |i: usize| -> Result<Layer> {
            let mut seeded = Seeded(stream, SEED + 100 * i as u64);
            let Experts { w1, b1, w2, b2 } = Experts::seeded(stream, i)?;
            let weights = Mxfp4Weights::new(w1, w2).biases(b1, b2);
            Ok(Layer {
                attention_norm: seeded.draw(Draw::Uniform, &[HIDDEN])?,
                qkv: seeded.linear([(HEADS + 2 * KV_HEADS) * HEAD_DIM, HIDDEN])?,
                sinks: seeded.draw(Draw::Normal, &[HEADS])?,
                window: i.is_multiple_of(2).then_some(WINDOW as u32 - 1),
                out: seeded.linear([HIDDEN, HEADS * HEAD_DIM])?,
                mlp_norm: seeded.draw(Draw::Uniform, &[HIDDEN])?,
                router: seeded.linear([EXPERTS, HIDDEN])?,
                experts: FusedMoe::new(FusedMoeConfig::gpt_oss(), weights, SEQUENCES * CONTEXT)?,
            })
        };
        let [cos, sin] = yarn();
        let shape = [CONTEXT, HEAD_DIM / 2];
        Ok(Self {
            layers: (0..LAYERS).map(layer).collect::<Result<_>>()?,
            cos: Tensor::from_slice(stream, &cos, &shape)?,
            sin: Tensor::from_slice(stream, &sin, &shape)?,
        })
    }

    /// A cache for each layer.
    pub(crate) fn caches(stream: &Stream) -> Result<Vec<Cache>> {
        let pages = || Tensor::empty(stream, &[SEQUENCES * PAGES, PAGE, KV_HEADS, HEAD_DIM]);
        (0..LAYERS).map(|_| Ok(Cache { key: pages()?, value: pages()? })).collect()
    }
}

/// Cosines and sines of each position, with YaRN (arXiv 2309.00071) for 32 times the 4096 tokens that
/// the model was trained on first: slow pairs turn so much slower, fast ones as they did.
fn yarn() -> [Vec<f32>; 2] {
    let (base, factor, trained, pairs) = (150_000f64, 32f64, 4096f64, HEAD_DIM / 2);
    // The pair that turns so often within the tokens trained on.
    let pair = |turns: f64| {
        let angle = trained / (turns * std::f64::consts::TAU);
        pairs as f64 * angle.ln() / base.ln()
    };
    let (fast, slow) = (pair(32.0), pair(1.0));
    let angle = |at: usize| {
        let (position, i) = ((at / pairs) as f64, (at % pairs) as f64);
        let is_slow = ((i - fast) / (slow - fast)).clamp(0.0, 1.0);
        position * base.powf(-i / pairs as f64) * (is_slow / factor + 1.0 - is_slow)
    };
    let concentration = 0.1 * factor.ln() + 1.0;
    [f64::cos, f64::sin]
        .map(|of| (0..CONTEXT * pairs).map(|at| (of(angle(at)) * concentration) as f32).collect())
}

/// Tokens of the sequences. No router's choice among experts is so close for them that rounding could
/// change it, which the test of this example relies on.
pub(crate) const TOKENS: [&[u64]; SEQUENCES] = [
    &[
        3, 12, 19, 24, 31, 38, 45, 52, 59, 2, 9, 16, 23, 30, 37, 45, 51, 58, 1, 8, 15, 22, 29, 36,
        43, 50, 57, 0, 7, 14, 21, 28, 35, 42, 49, 56, 63,
    ],
    &[
        34, 41, 48, 55, 62, 5, 12, 19, 26, 33, 40, 48, 54, 61, 4, 11, 18, 25, 32, 39, 46, 53, 60,
        3, 10,
    ],
];

/// Hidden states of the tokens at these positions, which all ways through the model begin with.
pub(crate) fn embedded(ranges: &[Range<usize>; SEQUENCES]) -> Vec<bf16> {
    let row = |b: usize, at: usize| Draw::Normal.values(TOKENS[b][at], HIDDEN);
    let rows = |(b, range): (usize, &Range<usize>)| range.clone().flat_map(move |at| row(b, at));
    ranges.iter().enumerate().flat_map(rows).collect()
}

/// Prompts, then a token of each sequence per step, against all tokens at once.
pub(crate) fn main() -> Result<()> {
    let stream = Device::open("sim:mi355x")?.new_stream()?;
    let mut model = Model::seeded(&stream)?;
    let mut run = |step: &mut Step, caches: &mut [Cache], ranges: &[Range<usize>; SEQUENCES]| {
        let start = Instant::now();
        step.write(&embedded(ranges), ranges)?;
        model.forward(step, caches)?;
        let y: Vec<_> = step.x.to_vec()?.into_iter().map(f32::from).collect();
        println!("positions {ranges:?}: {:.2} s", start.elapsed().as_secs_f64());
        Ok::<_, Error>(y)
    };
    let prompts = [0..21, 0..9];
    let mut caches = Model::caches(&stream)?;
    run(&mut Step::new(&stream, &prompts)?, &mut caches, &prompts)?;
    let mut step = Step::new(&stream, &[0..1, 0..1])?;
    let mut last = vec![];
    for token in 0..4 {
        let ranges = prompts.clone().map(|prompt| prompt.end + token..prompt.end + token + 1);
        last = run(&mut step, &mut caches, &ranges)?;
    }
    let all = [0..25, 0..13];
    let y = run(&mut Step::new(&stream, &all)?, &mut Model::caches(&stream)?, &all)?;
    let y = [&y[24 * HIDDEN..25 * HIDDEN], &y[37 * HIDDEN..]].concat();
    let most = y.iter().map(|y| y.abs()).fold(0.0, f32::max);
    let off = y.iter().zip(&last).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    println!("last tokens, of numbers up to {most:.2}: step by step is {off} off from all at once");
    Ok(())
}
