//! Ops of hk-moe on the simulator, one group per op.
//!
//! `cargo bench -p hk-benches --bench moe`

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hk_moe::{
    Activation, BitmatrixOptions, Device, E8M0, ExptDataOptions, ExptDataOut, FusedMoe,
    FusedMoeConfig, MoeAlignOptions, MoeAlignOut, MoeGatedOptions, MoeGemmOptions, MoeLayerOptions,
    MoeRaggedOptions, MoeTopkOptions, MoeTopkOut, MxMatrices, Mxfp4Weights, RaggedScales, Result,
    Router, RoutingOptions, RowOptions, SigmoidTop1Options, SigmoidTop1Out, Stream, Tensor,
    WeightNorm, aligned_capacity, bf16, expt_data_compute_into, max_num_tiles, moe_a4w4_into,
    moe_a8w4_into, moe_a8w8_blockscale_into, moe_a8w8_into, moe_align_block_size,
    moe_align_block_size_into, moe_e2e_into, moe_gelu_into, moe_gemm_into,
    moe_mxfp4_silu_fused_into, moe_routing_sigmoid_top1_fused_into, moe_silu_fused_into,
    moe_sum_into, moe_topk_into, routing, sum_bitmatrix_rows_fused_into,
};

/// Tokens of a batch.
const TOKENS: usize = 256;
/// Experts, and how many a token has: of Mixtral, GPT-OSS, DeepSeek-V3 and Qwen3-Next.
const MODELS: [[usize; 2]; 4] = [[8, 2], [128, 4], [256, 8], [512, 10]];

/// An op for so many gates; `prepare` gives what launches it.
fn bench(
    criterion: &mut Criterion,
    op: &str,
    gates: usize,
    prepare: impl Fn(&Stream) -> Result<Box<dyn FnMut() -> Result<()>>>,
) {
    let mut group = criterion.benchmark_group(op);
    group.sample_size(10).warm_up_time(Duration::from_millis(200));
    group.measurement_time(Duration::from_secs(1));
    group.throughput(Throughput::Elements(gates as u64));
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

fn topk(criterion: &mut Criterion) {
    for [experts, k] in MODELS {
        let op = format!("moe_topk/bf16, {TOKENS}x{experts}, {k}");
        bench(criterion, &op, TOKENS * k, |stream| {
            let logits = (0..TOKENS * experts).map(|i| bf16::from_f32((i * 7919 % 509) as f32));
            let x = Tensor::from_slice(stream, &logits.collect::<Vec<_>>(), &[TOKENS, experts])?;
            let mut y_vals = Tensor::<f32>::empty(stream, &[TOKENS, k])?;
            let mut y_indx = Tensor::empty(stream, &[TOKENS, k])?;
            Ok(Box::new(move || {
                let options = MoeTopkOptions::default().weight_norm(WeightNorm::Softmax);
                let (y_vals, y_indx) = (&mut *y_vals, &mut *y_indx);
                let out = MoeTopkOut { y_vals, y_indx, bitmatrix: None };
                moe_topk_into(&x, k, &options, out)
            }))
        });
    }
}

/// Experts of tokens, each as likely as any other, or nearly all those of the lowest numbers.
fn ids(stream: &Stream, [experts, k]: [usize; 2], is_even: bool) -> Result<Tensor<i32>> {
    let of_gate = |gate: usize| match is_even {
        true => gate * 7919 % experts,
        false => gate * 7919 % 509 * (gate * 31 % 509) % (gate % experts + 1),
    };
    let ids: Vec<_> = (0..TOKENS * k).map(|gate| of_gate(gate) as i32).collect();
    Tensor::from_slice(stream, &ids, &[TOKENS, k])
}

fn align(criterion: &mut Criterion) {
    for (model, is_even) in MODELS.into_iter().flat_map(|model| [(model, true), (model, false)]) {
        let [experts, k] = model;
        let load = if is_even { "even" } else { "skewed" };
        let op = format!("moe_align_block_size, {TOKENS}x{k} of {experts}, {load}");
        bench(criterion, &op, TOKENS * k, |stream| {
            let ids = ids(stream, model, is_even)?;
            let rows = aligned_capacity(TOKENS * k, experts, 16);
            let mut sorted = Tensor::empty(stream, &[rows])?;
            let mut tiles = Tensor::empty(stream, &[rows.div_ceil(16)])?;
            let mut total = Tensor::empty(stream, &[1])?;
            Ok(Box::new(move || {
                let options = MoeAlignOptions::default().validate_indices(false);
                let (sorted_token_ids, expert_ids) = (&mut *sorted, &mut *tiles);
                let num_tokens_post_pad = &mut *total;
                let (hist, offsets) = (None, None);
                let out = MoeAlignOut {
                    sorted_token_ids,
                    expert_ids,
                    num_tokens_post_pad,
                    hist,
                    offsets,
                };
                moe_align_block_size_into(&ids, experts, 16, &options, out)
            }))
        });
    }
}

fn bitmatrix(criterion: &mut Criterion) {
    for [experts, k] in MODELS {
        let op = format!("sum_bitmatrix_rows_fused, {TOKENS}x{experts}");
        bench(criterion, &op, TOKENS * k, |stream| {
            let bits: Tensor<u32> = Tensor::filled(stream, &[TOKENS, experts.div_ceil(32)], 0x101)?;
            let mut hist = Tensor::empty(stream, &[experts.next_multiple_of(32)])?;
            Ok(Box::new(move || {
                let options = BitmatrixOptions::default();
                sum_bitmatrix_rows_fused_into(&bits, experts, &options, &mut hist)
            }))
        });
    }
}

fn expert_data(criterion: &mut Criterion) {
    for [experts, k] in MODELS {
        let op = format!("expt_data_compute, {experts}");
        let gates = TOKENS * k;
        bench(criterion, &op, gates, |stream| {
            let hist = vec![(gates / experts) as i32; experts];
            let hist = Tensor::from_slice(stream, &hist, &[experts])?;
            let [mut raw, mut pad] =
                [Tensor::empty(stream, &[experts + 1])?, Tensor::empty(stream, &[experts + 1])?];
            let mut map = Tensor::empty(stream, &[max_num_tiles(gates, experts, 4)])?;
            Ok(Box::new(move || {
                let options = ExptDataOptions::default().validate_indices(false);
                let (token_offs_raw, token_offs_pad) = (&mut *raw, &mut *pad);
                let block_pid_map = &mut *map;
                let out = ExptDataOut { token_offs_raw, token_offs_pad, block_pid_map };
                expt_data_compute_into(&hist, gates, 4, &options, out)
            }))
        });
    }
}

fn sigmoid_top1(criterion: &mut Criterion) {
    for (tokens, experts, k) in [(16, 128, 5120), (128, 16, 128)] {
        let op = format!("moe_routing_sigmoid_top1_fused/bf16, {tokens}x{experts}x{k}");
        bench(criterion, &op, tokens, |stream| {
            let x = Tensor::filled(stream, &[tokens, k], bf16::ONE)?;
            let w = Tensor::filled(stream, &[k, experts], bf16::ONE)?;
            let mut ids = Tensor::empty(stream, &[tokens, 1])?;
            let mut weights = Tensor::empty(stream, &[tokens, 1])?;
            Ok(Box::new(move || {
                let (topk_ids, topk_weights) = (&mut *ids, &mut *weights);
                let out = SigmoidTop1Out { topk_ids, topk_weights };
                let options = SigmoidTop1Options::default();
                moe_routing_sigmoid_top1_fused_into(&x, &w, 1, &options, out)
            }))
        });
    }
}

fn route(criterion: &mut Criterion) {
    for [experts, k] in MODELS {
        let op = format!("routing/bf16, {TOKENS}x{experts}, {k}");
        bench(criterion, &op, TOKENS * k, |stream| {
            let logits = (0..TOKENS * experts).map(|i| bf16::from_f32((i * 7919 % 509) as f32));
            let x = Tensor::from_slice(stream, &logits.collect::<Vec<_>>(), &[TOKENS, experts])?;
            Ok(Box::new(move || routing(&x, k, &RoutingOptions::default()).map(drop)))
        });
    }
}

fn sum(criterion: &mut Criterion) {
    for [k, width] in [[8, 2048], [4, 2880]] {
        let tokens = 64;
        bench(criterion, &format!("moe_sum/bf16, {tokens}x{k}x{width}"), tokens * k, |stream| {
            let c = Tensor::filled(stream, &[tokens, k, width], bf16::ONE)?;
            let mut out = Tensor::<bf16>::empty(stream, &[tokens, width])?;
            Ok(Box::new(move || moe_sum_into(&c, None, &RowOptions::default(), &mut out)))
        });
    }
}

/// Sizes of k and of the hidden layer of an expert, in small.
const WIDTHS: [usize; 2] = [512, 256];

/// Products of 16 experts, of which each token has two.
fn products(criterion: &mut Criterion) {
    const EXPERTS: usize = 16;
    for tokens in [16, TOKENS] {
        let block_size = if tokens <= 64 { 16 } else { 64 };
        let [k, hidden] = WIDTHS;
        for op in ["moe_gemm", "moe_gelu", "moe_silu_fused", "moe_e2e"] {
            bench(
                criterion,
                &format!("{op}/bf16, {tokens}x2 of {EXPERTS}"),
                tokens * 2,
                |stream| {
                    let half = |shape: &[usize]| Tensor::filled(stream, shape, bf16::from_f32(0.5));
                    let (a, b) = (half(&[tokens, k])?, half(&[EXPERTS, 2 * hidden, k])?);
                    let (one, w2) = (half(&[EXPERTS, hidden, k])?, half(&[EXPERTS, k, hidden])?);
                    let ids: Vec<_> =
                        (0..tokens * 2).map(|gate| (gate * 7 % EXPERTS) as i32).collect();
                    let ids = Tensor::from_slice(stream, &ids, &[tokens, 2])?;
                    let options = MoeAlignOptions::default();
                    let aligned = moe_align_block_size(&ids, EXPERTS, block_size, &options)?;
                    let width = if op == "moe_e2e" { k } else { hidden };
                    let mut c = Tensor::<bf16>::zeros(stream, &[tokens, 2, width])?;
                    Ok(Box::new(move || {
                        let (gates, plain) = (aligned.gates(block_size), MoeGemmOptions::default());
                        match op {
                            "moe_gemm" => moe_gemm_into(&a, &one, &gates, 2, &plain, &mut c),
                            "moe_gelu" => moe_gelu_into(&a, &one, &gates, 2, &plain, &mut c),
                            "moe_silu_fused" => {
                                moe_silu_fused_into(&a, &b, &gates, 2, &plain, &mut c)
                            }
                            _ => {
                                let layer = MoeLayerOptions::default();
                                moe_e2e_into(&a, &b, &w2, &gates, 2, &layer, &mut c)
                            }
                        }
                    }))
                },
            );
        }
    }
}

/// Gated products of 16 experts, of which each token has two, whose matrices are of 4 bits.
fn gated_mx(criterion: &mut Criterion) {
    const EXPERTS: usize = 16;
    for tokens in [16, TOKENS] {
        let block_size = if tokens <= 64 { 16 } else { 64 };
        let [k, hidden] = WIDTHS;
        let title = format!("moe_mxfp4_silu_fused/bf16, {tokens}x2 of {EXPERTS}");
        bench(criterion, &title, tokens * 2, |stream| {
            let a = Tensor::filled(stream, &[tokens, k], bf16::from_f32(0.5))?;
            let b = Tensor::zeros(stream, &[EXPERTS, 2 * hidden, k])?;
            let of_b = [EXPERTS, 2 * hidden, k / 32];
            let of_b = Tensor::filled(stream, &of_b, E8M0::from_f32(1.0))?;
            let bias = Tensor::filled(stream, &[EXPERTS, 2 * hidden], 0.5f32)?;
            let ids: Vec<_> = (0..tokens * 2).map(|gate| (gate * 7 % EXPERTS) as i32).collect();
            let ids = Tensor::from_slice(stream, &ids, &[tokens, 2])?;
            let options = MoeAlignOptions::default();
            let aligned = moe_align_block_size(&ids, EXPERTS, block_size, &options)?;
            let mut c = Tensor::<bf16>::zeros(stream, &[tokens, 2, hidden])?;
            Ok(Box::new(move || {
                let gates = aligned.gates(block_size);
                let options = MoeGatedOptions::new(Activation::SiluAndMul).bias(&bias);
                moe_mxfp4_silu_fused_into(&a, &b, &of_b, &gates, 2, &options, &mut c)
            }))
        });
    }
}

/// Products of 16 experts, whose rows lie in their order: the first of a layer, of rows that are gathered.
fn ragged(criterion: &mut Criterion) {
    const EXPERTS: usize = 16;
    for (tokens, op) in [16, TOKENS].into_iter().flat_map(|tokens| {
        ["moe_a8w8", "moe_a8w8_blockscale", "moe_a8w4", "moe_a4w4"].map(|op| (tokens, op))
    }) {
        let [k, hidden] = WIDTHS;
        let title = format!("{op}/{tokens}x2 of {EXPERTS}, gathered");
        bench(criterion, &title, tokens * 2, |stream| {
            let logits = (0..tokens * EXPERTS).map(|i| bf16::from_f32((i * 7919 % 509) as f32));
            let logits =
                Tensor::from_slice(stream, &logits.collect::<Vec<_>>(), &[tokens, EXPERTS])?;
            let order = routing(&logits, 2, &RoutingOptions::default())?;
            let (rows, matrices) = ([tokens, k], [EXPERTS, 2 * hidden, k]);
            let (x8, w8) =
                (Tensor::filled(stream, &rows, 1i8)?, Tensor::filled(stream, &matrices, 1i8)?);
            let x16 = Tensor::filled(stream, &rows, bf16::ONE)?;
            let (x4, w4) = (Tensor::zeros(stream, &rows)?, Tensor::zeros(stream, &matrices)?);
            let of_x = Tensor::filled(stream, &[tokens, k / 32], E8M0::from_f32(1.0))?;
            let of_w = Tensor::filled(stream, &[EXPERTS, 2 * hidden, k / 32], E8M0::from_f32(1.0))?;
            let groups = Tensor::filled(stream, &[tokens, k / 128], 1.0f32)?;
            let one = Tensor::filled(stream, &[1], 1.0f32)?;
            let mut y = Tensor::<bf16>::zeros(stream, &[2 * tokens, hidden])?;
            Ok(Box::new(move || {
                let gates = order.gathered();
                let options = MoeRaggedOptions::new(Activation::SiluAndMul).validate_indices(false);
                match op {
                    "moe_a8w8" => moe_a8w8_into(&x8, &w8, &one, &one, &gates, &options, &mut y),
                    "moe_a8w8_blockscale" => {
                        let scales = RaggedScales::default().x(&groups);
                        moe_a8w8_blockscale_into(&x8, &w8, &scales, &gates, &options, &mut y)
                    }
                    "moe_a8w4" => moe_a8w4_into(&x16, None, &w4, &of_w, &gates, &options, &mut y),
                    _ => moe_a4w4_into(&x4, &of_x, &w4, &of_w, &gates, &options, &mut y),
                }
            }))
        });
    }
}

/// A layer of GPT-OSS's, of a tenth of its width: all of its experts, from logits to the sum.
fn layer(criterion: &mut Criterion) {
    const EXPERTS: usize = 128;
    let (hidden, inner) = (288, 288);
    for tokens in [1, TOKENS] {
        let title = format!("fused_moe/GPT-OSS, {tokens}x4 of {EXPERTS}, {hidden}x{inner}");
        bench(criterion, &title, tokens * 4, |stream| {
            let matrices = |rows: usize, columns: usize| -> Result<MxMatrices<_>> {
                let scales = [EXPERTS, rows, columns / 32];
                Ok(MxMatrices {
                    codes: Tensor::zeros(stream, &[EXPERTS, rows, columns])?,
                    scales: Tensor::filled(stream, &scales, E8M0::from_f32(1.0))?,
                })
            };
            let (w1, w2) = (matrices(2 * inner, hidden)?, matrices(hidden, inner)?);
            let b1 = Tensor::filled(stream, &[EXPERTS, 2 * inner], 0.5f32)?;
            let b2 = Tensor::filled(stream, &[EXPERTS, hidden], 0.5f32)?;
            let weights = Mxfp4Weights::<bf16>::new(w1, w2).biases(b1, b2);
            let mut layer = FusedMoe::new(FusedMoeConfig::gpt_oss(), weights, tokens)?;
            let x = Tensor::filled(stream, &[tokens, hidden], bf16::ONE)?;
            let logits = (0..tokens * EXPERTS).map(|i| (i * 7919 % 509) as f32);
            let logits =
                Tensor::from_slice(stream, &logits.collect::<Vec<_>>(), &[tokens, EXPERTS])?;
            let mut out = Tensor::<bf16>::zeros(stream, &[tokens, hidden])?;
            Ok(Box::new(move || layer.forward_into(&x, Router::Logits(&logits), None, &mut out)))
        });
    }
}

criterion_group!(
    benches,
    topk,
    align,
    bitmatrix,
    expert_data,
    sigmoid_top1,
    route,
    sum,
    products,
    gated_mx,
    ragged,
    layer
);
criterion_main!(benches);
