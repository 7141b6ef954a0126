//! What cases of all convolutions have in common.

use hk_core::dtype::{DType, Real};
use hk_ref::gdr::causal_conv1d::{Sum, causal_conv1d, expected, new_state};
use hk_ref::gdr::causal_conv1d_fwd_split_qkv::rows;
use hk_ref::gdr::causal_conv1d_split_qkv::split_qkv;
use hk_ref::{Arg, Case, CaseInfo, Draw, Expected, Placement, Setup, Size};

use super::indices::{IndexArg, bounds_of, indices};
use crate::CausalConv1dOptions;

/// What varies between cases.
#[derive(Debug, Clone)]
pub(super) struct Spec {
    pub(super) name: &'static str,
    pub(super) channels: usize,
    /// Tokens of each sequence.
    pub(super) lengths: Vec<usize>,
    pub(super) width: usize,
    pub(super) bias: bool,
    pub(super) silu: bool,
    /// Element types of tokens and of the filter.
    pub(super) dtypes: [DType; 2],
    /// Integers that tokens are, and the filter, so that sums are exact; normal numbers if not given.
    pub(super) exact: Option<[Draw; 2]>,
    /// Whether channels are adjacent in x, and in y, rather than tokens.
    pub(super) by_token: [bool; 2],
    /// Whether x has one channel, which stands for all: of sequences that are equally long.
    pub(super) alike: bool,
    pub(super) states: Option<States>,
    pub(super) lines: Lines,
    /// Lines of the states that are nobody's, at least.
    pub(super) spare: usize,
    pub(super) chunk: Option<usize>,
    pub(super) place: Placement,
    pub(super) in_place: bool,
    pub(super) size: Size,
}

/// States of a case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct States {
    /// Columns beyond those that are used.
    pub(super) more_columns: usize,
    /// Whether channels are adjacent rather than columns.
    pub(super) by_column: bool,
    /// Which sequences begin with theirs.
    pub(super) initial: Initial,
}

/// Which sequences begin with their states.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Initial {
    None,
    All,
    /// Every other one.
    Some,
}

/// Which lines of the states sequences have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Lines {
    /// Those of their numbers.
    Own,
    /// In another order, of 32 bits; every third is skipped.
    Permuted32,
    /// The same, of 64 bits.
    Permuted64,
    /// As before, but what is skipped has lines that there are not, and bounds before the first token
    /// and behind the last are beside the tokens.
    Wild,
    /// As of 64 bits, but what is skipped has a line that there is, which stands for that.
    Padded,
}

/// The line that stands for none where [`Lines::Padded`] are. Nobody else has it.
const PAD: i64 = 1;

/// Lines that are nobody's, if a case does not say otherwise.
const SPARE: usize = 2;

impl Spec {
    pub(super) fn new(
        name: &'static str,
        channels: usize,
        lengths: &[usize],
        width: usize,
    ) -> Self {
        Self {
            name,
            channels,
            lengths: lengths.to_vec(),
            width,
            bias: true,
            silu: true,
            dtypes: [DType::Bf16; 2],
            exact: None,
            by_token: [true; 2],
            alike: false,
            states: None,
            lines: Lines::Own,
            spare: SPARE,
            chunk: None,
            place: Placement::DENSE,
            in_place: false,
            size: Size::Quick,
        }
    }

    pub(super) fn states(self, initial: Initial) -> Self {
        let states = States { more_columns: 0, by_column: true, initial };
        Self { states: Some(states), ..self }
    }

    /// Every width, with a bias and without, activated and not, with lines of sequences and without.
    pub(super) fn every_filter(channels: usize, lengths: &[usize], initial: Initial) -> Vec<Self> {
        let mut specs = Vec::new();
        for (width, bias) in (2..=4).flat_map(|width| [true, false].map(|bias| (width, bias))) {
            for silu in [true, false] {
                for lines in [Lines::Own, Lines::Permuted32] {
                    let spec = Self::new("filters", channels, lengths, width).states(initial);
                    specs.push(Self { bias, silu, lines, ..spec });
                }
            }
        }
        specs
    }

    pub(super) fn case(
        self,
        module: &'static str,
        op: &'static str,
        dims: Dims,
        set_up: impl Fn(&mut Setup, &Self) + Send + Sync + 'static,
    ) -> Case {
        let Self { name, channels, width, bias, silu, by_token, chunk, lines, .. } = self;
        let order = |by_token| if by_token { "tokens" } else { "channels" };
        let mut title = format!("{name}, w {width}, by {}", order(by_token[0]));
        if by_token[1] != by_token[0] {
            title += &format!(" to {}", order(by_token[1]));
        }
        let alike = self.alike;
        for (is_said, what) in [(alike, ", channels alike"), (bias, ", bias"), (silu, ", silu")] {
            title += if is_said { what } else { "" };
        }
        if let Some(states) = self.states {
            let kind = if states.by_column { "by column" } else { "by channel" };
            title += &format!(", states {:?} {kind}+{}", states.initial, states.more_columns);
        }
        if lines != Lines::Own {
            title += &format!(", lines {lines:?}");
        }
        if self.spare != SPARE {
            title += &format!(" of {}", self.line_count());
        }
        title += &chunk.map(|chunk| format!(", chunk {chunk}")).unwrap_or_default();
        if let Some(element) = self.place.carry {
            title += &format!(", 4 GiB at {element}");
        }
        title += if self.in_place { ", in place" } else { "" };
        let tokens = match dims {
            Dims::Packed => self.lengths.iter().sum(),
            _ => self.lengths[0],
        };
        let shape = [self.lengths.len(), channels, tokens];
        let info = CaseInfo::new(module, op, title, &self.dtypes, &shape);
        let (place, in_place, size) = (self.place, self.in_place, self.size);
        let case = Case::new(info, move |s| set_up(s, &self)).place(place).in_place(in_place);
        case.size(size).writes_once()
    }

    /// The line of each sequence; none if it is skipped.
    fn line(&self, sequence: usize) -> Option<usize> {
        match self.lines {
            Lines::Own => Some(sequence),
            _ if sequence % 3 == 2 => None,
            _ => {
                // From the last one on, all over the states.
                let last = self.line_count() - 1;
                Some(last - sequence * (last / self.lengths.len()))
            }
        }
    }

    /// So many lines that some are nobody's.
    fn line_count(&self) -> usize {
        self.lengths.len() + self.spare
    }

    /// Whether there are so many channels that some may have NaNs, which results of exact sums have not.
    fn may_have_nans(&self) -> bool {
        self.states.is_some() && self.channels >= 8 && self.exact.is_none() && !self.alike
    }

    fn begins_with_state(&self, sequence: usize) -> bool {
        match self.states.map(|states| states.initial) {
            Some(Initial::All) => true,
            Some(Initial::Some) => sequence.is_multiple_of(2),
            _ => false,
        }
    }
}

/// Tensors of a case but its results, and what these should be.
pub(super) struct Tensors<T: Real, W: Real> {
    pub(super) x: Arg<T>,
    pub(super) weight: Arg<W>,
    bias: Option<Arg<W>>,
    pub(super) bounds: Option<IndexArg>,
    lines: Option<IndexArg>,
    has_initial: Option<Arg<u8>>,
    /// Old states, where they are not those that become the new ones.
    pub(super) initial: Option<Arg<T>>,
    /// States that become the new ones.
    pub(super) states: Option<Arg<T>>,
    /// Of each element of x its result; none of a sequence that is skipped.
    pub(super) sums: Vec<Option<Sum>>,
}

/// The dimensions of x.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Dims {
    /// Sequence, channel, token.
    Sequences,
    /// Sequence, channel, of one token each.
    Tokens,
    /// Channel, token, of sequences that follow each other.
    Packed,
}

impl Dims {
    /// The shape of tokens of so many channels.
    pub(super) fn shape(self, spec: &Spec, channels: usize) -> Vec<usize> {
        let n = spec.lengths.len();
        match self {
            Self::Sequences => vec![n, channels, spec.lengths[0]],
            Self::Tokens => vec![n, channels],
            Self::Packed => vec![channels, spec.lengths.iter().sum()],
        }
    }

    /// Dimensions as they are in memory.
    pub(super) fn order(self, by_token: bool) -> &'static [usize] {
        match (self, by_token) {
            (Self::Sequences, true) => &[0, 2, 1],
            (Self::Sequences, false) => &[0, 1, 2],
            (Self::Packed, true) => &[1, 0],
            _ => &[0, 1],
        }
    }

    /// The number of an element.
    pub(super) fn at(self, spec: &Spec, channels: usize, [i, c, t]: [usize; 3]) -> usize {
        match self {
            Self::Packed => {
                let start: usize = spec.lengths[..i].iter().sum();
                c * spec.lengths.iter().sum::<usize>() + start + t
            }
            _ => (i * channels + c) * spec.lengths[0] + t,
        }
    }
}

impl<T: Real, W: Real> Tensors<T, W> {
    /// With states of that name; old ones are apart, with a name of their own, if they have one.
    pub(super) fn new(
        s: &mut Setup,
        spec: &Spec,
        dims: Dims,
        (initial, states): (Option<&'static str>, &'static str),
    ) -> Self {
        let Spec { channels, width, ref lengths, .. } = *spec;
        let before = width - 1;
        let [of_tokens, of_filter] = spec.exact.unwrap_or([Draw::Normal; 2]);
        let channels_of_x = if spec.alike { 1 } else { channels };
        let shape = dims.shape(spec, channels_of_x);
        let mut tokens = s.draw::<T>("x", &shape, of_tokens);
        // States are copied bit by bit, whatever NaNs have in their mantissas.
        let nans: Vec<T> = s.draw("nans", &[1 << 14], Draw::Bits);
        let nans: Vec<T> = nans.into_iter().filter(|bits| bits.to_f64().is_nan()).collect();
        let first = lengths.iter().position(|length| *length > 0);
        if let Some(i) = first.filter(|_| spec.may_have_nans()) {
            for (c, nan) in [0, channels - 1].into_iter().zip(&nans) {
                tokens[dims.at(spec, channels, [i, c, lengths[i] - 1])] = *nan;
            }
        }
        let x = s.given("x", &shape, tokens).order(dims.order(spec.by_token[0]));
        let weight = s.input::<W>("weight", &[channels, width], of_filter);
        let bias = spec.bias.then(|| s.input::<W>("bias", &[channels], of_filter));

        let state_shape = spec.states.map(|states| {
            let lines = if initial.is_some() { lengths.len() } else { spec.line_count() };
            [lines, channels, before + states.more_columns]
        });
        let mut old = state_shape.map(|shape| s.draw::<T>(states, &shape, Draw::Normal));
        let columns = state_shape.map_or(before, |shape| shape[2]);
        if let (Some(old), Some([lines, ..])) = (&mut old, state_shape) {
            old.iter_mut().zip(&nans).take(1).for_each(|(first, nan)| *first = *nan);
            // The newest element, which stays in states that get fewer new ones, of every other line.
            let every_other = (0..lines).step_by(2).filter(|_| spec.may_have_nans());
            for (line, nan) in every_other.zip(nans.iter().cycle()) {
                old[(line * channels + 1) * columns + before - 1] = *nan;
            }
        }
        let mut new = old.clone();
        let mut elements = x.elements();
        if spec.alike {
            let of_sequences = elements.chunks(lengths[0]);
            elements = of_sequences.flat_map(|tokens| tokens.repeat(channels)).collect();
        }
        let numbers: Vec<f64> = elements.iter().map(|x| (*x).to_f64()).collect();
        let mut sums = vec![None; elements.len()];
        let weights = weight.numbers();
        let biases = bias.as_ref().map(Arg::numbers);
        for (i, length) in lengths.iter().enumerate() {
            let Some(line) = spec.line(i) else { continue };
            for c in 0..channels {
                let at: Vec<usize> =
                    (0..*length).map(|t| dims.at(spec, channels, [i, c, t])).collect();
                let start = (line * channels + c) * columns;
                let mut window = vec![T::from_f64(0.0); before];
                if let Some(old) = old.as_ref().filter(|_| spec.begins_with_state(i)) {
                    window.copy_from_slice(&old[start..start + before]);
                }
                let tokens: Vec<f64> = at.iter().map(|at| numbers[*at]).collect();
                let windows: Vec<f64> = window.iter().map(|x| (*x).to_f64()).collect();
                let taps = &weights[c * width..][..width];
                let bias = biases.as_ref().map_or(0.0, |biases| biases[c]);
                let of_channel = causal_conv1d(&tokens, &windows, taps, bias, spec.silu);
                at.iter().zip(of_channel).for_each(|(at, sum)| sums[*at] = Some(sum));
                if let Some(new) = new.as_mut().filter(|_| *length > 0) {
                    let tokens: Vec<T> = at.iter().map(|at| elements[*at]).collect();
                    new[start..start + before].copy_from_slice(&new_state(&tokens, &window));
                }
            }
        }

        let begins = spec.states.is_some_and(|states| states.initial != Initial::None);
        let (old, shape) = (old.unwrap_or_default(), state_shape.unwrap_or_default());
        let initial = initial.filter(|_| begins).map(|name| s.given(name, &shape, old.clone()));
        let new_states = new.zip(spec.states).map(|(new, kind)| {
            let arg = s.output::<T>(states, &shape, Expected::bits(&new)).holding(old);
            arg.order(if kind.by_column { &[0, 2, 1] } else { &[0, 1, 2] })
        });
        let is_64 = matches!(spec.lines, Lines::Permuted64 | Lines::Wild | Lines::Padded);
        let lines = (spec.lines != Lines::Own).then(|| {
            let skipped = |i: usize| match spec.lines {
                Lines::Wild => [i64::MAX, i64::MIN, spec.line_count() as i64, 1 << 32][i / 3 % 4],
                Lines::Padded => PAD,
                _ => -1,
            };
            let line = |i| spec.line(i).map_or_else(|| skipped(i), |line| line as i64);
            indices(s, "cache_indices", (0..lengths.len()).map(line).collect(), is_64)
        });
        let has_initial = spec.states.filter(|states| states.initial == Initial::Some).map(|_| {
            let has = (0..lengths.len()).map(|i| u8::from(spec.begins_with_state(i)));
            s.given("has_initial_state", &[lengths.len()], has.collect())
        });
        let bounds = (dims == Dims::Packed).then(|| {
            let mut bounds = bounds_of(lengths);
            let (last, all) = (lengths.len(), bounds[lengths.len()]);
            for (i, bound) in bounds.iter_mut().enumerate().filter(|_| spec.lines == Lines::Wild) {
                if *bound == 0 {
                    *bound = if i == 0 { i64::MIN } else { -1 };
                } else if *bound == all {
                    *bound = if i == last { i64::MAX } else { all + 1 };
                }
            }
            indices(s, "query_start_loc", bounds, is_64)
        });
        Self { x, weight, bias, bounds, lines, has_initial, initial, states: new_states, sums }
    }

    /// What results should be: `skipped` of the sequences that are.
    pub(super) fn expected(&self, spec: &Spec, at: &[usize], skipped: &[T]) -> Expected {
        let mut sums: Vec<Sum> = at.iter().map(|at| self.sums[*at].unwrap_or_default()).collect();
        let exact = at.iter().enumerate().filter(|(_, at)| self.sums[**at].is_none());
        let exact: Vec<usize> = exact.map(|(i, _)| i).collect();
        exact.iter().for_each(|i| sums[*i].value = skipped[*i].to_f64());
        let mut expected = match spec.exact {
            Some(_) => of_exact_sums::<T>(&sums, spec.silu),
            None => Expected { any_nan: true, ..expected(&sums, T::DTYPE, spec.silu) },
        };
        exact.into_iter().for_each(|i| expected.allowed[i] = 0.0);
        expected
    }

    /// Calls `launch` with the options of the case.
    pub(super) fn with_options<R>(
        &self,
        spec: &Spec,
        launch: impl FnOnce(&CausalConv1dOptions<'_, W>) -> R,
    ) -> R {
        let bias = self.bias.as_ref().map(Arg::get);
        let lines = self.lines.as_ref().map(IndexArg::get);
        let has = self.has_initial.as_ref().map(Arg::get);
        let mut options = CausalConv1dOptions::default().silu(spec.silu);
        if let Some(bias) = &bias {
            options = options.bias(bias);
        }
        if let Some(lines) = &lines {
            options = options.cache_indices(lines.indices());
        }
        if let Some(has) = &has {
            options = options.has_initial_state(has);
        }
        if let Some(chunk) = spec.chunk {
            options = options.chunk(chunk);
        }
        match spec.lines {
            Lines::Wild => options = options.validate_indices(false),
            Lines::Padded => options = options.pad_slot_id(PAD),
            _ => {}
        }
        launch(&options)
    }
}

/// Results of sums that are exact in f32: their bits or, of activated ones, the last digits.
fn of_exact_sums<T: Real>(sums: &[Sum], silu: bool) -> Expected {
    let values: Vec<f64> = sums.iter().map(|sum| sum.value).collect();
    if silu {
        // A sigmoid below 1.2e-38 may be 0, which a sum of less than -87 is multiplied with.
        let slack = vec![1.2e-36; values.len()];
        return Expected::relative(values, 6e-7).plus(slack);
    }
    let rounded: Vec<T> = values.into_iter().map(T::from_f64).collect();
    Expected::bits(&rounded)
}

/// Queries, keys and values of so many channels, which hold something before.
pub(super) fn split<T: Real, W: Real>(
    s: &mut Setup,
    spec: &Spec,
    [key_dim, value_dim]: [usize; 2],
    dims: Dims,
    as_rows: bool,
    tensors: &Tensors<T, W>,
) -> [Arg<T>; 3] {
    let [q, k, v] = split_qkv(key_dim, value_dim);
    [("q", q), ("k", k), ("v", v)].map(|(name, channels)| {
        let (first, count) = (channels.start, channels.len());
        let mut shape = dims.shape(spec, count);
        let mut at = vec![0; shape.iter().product()];
        for (i, length) in spec.lengths.iter().enumerate() {
            for (c, t) in (0..count).flat_map(|c| (0..*length).map(move |t| (c, t))) {
                let x = dims.at(spec, spec.channels, [i, first + c, t]);
                at[dims.at(spec, count, [i, c, t])] = x;
            }
        }
        if as_rows {
            at = rows(&at, shape[1]);
            shape.reverse();
        }
        let zeros = vec![T::from_f64(0.0); at.len()];
        let arg = s.output::<T>(name, &shape, tensors.expected(spec, &at, &zeros));
        arg.order(if as_rows { &[0, 1] } else { dims.order(spec.by_token[1]) })
    })
}
