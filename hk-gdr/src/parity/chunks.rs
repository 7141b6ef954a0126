//! What cases of ops on chunks have in common.

use std::rc::Rc;

use hk_core::Tensor;
use hk_core::dtype::{DType, Element};
use hk_ref::expected::{half_subnormal, unit_roundoff};
use hk_ref::{Arg, Draw, Expected, Setup};

use super::delta_rule::{Far, Sizes, placed};
use super::indices::bounds_of;
use crate::{GateBase, PrefillSchedule};

/// The tokens of each chunk of a sequence, by their numbers among all.
pub(super) fn chunks_of(sizes: &Sizes, size: usize, sequence: usize) -> Vec<Vec<usize>> {
    let tokens: Vec<usize> =
        (0..sizes.lengths[sequence]).map(|token| sizes.token(sequence, token)).collect();
    tokens.chunks(size).map(<[usize]>::to_vec).collect()
}

/// Those of all sequences, in order.
pub(super) fn chunks(sizes: &Sizes, size: usize) -> Vec<Vec<usize>> {
    let sequences = 0..sizes.lengths.len();
    sequences.flat_map(|sequence| chunks_of(sizes, size, sequence)).collect()
}

/// For a title and the harness: sequences, tokens, heads of keys and of values, keys, values. One
/// sequence's, where they follow each other, so that no wrong calls are made of what a schedule says.
pub(super) fn shape(sizes: &Sizes) -> Vec<usize> {
    let [b, t] = sizes.tokens();
    let [h, hv] = sizes.heads;
    vec![b, t, h, hv, sizes.keys, sizes.values]
}

/// The schedule of sequences that follow each other. If it is wild, numbers are beside what there is,
/// and mean its ends: all as before, if the first and the last sequence have tokens.
pub(super) fn schedule(
    s: &Setup,
    sizes: &Sizes,
    size: usize,
    wild: bool,
) -> Option<Rc<PrefillSchedule>> {
    let of_bounds = || {
        let mut schedule = PrefillSchedule::new(s.stream(), &bounds_of(&sizes.lengths), size)?;
        if wild {
            let spoil = |tensor: &mut Tensor<i32>, last: Option<i32>| {
                let mut numbers = tensor.to_vec()?;
                numbers[0] = i32::MIN;
                if let (Some(number), Some(last)) = (numbers.last_mut(), last) {
                    *number = last;
                }
                tensor.write(&numbers)
            };
            spoil(&mut schedule.cu_seqlens, Some(i32::MAX))?;
            spoil(&mut schedule.sequence_ids, Some(i32::MAX))?;
            spoil(&mut schedule.chunk_offsets, None)?;
        }
        Ok::<_, hk_core::Error>(Rc::new(schedule))
    };
    sizes.packed.then(|| of_bounds().expect("there is memory for a few numbers"))
}

/// What is far apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Apart {
    /// All that tokens have.
    Tokens,
    /// States of sequences.
    States,
    /// States before chunks.
    Snapshots,
}

/// So many sequences, heads and tokens that the last is beyond 2^32 bytes, for chunks of
/// [`FAR_CHUNK`]: a distance from one to the next that is as long itself, in elements, or half of it,
/// or, of tokens, the longest that there may be.
pub(super) fn far_tokens(sizes: [usize; 2]) -> Vec<(Far, Sizes)> {
    let mut all = Vec::new();
    for (count, distance) in [(2, 1 << 32), (3, 1 << 31)] {
        all.push((Far { axis: 0, distance }, Sizes::new([count, 1], [1, 1], sizes)));
        all.push((Far { axis: 2, distance }, Sizes::new([1, 2], [count, count], sizes)));
    }
    let tokens = Far { axis: 1, distance: 1 << 32 };
    all.push((tokens, Sizes::new([1, 33], [1, 1], sizes)));
    all.push((tokens, Sizes::packed(&[32, 1], [1, 1], sizes)));
    all
}

/// Tokens of a chunk whose tokens are far apart.
pub(super) const FAR_CHUNK: usize = 16;

/// Puts a tensor of tokens so far apart, if that is wanted, each chunk within 2^31 bytes.
pub(super) fn placed_tokens<T: Element>(arg: Arg<T>, shape: &[usize], far: Option<Far>) -> Arg<T> {
    let most = (1 << 31) / FAR_CHUNK / size_of::<T>() + 64;
    let near = |far: Far| match far.axis {
        1 => Far { distance: far.distance.min(most), ..far },
        _ => far,
    };
    placed(arg, shape, far.map(near))
}

/// Logarithms of decays, as models have them: none is above 0, half of them small.
pub(super) fn logarithms(s: &Setup, sizes: &Sizes) -> Vec<f32> {
    let drawn: Vec<f32> = s.draw("g", &sizes.of_tokens(&[sizes.heads[1]]), Draw::Uniform);
    drawn.into_iter().map(|x| -0.5 * x * x * x).collect()
}

/// Sums of the logarithms of decays in each chunk, for powers of that base, as f32 has them.
pub(super) fn sums_of(sizes: &Sizes, size: usize, g: &[f64], base: GateBase) -> Vec<f32> {
    let hv = sizes.heads[1];
    let mut sums = vec![0.0f32; g.len()];
    for tokens in chunks(sizes, size) {
        for head in 0..hv {
            let mut sum = 0.0;
            for token in &tokens {
                sum += g[token * hv + head];
                sums[token * hv + head] = (sum * log2_of(base)) as f32;
            }
        }
    }
    sums
}

/// What sums of natural logarithms are multiplied by.
pub(super) fn log2_of(base: GateBase) -> f64 {
    match base {
        GateBase::E => 1.0,
        GateBase::Two => std::f64::consts::LOG2_E,
    }
}

/// The decay of a sum of that base.
pub(super) fn decay(sum: f64, base: GateBase) -> f64 {
    (sum / log2_of(base)).exp()
}

/// Numbers of tokens of heads, `[b, t, heads, n]`, or of any groups of so many rows of so many heads, of
/// which each head's may be together so much off, by the Frobenius norm, and by that of its largest; and
/// what is rounded to `dtype`.
pub(super) fn per_head(
    values: Vec<f64>,
    [groups, rows, heads, n]: [usize; 4],
    dtype: DType,
    gate: f64,
) -> Expected {
    let mut at = Vec::with_capacity(values.len());
    for group in 0..groups {
        for head in 0..heads {
            for row in 0..rows {
                let first = ((group * rows + row) * heads + head) * n;
                at.extend(first..first + n);
            }
        }
    }
    let values: Vec<f64> = at.iter().map(|i| values[*i]).collect();
    let rounding = match dtype {
        DType::F32 => 0.0,
        dtype => unit_roundoff(dtype) * (1.0 + 2f64.powi(-6)),
    };
    let count = rows * n;
    let mut allowed = Vec::with_capacity(values.len());
    for head in values.chunks(count.max(1)) {
        let most = head.iter().fold(0.0, |most, x| f64::max(most, x.abs()));
        let floor = half_subnormal(dtype);
        allowed.extend(head.iter().map(|x| rounding * x.abs() + 4.0 * gate * most + floor));
    }
    // Fewer numbers average less.
    let frobenius = match count {
        1000.. => Some(gate),
        64.. => Some(1.5 * gate),
        _ => None,
    };
    Expected { at: Some(at), values, allowed, frobenius, group: Some(count), ..Expected::default() }
}

/// Rows of elements as numbers.
pub(super) fn rows<'a>(
    numbers: &'a [f64],
    tokens: &[usize],
    [heads, head, n]: [usize; 3],
) -> Vec<&'a [f64]> {
    tokens.iter().map(|token| &numbers[(token * heads + head) * n..][..n]).collect()
}

/// A number of each token of a head.
pub(super) fn scalars(numbers: &[f64], tokens: &[usize], heads: usize, head: usize) -> Vec<f64> {
    tokens.iter().map(|token| numbers[token * heads + head]).collect()
}
