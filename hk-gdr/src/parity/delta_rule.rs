//! What cases of all recurrences have in common.

use hk_core::dtype::{DType, Element, Real};
use hk_ref::expected::{half_subnormal, unit_roundoff};
use hk_ref::gdr::fused_recurrent::{Token, learn, normalized};
use hk_ref::{Arg, Draw, Expected, Placement, Setup};

use crate::StateLayout;

/// Sizes of a case.
#[derive(Debug, Clone)]
pub(super) struct Sizes {
    /// Tokens of each sequence.
    pub(super) lengths: Vec<usize>,
    /// Whether sequences follow each other rather than having one length.
    pub(super) packed: bool,
    /// Heads of keys, and of values.
    pub(super) heads: [usize; 2],
    pub(super) keys: usize,
    pub(super) values: usize,
}

impl Sizes {
    pub(super) fn new(
        [batches, tokens]: [usize; 2],
        heads: [usize; 2],
        [keys, values]: [usize; 2],
    ) -> Self {
        Self { lengths: vec![tokens; batches], packed: false, heads, keys, values }
    }

    pub(super) fn packed(lengths: &[usize], heads: [usize; 2], [keys, values]: [usize; 2]) -> Self {
        Self { lengths: lengths.to_vec(), packed: true, heads, keys, values }
    }

    /// So many sequences, tokens, and heads, of one each otherwise, that the addresses of the last carry
    /// into the upper half, as memory of simulated devices lies across a multiple of 4 GiB.
    pub(super) fn carrying(keys: usize) -> [Self; 4] {
        let sizes = [keys, 8];
        [
            Self::new([12, 1], [1, 1], sizes),
            Self::new([1, 12], [1, 1], sizes),
            Self::new([1, 1], [12, 12], sizes),
            Self::packed(&[1; 24], [1, 1], sizes),
        ]
    }

    /// For a title: sequences, tokens, heads of keys and of values, keys, values.
    pub(super) fn shape(&self) -> Vec<usize> {
        let [b, t] = self.tokens();
        let [h, hv] = self.heads;
        vec![if self.packed { self.lengths.len() } else { b }, t, h, hv, self.keys, self.values]
    }

    /// The dimensions of tokens.
    pub(super) fn tokens(&self) -> [usize; 2] {
        match self.packed {
            true => [1, self.lengths.iter().sum()],
            false => [self.lengths.len(), self.lengths.first().copied().unwrap_or_default()],
        }
    }

    /// The number of a sequence's token among all.
    pub(super) fn token(&self, sequence: usize, token: usize) -> usize {
        match self.packed {
            true => self.lengths[..sequence].iter().sum::<usize>() + token,
            false => sequence * self.tokens()[1] + token,
        }
    }

    /// The shape of tokens of heads with these dimensions.
    pub(super) fn of_tokens(&self, more: &[usize]) -> Vec<usize> {
        [&self.tokens()[..], more].concat()
    }

    /// The shape of so many states.
    pub(super) fn states(&self, count: usize, layout: StateLayout) -> Vec<usize> {
        let [first, second] = match layout {
            StateLayout::Kv => [self.keys, self.values],
            StateLayout::Vk => [self.values, self.keys],
        };
        vec![count, self.heads[1], first, second]
    }

    /// States, given in that layout, as keys by values.
    pub(super) fn turned<T: Copy>(&self, states: &[T], layout: StateLayout) -> Vec<T> {
        match layout {
            StateLayout::Kv => states.to_vec(),
            StateLayout::Vk => transposed(states, self.values, self.keys),
        }
    }

    /// States of keys by values in that layout.
    pub(super) fn laid_out<T: Copy>(&self, states: &[T], layout: StateLayout) -> Vec<T> {
        match layout {
            StateLayout::Kv => states.to_vec(),
            StateLayout::Vk => transposed(states, self.keys, self.values),
        }
    }

    /// Numbers of a head's state.
    pub(super) fn state_len(&self) -> usize {
        self.keys * self.values
    }

    /// Queries or keys, of length 1 before they are rounded, as models have them.
    pub(super) fn unit_rows<Q: Real>(&self, s: &Setup, name: &str) -> Vec<Q> {
        let shape = self.of_tokens(&[self.heads[0], self.keys]);
        let drawn: Vec<f32> = s.draw(name, &shape, Draw::Normal);
        let rows = drawn.chunks_exact(self.keys);
        rows.flat_map(|row| {
            let row: Vec<f64> = row.iter().map(|x| f64::from(*x)).collect();
            normalized(&row).into_iter().map(Q::from_f64)
        })
        .collect()
    }
}

/// Matrices of `rows` by `columns`, transposed.
fn transposed<T: Copy>(matrices: &[T], rows: usize, columns: usize) -> Vec<T> {
    let of = matrices.chunks_exact(rows * columns);
    of.flat_map(|matrix| (0..rows * columns).map(|i| matrix[i % rows * columns + i / rows]))
        .collect()
}

/// What a recurrence is given, as numbers.
pub(super) struct Inputs {
    pub(super) q: Vec<f64>,
    pub(super) k: Vec<f64>,
    pub(super) v: Vec<f64>,
    /// Of each token and head of values; of all keys or values in the others, empty if there are none.
    pub(super) g: Vec<f64>,
    pub(super) gk: Vec<f64>,
    pub(super) gv: Vec<f64>,
    /// Of each value.
    pub(super) beta: Vec<f64>,
    pub(super) scale: f64,
    pub(super) normalizes: bool,
}

/// Lets the states of sequences, of all heads, each of keys by values, learn all tokens, and gives the
/// results.
pub(super) fn recurrence(sizes: &Sizes, inputs: &Inputs, states: &mut [Vec<f64>]) -> Vec<f64> {
    let Sizes { keys, values, heads: [h, hv], .. } = *sizes;
    let mut o = vec![0.0; inputs.v.len()];
    for (sequence, states) in states.iter_mut().enumerate() {
        for (head, state) in states.chunks_exact_mut(sizes.state_len()).enumerate() {
            for t in 0..sizes.lengths[sequence] {
                let at = sizes.token(sequence, t);
                let key_row = (at * h + head / (hv / h)) * keys;
                let row = at * hv + head;
                let of = |x: &[f64], first: usize, count: usize| match x.is_empty() {
                    true => Vec::new(),
                    false => x[first..first + count].to_vec(),
                };
                let (mut q, mut k) = (of(&inputs.q, key_row, keys), of(&inputs.k, key_row, keys));
                if inputs.normalizes {
                    (q, k) = (normalized(&q), normalized(&k));
                }
                let token = Token {
                    q: &q,
                    k: &k,
                    v: &inputs.v[row * values..][..values],
                    g: inputs.g.get(row).copied().unwrap_or_default(),
                    gk: &of(&inputs.gk, row * keys, keys),
                    gv: &of(&inputs.gv, row * values, values),
                    beta: &inputs.beta[row * values..][..values],
                };
                o[row * values..][..values].copy_from_slice(&learn(state, &token, inputs.scale));
            }
        }
    }
    o
}

/// What may be off of numbers computed in f32 and rounded once: so many parts of the largest of the same
/// head, and the rounding.
fn rounded(values: Vec<f64>, dtype: DType, part: f64, head: impl Fn(usize) -> usize) -> Expected {
    let heads = (0..values.len()).map(&head).max().map_or(0, |most| most + 1);
    let mut most = vec![0.0; heads];
    for (i, value) in values.iter().enumerate() {
        most[head(i)] = f64::max(most[head(i)], value.abs());
    }
    let rounding = match dtype {
        DType::F32 => 0.0,
        dtype => unit_roundoff(dtype) * (1.0 + 2f64.powi(-6)),
    };
    let allowed = |(i, value): (usize, &f64)| {
        rounding * value.abs() + part * most[head(i)] + half_subnormal(dtype)
    };
    let allowed = values.iter().enumerate().map(allowed).collect();
    let together = match dtype {
        DType::Bf16 => 2.5e-3,
        DType::F16 => 3e-4,
        _ => part,
    };
    let frobenius = (values.len() >= 1024).then_some(together);
    Expected { values, allowed, frobenius, ..Expected::default() }
}

/// Results, of which each head of a sequence is judged by its largest.
pub(super) fn expected_results<O: Real>(sizes: &Sizes, o: Vec<f64>) -> Expected {
    let [b, t] = sizes.tokens();
    let mut owners = vec![0; b * t];
    for (sequence, length) in sizes.lengths.iter().enumerate() {
        (0..*length).for_each(|token| owners[sizes.token(sequence, token)] = sequence);
    }
    let (hv, values) = (sizes.heads[1], sizes.values);
    rounded(o, O::DTYPE, 2e-6, |i| owners[i / values / hv] * hv + i / values % hv)
}

/// States, of which each head is judged by its largest number. Those that are not `computed` must have
/// the very bits, rounded if the type is narrower than that of the states before.
pub(super) fn expected_states<S: Real>(
    sizes: &Sizes,
    states: Vec<f64>,
    computed: impl Fn(usize) -> bool,
) -> Expected {
    let (len, hv) = (sizes.state_len(), sizes.heads[1]);
    let mut expected = rounded(states, S::DTYPE, 3e-6, |i| i / len);
    let numbers = expected.allowed.iter_mut().zip(&mut expected.values).enumerate();
    for (_, (allowed, value)) in numbers.filter(|(i, _)| !computed(i / len / hv)) {
        (*allowed, *value) = (0.0, S::from_f64(*value).to_f64());
    }
    expected
}

/// Numbers that f32 holds exactly, rounded once.
pub(super) fn exactly<T: Real>(values: &[f64]) -> Expected {
    Expected::exact(values.iter().map(|value| T::from_f64(*value).to_f64()).collect())
}

/// Rows of zeros, each with a one at the place that `at` tells.
pub(super) fn one_hot<T: Real>(rows: usize, len: usize, at: impl Fn(usize) -> usize) -> Vec<T> {
    let row = |i| (0..len).map(move |key| T::from_f64(if key == i { 1.0 } else { 0.0 }));
    (0..rows).flat_map(|i| row(at(i))).collect()
}

/// An axis of which one index is so many elements from the next.
#[derive(Debug, Clone, Copy)]
pub(super) struct Far {
    pub(super) axis: usize,
    pub(super) distance: usize,
}

impl Far {
    /// A tensor of that shape with this axis the outermost in memory, of no more than hosts reserve at once.
    pub(super) fn arg<T: Element>(self, arg: Arg<T>, shape: &[usize]) -> Arg<T> {
        let others = (0..shape.len()).filter(|axis| *axis != self.axis);
        let order: Vec<usize> = [self.axis].into_iter().chain(others).collect();
        let Some((row, outer)) = order.split_last() else { return arg };
        let distance = self.distance.min((17 << 30) / size_of::<T>() / shape[self.axis]);
        // Between the outermost dimension and rows, there is room for one index more.
        let rows: usize = outer[1..].iter().map(|axis| shape[*axis] + 1).product();
        let gap = distance.div_ceil(rows) - shape[*row];
        arg.order(&order).place(Placement::DENSE.gap(gap))
    }
}

/// Puts a tensor of that shape so far apart, if that is wanted.
pub(super) fn placed<T: Element>(arg: Arg<T>, shape: &[usize], far: Option<Far>) -> Arg<T> {
    match far {
        Some(far) => far.arg(arg, shape),
        None => arg,
    }
}

/// Numbers of tensors that may not be there.
pub(super) fn numbers<T: Real>(arg: &Option<Arg<T>>) -> Vec<f64> {
    arg.as_ref().map(Arg::numbers).unwrap_or_default()
}
