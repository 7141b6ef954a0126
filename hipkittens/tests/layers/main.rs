//! Layers of models, composed of ops of several crates, against compositions of references.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::iter;
use std::ptr::null_mut;

use hipkittens::dtype::{Element, decode};
use hipkittens::{Device, Error, Stream, Tensor};
use hk_sim::counters::{Counters, count};
use hk_sim::sanitize::Checks;
use hk_sim::{HipError, Options, capi};
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
    eprintln!("{device}: a step moves {moved} bytes, {times:.2} times the {compulsory} it needs");
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

/// Prompts, then steps of a token of each sequence, which a graph does or calls do, and the bytes that the
/// last one moves.
fn decode_steps<D: Decoder>(
    model: &mut D,
    stream: &Stream,
    from_graph: bool,
) -> ([Vec<f64>; SEQUENCES], usize) {
    let (mut memory, mut all) = prefill(model, stream, &PROMPTS);
    let mut step = Step::<D::Buffers>::new(stream, &[0..1, 0..1]).unwrap();
    let graph =
        from_graph.then(|| Graph::of(stream, || model.forward(&mut step, &mut memory).unwrap()));
    let mut bytes = 0;
    for token in 0..STEPS {
        let ranges = behind_prompts(token);
        step.write(&embedded::<D>(&ranges), &ranges).unwrap();
        bytes = moved(|| {
            match &graph {
                Some(graph) => graph.launch(),
                None => model.forward(&mut step, &mut memory).unwrap(),
            }
            stream.synchronize().unwrap();
        });
        all.iter_mut().zip(left(&step, &ranges)).for_each(|(all, row)| all.extend(row));
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
    eprintln!(
        "{device}: at once, step by step: {:.1e}, {:.1e} off f64; {:.1e} apart",
        off[0], off[1], off[2]
    );
    let Limits { reference, ways } = *limits;
    assert!(off[0] < reference && off[1] < reference && off[2] < ways, "{off:?}");
    moves_little(device, bytes, compulsory, bar);
    assert_eq!(decode_steps(model, stream, true).0, steps, "{device}: a graph's bits");
}

/// How many experts tokens have together.
fn distinct<'a>(experts: impl IntoIterator<Item = &'a usize>) -> usize {
    experts.into_iter().collect::<BTreeSet<_>>().len()
}

/// A HIP graph.
struct Graph<'a>(*mut c_void, &'a Stream);

impl<'a> Graph<'a> {
    /// One of what `work` gives the stream.
    fn of(stream: &'a Stream, work: impl FnOnce()) -> Self {
        let (mut graph, mut executable) = (null_mut(), null_mut());
        // SAFETY: the stream is live, and each handle was written by the call before.
        unsafe {
            assert_eq!(capi::hipStreamBeginCapture(stream.raw(), 0), HipError::SUCCESS);
            work();
            assert_eq!(capi::hipStreamEndCapture(stream.raw(), &mut graph), HipError::SUCCESS);
            let made = capi::hipGraphInstantiate(&mut executable, graph, null_mut(), null_mut(), 0);
            assert_eq!([made, capi::hipGraphDestroy(graph)], [HipError::SUCCESS; 2]);
        }
        Self(executable, stream)
    }

    fn launch(&self) {
        // SAFETY: both are live.
        assert_eq!(unsafe { capi::hipGraphLaunch(self.0, self.1.raw()) }, HipError::SUCCESS);
    }
}

impl Drop for Graph<'_> {
    fn drop(&mut self) {
        // SAFETY: it is live, and at no work once the stream is not.
        let end = unsafe {
            [capi::hipStreamSynchronize(self.1.raw()), capi::hipGraphExecDestroy(self.0)]
        };
        assert_eq!(end, [HipError::SUCCESS; 2]);
    }
}
