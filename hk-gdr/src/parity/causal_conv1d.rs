//! Cases of `causal_conv1d`.

use hk_core::TensorSlice;
use hk_core::dtype::{DType, Real};
use hk_ref::{Arg, Case, Draw, Edge, Placement, REALS, Setup, Size, real};

use super::convolution::{Dims, Initial, Lines, Spec, States, Tensors};
use crate::{
    CausalConv1dOut, CausalConv1dUpdateOut, CausalConv1dVarlenOut, causal_conv1d_into,
    causal_conv1d_update_into, causal_conv1d_varlen_into,
};

/// An op with a case.
type Op = (&'static str, Dims, fn(&mut Setup, &Spec));

const DENSE: Op = ("causal_conv1d", Dims::Sequences, |s, spec| {
    real!(spec.dtypes[0], T => real!(spec.dtypes[1], W => dense::<T, W>(s, spec)));
});
const VARLEN: Op = ("causal_conv1d_varlen", Dims::Packed, |s, spec| {
    real!(spec.dtypes[0], T => real!(spec.dtypes[1], W => varlen::<T, W>(s, spec)));
});
/// Of `[n, c, s]`.
const UPDATE: Op = ("causal_conv1d_update", Dims::Sequences, |s, spec| {
    real!(spec.dtypes[0], T => real!(spec.dtypes[1], W => update::<T, W>(s, spec, Dims::Sequences)));
});
/// Of `[n, c]`.
const UPDATE_ONE: Op = ("causal_conv1d_update", Dims::Tokens, |s, spec| {
    real!(spec.dtypes[0], T => real!(spec.dtypes[1], W => update::<T, W>(s, spec, Dims::Tokens)));
});

/// The results, which hold something before.
fn results<T: Real, W: Real>(
    s: &mut Setup,
    spec: &Spec,
    dims: Dims,
    tensors: &Tensors<T, W>,
) -> Arg<T> {
    let shape = dims.shape(spec, spec.channels);
    let is_x = spec.in_place && tensors.initial.is_none();
    let held = if is_x { tensors.x.elements() } else { s.draw("held", &shape, Draw::Normal) };
    let at: Vec<usize> = (0..held.len()).collect();
    let y = s.output::<T>("y", &shape, tensors.expected(spec, &at, &held));
    y.holding(held).order(dims.order(spec.by_token[1]))
}

fn dense<T: Real, W: Real>(s: &mut Setup, spec: &Spec) {
    let names = (Some("initial_state"), "final_state");
    let tensors = Tensors::<T, W>::new(s, spec, Dims::Sequences, names);
    let y = results(s, spec, Dims::Sequences, &tensors);
    let (spec, shape) = (spec.clone(), Dims::Sequences.shape(spec, spec.channels));
    s.call(move || {
        let initial = tensors.initial.as_ref().map(Arg::get);
        let (mut y, mut last) = (y.get(), tensors.states.as_ref().map(Arg::get));
        let out = CausalConv1dOut { y: &mut y, final_state: last.as_deref_mut() };
        let (x, weight) = (tensors.x.get(), tensors.weight.get());
        let alike = if spec.alike { Some(x.broadcast(&shape)?) } else { None };
        let x: &TensorSlice<T> = match &alike {
            Some(view) => view,
            None => &x,
        };
        tensors.with_options(&spec, |options| {
            causal_conv1d_into(x, &weight, initial.as_deref(), options, out)
        })
    });
}

fn varlen<T: Real, W: Real>(s: &mut Setup, spec: &Spec) {
    let tensors = Tensors::<T, W>::new(s, spec, Dims::Packed, (None, "conv_states"));
    let y = results(s, spec, Dims::Packed, &tensors);
    let spec = spec.clone();
    s.call(move || {
        let bounds = tensors.bounds.as_ref().expect("sequences that follow each other").get();
        let (mut y, mut states) = (y.get(), tensors.states.as_ref().map(Arg::get));
        let out = CausalConv1dVarlenOut { y: &mut y, conv_states: states.as_deref_mut() };
        let (x, weight) = (tensors.x.get(), tensors.weight.get());
        tensors.with_options(&spec, |options| {
            causal_conv1d_varlen_into(&x, &weight, bounds.indices(), options, out)
        })
    });
}

fn update<T: Real, W: Real>(s: &mut Setup, spec: &Spec, dims: Dims) {
    let tensors = Tensors::<T, W>::new(s, spec, dims, (None, "conv_state"));
    let y = results(s, spec, dims, &tensors);
    let spec = spec.clone();
    s.call(move || {
        let states = tensors.states.as_ref().expect("an update has states");
        let (mut y, mut states) = (y.get(), states.get());
        let out = CausalConv1dUpdateOut {
            y: &mut y,
            conv_state: &mut states,
            intermediate_conv_window: None,
        };
        let (x, weight) = (tensors.x.get(), tensors.weight.get());
        tensors.with_options(&spec, |options| causal_conv1d_update_into(&x, &weight, options, out))
    });
}

/// Element types of tokens and filter: each pair in turn.
fn types(turn: usize) -> [DType; 2] {
    [REALS[turn % 3], REALS[turn / 3 % 3]]
}

/// Orders of x and y in memory.
const ORDERS: [[bool; 2]; 4] = [[false; 2], [true; 2], [false, true], [true, false]];

fn dense_cases() -> Vec<Spec> {
    let mut specs = Vec::new();
    for (turn, width) in [2, 3, 4].into_iter().cycle().take(45).enumerate() {
        let (channels, length) = ([1, 64, 257][turn / 3 % 3], [1, 2, 3, 64, 131][turn / 9 % 5]);
        let [bias, silu] = [turn % 2 == 0, turn % 4 < 2];
        let plain = Spec::new("plain", channels, &[length; 2], width);
        let spec = Spec { bias, silu, dtypes: types(turn), by_token: [false; 2], ..plain };
        specs.push(spec.states(if turn % 5 < 3 { Initial::All } else { Initial::None }));
    }
    for by_token in ORDERS {
        for dtype in REALS {
            let spec = Spec::new("chunks", 75, &[131; 2], 4).states(Initial::All);
            let spec = Spec { by_token, dtypes: [dtype; 2], chunk: Some(32), ..spec };
            let place = Placement::DENSE.gap(5).shift(3);
            specs.push(Spec { name: "gaps", place, ..spec.clone() });
            let place = Placement::DENSE.gap(3).edge(Edge::End);
            specs.push(Spec { name: "end of memory", place, ..spec.clone() });
            specs.push(spec);
        }
    }
    // The tokens before the last chunk are fewer bytes from the end of memory than a lane can load.
    for (dtype, width) in REALS.into_iter().flat_map(|dtype| [2, 3, 4].map(|w| (dtype, w))) {
        let few = Spec::new("few channels before the end of memory", 3, &[17], width);
        let place = Placement::DENSE.edge(Edge::End);
        specs.push(Spec { place, dtypes: [dtype; 2], chunk: Some(16), ..few });
    }
    // Channels that are too far apart for blocks of tokens, in several chunks.
    for (dtype, width) in REALS.into_iter().flat_map(|dtype| [2, 3, 4].map(|w| (dtype, w))) {
        let apart = Spec::new("channels apart", 11, &[33], width).states(Initial::All);
        let (by_token, place) = ([false; 2], Placement::DENSE.gap(1 << 24));
        specs.push(Spec { by_token, place, dtypes: [dtype; 2], chunk: Some(16), ..apart });
    }
    // Sequences beyond 2^32 elements: in chunks of tokens that are adjacent, and of channels that are;
    // and with states as far apart.
    for width in 2..=4 {
        for (channels, length, by_token, gap) in [
            (256, 20, false, (1 << 24) - 256),
            (11, 31, true, 1 << 27),
            (width - 1, width - 1, true, (1 << 32) / width),
        ] {
            let far = Spec::new("sequences far apart", channels, &[length; 2], width);
            let states = States { more_columns: 0, by_column: by_token, initial: Initial::All };
            let far = Spec { by_token: [by_token; 2], states: Some(states), ..far };
            let (place, size) = (Placement::DENSE.gap(gap), Size::Core);
            specs.push(Spec { place, chunk: Some(16), size, ..far });
        }
    }
    // Channels that are one and the same, or every second one that there is, where lanes could take
    // them for adjacent ones.
    let types = [DType::Bf16, DType::F32];
    for (dtype, width) in types.into_iter().flat_map(|dtype| [2, 3, 4].map(|w| (dtype, w))) {
        for by_token in ORDERS {
            let one = Spec::new("one channel", 75, &[20; 2], width).states(Initial::All);
            // Whether tokens are adjacent, which are then walked by columns.
            let place = Placement::DENSE.gap(if by_token[0] { 3 } else { 0 });
            let one = Spec { alike: true, by_token, place, dtypes: [dtype; 2], ..one };
            specs.push(Spec { chunk: Some(16), size: Size::Core, ..one });
            let every = Spec::new("every second channel", 75, &[1; 3], width).states(Initial::All);
            let place = Placement::DENSE.gap(1);
            specs.push(Spec { by_token, place, dtypes: [dtype; 2], ..every });
        }
    }
    let states = Spec::new("states in place", 75, &[33; 2], 4).states(Initial::All);
    specs.push(Spec { in_place: true, chunk: Some(16), ..states });
    specs.push(Spec::new("nothing", 8, &[0; 2], 4));
    for (width, by_token) in [3, 4].into_iter().flat_map(|w| [false, true].map(|by| (w, by))) {
        let long = Spec::new("long", 768, &[2048; 8], width);
        specs.push(Spec { by_token: [by_token; 2], size: Size::Large, ..long.clone() });
        let plain = Spec { bias: false, silu: false, ..long };
        specs.push(Spec { by_token: [by_token; 2], size: Size::Large, ..plain });
    }
    specs
}

fn varlen_cases() -> Vec<Spec> {
    let mut specs = Vec::new();
    let lengths: [&[usize]; 6] =
        [&[5, 1, 1, 1], &[1], &[2], &[0, 7, 0, 3], &[512], &[40, 0, 1, 16, 33, 2, 17]];
    for (turn, (lengths, by_token)) in
        lengths.into_iter().flat_map(|lengths| ORDERS.map(|order| (lengths, order))).enumerate()
    {
        let width = 2 + turn % 3;
        let spec = Spec::new("plain", [64, 75][turn % 2], lengths, width);
        let spec = Spec { dtypes: types(turn), by_token, ..spec };
        let initial = [Initial::Some, Initial::None][turn / 2 % 2];
        specs.push(Spec { lines: Lines::Permuted32, ..spec.clone().states(initial) });
        specs.push(Spec { bias: false, silu: false, ..spec });
    }
    for (by_token, element) in ORDERS.into_iter().flat_map(|order| [2, 40].map(|at| (order, at))) {
        for dtype in REALS {
            let spec = Spec::new("across 4 GiB", 75, &[33, 3, 1], 4).states(Initial::Some);
            let place = Placement::DENSE.carry(element);
            let spec = Spec { by_token, place, dtypes: [dtype; 2], ..spec };
            specs.push(Spec { chunk: Some(16), lines: Lines::Permuted64, ..spec.clone() });
            specs.push(Spec { chunk: Some(16), lines: Lines::Permuted32, ..spec });
        }
    }
    for by_token in ORDERS {
        for (dtype, lines) in REALS.into_iter().zip([Lines::Permuted64, Lines::Wild, Lines::Own]) {
            for more_columns in [0, 2] {
                let lengths = [70, 3, 16, 0, 47, 64, 1, 33];
                let spec = Spec::new("lines", 75, &lengths, 4).states(Initial::Some);
                let states =
                    States { more_columns, by_column: more_columns > 0, initial: Initial::Some };
                let place = Placement::DENSE.gap(if more_columns > 0 { 3 } else { 0 });
                let spec = Spec { by_token, dtypes: [dtype; 2], lines, place, ..spec };
                specs.push(Spec { states: Some(states), chunk: Some(16), ..spec });
            }
        }
    }
    // Bounds beside the tokens where sequences without any are.
    for by_token in ORDERS {
        let empty = Spec::new("nothing at both ends", 11, &[0, 40, 0, 3, 17, 0, 0], 4);
        let empty = Spec { by_token, lines: Lines::Wild, ..empty.states(Initial::Some) };
        specs.push(Spec { chunk: Some(16), ..empty });
    }
    for by_token in ORDERS {
        let padded = Spec::new("a line for none", 75, &[17, 3, 40, 1, 2, 5], 4);
        let padded = Spec { by_token, lines: Lines::Padded, ..padded.states(Initial::Some) };
        specs.push(Spec { chunk: Some(16), ..padded });
    }
    // Without states, a line says only who is skipped.
    for (by_token, lines) in ORDERS.into_iter().zip([Lines::Permuted32, Lines::Padded].repeat(2)) {
        let skipped = Spec::new("lines of no states", 11, &[17, 3, 20, 1, 2, 5], 4);
        specs.push(Spec { by_token, lines, chunk: Some(16), ..skipped });
    }
    // Channels and tokens beyond 2^32 bytes, and those of 16-bit elements beyond 2^32 elements.
    for (dtype, gap) in [(DType::Bf16, 1 << 32), (DType::F16, 1 << 32), (DType::F32, 1 << 31)] {
        for (channels, length, by_token) in [(2, 20, false), (75, 2, true)] {
            for width in 2..=4 {
                let far = Spec::new("far apart", channels, &[length], width);
                let (by_token, place) = ([by_token; 2], Placement::DENSE.gap(gap));
                let far = Spec { by_token, place, dtypes: [dtype; 2], size: Size::Core, ..far };
                specs.push(Spec { chunk: Some(16), ..far });
            }
        }
    }
    specs.extend(exact_cases());
    specs.extend(varlen_suite());
    for by_token in [[true; 2], [false; 2]] {
        let every = Spec::every_filter(75, &[20, 3, 1], Initial::Some);
        specs.extend(every.into_iter().map(|spec| Spec { by_token, ..spec }));
    }
    let lengths: [&[usize]; 4] = [&[64], &[500, 524], &[5120], &[1, 8191]];
    for (lengths, channels) in
        lengths.into_iter().flat_map(|lengths| [2048, 4096, 8192].map(|c| (lengths, c)))
    {
        for by_token in [[true; 2], [false; 2]] {
            let model = Spec::new("model", channels, lengths, 4).states(Initial::Some);
            specs.push(Spec { bias: false, by_token, size: Size::Large, ..model });
        }
    }
    specs
}

/// Sums that are exact: in the middle of two results, zeros, and such that the last digits of the
/// sigmoid show.
fn exact_cases() -> Vec<Spec> {
    let up_to = |most: i64| Draw::Integers(-most, most + 1);
    let mut specs = Vec::new();
    for (width, by_token) in [2, 3, 4].into_iter().flat_map(|w| [true, false].map(|by| (w, by))) {
        let mut add = |name, dtypes, draws, bias, silu| {
            let spec = Spec::new(name, 11, &[33, 3, 1], width);
            let spec = Spec { by_token: [by_token; 2], dtypes, bias, silu, ..spec };
            specs.push(Spec { exact: Some(draws), ..spec });
        };
        for dtype in [DType::Bf16, DType::F16] {
            add("ties", [dtype; 2], [up_to(64); 2], true, false);
        }
        for weight in REALS {
            add("zeros", [DType::F32, weight], [up_to(1), up_to(64)], false, false);
        }
        add("steep", [DType::F32; 2], [up_to(8); 2], true, true);
    }
    specs
}

/// Every kernel at every width with every filter, on each way through it: lanes with all, some and none
/// of their channels, or tokens; chunks that are full and not; states of either order.
fn varlen_suite() -> Vec<Spec> {
    let mut specs = Vec::new();
    for ((x, weight), width) in pairs().flat_map(|types| (2..=4).map(move |w| (types, w))) {
        let mut add = |name, channels, lengths: &[usize], by_token, states: States, bias| {
            let spec = Spec::new(name, channels, lengths, width);
            let spec = Spec { states: Some(states), by_token, bias, silu: !bias, ..spec };
            let chunk = Some(if by_token[0] { 16 } else { 128 });
            specs.push(Spec { dtypes: [x, weight], chunk, ..spec });
        };
        let by_column = States { more_columns: 0, by_column: true, initial: Initial::Some };
        let by_channel = States { by_column: false, ..by_column };
        let longer = States { more_columns: 1, ..by_channel };
        let (short, long) = ([33, 3, 1], [200, 1, 2, 128]);
        add("rows", 591, &[33, 1, 2, 16], [true, true], by_column, true);
        add("rows", 513, &short, [true, true], by_channel, true);
        add("rows to columns", 75, &short, [true, false], by_channel, false);
        add("columns", 75, &long, [false, false], by_column, true);
        add("columns to rows", 75, &long, [false, true], by_channel, false);
        if x == weight {
            add("rows", 514, &short, [true, true], by_column, true);
            add("columns", 11, &[64, 1], [false, false], longer, true);
        }
    }
    specs
}

/// Element types of tokens, each with those of the filter.
fn pairs() -> impl Iterator<Item = (DType, DType)> {
    REALS.into_iter().flat_map(|x| REALS.map(|weight| (x, weight)))
}

fn update_cases() -> Vec<(Op, Spec)> {
    let mut specs = Vec::new();
    for (turn, tokens) in [1, 4, 8, 3, 1, 8].into_iter().cycle().take(24).enumerate() {
        let n = [1, 7][turn % 2];
        let spec = Spec::new("plain", [1024, 75, 3][turn / 6 % 3], &vec![tokens; n], 2 + turn % 3);
        let states = States {
            more_columns: [0, 1][turn / 2 % 2],
            by_column: turn % 3 == 0,
            initial: Initial::All,
        };
        let spec = Spec {
            dtypes: types(turn),
            by_token: ORDERS[turn / 2 % 4],
            states: Some(states),
            lines: [Lines::Own, Lines::Permuted32, Lines::Permuted64, Lines::Wild][turn / 3 % 4],
            bias: turn % 4 < 3,
            silu: turn % 5 < 3,
            ..spec
        };
        if spec.by_token[0] == spec.by_token[1] {
            specs.push((UPDATE, Spec { in_place: true, ..spec.clone() }));
        }
        specs.push((UPDATE, spec));
    }
    for (turn, n) in [1, 7].into_iter().cycle().take(12).enumerate() {
        let spec = Spec::new("one token", [1024, 257][turn / 2 % 2], &vec![1; n], 2 + turn % 3);
        let lines = [Lines::Own, Lines::Permuted32][turn / 3 % 2];
        let place = Placement::DENSE.gap([0, 8, 3][turn % 3]);
        let spec = Spec { dtypes: types(turn), lines, place, ..spec.states(Initial::All) };
        specs.push((UPDATE_ONE, Spec { in_place: true, ..spec.clone() }));
        specs.push((UPDATE_ONE, spec));
    }
    for ((x, weight), width) in pairs().flat_map(|types| (2..=4).map(move |w| (types, w))) {
        for (channels, by_token, tokens) in [
            (591, [true; 2], 5),
            (513, [false; 2], 5),
            (513, [true; 2], 2),
            (591, [false; 2], 2),
            (514, [false, true], 4),
            (586, [false, true], 4),
        ] {
            let initial = Initial::All;
            let by_column = by_token[0];
            let states = States { more_columns: tokens % 2, by_column, initial };
            let spec = Spec::new("suite", channels, &[tokens; 2], width);
            let spec = Spec { by_token, states: Some(states), ..spec };
            specs.push((UPDATE, Spec { dtypes: [x, weight], ..spec }));
        }
    }
    for by_token in ORDERS {
        let padded = Spec::new("a line for none", 75, &[4; 7], 4).states(Initial::All);
        specs.push((UPDATE, Spec { by_token, lines: Lines::Padded, ..padded }));
    }
    let every = Spec::every_filter(75, &[2; 3], Initial::All);
    specs.extend(every.into_iter().map(|spec| (UPDATE, spec)));
    for (n, tokens) in [(1, 4), (7, 1)] {
        let many = Spec::new("many channels", 1024, &vec![tokens; n], 4);
        specs.push((UPDATE, many.states(Initial::All)));
    }
    for (n, channels) in
        [64, 127, 512].into_iter().flat_map(|n| [1024, 2048, 4096].map(|channels| (n, channels)))
    {
        let model = Spec::new("model", channels, &vec![1; n], 4).states(Initial::All);
        specs.push((UPDATE_ONE, Spec { bias: false, size: Size::Large, ..model }));
    }
    specs
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let dense = dense_cases().into_iter().map(|spec| (DENSE, spec));
    let varlen = varlen_cases().into_iter().map(|spec| (VARLEN, spec));
    let all = dense.chain(varlen).chain(update_cases());
    all.map(|((op, dims, set_up), spec)| spec.case("causal_conv1d", op, dims, set_up)).collect()
}
