//! Ops of hk-gdr on the simulator, one group per op.
//!
//! `cargo bench -p hk-benches --bench gdr`

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hk_gdr::{
    CausalConv1dFwdSplitQkvOut, CausalConv1dOptions, CausalConv1dUpdateOut,
    CausalConv1dUpdateSplitQkvOut, CausalConv1dVarlenOut, ChunkDeltaHOptions, ChunkDeltaHOut,
    ChunkGatedDeltaRuleOptions, ChunkGatedDeltaRuleOut, ChunkGates, ChunkOOptions, ChunkStates,
    ChunkWUOut, CumsumKktOptions, CumsumKktOut, CumsumOptions, Device, FusedRecurrentOptions,
    FusedRecurrentOut, GateBase, GatingInputs, GdnGatingOptions, GdnGatingOut, OpOptions,
    QkvzbaHeads, QkvzbaSplitOptions, QkvzbaSplitOut, RecomputeWUOptions, Result,
    SigmoidGatingOptions, SigmoidGatingOut, SolveTrilOptions, StateLayout, Stream, Tensor, bf16,
    causal_conv1d_fwd_split_qkv_into, causal_conv1d_update_into,
    causal_conv1d_update_split_qkv_into, causal_conv1d_varlen_into, chunk_delta_h_fwd_into,
    chunk_fwd_o_into, chunk_gated_delta_rule_into, cumsum_scalar_into, err_ratio_into,
    fused_cumsum_kkt_into, fused_gdn_gating_into, fused_qkvzba_split_into,
    fused_recurrent_fwd_into, fused_sigmoid_gating_recurrent_packed_into, l2_normalize_into,
    op_exp_into, prepare_chunk_indices_on_device_into, recompute_w_u_into, solve_tril_into,
};

/// Channels of a convolution of Qwen3-Next on 8 chips: those of queries, as of keys, and of values.
const SPLIT: [usize; 2] = [256, 512];
const CHANNELS: usize = 2 * SPLIT[0] + SPLIT[1];
const WIDTH: usize = 4;
const TOKENS: usize = 1024;
/// Sequences that get one more token.
const BATCH: usize = 64;

fn numbers(count: usize) -> Vec<bf16> {
    (0..count).map(|i| bf16::from_f32((i % 17) as f32 / 8.0 - 1.0)).collect()
}

fn tensor(stream: &Stream, shape: &[usize]) -> Result<Tensor<bf16>> {
    Tensor::from_slice(stream, &numbers(shape.iter().product()), shape)
}

/// Tokens of channels, of which channels are adjacent in memory.
fn by_token(stream: &Stream, [channels, tokens]: [usize; 2]) -> Result<Tensor<bf16>> {
    let whole = tensor(stream, &[tokens, channels])?;
    // SAFETY: nobody has the whole any more.
    Ok(unsafe { whole.permute(&[1, 0])?.alias() })
}

/// An op that moves so many bytes; `prepare` gives what launches it.
fn bench(
    criterion: &mut Criterion,
    op: &str,
    bytes: usize,
    prepare: impl Fn(&Stream) -> Result<Box<dyn FnMut() -> Result<()>>>,
) {
    let mut group = criterion.benchmark_group(format!("{op}/bf16"));
    group.sample_size(10).warm_up_time(Duration::from_millis(200));
    group.measurement_time(Duration::from_secs(1));
    group.throughput(Throughput::Bytes(bytes as u64));
    for name in ["sim:mi325x", "sim:mi355x"] {
        let stream = Device::open(name).expect("it opens").default_stream();
        let mut launch = prepare(&stream).expect("it fits");
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            bencher.iter(|| {
                launch().expect("it launches");
                stream.synchronize().expect("it runs");
            });
        });
    }
    group.finish();
}

fn convolutions(criterion: &mut Criterion) {
    let bytes = 2 * 2 * CHANNELS * TOKENS;
    for (order, is_by_token) in [("by token", true), ("by channel", false)] {
        let x = move |stream: &Stream| {
            let shape = [CHANNELS, TOKENS];
            if is_by_token { by_token(stream, shape) } else { tensor(stream, &shape) }
        };
        bench(criterion, &format!("causal_conv1d_varlen, {order}"), bytes, |stream| {
            let (x, mut y) = (x(stream)?, x(stream)?);
            let weight = tensor(stream, &[CHANNELS, WIDTH])?;
            let bounds = Tensor::from_slice(stream, &[0i32, 300, TOKENS as i32], &[3])?;
            Ok(Box::new(move || {
                let options = CausalConv1dOptions::default().validate_indices(false);
                let out = CausalConv1dVarlenOut { y: &mut y, conv_states: None };
                causal_conv1d_varlen_into(&x, &weight, &bounds, &options, out)
            }))
        });
        bench(criterion, &format!("causal_conv1d_fwd_split_qkv, {order}"), bytes, |stream| {
            let (x, weight) = (x(stream)?, tensor(stream, &[CHANNELS, WIDTH])?);
            let bounds = Tensor::from_slice(stream, &[0i32, 300, TOKENS as i32], &[3])?;
            let [k_dim, v_dim] = SPLIT;
            let mut q = tensor(stream, &[TOKENS, k_dim])?;
            let mut k = tensor(stream, &[TOKENS, k_dim])?;
            let mut v = tensor(stream, &[TOKENS, v_dim])?;
            Ok(Box::new(move || {
                let options = CausalConv1dOptions::default().validate_indices(false);
                let (q, k, v) = (&mut *q, &mut *k, &mut *v);
                let out = CausalConv1dFwdSplitQkvOut { q, k, v, conv_states: None };
                causal_conv1d_fwd_split_qkv_into(&x, &weight, &bounds, k_dim, v_dim, &options, out)
            }))
        });
    }
    let bytes = 2 * CHANNELS * BATCH * 2 * WIDTH;
    bench(criterion, "causal_conv1d_update", bytes, |stream| {
        let (x, mut y) = (tensor(stream, &[BATCH, CHANNELS])?, tensor(stream, &[BATCH, CHANNELS])?);
        let weight = tensor(stream, &[CHANNELS, WIDTH])?;
        let mut state = tensor(stream, &[BATCH, CHANNELS, WIDTH - 1])?;
        Ok(Box::new(move || {
            let out = CausalConv1dUpdateOut { y: &mut y, conv_state: &mut state };
            causal_conv1d_update_into(&x, &weight, &CausalConv1dOptions::default(), out)
        }))
    });
    bench(criterion, "causal_conv1d_update_split_qkv", bytes, |stream| {
        let (x, weight) =
            (tensor(stream, &[BATCH, CHANNELS])?, tensor(stream, &[CHANNELS, WIDTH])?);
        let [key_dim, value_dim] = SPLIT;
        let mut q = tensor(stream, &[BATCH, key_dim])?;
        let mut k = tensor(stream, &[BATCH, key_dim])?;
        let mut v = tensor(stream, &[BATCH, value_dim])?;
        let mut state = tensor(stream, &[BATCH, CHANNELS, WIDTH - 1])?;
        Ok(Box::new(move || {
            let options = CausalConv1dOptions::default();
            let (q, k, v, conv_state) = (&mut *q, &mut *k, &mut *v, &mut *state);
            let out = CausalConv1dUpdateSplitQkvOut { q, k, v, conv_state };
            causal_conv1d_update_split_qkv_into(&x, &weight, key_dim, value_dim, &options, out)
        }))
    });
}

fn projections(criterion: &mut Criterion) {
    let heads = QkvzbaHeads { num_heads_qk: 2, num_heads_v: 4, head_qk: 128, head_v: 128 };
    let (width, values) = (2 * (2 + 4) * 128, 4);
    let bytes = 2 * 2 * TOKENS * (width + 2 * values);
    bench(criterion, "fused_qkvzba_split", bytes, |stream| {
        let mixed_qkvz = tensor(stream, &[TOKENS, width])?;
        let mixed_ba = tensor(stream, &[TOKENS, 2 * values])?;
        let mut mixed_qkv = tensor(stream, &[TOKENS, width - values * 128])?;
        let mut z = tensor(stream, &[TOKENS, values, 128])?;
        let mut b = tensor(stream, &[TOKENS, values])?;
        let mut a = tensor(stream, &[TOKENS, values])?;
        Ok(Box::new(move || {
            let (mixed_qkv, z, b, a) = (&mut *mixed_qkv, &mut *z, &mut *b, &mut *a);
            let out = QkvzbaSplitOut { mixed_qkv, z, b, a };
            let options = QkvzbaSplitOptions::default();
            fused_qkvzba_split_into(&mixed_qkvz, &mixed_ba, heads, &options, out)
        }))
    });
}

fn gates(criterion: &mut Criterion) {
    for (tokens, heads) in [(8192, 4), (1024, 32)] {
        let bytes = tokens * heads * (2 * 2 + 2 * 4);
        let op = format!("fused_gdn_gating, {tokens}x{heads}");
        bench(criterion, &op, bytes, |stream| {
            let (a, b) = (tensor(stream, &[tokens, heads])?, tensor(stream, &[tokens, heads])?);
            let (a_log, dt_bias) = (tensor(stream, &[heads])?, tensor(stream, &[heads])?);
            let mut g = Tensor::<f32>::zeros(stream, &[tokens, heads])?;
            let mut beta = Tensor::<f32>::zeros(stream, &[tokens, heads])?;
            Ok(Box::new(move || {
                let out = GdnGatingOut { g: &mut g, beta: &mut *beta };
                let options = GdnGatingOptions::default();
                fused_gdn_gating_into(&a_log, &dt_bias, &a, &b, &options, out)
            }))
        });
    }
}

fn chunks(criterion: &mut Criterion) {
    let (tokens, heads) = (8192, 32);
    let bytes = tokens * heads * 2 * 4;
    for head_first in [false, true] {
        let op = format!("cumsum_scalar, {tokens}x{heads}, heads first {head_first}");
        bench(criterion, &op, bytes, |stream| {
            let shape = if head_first { [1, heads, tokens] } else { [1, tokens, heads] };
            let s = Tensor::<f32>::zeros(stream, &shape)?;
            let mut o = Tensor::<f32>::zeros(stream, &shape)?;
            Ok(Box::new(move || {
                let options = CumsumOptions::default().head_first(head_first);
                cumsum_scalar_into(&s, 64, &options, &mut *o)
            }))
        });
    }
    bench(criterion, "prepare_chunk_indices_on_device", 128 * 2 * 4, |stream| {
        let bounds: Vec<i32> = (0..=64).map(|i| i * 128).collect();
        let bounds = Tensor::from_slice(stream, &bounds, &[65])?;
        let mut rows = Tensor::<i32>::zeros(stream, &[128, 2])?;
        Ok(Box::new(move || prepare_chunk_indices_on_device_into(&bounds, 64, &mut rows)))
    });
}

fn solves(criterion: &mut Criterion) {
    let shape = [1, 1024, 4, 64];
    let bytes = 2 * 4 * shape.iter().product::<usize>();
    bench(criterion, "solve_tril, 1024x4x64", bytes, |stream| {
        let a = Tensor::filled(stream, &shape, 0.01f32)?;
        let mut ai = Tensor::<f32>::zeros(stream, &shape)?;
        Ok(Box::new(move || solve_tril_into(&a, &SolveTrilOptions::default(), &mut *ai)))
    });
}

fn functions(criterion: &mut Criterion) {
    let count = 1 << 18;
    bench(criterion, "op_exp", count * 2 * 4, |stream| {
        let x = Tensor::<f32>::zeros(stream, &[count])?;
        let mut y = Tensor::<f32>::zeros(stream, &[count])?;
        Ok(Box::new(move || op_exp_into(&x, &OpOptions::default(), &mut y)))
    });
    bench(criterion, "err_ratio", count * 2 * 4, |stream| {
        let x = Tensor::filled(stream, &[count], 1.0f32)?;
        let mut out = Tensor::<f32>::zeros(stream, &[1])?;
        Ok(Box::new(move || err_ratio_into(&x, &x, &mut out)))
    });
    bench(criterion, "l2_normalize", count * 2 * 4, |stream| {
        let x = Tensor::filled(stream, &[count / 128, 128], 1.0f32)?;
        let mut out = Tensor::<f32>::zeros(stream, &[count / 128, 128])?;
        Ok(Box::new(move || l2_normalize_into(&x, 1e-6, &mut out)))
    });
}

/// Chunks of Qwen3-Next on 8 chips, 8,192 tokens.
fn prefills(criterion: &mut Criterion) {
    let tokens = 8192;
    let (of_keys, of_values) = ([1, tokens, 2, 128], [1, tokens, 4, 128]);
    let (rows, of_heads) = (2 * tokens * 128, [1, tokens, 4]);
    let gates = move |stream: &Stream, g: f32| Tensor::filled(stream, &of_heads, g);
    bench(criterion, "fused_cumsum_kkt", 2 * rows + 4 * tokens * 4 * 64, |stream| {
        let (g, beta) = (gates(stream, -0.01)?, gates(stream, 0.5)?);
        let k = Tensor::filled(stream, &of_keys, bf16::from_f32(0.0625))?;
        let mut sums = gates(stream, 0.0)?;
        let mut a = Tensor::<f32>::zeros(stream, &[1, tokens, 4, 64])?;
        Ok(Box::new(move || {
            let options = CumsumKktOptions::default();
            let out = CumsumKktOut { sums: &mut sums, a: &mut a };
            fused_cumsum_kkt_into(&g, &k, &beta, &options, out)
        }))
    });
    bench(criterion, "recompute_w_u", (2 + 3 * 4) * rows + 2 * tokens * 4 * 64, |stream| {
        let (sums, beta) = (gates(stream, -0.5)?, gates(stream, 0.5)?);
        let (k, v) = (tensor(stream, &of_keys)?, tensor(stream, &of_values)?);
        let tm = Tensor::filled(stream, &[1, tokens, 4, 64], bf16::from_f32(0.01))?;
        let (mut w, mut u) = (tensor(stream, &of_values)?, tensor(stream, &of_values)?);
        Ok(Box::new(move || {
            let gates = ChunkGates { sums: &sums, base: GateBase::E };
            let options = RecomputeWUOptions::default().gates(gates).beta(&*beta);
            let out = ChunkWUOut { w: &mut w, u: &mut u };
            recompute_w_u_into(&k, &v, &tm, &options, out)
        }))
    });
    let of_states = [tokens / 64, 4, 128, 128];
    let states = 2 * of_states.iter().product::<usize>();
    bench(criterion, "chunk_delta_h_fwd", (2 + 3 * 4) * rows + states, |stream| {
        let sums = gates(stream, -0.5)?;
        let k = Tensor::filled(stream, &of_keys, bf16::from_f32(0.0625))?;
        let w = Tensor::filled(stream, &of_values, bf16::from_f32(0.0625))?;
        let (u, mut v_new) = (tensor(stream, &of_values)?, tensor(stream, &of_values)?);
        let mut h = tensor(stream, &of_states)?;
        let mut finals = Tensor::<f32>::zeros(stream, &[1, 4, 128, 128])?;
        Ok(Box::new(move || {
            let gates = ChunkGates { sums: &sums, base: GateBase::E };
            let options = ChunkDeltaHOptions::default().gates(gates);
            let states = ChunkStates::Each { initial: None, finals: Some(&mut finals) };
            let out = ChunkDeltaHOut { h: Some(&mut *h), v_new: Some(&mut v_new), states };
            chunk_delta_h_fwd_into(&k, &w, &u, &options, out)
        }))
    });
    bench(criterion, "chunk_fwd_o", (2 * 2 + 2 * 4) * rows + states, |stream| {
        let sums = gates(stream, -0.5)?;
        let (q, v) = (tensor(stream, &of_keys)?, tensor(stream, &of_values)?);
        let (h, mut o) = (tensor(stream, &of_states)?, tensor(stream, &of_values)?);
        Ok(Box::new(move || {
            let gates = ChunkGates { sums: &sums, base: GateBase::E };
            let options = ChunkOOptions::default().gates(gates);
            chunk_fwd_o_into(&q, &q, &v, &h, &options, &mut o)
        }))
    });
    bench(criterion, "chunk_gated_delta_rule", (2 * 2 + 2 * 4) * rows, |stream| {
        let (g, beta) = (gates(stream, -0.01)?, gates(stream, 0.5)?);
        let (q, v) = (tensor(stream, &of_keys)?, tensor(stream, &of_values)?);
        let mut o = tensor(stream, &of_values)?;
        let mut finals = Tensor::<f32>::zeros(stream, &[1, 4, 128, 128])?;
        Ok(Box::new(move || {
            let options = ChunkGatedDeltaRuleOptions::default().use_qk_l2norm(true);
            let states = ChunkStates::Each { initial: None, finals: Some(&mut finals) };
            let out = ChunkGatedDeltaRuleOut { o: &mut o, states };
            chunk_gated_delta_rule_into(&q, &q, &v, &*g, &*beta, &options, out)
        }))
    });
}

/// A step of Qwen3-Next on 8 chips.
fn recurrences(criterion: &mut Criterion) {
    let heads = QkvzbaHeads { num_heads_qk: 2, num_heads_v: 4, head_qk: 128, head_v: 128 };
    for layout in [StateLayout::Kv, StateLayout::Vk] {
        let states = [BATCH, 4, 128, 128];
        let bytes = 2 * 4 * states.iter().product::<usize>();
        let op = format!("fused_sigmoid_gating_recurrent, {layout:?} states of f32");
        bench(criterion, &op, bytes, |stream| {
            let mixed_qkv = tensor(stream, &[BATCH, 1, CHANNELS])?;
            let of_heads = tensor(stream, &[4])?;
            let of_tokens = tensor(stream, &[BATCH, 1, 4])?;
            let mut state = Tensor::<f32>::zeros(stream, &states)?;
            let mut o = tensor(stream, &[BATCH, 1, 4, 128])?;
            Ok(Box::new(move || {
                let options = SigmoidGatingOptions::default().state_layout(layout);
                let options = options.use_qk_l2norm(true);
                let gating = GatingInputs {
                    a_log: &of_heads,
                    dt_bias: &of_heads,
                    a: &of_tokens,
                    b: &of_tokens,
                };
                let out = SigmoidGatingOut { o: &mut *o, state: Some(&mut *state) };
                fused_sigmoid_gating_recurrent_packed_into(gating, &mixed_qkv, heads, &options, out)
            }))
        });
    }
    let (tokens, bytes) = (64, 2 * 4 * 4 * 128 * 128);
    bench(criterion, "fused_recurrent_fwd, 64 tokens", bytes, |stream| {
        let q = tensor(stream, &[1, tokens, 2, 128])?;
        let v = tensor(stream, &[1, tokens, 4, 128])?;
        let state = Tensor::<f32>::zeros(stream, &[1, 4, 128, 128])?;
        let mut o = tensor(stream, &[1, tokens, 4, 128])?;
        let mut final_state = Tensor::<f32>::zeros(stream, &[1, 4, 128, 128])?;
        Ok(Box::new(move || {
            let options = FusedRecurrentOptions::default().use_qk_l2norm(true);
            let out = FusedRecurrentOut { o: &mut *o, final_state: Some(&mut *final_state) };
            fused_recurrent_fwd_into(&q, &q, &v, Some(&*state), &options, out)
        }))
    });
}

criterion_group!(
    benches,
    convolutions,
    projections,
    gates,
    chunks,
    functions,
    recurrences,
    solves,
    prefills
);
criterion_main!(benches);
