//! Attention of hk-attn on the simulator, one group per module.
//!
//! `cargo bench -p hk-benches --bench attention`

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hk_attn::{
    Arch, AttentionOptions, AttnForward, AttnGradientsOut, BackwardOptions, DecodeAppend,
    DecodeCache, Device, ExtendOptions, ExtendPrefix, F8E4M3, F8E4M3Fnuz, FlashLayout,
    FlashOptions, HstuOptions, LeanAttnOut, LeanBatch, LeanOptions, MhaOut, MlaDecodeOptions,
    MlaDecodeOut, MlaRope, MlaTokens, PaDecodeOptions, PaDecodeOut, PaPrefillOptions,
    PagedSequences, PodOptions, PrefillOptions, PrefixCache, Result, RopeStyle, SageAttnOut,
    SageOptions, SparseMlaOptions, SparseMlaOut, Stream, Tensor, UnifiedAttnOptions,
    attn_merge_states_into, bf16, chunked_prefill_paged_decode_into, extend_attn_fwd_into,
    flash_attn_bwd_into, flash_attn_fwd_decode_append_into, flash_attn_fwd_prefill_into,
    hstu_attn_fwd_into, lean_attn_fwd_into, lean_attn_paged_fwd_into, mha_fused_bwd_into, mha_fwd,
    mha_fwd_into, mha_onekernel_bwd_into, mla_decode_rope_into, pa_decode_into,
    pa_prefill_fwd_into, pod_attn_into, prefill_attn_fwd_into, sage_attn_into,
    sparse_mla_attn_fwd_into, unified_attn_fwd_into,
};

/// Query and key heads of Llama 3 8B on one of eight chips, and elements of each.
const LLAMA: [usize; 3] = [4, 1, 128];
/// Heads of DeepSeek V3 on one of eight chips, columns of latent values, and columns behind them.
const DEEPSEEK: [usize; 3] = [16, 512, 64];
/// Queries and keys of a prompt, and keys of a decoding step.
const PROMPT: usize = 256;
const CONTEXT: usize = 2048;
/// Slots of a page.
const BLOCK: usize = 16;

fn tensor(stream: &Stream, shape: &[usize]) -> Result<Tensor<bf16>> {
    let count = shape.iter().product();
    let numbers: Vec<_> = (0..count).map(|i| bf16::from_f32((i % 17) as f32 / 8.0 - 1.0)).collect();
    Tensor::from_slice(stream, &numbers, shape)
}

type Launch = Box<dyn FnMut() -> Result<()>>;
type Prepare<'a> = &'a dyn Fn(&Stream) -> Result<Launch>;

/// Ops of a module, each with its name, how many scores it computes, and what gives what launches it.
fn bench(criterion: &mut Criterion, module: &str, ops: &[(&str, usize, Prepare<'_>)]) {
    let mut group = criterion.benchmark_group(format!("{module}/bf16"));
    group.sample_size(10).warm_up_time(Duration::from_millis(200));
    group.measurement_time(Duration::from_secs(1));
    for &(op, scores, prepare) in ops {
        group.throughput(Throughput::Elements(scores as u64));
        for name in ["sim:mi325x", "sim:mi355x"] {
            let stream = Device::open(name).expect("it opens").default_stream();
            let mut launch = prepare(&stream).expect("it fits");
            group.bench_function(BenchmarkId::new(op, name), |bencher| {
                bencher.iter(|| {
                    launch().expect("it launches");
                    stream.synchronize().expect("it runs");
                });
            });
        }
    }
    group.finish();
}

fn mha(criterion: &mut Criterion) {
    let [heads, ..] = LLAMA;
    let ops: [(_, _, Prepare<'_>); 2] = [
        ("prefill", heads * PROMPT * PROMPT / 2, &|stream| attend(stream, PROMPT, PROMPT)),
        ("decode", heads * CONTEXT, &|stream| attend(stream, 1, CONTEXT)),
    ];
    bench(criterion, "mha", &ops);
}

fn attend(stream: &Stream, queries: usize, keys: usize) -> Result<Launch> {
    let [hq, hk, d] = LLAMA;
    let of = |rows, heads| tensor(stream, &[1, rows, heads, d]);
    let (q, k, v, mut out) = (of(queries, hq)?, of(keys, hk)?, of(keys, hk)?, of(queries, hq)?);
    Ok(Box::new(move || {
        let options = AttentionOptions::default().causal(true);
        mha_fwd_into(&q, &k, &v, &options, MhaOut { out: &mut *out, lse: None, s_dmask: None })
    }))
}

fn backward(criterion: &mut Criterion) {
    let [heads, ..] = LLAMA;
    for module in ["flash_attn_bwd", "mha_onekernel_bwd", "mha_fused_bwd"] {
        let launch = |stream: &Stream| -> Result<Launch> {
            let [hq, hk, d] = LLAMA;
            let of = |heads| tensor(stream, &[1, PROMPT, heads, d]);
            let (q, k, v, dout) = (of(hq)?, of(hk)?, of(hk)?, of(hq)?);
            let given = mha_fwd(&q, &k, &v, &AttentionOptions::default().causal(true))?;
            let (mut dq, mut dk, mut dv) = (of(hq)?, of(hk)?, of(hk)?);
            let mut delta = Tensor::zeros(stream, &[1, hq, PROMPT])?;
            Ok(Box::new(move || {
                let options = AttentionOptions::default().causal(true);
                let options = BackwardOptions::default().attention(options);
                let given = AttnForward { q: &q, k: &k, v: &v, out: &given.out, lse: &given.lse };
                let out = AttnGradientsOut {
                    dq: &mut dq,
                    dk: &mut dk,
                    dv: &mut dv,
                    delta: &mut delta,
                    dsink: None,
                };
                match module {
                    "flash_attn_bwd" => flash_attn_bwd_into(&dout, &given, &options, out),
                    "mha_fused_bwd" => mha_fused_bwd_into(&dout, &given, &options, out),
                    _ => mha_onekernel_bwd_into(&dout, &given, &options, out),
                }
            }))
        };
        let ops: [(_, _, Prepare<'_>); 1] = [("causal", heads * PROMPT * PROMPT / 2, &launch)];
        bench(criterion, module, &ops);
    }
}

fn sage_attention(criterion: &mut Criterion) {
    let [heads, ..] = LLAMA;
    let launch = |stream: &Stream| -> Result<Launch> {
        let [hq, hk, d] = LLAMA;
        let of = |heads| tensor(stream, &[1, PROMPT, heads, d]);
        let (q, k, v, mut out) = (of(hq)?, of(hk)?, of(hk)?, of(hq)?);
        let is_cdna3 = stream.device().arch() == Arch::Gfx942;
        Ok(Box::new(move || {
            let options = SageOptions::default();
            let out = SageAttnOut { out: &mut out, lse: None };
            match is_cdna3 {
                true => sage_attn_into::<_, F8E4M3Fnuz>(&q, &k, &v, &options, out),
                false => sage_attn_into::<_, F8E4M3>(&q, &k, &v, &options, out),
            }
        }))
    };
    let ops: [(_, _, Prepare<'_>); 1] = [("quantised before", heads * PROMPT * PROMPT, &launch)];
    bench(criterion, "sage_attention", &ops);
}

fn hstu_attn(criterion: &mut Criterion) {
    let (heads, d) = (4, LLAMA[2]);
    let launch = |stream: &Stream| -> Result<Launch> {
        let x = || tensor(stream, &[2 * PROMPT, heads, d]);
        let (q, k, v, mut out) = (x()?, x()?, x()?, x()?);
        let bounds = Tensor::from_slice(stream, &[0, PROMPT as i32, 2 * PROMPT as i32], &[3])?;
        let targets = Tensor::filled(stream, &[2], 20)?;
        Ok(Box::new(move || {
            let options = HstuOptions::default().num_targets(&targets).validate_indices(false);
            hstu_attn_fwd_into(&q, &k, &v, &bounds, PROMPT, 1.0, &options, &mut out)
        }))
    };
    let ops: [(_, _, Prepare<'_>); 1] = [("targets", heads * PROMPT * PROMPT, &launch)];
    bench(criterion, "hstu_attn", &ops);
}

fn lean_atten(criterion: &mut Criterion) {
    let [heads, ..] = LLAMA;
    let ops: [(_, _, Prepare<'_>); 1] = [("decode", heads * CONTEXT, &lean)];
    bench(criterion, "lean_atten", &ops);
}

fn lean(stream: &Stream) -> Result<Launch> {
    let [hq, hk, d] = LLAMA;
    let of = |rows, heads| tensor(stream, &[rows, heads, d]);
    let (q, k, v, mut out) = (of(1, hq)?, of(CONTEXT, hk)?, of(CONTEXT, hk)?, of(1, hq)?);
    let lengths = Tensor::from_slice(stream, &[CONTEXT as i32], &[1])?;
    Ok(Box::new(move || {
        let options = LeanOptions::default().program_count(64);
        let out = LeanAttnOut { out: &mut *out, lse: None };
        lean_attn_fwd_into(&q, &k, &v, &lengths, &options, out)
    }))
}

fn lean_atten_paged(criterion: &mut Criterion) {
    let [heads, ..] = LLAMA;
    let ops: [(_, _, Prepare<'_>); 1] = [("decode", heads * CONTEXT, &lean_paged)];
    bench(criterion, "lean_atten_paged", &ops);
}

fn lean_paged(stream: &Stream) -> Result<Launch> {
    let [hq, hk, d] = LLAMA;
    let (q, mut out) = (tensor(stream, &[1, 1, hq, d])?, tensor(stream, &[1, 1, hq, d])?);
    let cache = || tensor(stream, &[CONTEXT / BLOCK, BLOCK, hk, d]);
    let (k, v) = (cache()?, cache()?);
    let pages: Vec<_> = (0..(CONTEXT / BLOCK) as i32).rev().collect();
    let table = Tensor::from_slice(stream, &pages, &[1, pages.len()])?;
    let lengths = Tensor::from_slice(stream, &[CONTEXT as i32], &[1])?;
    Ok(Box::new(move || {
        let options = LeanOptions::default().program_count(64);
        let out = LeanAttnOut { out: &mut *out, lse: None };
        lean_attn_paged_fwd_into(&q, &k, &v, &table, &lengths, &options, out)
    }))
}

fn pod(criterion: &mut Criterion) {
    let [heads, ..] = LLAMA;
    let scores = heads * (CONTEXT + PROMPT * PROMPT / 2);
    let ops: [(_, _, Prepare<'_>); 1] = [("decode and prefill", scores, &both)];
    bench(criterion, "pod_attn", &ops);
}

fn both(stream: &Stream) -> Result<Launch> {
    let [hq, hk, d] = LLAMA;
    let of = |queries: usize, keys: usize| -> Result<_> {
        let of = |rows, heads| tensor(stream, &[rows, heads, d]);
        let lengths = Tensor::from_slice(stream, &[keys as i32], &[1])?;
        Ok((of(queries, hq)?, of(keys, hk)?, of(keys, hk)?, of(queries, hq)?, lengths))
    };
    let (mut decode, mut prefill) = (of(1, CONTEXT)?, of(PROMPT, PROMPT)?);
    Ok(Box::new(move || {
        let options = PodOptions::default().lean(LeanOptions::default().program_count(64));
        let (q, k, v, out, lengths) = &mut decode;
        let first = LeanBatch { q, k, v, kv_lens: (&*lengths).into() };
        let (q, k, v, out_pf, lengths) = &mut prefill;
        let second = LeanBatch { q, k, v, kv_lens: (&*lengths).into() };
        pod_attn_into(&first, &second, &options, out, out_pf)
    }))
}

/// Lengths of two sequences, and their pages, the last first.
fn pages(stream: &Stream, keys: usize) -> Result<[Tensor<i32>; 2]> {
    let pages: Vec<_> = (0..2 * (keys / BLOCK) as i32).rev().collect();
    let lengths = Tensor::filled(stream, &[2], keys as i32)?;
    Ok([lengths, Tensor::from_slice(stream, &pages, &[2, keys / BLOCK])?])
}

fn pa_decode(criterion: &mut Criterion) {
    let [hq, hk, d] = LLAMA;
    let launch = |stream: &Stream| -> Result<Launch> {
        let q = tensor(stream, &[2, hq, d])?;
        let [lengths, table] = pages(stream, CONTEXT / 2)?;
        let of = || tensor(stream, &[CONTEXT / BLOCK, hk, BLOCK, d]);
        let (k, v, mut out) = (of()?, of()?, tensor(stream, &[2, hq, d])?);
        Ok(Box::new(move || {
            let options = PaDecodeOptions::default();
            let out = PaDecodeOut { out: &mut *out, lse: None };
            pa_decode_into(&q, &k, &v, (&lengths).into(), (&table).into(), &options, out)
        }))
    };
    bench(criterion, "pa_decode", &[("decode", hq * CONTEXT, &launch)]);
}

fn unified_attn(criterion: &mut Criterion) {
    let [hq, hk, d] = LLAMA;
    let launch = |stream: &Stream| -> Result<Launch> {
        // A prompt of which all but the last tokens are there, and a step of decoding.
        let (prompt, keys) = (PROMPT / 4, PROMPT);
        let (q, mut out) =
            (tensor(stream, &[prompt + 1, hq, d])?, tensor(stream, &[prompt + 1, hq, d])?);
        let bounds = [0, prompt as i32, prompt as i32 + 1];
        let bounds = Tensor::from_slice(stream, &bounds, &[3])?;
        let [lengths, table] = pages(stream, keys)?;
        let of = || tensor(stream, &[2 * keys / BLOCK, BLOCK, hk, d]);
        let (k, v) = (of()?, of()?);
        Ok(Box::new(move || {
            let sequences = PagedSequences {
                cu_seqlens_q: (&bounds).into(),
                max_seqlen_q: prompt,
                seqused_k: (&lengths).into(),
                max_seqlen_k: keys,
                block_table: (&table).into(),
            };
            let options = UnifiedAttnOptions::default();
            unified_attn_fwd_into(&q, &k, &v, &sequences, &options, &mut out)
        }))
    };
    let scores = hq * (PROMPT / 4 * (PROMPT - PROMPT / 8) + PROMPT);
    bench(criterion, "unified_attn", &[("mixed", scores, &launch)]);
}

fn flash_attn_fwd_decode(criterion: &mut Criterion) {
    let [hq, hk, d] = LLAMA;
    let decode = |stream: &Stream| -> Result<Launch> {
        let (q, mut out) = (tensor(stream, &[2, 1, hq, d])?, tensor(stream, &[2, 1, hq, d])?);
        let of = |rows| tensor(stream, &[2, rows, hk, d]);
        let (mut k, mut v, new) = (of(CONTEXT / 2)?, of(CONTEXT / 2)?, of(1)?);
        let options = AttentionOptions::default().causal(true);
        Ok(Box::new(move || {
            let append = DecodeAppend {
                k_new: &new,
                v_new: &new,
                cache: DecodeCache::default(),
                advance_seqlens: None,
                seqlens: None,
            };
            let out = MhaOut { out: &mut *out, lse: None, s_dmask: None };
            flash_attn_fwd_decode_append_into(&q, &mut k, &mut v, append, &options, out)
        }))
    };
    let merge = |stream: &Stream| -> Result<Launch> {
        let (o, mut out) = (tensor(stream, &[8, 16, hq, d])?, tensor(stream, &[16, hq, d])?);
        let lse = Tensor::filled(stream, &[8, hq, 16], 1.0f32)?;
        Ok(Box::new(move || {
            attn_merge_states_into(&o, &lse, MhaOut { out: &mut *out, lse: None, s_dmask: None })
        }))
    };
    let ops: [(_, _, Prepare<'_>); 2] =
        [("append", hq * CONTEXT, &decode), ("merge", 8 * 16 * hq, &merge)];
    bench(criterion, "flash_attn_fwd_decode", &ops);
}

fn prefill_attn(criterion: &mut Criterion) {
    let [hq, hk, d] = LLAMA;
    let launch = |stream: &Stream| -> Result<Launch> {
        let of = |heads| tensor(stream, &[PROMPT, heads, d]);
        let (q, k, v, mut out) = (of(hq)?, of(hk)?, of(hk)?, of(hq)?);
        let start = Tensor::from_slice(stream, &[0i32], &[1])?;
        let length = Tensor::from_slice(stream, &[PROMPT as i32], &[1])?;
        Ok(Box::new(move || {
            let options = PrefillOptions::default();
            prefill_attn_fwd_into(&q, &k, &v, &start, &length, PROMPT, &options, &mut out)
        }))
    };
    bench(criterion, "prefill_attn", &[("prefill", hq * PROMPT * PROMPT / 2, &launch)]);
}

fn flash_attn_fwd_prefill(criterion: &mut Criterion) {
    let [hq, hk, d] = LLAMA;
    let launch = |stream: &Stream| -> Result<Launch> {
        let of = |heads| tensor(stream, &[1, heads, PROMPT, d]);
        let (q, k, v, mut out) = (of(hq)?, of(hk)?, of(hk)?, of(hq)?);
        Ok(Box::new(move || {
            let attention = AttentionOptions::default().causal(true);
            let options = FlashOptions::default().layout(FlashLayout::Bhsd).attention(attention);
            flash_attn_fwd_prefill_into(
                &q,
                &k,
                &v,
                &options,
                MhaOut { out: &mut *out, lse: None, s_dmask: None },
            )
        }))
    };
    bench(criterion, "flash_attn_fwd_prefill", &[("prefill", hq * PROMPT * PROMPT / 2, &launch)]);
}

/// New tokens behind a context.
const CHUNK: usize = 64;

fn extend_attn(criterion: &mut Criterion) {
    let [hq, hk, d] = LLAMA;
    let launch = |stream: &Stream| -> Result<Launch> {
        let of = |rows, heads| tensor(stream, &[rows, heads, d]);
        let (q, k, v, mut o) = (of(CHUNK, hq)?, of(CHUNK, hk)?, of(CHUNK, hk)?, of(CHUNK, hq)?);
        let (k_buffer, v_buffer) = (of(CONTEXT, hk)?, of(CONTEXT, hk)?);
        let tokens: Vec<_> = (0..CONTEXT as i32).rev().collect();
        let indices = Tensor::from_slice(stream, &tokens, &[CONTEXT])?;
        let bounds = |rows: usize| Tensor::from_slice(stream, &[0, rows as i32], &[2]);
        let (qo_indptr, kv_indptr) = (bounds(CHUNK)?, bounds(CONTEXT)?);
        Ok(Box::new(move || {
            let prefix = ExtendPrefix {
                k_buffer: &k_buffer,
                v_buffer: &v_buffer,
                kv_indptr: (&kv_indptr).into(),
                kv_indices: (&indices).into(),
            };
            let options = ExtendOptions::default();
            extend_attn_fwd_into(&q, &k, &v, &qo_indptr, CHUNK, Some(&prefix), &options, &mut o)
        }))
    };
    bench(criterion, "extend_attn", &[("extend", hq * CHUNK * (CONTEXT + CHUNK / 2), &launch)]);
}

/// A chunk behind a context of a paged cache, and steps of decoding if there are to be.
fn cached(stream: &Stream, has_step: bool) -> Result<Launch> {
    const X: usize = 8;
    let [hq, hk, d] = LLAMA;
    let new = CHUNK + usize::from(has_step);
    let of = |heads| tensor(stream, &[new, heads, d]);
    let (q, k, v, mut out) = (of(hq)?, of(hk)?, of(hk)?, of(hq)?);
    let blocks = 2 * CONTEXT / BLOCK;
    let key_cache = tensor(stream, &[blocks, hk, d / X, BLOCK, X])?;
    let value_cache = tensor(stream, &[blocks, hk, d, BLOCK])?;
    let pages: Vec<_> = (0..blocks as i32).rev().collect();
    let b_loc = Tensor::from_slice(stream, &pages, &[2, CONTEXT / BLOCK])?;
    let bounds = Tensor::from_slice(stream, &[0, CHUNK as i32, new as i32], &[3])?;
    let lengths = [CONTEXT, CONTEXT - usize::from(!has_step)].map(|length| length as i32);
    let lengths = Tensor::from_slice(stream, &lengths, &[2])?;
    Ok(Box::new(move || {
        let cache = PrefixCache {
            key_cache: &key_cache,
            value_cache: &value_cache,
            b_loc: (&b_loc).into(),
            b_start_loc: (&bounds).into(),
            b_seq_len: (&lengths).into(),
        };
        let options = PaPrefillOptions::default();
        if has_step {
            chunked_prefill_paged_decode_into(&q, &k, &v, &cache, CHUNK, &options, &mut out)
        } else {
            pa_prefill_fwd_into(&q, &k, &v, &cache, CHUNK, &options, &mut out)
        }
    }))
}

fn pa_prefill(criterion: &mut Criterion) {
    let scores = LLAMA[0] * CHUNK * CONTEXT;
    let ops: [(_, _, Prepare<'_>); 1] = [("chunk", scores, &|stream| cached(stream, false))];
    bench(criterion, "pa_prefill", &ops);
}

fn chunked_pa_prefill(criterion: &mut Criterion) {
    let scores = LLAMA[0] * (CHUNK + 1) * CONTEXT;
    let ops: [(_, _, Prepare<'_>); 1] =
        [("chunk and step", scores, &|stream| cached(stream, true))];
    bench(criterion, "chunked_pa_prefill", &ops);
}

fn mla_decode_rope(criterion: &mut Criterion) {
    let [hq, c, r] = DEEPSEEK;
    let launch = |stream: &Stream| -> Result<Launch> {
        let (q, mut out) = (tensor(stream, &[2, hq, c + r])?, tensor(stream, &[2, hq, c])?);
        let k_buffer = tensor(stream, &[CONTEXT, 1, c + r])?;
        let half = CONTEXT as i32 / 2;
        let kv_indptr = Tensor::from_slice(stream, &[0, half, 2 * half], &[3])?;
        let tokens: Vec<_> = (0..2 * half).rev().collect();
        let kv_indices = Tensor::from_slice(stream, &tokens, &[CONTEXT])?;
        let cos_sin_cache = tensor(stream, &[CONTEXT, r])?;
        let positions = Tensor::from_slice(stream, &[half - 1; 2], &[2])?;
        let mut k_pe_tokens = tensor(stream, &[2, r])?;
        Ok(Box::new(move || {
            let tokens = MlaTokens {
                kv_indptr: (&kv_indptr).into(),
                kv_indices: (&kv_indices).into(),
                kv_lora_rank: c,
            };
            let rope = Some(MlaRope {
                cos_sin_cache: &*cos_sin_cache,
                positions: (&positions).into(),
                style: RopeStyle::Gptj,
                k_pe_tokens: &mut *k_pe_tokens,
            });
            let options = MlaDecodeOptions::default();
            let out = MlaDecodeOut { out: &mut *out, attn_logits: None };
            mla_decode_rope_into(&q, &k_buffer, None, &tokens, rope, 0.1, &options, out)
        }))
    };
    bench(criterion, "mla_decode_rope", &[("decode", hq * CONTEXT, &launch)]);
}

fn unified_attn_sparse_mla(criterion: &mut Criterion) {
    let [hq, c, r] = DEEPSEEK;
    let (queries, chosen) = (2, CONTEXT / 4);
    let launch = |stream: &Stream| -> Result<Launch> {
        let q = tensor(stream, &[queries, hq, c + r])?;
        let mut out = tensor(stream, &[queries, hq, c])?;
        let kv = tensor(stream, &[CONTEXT / BLOCK, BLOCK, 1, c + r])?;
        let indices: Vec<_> = (0..queries * chosen).map(|i| (i * 7 % CONTEXT) as i32).collect();
        let topk_indices = Tensor::from_slice(stream, &indices, &[queries, chosen])?;
        Ok(Box::new(move || {
            let options = SparseMlaOptions::default();
            let out = SparseMlaOut { out: &mut *out, lse: None };
            sparse_mla_attn_fwd_into(&q, &kv, &topk_indices, c, &options, out)
        }))
    };
    bench(criterion, "unified_attn_sparse_mla", &[("decode", hq * queries * chosen, &launch)]);
}

criterion_group!(
    benches,
    mha,
    backward,
    sage_attention,
    hstu_attn,
    lean_atten,
    lean_atten_paged,
    pod,
    pa_decode,
    unified_attn,
    flash_attn_fwd_decode,
    prefill_attn,
    flash_attn_fwd_prefill,
    extend_attn,
    pa_prefill,
    chunked_pa_prefill,
    mla_decode_rope,
    unified_attn_sparse_mla
);
criterion_main!(benches);
