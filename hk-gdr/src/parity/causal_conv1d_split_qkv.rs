//! Cases of `causal_conv1d_split_qkv`.

use hk_core::dtype::Real;
use hk_ref::{Arg, Case, Placement, REALS, Setup, Size, real};

use super::convolution::{Dims, Initial, Lines, Spec, States, Tensors, split};
use crate::{CausalConv1dUpdateSplitQkvOut, causal_conv1d_update_split_qkv_into};

fn set_up<T: Real, W: Real>(s: &mut Setup, spec: &Spec, sizes: [usize; 2], dims: Dims) {
    let tensors = Tensors::<T, W>::new(s, spec, dims, (None, "conv_state"));
    let outputs = split(s, spec, sizes, dims, false, &tensors);
    let spec = spec.clone();
    s.call(move || {
        let states = tensors.states.as_ref().expect("an update has states");
        let mut states = states.get();
        let [mut q, mut k, mut v] = outputs.each_ref().map(Arg::get);
        let out = CausalConv1dUpdateSplitQkvOut {
            q: &mut q,
            k: &mut k,
            v: &mut v,
            conv_state: &mut states,
        };
        let (x, weight, [key_dim, value_dim]) = (tensors.x.get(), tensors.weight.get(), sizes);
        tensors.with_options(&spec, |options| {
            causal_conv1d_update_split_qkv_into(&x, &weight, key_dim, value_dim, options, out)
        })
    });
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |spec: Spec, sizes: [usize; 2], dims| {
        let op = "causal_conv1d_update_split_qkv";
        cases.push(spec.case("causal_conv1d_split_qkv", op, dims, move |s, spec| {
            let [x, w] = spec.dtypes;
            real!(x, T => real!(w, W => set_up::<T, W>(s, spec, sizes, dims)));
        }));
    };
    let mut turn = 0;
    for sizes in [[64, 128], [96, 160], [1, 1], [85, 87]] {
        for tokens in [1, 2, 3, 4, 5, 16] {
            let channels = 2 * sizes[0] + sizes[1];
            let n = [4, 1, 3][turn % 3];
            let spec = Spec::new("split", channels, &vec![tokens; n], 2 + turn / 2 % 3);
            let spec = Spec {
                dtypes: [REALS[turn % 3], REALS[turn / 3 % 3]],
                by_token: [turn % 4 < 2, turn % 4 % 2 == 0],
                states: Some(States {
                    more_columns: turn % 2,
                    by_column: turn % 5 < 2,
                    initial: Initial::All,
                }),
                lines: [Lines::Permuted32, Lines::Own, Lines::Permuted64, Lines::Wild][turn % 4],
                bias: turn % 3 < 2,
                silu: turn % 4 < 3,
                place: Placement::DENSE.gap([0, 3][turn / 2 % 2]),
                ..spec
            };
            add(spec.clone(), sizes, Dims::Sequences);
            if tokens == 1 {
                add(Spec { name: "split one token", ..spec }, sizes, Dims::Tokens);
            }
            turn += 1;
        }
    }
    for spec in Spec::every_filter(75, &[2; 3], Initial::All) {
        add(spec, [20, 35], Dims::Sequences);
    }
    // Few sequences, some of them padding, of a large pool.
    for (width, lines) in (2..=4).zip([Lines::Permuted32, Lines::Permuted64].into_iter().cycle()) {
        let mut pool = |name, n: usize, all: usize, sizes: [usize; 2]| {
            let spec = Spec::new(name, 2 * sizes[0] + sizes[1], &vec![width - 1; n], width);
            add(
                Spec { lines, spare: all - n, ..spec.states(Initial::All) },
                sizes,
                Dims::Sequences,
            );
        };
        pool("padding", 15, 128, [4, 8]);
        pool("pool", 7, 1000, [1, 1]);
    }
    // Of Qwen3-Next on 1 and 8 chips.
    for (n, sizes) in
        [1, 64, 256].into_iter().flat_map(|n| [[2048, 4096], [256, 512]].map(|sizes| (n, sizes)))
    {
        let channels = 2 * sizes[0] + sizes[1];
        let model = Spec::new("model", channels, &vec![1; n], 4).states(Initial::All);
        add(Spec { bias: false, size: Size::Large, ..model }, sizes, Dims::Tokens);
    }
    cases
}
