//! Layers of models, composed of ops of several crates, against compositions of references.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::{self, Write};
use std::iter;

use hipkittens::core::Graph;
use hipkittens::dtype::{Element, decode};
use hipkittens::{Device, Error, Stream, Tensor};
use hk_sim::Options;
use hk_sim::counters::{Counters, count};
use hk_sim::sanitize::Checks;
use ndarray::Array2;

mod deepseek_v3;
mod gpt_oss;
#[path = "../../examples/shared/paged.rs"]
mod paged;
mod qwen3_next;
#[path = "../../examples/shared/mod.rs"]
mod shared;

use shared::{CONTEXT, Decoder, PROMPTS, Ranges, SEQUENCES, Step, behind_prompts, embedded};

/// Looks for every kind of fault from here on.
fn sanitized() {
    hk_sim::set_options(Options { sanitize: Checks::ALL, ..hk_sim::options() });
}

fn numbers<T: Element>(tensor: &Tensor<T>) -> Vec<f64> {
    decode(&tensor.to_vec().unwrap())
}

fn matrix([rows, columns]: [usize; 2], numbers: Vec<f64>) -> Array2<f64> {
    Array2::from_shape_vec((rows, columns), numbers).unwrap()
}

/// How far sequences are from others, relative to all of them.
fn distance(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    let [a, b] = [a, b].map(|all| all.concat());
    assert_eq!(a.len(), b.len());
    let off: f64 = iter::zip(&a, &b).map(|(a, b)| (a - b).powi(2)).sum();
    let size: f64 = b.iter().map(|b| b * b).sum();
    (off / size).sqrt()
}

/// Says something, also of a test that passes: what `eprintln!` says then, nobody sees.
fn tell(what: impl Display) {
    writeln!(io::stderr(), "{what}").expect("stderr");
}

fn bytes<T: Element>(tensor: &Tensor<T>) -> usize {
    tensor.len() / T::PACK * size_of::<T>()
}

/// Bytes that the kernels of `work` move from and to device memory, of each launch every byte once.
fn moved(work: impl FnOnce()) -> usize {
    let ((), counters) = count(work);
    let of = |of: &Counters| of.distinct_read_bytes + of.distinct_written_bytes;
    counters.values().map(of).sum::<u64>() as usize
}

/// Requires a step to move at most `bar` times the bytes that it cannot do without: weights that it needs,
/// what is remembered of tokens, read once, and written where it is new, and hidden states.
fn moves_little(device: &str, moved: usize, compulsory: usize, bar: f64) {
    let times = moved as f64 / compulsory as f64;
    tell(format_args!(
        "{device}: a step moves {moved} bytes, {times:.2} times the {compulsory} it needs, below {bar}"
    ));
    assert!((1.0..bar).contains(&times), "{device}: {times} times, not below {bar}");
}

/// Requires a step of a token of each sequence to take the last of the cache's positions, and none beyond.
fn refuses_beyond_the_cache<D: Decoder>() {
    let stream = Device::open("sim:mi355x").unwrap().new_stream().unwrap();
    let first = [0..1, 0..1];
    let mut step = Step::<D::Buffers>::new(&stream, &first).unwrap();
    let x = embedded::<D>(&first);
    step.write(&x, &[CONTEXT - 1..CONTEXT, 0..1]).unwrap();
    for ranges in [[CONTEXT..CONTEXT + 1, 0..1], [0..1, CONTEXT..CONTEXT + 1]] {
        let error = step.write(&x, &ranges).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "ranges", .. }), "{error}");
        let shown = error.to_string();
        assert!(shown.contains(&format!("the {CONTEXT} positions of the cache")), "{shown}");
        assert!(shown.contains(&format!("{ranges:?}")), "{shown}");
    }
}

/// Tokens behind the prompts, of each sequence, and all.
const STEPS: usize = 16;
const ALL: Ranges = [0..PROMPTS[0].end + STEPS, 0..PROMPTS[1].end + STEPS];

/// The hidden states that a step leaves, of each sequence.
fn left<B>(step: &Step<B>, ranges: &Ranges) -> [Vec<f64>; SEQUENCES] {
    let mut rows = numbers(&step.x).into_iter();
    let width = step.x.shape()[1];
    ranges.clone().map(|range| rows.by_ref().take(range.len() * width).collect())
}

fn prefill<D: Decoder>(
    model: &mut D,
    stream: &Stream,
    ranges: &Ranges,
) -> (D::Memory, [Vec<f64>; SEQUENCES]) {
    let mut memory = D::memory(stream).unwrap();
    let mut step = Step::<D::Buffers>::new(stream, ranges).unwrap();
    step.write(&embedded::<D>(ranges), ranges).unwrap();
    model.forward(&mut step, &mut memory).unwrap();
    (memory, left(&step, ranges))
}

/// A step of a token of each sequence, and what is remembered of those before.
type State<D> = (Step<<D as Decoder>::Buffers>, <D as Decoder>::Memory);

/// What does a step.
enum Way<'a, D: Decoder> {
    Calls(&'a mut D, State<D>),
    Graph(Graph<'a, State<D>>),
}

impl<D: Decoder> Way<'_, D> {
    fn state(&mut self) -> &mut State<D> {
        match self {
            Self::Calls(_, state) => state,
            Self::Graph(graph) => graph.state_mut(),
        }
    }

    fn step(&mut self, stream: &Stream) {
        match self {
            Self::Calls(model, (step, memory)) => model.forward(step, memory),
            Self::Graph(graph) => graph.launch(stream),
        }
        .unwrap();
    }
}

/// Prompts, then steps of a token of each sequence, which a graph does or calls do, and the bytes that the
/// last one moves.
fn decode_steps<D: Decoder>(
    model: &mut D,
    stream: &Stream,
    from_graph: bool,
) -> ([Vec<f64>; SEQUENCES], usize) {
    let (memory, mut all) = prefill(model, stream, &PROMPTS);
    let state = (Step::new(stream, &[0..1, 0..1]).unwrap(), memory);
    let mut way = if from_graph {
        let forward = |(step, memory): &mut State<D>| model.forward(step, memory);
        Way::Graph(stream.capture(state, forward).unwrap())
    } else {
        Way::Calls(model, state)
    };
    let mut bytes = 0;
    for token in 0..STEPS {
        let ranges = behind_prompts(token);
        way.state().0.write(&embedded::<D>(&ranges), &ranges).unwrap();
        bytes = moved(|| {
            way.step(stream);
            stream.synchronize().unwrap();
        });
        let rows = left(&way.state().0, &ranges);
        all.iter_mut().zip(rows).for_each(|(all, row)| all.extend(row));
    }
    (all, bytes)
}

/// How far results may be apart, all together: from f64, and of one way through a model from another one.
struct Limits {
    reference: f64,
    ways: f64,
}

/// Requires all tokens at once, and step by step, to leave what is expected; steps from a graph to leave the
/// same bits; and the last step to move at most `bar` times the bytes that it cannot do without.
fn agrees_every_way<D: Decoder>(
    device: &str,
    (model, stream): (&mut D, &Stream),
    (expected, limits): (&[Vec<f64>; SEQUENCES], &Limits),
    (compulsory, bar): (usize, f64),
) {
    let (_, whole) = prefill(model, stream, &ALL);
    let (steps, bytes) = decode_steps(model, stream, false);
    let off = [distance(&whole, expected), distance(&steps, expected), distance(&steps, &whole)];
    let Limits { reference, ways } = *limits;
    tell(format_args!(
        "{device}: at once, step by step: {:.1e}, {:.1e} off f64, below {reference:.1e}; {:.1e} apart, below \
         {ways:.1e}",
        off[0], off[1], off[2]
    ));
    assert!(off[0] < reference && off[1] < reference && off[2] < ways, "{off:?}");
    moves_little(device, bytes, compulsory, bar);
    assert_eq!(decode_steps(model, stream, true).0, steps, "{device}: a graph's bits");
}

/// How many experts tokens have together.
fn distinct<'a>(experts: impl IntoIterator<Item = &'a usize>) -> usize {
    experts.into_iter().collect::<BTreeSet<_>>().len()
}
