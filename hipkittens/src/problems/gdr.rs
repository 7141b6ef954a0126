//! Problems of hk-gdr. Heads are those of Qwen3-Next on one of eight chips: two of queries and keys, four of
//! values, of 128.

use hk_core::dtype::bf16;
use hk_core::{Result, Stream, Tensor};
use hk_gdr::{
    CausalConv1dFwdSplitQkvOut, CausalConv1dOptions, CausalConv1dOut, CausalConv1dUpdateOut,
    CausalConv1dUpdateSplitQkvOut, CausalConv1dVarlenOut, ChunkDeltaHOptions, ChunkDeltaHOut,
    ChunkGates, ChunkOOptions, ChunkStates, ChunkWUOut, CumsumKktOptions, CumsumKktOut,
    CumsumOptions, FusedRecurrentOptions, FusedRecurrentOut, GateBase, GatingInputs,
    GdnGatingOptions, GdnGatingOut, OpOptions, QkvzbaHeads, QkvzbaSplitOptions, QkvzbaSplitOut,
    RecomputeWUOptions, SigmoidGatingOptions, SigmoidGatingOut, StateLayout,
    causal_conv1d_fwd_split_qkv_into, causal_conv1d_into, causal_conv1d_update_into,
    causal_conv1d_update_split_qkv_into, causal_conv1d_varlen_into, chunk_delta_h_fwd_into,
    chunk_fwd_o_into, cumsum_scalar_into, err_ratio_into, fused_cumsum_kkt_into,
    fused_gdn_gating_into, fused_qkvzba_split_into, fused_recurrent_fwd_into,
    fused_sigmoid_gating_recurrent_packed_into, l2_normalize_into, op_exp_into,
    prepare_chunk_indices_on_device_into, recompute_w_u_into,
};
use hk_ref::Draw;

use super::{Family, HEAD, Launch, of_sizes, tensor};

const KEYS: usize = 2;
const VALUES: usize = 4;
/// Tokens of a chunk.
const CHUNK: usize = 64;
/// Channels of a convolution: those of queries, as of keys, and of values.
const SPLIT: [usize; 2] = [KEYS * HEAD, VALUES * HEAD];
const CHANNELS: usize = 2 * SPLIT[0] + SPLIT[1];
/// Taps of it.
const TAPS: usize = 4;

/// Elements of a token.
const OF_KEYS: f64 = (KEYS * HEAD) as f64;
const OF_VALUES: f64 = (VALUES * HEAD) as f64;
const OF_CHANNELS: f64 = CHANNELS as f64;
/// Bytes of the states of 16 bits of a token's chunk, and operations of a product with one.
const STATES: f64 = 2.0 * OF_VALUES * HEAD as f64 / CHUNK as f64;
const BY_STATE: f64 = 2.0 * OF_VALUES * HEAD as f64;
const BY_CHUNK: f64 = 2.0 * OF_VALUES * CHUNK as f64;

fn heads() -> QkvzbaHeads {
    QkvzbaHeads { num_heads_qk: KEYS, num_heads_v: VALUES, head_qk: HEAD, head_v: HEAD }
}

pub(super) fn families() -> Vec<Family> {
    let tokens = [("tokens", 1, 1024)];
    let chunks = [("tokens", CHUNK, 8192)];
    let batch = [("batch", 1, 64)];
    let (channels, by_channel) = ("bf16, 1024 channels:", "bf16, 1024 channels, adjacent tokens:");
    let filtered = |[n]: [f64; 1]| [2.0 * TAPS as f64 * OF_CHANNELS * n, 4.0 * OF_CHANNELS * n];
    let updated =
        |[n]: [f64; 1]| [2.0 * TAPS as f64 * OF_CHANNELS * n, 4.0 * TAPS as f64 * OF_CHANNELS * n];
    vec![
        of_sizes("causal_conv1d", channels, tokens, filtered, |s, n| dense(s, n, true))
            .at([8192], &[]),
        of_sizes("causal_conv1d", by_channel, tokens, filtered, |s, n| dense(s, n, false))
            .at([8192], &[]),
        of_sizes("causal_conv1d_varlen", channels, tokens, filtered, |s, n| varlen(s, n, true))
            .at([8192], &[]),
        of_sizes("causal_conv1d_varlen", by_channel, tokens, filtered, |s, n| varlen(s, n, false))
            .at([8192], &[]),
        of_sizes("causal_conv1d_fwd_split_qkv", channels, tokens, filtered, |s, n| {
            split(s, n, true)
        })
        .at([8192], &[]),
        of_sizes("causal_conv1d_fwd_split_qkv", by_channel, tokens, filtered, |s, n| {
            split(s, n, false)
        })
        .at([8192], &[]),
        of_sizes("causal_conv1d_update", "bf16, 1024 channels:", batch, updated, update)
            .at([256], &[]),
        of_sizes(
            "causal_conv1d_update_split_qkv",
            "bf16, 1024 channels:",
            batch,
            updated,
            update_split,
        )
        .at([256], &[]),
        of_sizes(
            "fused_qkvzba_split",
            "bf16, heads 2/4 of 128:",
            tokens,
            |[n]| {
                let width = 2.0 * (OF_KEYS + OF_VALUES) + 2.0 * VALUES as f64;
                [0.0, 4.0 * n * width]
            },
            qkvzba,
        )
        .at([8192], &[]),
        of_sizes(
            "fused_gdn_gating",
            "bf16",
            [("tokens", 1, 1024), ("heads", 1, 32)],
            |[n, heads]| [10.0 * n * heads, 12.0 * n * heads],
            gating,
        )
        .at([8192, 32], &[]),
        of_sizes(
            "cumsum_scalar",
            "f32",
            [("tokens", 1, 8192), ("heads", 1, 32)],
            |[n, heads]| [n * heads, 8.0 * n * heads],
            |s, n| cumsum(s, n, false),
        )
        .at([8192, 32], &[]),
        of_sizes(
            "cumsum_scalar",
            "f32, heads first",
            [("tokens", 1, 8192), ("heads", 1, 32)],
            |[n, heads]| [n * heads, 8.0 * n * heads],
            |s, n| cumsum(s, n, true),
        )
        .at([8192, 32], &[]),
        of_sizes(
            "prepare_chunk_indices_on_device",
            "of 128 tokens each:",
            [("sequences", 1, 64)],
            |[n]| [0.0, 20.0 * n],
            indices,
        )
        .at([64], &[]),
        of_sizes("op_exp", "f32", [("elements", 1, 1 << 18)], |[n]| [n, 8.0 * n], exp)
            .at([1 << 24], &[]),
        of_sizes("err_ratio", "f32", [("elements", 1, 1 << 18)], |[n]| [4.0 * n, 8.0 * n], ratio)
            .at([1 << 24], &[]),
        of_sizes(
            "l2_normalize",
            "f32",
            [("rows", 1, 2048), ("width", 1, 128)],
            |[rows, width]| [3.0 * rows * width, 8.0 * rows * width],
            l2,
        )
        .at([65_536, 128], &[]),
        of_sizes(
            "fused_cumsum_kkt",
            "bf16, heads 2/4 of 128:",
            chunks,
            |[n]| [n * BY_CHUNK, n * (2.0 * OF_KEYS + (4 * VALUES * CHUNK) as f64)],
            kkt,
        )
        .at([8192], &[]),
        of_sizes(
            "recompute_w_u",
            "bf16, heads 2/4 of 128:",
            chunks,
            |[n]| {
                let moved = OF_KEYS + 3.0 * OF_VALUES + (VALUES * CHUNK) as f64;
                [2.0 * n * BY_CHUNK, 2.0 * n * moved]
            },
            w_u,
        )
        .at([8192], &[]),
        of_sizes(
            "chunk_delta_h_fwd",
            "bf16, heads 2/4 of 128:",
            chunks,
            |[n]| [2.0 * n * BY_STATE, n * (2.0 * (OF_KEYS + 3.0 * OF_VALUES) + STATES)],
            delta_h,
        )
        .at([8192], &[]),
        of_sizes(
            "chunk_fwd_o",
            "bf16, heads 2/4 of 128:",
            chunks,
            |[n]| {
                let moved = 2.0 * (2.0 * OF_KEYS + 2.0 * OF_VALUES) + STATES;
                [n * (BY_STATE + 2.0 * BY_CHUNK), n * moved]
            },
            fwd_o,
        )
        .at([8192], &[]),
        of_sizes(
            "fused_sigmoid_gating_recurrent_packed",
            "bf16, heads 2/4 of 128:",
            batch,
            |[n]| [3.5 * n * BY_STATE, n * (8.0 * OF_VALUES * HEAD as f64)],
            |s, n| sigmoid(s, n, StateLayout::Kv),
        )
        .at([256], &[]),
        of_sizes(
            "fused_sigmoid_gating_recurrent_packed",
            "bf16, states by values, heads 2/4 of 128:",
            batch,
            |[n]| [3.5 * n * BY_STATE, n * (8.0 * OF_VALUES * HEAD as f64)],
            |s, n| sigmoid(s, n, StateLayout::Vk),
        )
        .at([256], &[]),
        of_sizes(
            "fused_recurrent_fwd",
            "bf16, heads 2/4 of 128:",
            [("tokens", 1, 64)],
            |[n]| [3.5 * n * BY_STATE, 4.0 * n * (OF_KEYS + OF_VALUES)],
            recurrent,
        )
        .at([64], &[]),
    ]
}

/// Small numbers, so that products of many stay small.
fn small(stream: &Stream, shape: &[usize]) -> Result<Tensor<bf16>> {
    tensor(stream, Draw::Scaled(-4), shape)
}

fn gates(stream: &Stream, tokens: usize, g: f32) -> Result<Tensor<f32>> {
    Tensor::filled(stream, &[1, tokens, VALUES], g)
}

/// Tokens of channels, of which channels are adjacent in memory, or tokens.
fn signal(stream: &Stream, tokens: usize, is_by_token: bool) -> Result<Tensor<bf16>> {
    if !is_by_token {
        return small(stream, &[CHANNELS, tokens]);
    }
    small(stream, &[tokens, CHANNELS])?.into_permuted(&[1, 0])
}

/// Of one sequence.
fn dense(stream: &Stream, [tokens]: [usize; 1], is_by_token: bool) -> Result<Launch> {
    let of = || match is_by_token {
        true => small(stream, &[1, tokens, CHANNELS])?.into_permuted(&[0, 2, 1]),
        false => small(stream, &[1, CHANNELS, tokens]),
    };
    let (x, mut y, weight) = (of()?, of()?, small(stream, &[CHANNELS, TAPS])?);
    Ok(Box::new(move || {
        let out = CausalConv1dOut { y: &mut y, final_state: None };
        causal_conv1d_into(&x, &weight, None, &CausalConv1dOptions::default(), out)
    }))
}

fn varlen(stream: &Stream, [tokens]: [usize; 1], is_by_token: bool) -> Result<Launch> {
    let of = || signal(stream, tokens, is_by_token);
    let (x, mut y) = (of()?, of()?);
    let weight = small(stream, &[CHANNELS, TAPS])?;
    let bounds = Tensor::from_slice(stream, &[0, tokens as i32], &[2])?;
    Ok(Box::new(move || {
        let options = CausalConv1dOptions::default().validate_indices(false);
        let out = CausalConv1dVarlenOut { y: &mut y, conv_states: None };
        causal_conv1d_varlen_into(&x, &weight, &bounds, &options, out)
    }))
}

fn split(stream: &Stream, [tokens]: [usize; 1], is_by_token: bool) -> Result<Launch> {
    let (x, weight) = (signal(stream, tokens, is_by_token)?, small(stream, &[CHANNELS, TAPS])?);
    let bounds = Tensor::from_slice(stream, &[0, tokens as i32], &[2])?;
    let [k_dim, v_dim] = SPLIT;
    let of = |width| small(stream, &[tokens, width]);
    let (mut q, mut k, mut v) = (of(k_dim)?, of(k_dim)?, of(v_dim)?);
    Ok(Box::new(move || {
        let options = CausalConv1dOptions::default().validate_indices(false);
        let (q, k, v) = (&mut *q, &mut *k, &mut *v);
        let out = CausalConv1dFwdSplitQkvOut { q, k, v, conv_states: None };
        causal_conv1d_fwd_split_qkv_into(&x, &weight, &bounds, k_dim, v_dim, &options, out)
    }))
}

fn update(stream: &Stream, [batch]: [usize; 1]) -> Result<Launch> {
    let of = || small(stream, &[batch, CHANNELS]);
    let (x, mut y, weight) = (of()?, of()?, small(stream, &[CHANNELS, TAPS])?);
    let mut state = small(stream, &[batch, CHANNELS, TAPS - 1])?;
    Ok(Box::new(move || {
        let (y, conv_state) = (&mut *y, &mut *state);
        let out = CausalConv1dUpdateOut { y, conv_state, intermediate_conv_window: None };
        causal_conv1d_update_into(&x, &weight, &CausalConv1dOptions::default(), out)
    }))
}

fn update_split(stream: &Stream, [batch]: [usize; 1]) -> Result<Launch> {
    let of = |width| small(stream, &[batch, width]);
    let [k_dim, v_dim] = SPLIT;
    let (x, weight) = (of(CHANNELS)?, small(stream, &[CHANNELS, TAPS])?);
    let (mut q, mut k, mut v) = (of(k_dim)?, of(k_dim)?, of(v_dim)?);
    let mut state = small(stream, &[batch, CHANNELS, TAPS - 1])?;
    Ok(Box::new(move || {
        let (q, k, v, conv_state) = (&mut *q, &mut *k, &mut *v, &mut *state);
        let out = CausalConv1dUpdateSplitQkvOut { q, k, v, conv_state };
        let options = CausalConv1dOptions::default();
        causal_conv1d_update_split_qkv_into(&x, &weight, k_dim, v_dim, &options, out)
    }))
}

fn qkvzba(stream: &Stream, [tokens]: [usize; 1]) -> Result<Launch> {
    let width = 2 * (KEYS + VALUES) * HEAD;
    let of = |width| small(stream, &[tokens, width]);
    let (mixed_qkvz, mixed_ba) = (of(width)?, of(2 * VALUES)?);
    let (mut mixed_qkv, mut b, mut a) = (of(width - VALUES * HEAD)?, of(VALUES)?, of(VALUES)?);
    let mut z = small(stream, &[tokens, VALUES, HEAD])?;
    Ok(Box::new(move || {
        let (mixed_qkv, z, b, a) = (&mut *mixed_qkv, &mut *z, &mut *b, &mut *a);
        let out = QkvzbaSplitOut { mixed_qkv, z, b, a };
        let options = QkvzbaSplitOptions::default();
        fused_qkvzba_split_into(&mixed_qkvz, &mixed_ba, heads(), &options, out)
    }))
}

fn gating(stream: &Stream, [tokens, heads]: [usize; 2]) -> Result<Launch> {
    let (a, b) = (small(stream, &[tokens, heads])?, small(stream, &[tokens, heads])?);
    let (a_log, dt_bias) = (small(stream, &[heads])?, small(stream, &[heads])?);
    let of = || Tensor::<f32>::empty(stream, &[tokens, heads]);
    let (mut g, mut beta) = (of()?, of()?);
    Ok(Box::new(move || {
        let out = GdnGatingOut { g: &mut g, beta: &mut *beta };
        fused_gdn_gating_into(&a_log, &dt_bias, &a, &b, &GdnGatingOptions::default(), out)
    }))
}

fn cumsum(stream: &Stream, [tokens, heads]: [usize; 2], head_first: bool) -> Result<Launch> {
    let shape = if head_first { [1, heads, tokens] } else { [1, tokens, heads] };
    let of = || Tensor::<f32>::zeros(stream, &shape);
    let (s, mut o) = (of()?, of()?);
    let options = CumsumOptions::default().head_first(head_first);
    Ok(Box::new(move || cumsum_scalar_into(&s, CHUNK, &options, &mut *o)))
}

fn indices(stream: &Stream, [sequences]: [usize; 1]) -> Result<Launch> {
    const TOKENS: usize = 128;
    let bounds: Vec<_> = (0..=sequences).map(|n| (n * TOKENS) as i32).collect();
    let bounds = Tensor::from_slice(stream, &bounds, &[sequences + 1])?;
    let mut rows = Tensor::<i32>::zeros(stream, &[sequences * TOKENS / CHUNK, 2])?;
    Ok(Box::new(move || prepare_chunk_indices_on_device_into(&bounds, CHUNK, &mut rows)))
}

fn exp(stream: &Stream, [count]: [usize; 1]) -> Result<Launch> {
    let of = || Tensor::<f32>::zeros(stream, &[count]);
    let (x, mut y) = (of()?, of()?);
    Ok(Box::new(move || op_exp_into(&x, &OpOptions::default(), &mut y)))
}

fn ratio(stream: &Stream, [count]: [usize; 1]) -> Result<Launch> {
    let of = || Tensor::filled(stream, &[count], 1.0f32);
    let (x, y, mut out) = (of()?, of()?, Tensor::<f32>::zeros(stream, &[1])?);
    Ok(Box::new(move || err_ratio_into(&x, &y, &mut out)))
}

fn l2(stream: &Stream, [rows, width]: [usize; 2]) -> Result<Launch> {
    let x = Tensor::filled(stream, &[rows, width], 1.0f32)?;
    let mut y = Tensor::<f32>::zeros(stream, &[rows, width])?;
    Ok(Box::new(move || l2_normalize_into(&x, 1e-6, &mut y)))
}

fn kkt(stream: &Stream, [tokens]: [usize; 1]) -> Result<Launch> {
    let (g, beta) = (gates(stream, tokens, -0.01)?, gates(stream, tokens, 0.5)?);
    let (k, mut sums) = (small(stream, &[1, tokens, KEYS, HEAD])?, gates(stream, tokens, 0.0)?);
    let mut a = Tensor::<f32>::empty(stream, &[1, tokens, VALUES, CHUNK])?;
    Ok(Box::new(move || {
        let out = CumsumKktOut { sums: &mut sums, a: &mut a };
        fused_cumsum_kkt_into(&g, &k, &beta, &CumsumKktOptions::default(), out)
    }))
}

fn w_u(stream: &Stream, [tokens]: [usize; 1]) -> Result<Launch> {
    let (sums, beta) = (gates(stream, tokens, -0.5)?, gates(stream, tokens, 0.5)?);
    let of = |heads, width| small(stream, &[1, tokens, heads, width]);
    let (k, v, tm) = (of(KEYS, HEAD)?, of(VALUES, HEAD)?, of(VALUES, CHUNK)?);
    let (mut w, mut u) = (of(VALUES, HEAD)?, of(VALUES, HEAD)?);
    Ok(Box::new(move || {
        let gates = ChunkGates { sums: &sums, base: GateBase::E };
        let options = RecomputeWUOptions::default().gates(gates).beta(&*beta);
        recompute_w_u_into(&k, &v, &tm, &options, ChunkWUOut { w: &mut w, u: &mut u })
    }))
}

fn delta_h(stream: &Stream, [tokens]: [usize; 1]) -> Result<Launch> {
    let sums = gates(stream, tokens, -0.5)?;
    let of = |heads| small(stream, &[1, tokens, heads, HEAD]);
    let (k, w, u, mut v_new) = (of(KEYS)?, of(VALUES)?, of(VALUES)?, of(VALUES)?);
    let mut h = small(stream, &[tokens / CHUNK, VALUES, HEAD, HEAD])?;
    let mut finals = Tensor::<f32>::zeros(stream, &[1, VALUES, HEAD, HEAD])?;
    Ok(Box::new(move || {
        let gates = ChunkGates { sums: &sums, base: GateBase::E };
        let options = ChunkDeltaHOptions::default().gates(gates);
        let states: ChunkStates<'_, f32> =
            ChunkStates::Each { initial: None, finals: Some(&mut finals) };
        let out = ChunkDeltaHOut { h: Some(&mut *h), v_new: Some(&mut v_new), states };
        chunk_delta_h_fwd_into(&k, &w, &u, &options, out)
    }))
}

fn fwd_o(stream: &Stream, [tokens]: [usize; 1]) -> Result<Launch> {
    let sums = gates(stream, tokens, -0.5)?;
    let of = |heads| small(stream, &[1, tokens, heads, HEAD]);
    let (q, k, v, mut o) = (of(KEYS)?, of(KEYS)?, of(VALUES)?, of(VALUES)?);
    let h = small(stream, &[tokens / CHUNK, VALUES, HEAD, HEAD])?;
    Ok(Box::new(move || {
        let gates = ChunkGates { sums: &sums, base: GateBase::E };
        let options = ChunkOOptions::default().gates(gates);
        chunk_fwd_o_into(&q, &k, &v, &h, &options, &mut o)
    }))
}

fn sigmoid(stream: &Stream, [batch]: [usize; 1], layout: StateLayout) -> Result<Launch> {
    let mixed_qkv = small(stream, &[batch, 1, CHANNELS])?;
    let (of_heads, of_tokens) = (small(stream, &[VALUES])?, small(stream, &[batch, 1, VALUES])?);
    let mut state = Tensor::<f32>::zeros(stream, &[batch, VALUES, HEAD, HEAD])?;
    let mut o = small(stream, &[batch, 1, VALUES, HEAD])?;
    Ok(Box::new(move || {
        let options =
            SigmoidGatingOptions::default().use_qk_l2norm_in_kernel(true).state_layout(layout);
        let (a_log, dt_bias) = (&of_heads, &of_heads);
        let gating = GatingInputs { a_log, dt_bias, a: &of_tokens, b: &of_tokens };
        let out = SigmoidGatingOut { o: &mut *o, state: Some(&mut *state) };
        fused_sigmoid_gating_recurrent_packed_into(gating, &mixed_qkv, heads(), &options, out)
    }))
}

fn recurrent(stream: &Stream, [tokens]: [usize; 1]) -> Result<Launch> {
    let of = |heads| small(stream, &[1, tokens, heads, HEAD]);
    let (q, v, mut o) = (of(KEYS)?, of(VALUES)?, of(VALUES)?);
    let of = || Tensor::<f32>::zeros(stream, &[1, VALUES, HEAD, HEAD]);
    let (state, mut final_state) = (of()?, of()?);
    Ok(Box::new(move || {
        let options = FusedRecurrentOptions::default().use_qk_l2norm_in_kernel(true);
        let out = FusedRecurrentOut { o: &mut *o, final_state: Some(&mut *final_state) };
        fused_recurrent_fwd_into(&q, &q, &v, Some(&*state), &options, out)
    }))
}
