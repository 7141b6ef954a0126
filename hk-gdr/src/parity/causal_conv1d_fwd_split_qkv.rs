//! Cases of `causal_conv1d_fwd_split_qkv`.

use hk_core::dtype::Real;
use hk_ref::{Arg, Case, Placement, REALS, Setup, Size, real};

use super::convolution::{Dims, Initial, Lines, Spec, States, Tensors, split};
use crate::{CausalConv1dFwdSplitQkvOut, causal_conv1d_fwd_split_qkv_into};

fn set_up<T: Real, W: Real>(s: &mut Setup, spec: &Spec, sizes: [usize; 2]) {
    let tensors = Tensors::<T, W>::new(s, spec, Dims::Packed, (None, "conv_states"));
    let outputs = split(s, spec, sizes, Dims::Packed, true, &tensors);
    let spec = spec.clone();
    s.call(move || {
        let bounds = tensors.bounds.as_ref().expect("sequences that follow each other").get();
        let mut states = tensors.states.as_ref().map(Arg::get);
        let [mut q, mut k, mut v] = outputs.each_ref().map(Arg::get);
        let out = CausalConv1dFwdSplitQkvOut {
            q: &mut q,
            k: &mut k,
            v: &mut v,
            conv_states: states.as_deref_mut(),
        };
        let (x, weight, [k_dim, v_dim]) = (tensors.x.get(), tensors.weight.get(), sizes);
        let bounds = bounds.indices();
        tensors.with_options(&spec, |options| {
            causal_conv1d_fwd_split_qkv_into(&x, &weight, bounds, k_dim, v_dim, options, out)
        })
    });
}

/// Lengths of sequences that AITER's tests have.
const AITER: [&[usize]; 5] = [&[1000], &[8], &[5, 1, 1, 1], &[1000, 63, 1000], &[64, 64, 72, 4863]];

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |spec: Spec, sizes: [usize; 2]| {
        let op = "causal_conv1d_fwd_split_qkv";
        cases.push(spec.case("causal_conv1d_fwd_split_qkv", op, Dims::Packed, move |s, spec| {
            let [x, w] = spec.dtypes;
            real!(x, T => real!(w, W => set_up::<T, W>(s, spec, sizes)));
        }));
    };
    let lengths: [&[usize]; 7] =
        [&[1], &[2], &[1, 2, 3], &[70], &[64, 64], &[5, 1, 1, 1], &[40, 0, 3, 16, 33, 2, 17]];
    let mut turn = 0;
    for lengths in lengths {
        for by_token in [true, false] {
            for sizes in [[64, 96], [32, 32], [33, 33]] {
                let channels = 2 * sizes[0] + sizes[1];
                let spec = Spec::new("split", channels, lengths, 2 + turn % 3);
                let states = States {
                    more_columns: turn % 2,
                    by_column: turn % 5 < 2,
                    initial: [Initial::Some, Initial::None][turn % 3 / 2],
                };
                let spec = Spec {
                    dtypes: [REALS[turn / 3 % 3], REALS[turn % 3]],
                    by_token: [by_token, true],
                    states: (turn % 4 < 3).then_some(states),
                    lines: [Lines::Permuted32, Lines::Own, Lines::Permuted64, Lines::Own][turn % 4],
                    bias: turn % 3 < 2,
                    silu: turn % 4 < 3,
                    chunk: [None, Some(16), Some(32)][turn % 3],
                    place: Placement::DENSE.gap([0, 3][turn / 2 % 2]),
                    ..spec
                };
                add(spec, sizes);
                turn += 1;
            }
        }
    }
    for by_token in [true, false] {
        for (lines, has_states) in
            [(Lines::Wild, true), (Lines::Padded, true), (Lines::Permuted32, false)]
        {
            let spec = Spec::new("skipped", 15, &[0, 20, 3, 16, 17, 0, 0], 4);
            let spec = if has_states { spec.states(Initial::Some) } else { spec };
            let by_token = [by_token, true];
            add(Spec { by_token, lines, chunk: Some(16), ..spec }, [4, 7]);
        }
    }
    for lengths in [[64, 64], [32, 48]] {
        for by_token in [true, false] {
            let seed = Spec::new("seed", 192, &lengths, 4);
            add(Spec { by_token: [by_token, true], ..seed }, [64, 64]);
        }
    }
    for by_token in [true, false] {
        for spec in Spec::every_filter(75, &[20, 3, 1], Initial::Some) {
            add(Spec { by_token: [by_token, true], ..spec }, [20, 35]);
        }
    }
    for lengths in AITER.into_iter().chain([&[0, 1, 2, 3][..]]) {
        let is_short = lengths.iter().sum::<usize>() < 64;
        for (by_token, part) in [true, false].into_iter().flat_map(|by| [32, 33].map(|c| (by, c))) {
            // Long ones have each width in some.
            let own = 2 + turn % 3;
            let (widths, size) =
                if is_short { (2..=4, Size::Quick) } else { (own..=own, Size::Core) };
            for width in widths {
                let initial = [Initial::Some, Initial::None][(turn + turn / 2) % 2];
                let spec = Spec::new("lengths", 3 * part, lengths, width).states(initial);
                let spec = Spec { dtypes: [REALS[turn / 3 % 3]; 2], ..spec };
                add(Spec { by_token: [by_token, true], size, ..spec }, [part; 2]);
                turn += 1;
            }
        }
    }
    let by_token = [[true; 2], [false, true]];
    let mut model = |lengths: &[usize], by_token, initial| {
        let model = Spec::new("model", 8192, lengths, 4).states(initial);
        add(Spec { bias: false, by_token, size: Size::Large, ..model }, [2048, 4096]);
    };
    for (lengths, by_token) in AITER.into_iter().flat_map(|of| by_token.map(|by| (of, by))) {
        model(lengths, by_token, Initial::Some);
        model(lengths, by_token, Initial::None);
    }
    for lengths in [&[512][..], &[8192], &[128; 64]] {
        by_token.into_iter().for_each(|by_token| model(lengths, by_token, Initial::Some));
    }
    cases
}
