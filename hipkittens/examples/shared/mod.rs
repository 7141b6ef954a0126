//! What the decoders have in common: tokens of two sequences, seeded weights, and the program.

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use std::iter;
use std::ops::Range;
use std::time::Instant;

use hipkittens::{Device, Error, Result, Stream, Tensor, bf16, dtype::Element};
use hk_ref::Draw;

/// Sequences, the most tokens of each, and slots of a page of the cache.
pub(crate) const SEQUENCES: usize = 2;
pub(crate) const CONTEXT: usize = 48;
pub(crate) const PAGE: usize = 8;
pub(crate) const PAGES: usize = CONTEXT / PAGE;

/// Positions of tokens of each sequence.
pub(crate) type Ranges = [Range<usize>; SEQUENCES];

/// Those of the prompts.
pub(crate) const PROMPTS: Ranges = [0..21, 0..9];

/// Those of the tokens, one of each sequence, so many steps behind the prompts.
pub(crate) fn behind_prompts(steps: usize) -> Ranges {
    PROMPTS.map(|prompt| prompt.end + steps..prompt.end + steps + 1)
}

/// A decoder, as the program takes it.
pub(crate) trait Decoder: Sized {
    type Buffers: Buffers;
    /// What layers remember of tokens.
    type Memory;

    /// Tokens of the sequences. No router's choice among experts is so close for them that rounding
    /// could change it, which the tests of the examples rely on.
    const TOKENS: [&'static [u64]; SEQUENCES];

    /// The model, of weights that a seed stands for.
    fn seeded(stream: &Stream) -> Result<Self>;
    /// That of sequences without tokens.
    fn memory(stream: &Stream) -> Result<Self::Memory>;
    /// Puts a step's tokens through all layers.
    fn forward(&mut self, step: &mut Step<Self::Buffers>, memory: &mut Self::Memory) -> Result<()>;
}

/// What ops of a step hand to each other.
pub(crate) trait Buffers: Sized {
    /// Elements of a token's hidden state.
    const HIDDEN: usize;

    /// Room for so many tokens, at these positions: those from 0 on, or one of each sequence.
    fn new(stream: &Stream, ranges: &Ranges, tokens: usize) -> Result<Self>;
    /// Takes the tokens at these positions.
    fn write(&mut self, ranges: &Ranges) -> Result<()>;
}

/// Tokens that go through the layers together. All of it stays where it is, so that a graph finds what was
/// written there.
pub(crate) struct Step<B> {
    /// The tokens' hidden states, `[tokens, HIDDEN]`, which each layer adds to.
    pub(crate) x: Tensor<bf16>,
    pub(crate) positions: Tensor<i32>,
    pub(crate) slots: Tensor<i32>,
    pub(crate) buffers: B,
}

impl<B: Buffers> Step<B> {
    /// Room for the tokens at these positions: those from 0 on, or one of each sequence.
    pub(crate) fn new(stream: &Stream, ranges: &Ranges) -> Result<Self> {
        let tokens = ranges.iter().map(Range::len).sum();
        Ok(Self {
            x: Tensor::empty(stream, &[tokens, B::HIDDEN])?,
            positions: Tensor::empty(stream, &[tokens])?,
            slots: Tensor::empty(stream, &[tokens])?,
            buffers: B::new(stream, ranges, tokens)?,
        })
    }

    /// Takes the tokens at these positions, as many of each sequence as there were first.
    ///
    /// # Errors
    /// [`Error::Value`] if the cache has not as many positions.
    pub(crate) fn write(&mut self, x: &[bf16], ranges: &Ranges) -> Result<()> {
        let most = ranges.iter().map(|range| range.end).max().unwrap_or_default();
        if most > CONTEXT {
            let constraint = format!("within the {CONTEXT} positions of the cache");
            return Err(Error::value("Step::write", "ranges", constraint, format!("{ranges:?}")));
        }
        let positions: Vec<_> = ranges.iter().cloned().flatten().map(|at| at as i32).collect();
        self.x.write(x)?;
        self.positions.write(&positions)?;
        self.slots.write(&slots(ranges))?;
        self.buffers.write(ranges)
    }
}

/// The most tokens of a sequence.
pub(crate) fn longest(ranges: &Ranges) -> usize {
    ranges.iter().map(Range::len).max().unwrap_or_default()
}

/// Bounds of sequences that follow each other.
pub(crate) fn bounds(ranges: &Ranges) -> Vec<i32> {
    let ends = ranges.iter().scan(0, |end, range| {
        *end += range.len() as i32;
        Some(*end)
    });
    iter::once(0).chain(ends).collect()
}

/// A page of a sequence: they alternate, the last one comes first.
pub(crate) fn page(b: usize, at: usize) -> usize {
    SEQUENCES * PAGES - 1 - at * SEQUENCES - b
}

/// Slots of the cache that tokens have.
pub(crate) fn slots(ranges: &Ranges) -> Vec<i32> {
    let slot = |b: usize, at: usize| (page(b, at / PAGE) * PAGE + at % PAGE) as i32;
    let of_sequence = |(b, range): (usize, Range<usize>)| range.map(move |at| slot(b, at));
    ranges.iter().cloned().enumerate().flat_map(of_sequence).collect()
}

/// Cosines and sines for rotary embedding, times a factor, by the angle of a position and a pair.
pub(crate) fn rope_tables(
    stream: &Stream,
    pairs: usize,
    factor: f64,
    angle: impl Fn(f64, f64) -> f64,
) -> Result<[Tensor<f32>; 2]> {
    let angle = |at: usize| angle((at / pairs) as f64, (at % pairs) as f64);
    let table = |of: fn(f64) -> f64| {
        let entry = |at: usize| (of(angle(at)) * factor) as f32;
        let table: Vec<_> = (0..CONTEXT * pairs).map(entry).collect();
        Tensor::from_slice(stream, &table, &[CONTEXT, pairs])
    };
    Ok([table(f64::cos)?, table(f64::sin)?])
}

/// Draws weights, each from the next seed.
pub(crate) struct Seeded<'a>(pub(crate) &'a Stream, pub(crate) u64);

impl Seeded<'_> {
    pub(crate) fn draw<T: Element>(&mut self, draw: Draw, shape: &[usize]) -> Result<Tensor<T>> {
        self.1 += 1;
        Tensor::from_slice(self.0, &draw.values(self.1, shape.iter().product()), shape)
    }

    pub(crate) fn norm(&mut self, width: usize) -> Result<Tensor<f32>> {
        self.draw(Draw::Uniform, &[width])
    }

    pub(crate) fn linear(&mut self, shape: [usize; 2]) -> Result<Tensor<bf16>> {
        self.draw(Draw::Scaled(-3), &shape)
    }
}

/// Hidden states of the tokens at these positions, which all ways through a decoder begin with.
pub(crate) fn embedded<D: Decoder>(ranges: &Ranges) -> Vec<bf16> {
    let row = |b: usize, at: usize| Draw::Normal.values(D::TOKENS[b][at], D::Buffers::HIDDEN);
    let rows = |(b, range): (usize, &Range<usize>)| range.clone().flat_map(move |at| row(b, at));
    ranges.iter().enumerate().flat_map(rows).collect()
}

/// The device that examples run on, unless their first argument names another.
pub(crate) const DEVICE: &str = "sim:mi355x";

/// Hidden states that tokens leave, which were given to the device at `start`.
fn left<B>(step: &Step<B>, ranges: &Ranges, start: Instant) -> Result<Vec<f32>> {
    let x = step.x.to_vec()?.into_iter().map(f32::from).collect();
    println!("positions {ranges:?}: {:.2} s", start.elapsed().as_secs_f64());
    Ok(x)
}

/// The program: prompts, then a token of each sequence per step, from a graph, against all tokens at once.
pub(crate) fn run<D: Decoder>(device: &Device) -> Result<()> {
    let stream = device.new_stream()?;
    let mut model = D::seeded(&stream)?;
    let at_once = |model: &mut D, memory: &mut D::Memory, ranges: &Ranges| {
        let start = Instant::now();
        let mut step = Step::<D::Buffers>::new(&stream, ranges)?;
        step.write(&embedded::<D>(ranges), ranges)?;
        model.forward(&mut step, memory)?;
        left(&step, ranges, start)
    };
    let mut memory = D::memory(&stream)?;
    at_once(&mut model, &mut memory, &PROMPTS)?;

    let state = (Step::<D::Buffers>::new(&stream, &[0..1, 0..1])?, memory);
    let mut graph = stream.capture(state, |(step, memory)| model.forward(step, memory))?;
    let mut last = vec![];
    for token in 0..4 {
        let (start, ranges) = (Instant::now(), behind_prompts(token));
        let (step, _) = graph.state_mut();
        step.write(&embedded::<D>(&ranges), &ranges)?;
        graph.launch(&stream)?;
        let (step, _) = graph.state();
        last = left(step, &ranges, start)?;
    }
    drop(graph);

    let all = [0..25, 0..13];
    let y = at_once(&mut model, &mut D::memory(&stream)?, &all)?;
    let width = D::Buffers::HIDDEN;
    let y = [&y[24 * width..25 * width], &y[37 * width..]].concat();
    let most = y.iter().map(|y| y.abs()).fold(0.0, f32::max);
    let off = y.iter().zip(&last).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    println!("last tokens, of numbers up to {most:.2}: step by step is {off} off from all at once");
    Ok(())
}
