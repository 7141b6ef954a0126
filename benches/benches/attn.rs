//! Ops of hk-attn on the simulator, one group per module.
//!
//! `cargo bench -p hk-benches --bench attn`

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hk_attn::dtype::DType;
use hk_attn::{
    Angles, BmmRopeOptions, Device, E8M0, F4x2E2M1, F8E4M3, F8E4M3Fnuz, FusedQkCatOut,
    FusedQkRopeCatAndCacheMlaOut, FusedQkRopeReshapeAndCacheOut, FusedQkvSplitQkNormRopeCacheOut,
    FusedQkvSplitQkRopeOut, KvCacheOptions, KvCaches, MqaLogitsOptions, QkNormOptions, QkWeights,
    Result, RopeLayout, RopeOptions, RopeStyle, RowOptions, Stream, Tensor, bf16,
    fp8_mqa_logits_into, fused_fp4_bmm_rope_cat_and_cache_mla_into,
    fused_fp8_bmm_rope_cat_and_cache_mla_into, fused_qk_cat_into,
    fused_qk_rope_cat_and_cache_mla_into, fused_qk_rope_cat_into,
    fused_qk_rope_reshape_and_cache_into, fused_qkv_split_qk_norm_rope_cache_into,
    fused_qkv_split_qk_rope_into, paged_mqa_logits_into, reshape_and_cache, rope_into,
};
use hk_core::op::quant::Fp8;

const TOKENS: usize = 64;
/// Query and key heads of Llama 3 70B, and elements of each.
const LLAMA: [usize; 3] = [64, 8, 128];
/// Of Qwen3-Next, of which a quarter is rotated.
const QWEN: [usize; 3] = [16, 2, 256];
/// Query and key heads of DeepSeek-V3, and elements of each that are not rotated and that are.
const DEEPSEEK: [usize; 4] = [128, 1, 512, 64];
/// Slots of a block of caches.
const BLOCK: usize = 16;

fn numbers(count: usize) -> Vec<bf16> {
    (0..count).map(|i| bf16::from_f32((i % 17) as f32 / 8.0 - 1.0)).collect()
}

fn tensor(stream: &Stream, shape: &[usize]) -> Result<Tensor<bf16>> {
    Tensor::from_slice(stream, &numbers(shape.iter().product()), shape)
}

/// As many slots as tokens, in another order.
fn slots(stream: &Stream) -> Result<Tensor<i32>> {
    let slots: Vec<i32> = (0..TOKENS as i32).rev().collect();
    Tensor::from_slice(stream, &slots, &[TOKENS])
}

fn options() -> RopeOptions<'static> {
    RopeOptions::default().validate_indices(false)
}

type Launch = Box<dyn FnMut() -> Result<()>>;
type Prepare<'a> = &'a dyn Fn(&Stream) -> Result<Launch>;

/// Ops of a module, each with its name, how many elements it reads and writes, and what gives what
/// launches it.
fn bench(criterion: &mut Criterion, module: &str, ops: &[(&str, usize, Prepare<'_>)]) {
    let mut group = criterion.benchmark_group(format!("{module}/bf16"));
    group.sample_size(10).warm_up_time(Duration::from_millis(200));
    group.measurement_time(Duration::from_secs(1));
    for &(op, elements, prepare) in ops {
        group.throughput(Throughput::Bytes((size_of::<bf16>() * elements) as u64));
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

fn rope(criterion: &mut Criterion) {
    let [heads, _, width] = LLAMA;
    let all = TOKENS * heads * width;
    let ops: [(_, _, Prepare<'_>); 2] = [
        ("tables", 2 * all, &|stream| rope_by(stream, false)),
        ("angles", 2 * all, &|stream| rope_by(stream, true)),
    ];
    bench(criterion, "rope", &ops);
}

fn rope_by(stream: &Stream, has_angles: bool) -> Result<Launch> {
    let [heads, _, width] = LLAMA;
    let shape = [TOKENS, heads, width];
    let (x, mut y) = (tensor(stream, &shape)?, tensor(stream, &shape)?);
    let table = tensor(stream, &[TOKENS, width / 2])?;
    Ok(Box::new(move || {
        let tables = Angles::tables(&table, &table);
        let angles = if has_angles { Angles::freqs(&table) } else { tables };
        rope_into(&x, RopeLayout::Thd, &angles, &options(), &mut *y)
    }))
}

fn fused_qk_concat(criterion: &mut Criterion) {
    let [qh, kh, n, r] = DEEPSEEK;
    let all = TOKENS * (qh + kh) * (n + r);
    let ops: [(_, _, Prepare<'_>); 2] = [
        ("fused_qk_cat", 2 * all, &|stream| cat(stream, false)),
        ("fused_qk_rope_cat", 2 * all, &|stream| cat(stream, true)),
    ];
    bench(criterion, "fused_qk_concat", &ops);
}

fn cat(stream: &Stream, rotates: bool) -> Result<Launch> {
    let [qh, kh, n, r] = DEEPSEEK;
    let of = |heads, width| tensor(stream, &[TOKENS, heads, width]);
    let (q1, q2, mut q) = (of(qh, n)?, of(qh, r)?, of(qh, n + r)?);
    let (k1, k2, mut k) = (of(kh, n)?, of(kh, r)?, of(kh, n + r)?);
    let table = tensor(stream, &[TOKENS, r / 2])?;
    Ok(Box::new(move || {
        let out = FusedQkCatOut { q: &mut *q, k: &mut *k };
        if !rotates {
            return fused_qk_cat_into(&q1, &q2, &k1, &k2, &RowOptions::default(), out);
        }
        let angles = Angles::tables(&table, &table);
        let options = options().style(RopeStyle::Gptj);
        fused_qk_rope_cat_into(&q1, &q2, &k1, &k2, &angles, &options, out)
    }))
}

fn fused_kv_cache(criterion: &mut Criterion) {
    let [qh, kh, d] = LLAMA;
    let paged = TOKENS * d * (2 * qh + 5 * kh);
    let [q, k, n, r] = DEEPSEEK;
    let latent = TOKENS * (2 * q * (n + r) + k * (2 * n + 3 * r));
    let ops: [(_, _, Prepare<'_>); 3] = [
        ("reshape_and_cache", 4 * TOKENS * kh * d, &only_cache),
        ("fused_qk_rope_reshape_and_cache", paged, &rope_and_cache),
        ("fused_qk_rope_cat_and_cache_mla", latent, &rope_and_cache_mla),
    ];
    bench(criterion, "fused_kv_cache", &ops);
}

fn only_cache(stream: &Stream) -> Result<Launch> {
    let [_, heads, width] = LLAMA;
    let of = || tensor(stream, &[TOKENS, heads, width]);
    let (k, v, slots) = (of()?, of()?, slots(stream)?);
    let shape = [TOKENS / BLOCK, BLOCK, heads, width];
    let (mut key, mut value) = (tensor(stream, &shape)?, tensor(stream, &shape)?);
    Ok(Box::new(move || {
        let caches = KvCaches { key: &mut *key, value: &mut *value };
        let options = KvCacheOptions::default().rope(options());
        reshape_and_cache(&k, &v, &slots, &options, caches)
    }))
}

fn rope_and_cache(stream: &Stream) -> Result<Launch> {
    let [qh, kh, d] = LLAMA;
    let of = |heads| tensor(stream, &[TOKENS, heads, d]);
    let (q, k, v, slots) = (of(qh)?, of(kh)?, of(kh)?, slots(stream)?);
    let (mut q_out, mut k_out) = (of(qh)?, of(kh)?);
    let shape = [TOKENS / BLOCK, BLOCK, kh, d];
    let (mut key, mut value) = (tensor(stream, &shape)?, tensor(stream, &shape)?);
    let table = tensor(stream, &[TOKENS, d / 2])?;
    Ok(Box::new(move || {
        let out = FusedQkRopeReshapeAndCacheOut {
            q: &mut *q_out,
            k: Some(&mut *k_out),
            zeros: None,
            caches: KvCaches { key: &mut *key, value: &mut *value },
        };
        let angles = Angles::tables(&table, &table);
        let options = KvCacheOptions::default().rope(options());
        fused_qk_rope_reshape_and_cache_into(&q, &k, &v, &slots, &angles, &options, out)
    }))
}

fn rope_and_cache_mla(stream: &Stream) -> Result<Launch> {
    let [qh, kh, n, r] = DEEPSEEK;
    let of = |heads, width| tensor(stream, &[TOKENS, heads, width]);
    let (q_nope, q_pe, mut q) = (of(qh, n)?, of(qh, r)?, of(qh, n + r)?);
    let (k_nope, k_pe, mut k_pe_out) = (of(kh, n)?, of(kh, r)?, of(kh, r)?);
    let (slots, mut kv_cache) = (slots(stream)?, of(kh, n + r)?);
    let table = tensor(stream, &[TOKENS, r / 2])?;
    Ok(Box::new(move || {
        let out = FusedQkRopeCatAndCacheMlaOut {
            q: &mut *q,
            k_pe: Some(&mut *k_pe_out),
            decode_q_pe: None,
            q_nope_zeros: None,
            kv_cache: &mut *kv_cache,
        };
        let angles = Angles::tables(&table, &table);
        let options = KvCacheOptions::default().rope(options().style(RopeStyle::Gptj));
        fused_qk_rope_cat_and_cache_mla_into(
            &q_nope, &q_pe, &k_nope, &k_pe, &slots, &angles, &options, out,
        )
    }))
}

fn fused_qkv_split_qk_rope(criterion: &mut Criterion) {
    let [qh, kh, d] = LLAMA;
    let elements = 2 * TOKENS * (qh + 2 * kh) * d;
    let [qh, kh, d] = QWEN;
    let norm = TOKENS * (2 * qh + 6 * kh) * d;
    let ops: [(_, _, Prepare<'_>); 2] = [
        ("fused_qkv_split_qk_rope", elements, &split),
        ("fused_qkv_split_qk_norm_rope_cache", norm, &norm_and_cache),
    ];
    bench(criterion, "fused_qkv_split_qk_rope", &ops);
}

fn split(stream: &Stream) -> Result<Launch> {
    let [qh, kh, d] = LLAMA;
    let qkv = tensor(stream, &[TOKENS, (qh + 2 * kh) * d])?;
    let of = |heads| tensor(stream, &[TOKENS, heads, d]);
    let (mut q, mut k, mut v) = (of(qh)?, of(kh)?, of(kh)?);
    let table = tensor(stream, &[TOKENS, d / 2])?;
    Ok(Box::new(move || {
        let out = FusedQkvSplitQkRopeOut { q: &mut *q, k: &mut *k, v: &mut *v };
        let angles = Angles::tables(&table, &table);
        fused_qkv_split_qk_rope_into(&qkv, &angles, &options(), out)
    }))
}

fn norm_and_cache(stream: &Stream) -> Result<Launch> {
    let [qh, kh, d] = QWEN;
    let qkv = tensor(stream, &[TOKENS, (qh + 2 * kh) * d])?;
    let of = |heads| tensor(stream, &[TOKENS, heads, d]);
    let (mut q, mut k, mut v) = (of(qh)?, of(kh)?, of(kh)?);
    let shape = [TOKENS / BLOCK, BLOCK, kh, d];
    let (mut key, mut value) = (tensor(stream, &shape)?, tensor(stream, &shape)?);
    let (weight, table) = (tensor(stream, &[d])?, tensor(stream, &[TOKENS, d / 8])?);
    let slots = slots(stream)?;
    Ok(Box::new(move || {
        let out = FusedQkvSplitQkNormRopeCacheOut {
            q: &mut *q,
            k: &mut *k,
            v: &mut *v,
            gate: None,
            caches: KvCaches { key: &mut *key, value: &mut *value },
        };
        let angles = Angles::tables(&table, &table);
        let cache = KvCacheOptions::default().rope(options());
        let (options, weights) =
            (QkNormOptions::default().cache(cache), QkWeights { q: &*weight, k: &*weight });
        fused_qkv_split_qk_norm_rope_cache_into(&qkv, weights, &angles, &slots, &options, out)
    }))
}

/// Tokens of a step of decoding, and elements of their heads before the products.
const DECODED: usize = 4;
const HEAD: usize = 128;

fn fused_bmm_rope_kv_cache(criterion: &mut Criterion) {
    let [qh, _, n, r] = DEEPSEEK;
    let rows = DECODED * qh * (HEAD + n + 2 * r);
    let weights = qh * n * HEAD;
    let ops: [(_, _, Prepare<'_>); 2] = [
        ("fused_fp8_bmm_rope_cat_and_cache_mla", rows + weights / 2, &|stream| match stream
            .device()
            .arch()
            .native(DType::F8E4M3)
        {
            DType::F8E4M3 => bmm_rope(stream, Some(F8E4M3::from_f32(0.5))),
            _ => bmm_rope(stream, Some(F8E4M3Fnuz::from_f32(0.5))),
        }),
        ("fused_fp4_bmm_rope_cat_and_cache_mla", rows + weights / 4, &|stream| {
            bmm_rope(stream, None::<F8E4M3>)
        }),
    ];
    bench(criterion, "fused_bmm_rope_kv_cache", &ops);
}

/// With matrices of that number, or of 4 bits.
fn bmm_rope<F: Fp8>(stream: &Stream, number: Option<F>) -> Result<Launch> {
    let [qh, kh, n, r] = DEEPSEEK;
    let of = |heads, width| tensor(stream, &[DECODED, heads, width]);
    let q_nope = of(qh, HEAD)?.into_permuted(&[1, 0, 2])?;
    let (q_pe, mut q) = (of(qh, r)?, of(qh, n + r)?);
    let (k_nope, k_pe, mut k_pe_out) = (of(kh, n)?, of(kh, r)?, of(kh, r)?);
    let mut kv_cache = of(kh, n + r)?;
    let slots = Tensor::from_slice(stream, &[3, 2, 1, 0], &[DECODED])?;
    let table = tensor(stream, &[DECODED, r / 2])?;
    let bytes = number.map(|number| Tensor::filled(stream, &[qh, n, HEAD], number)).transpose()?;
    let scale = Tensor::filled(stream, &[1], 0.5f32)?;
    let codes = Tensor::filled(stream, &[qh, n, HEAD], F4x2E2M1::from_bits(0x45))?;
    let blocks = Tensor::filled(stream, &[qh, n, HEAD / 32], E8M0::from_f32(0.5))?;
    Ok(Box::new(move || {
        let out = FusedQkRopeCatAndCacheMlaOut {
            q: &mut *q,
            k_pe: Some(&mut *k_pe_out),
            decode_q_pe: None,
            q_nope_zeros: None,
            kv_cache: &mut *kv_cache,
        };
        let angles = Angles::tables(&table, &table);
        let cache = KvCacheOptions::default().rope(options().style(RopeStyle::Gptj));
        let options = BmmRopeOptions::default().cache(cache);
        match &bytes {
            Some(w) => fused_fp8_bmm_rope_cat_and_cache_mla_into(
                &q_nope, w, &scale, &q_pe, &k_nope, &k_pe, &slots, &angles, &options, out,
            ),
            None => fused_fp4_bmm_rope_cat_and_cache_mla_into(
                &q_nope, &codes, &blocks, &q_pe, &k_nope, &k_pe, &slots, &angles, &options, out,
            ),
        }
    }))
}

/// Rows, keys, heads and elements of an indexer, those of DeepSeek-V3.2 but for the rows and keys.
const INDEXER: [usize; 4] = [16, 1024, 64, 128];

fn fp8_mqa_logits(criterion: &mut Criterion) {
    let [rows, keys, heads, depth] = INDEXER;
    let elements = rows * (heads * depth + 2 * heads + 2 * keys) + keys * depth;
    let ops: [(_, _, Prepare<'_>); 1] = [("fp8_mqa_logits", elements, &logits)];
    bench(criterion, "fp8_mqa_logits", &ops);
}

fn logits(stream: &Stream) -> Result<Launch> {
    let [rows, keys, heads, depth] = INDEXER;
    let (q, kv) = (tensor(stream, &[rows, heads, depth])?, tensor(stream, &[keys, depth])?);
    let weights = Tensor::filled(stream, &[rows, heads], 0.5f32)?;
    let starts = Tensor::filled(stream, &[rows], 0)?;
    let ends = Tensor::filled(stream, &[rows], keys as i32)?;
    let mut y = Tensor::zeros(stream, &[rows, keys])?;
    Ok(Box::new(move || {
        let options = MqaLogitsOptions::default();
        fp8_mqa_logits_into(&q, &kv, None, &weights, &starts, &ends, &options, &mut y)
    }))
}

/// Sequences of two tokens, and keys of a block of their caches.
const SEQUENCES: usize = 2;
const PAGE: usize = 64;

fn pa_mqa_logits(criterion: &mut Criterion) {
    let [_, keys, heads, depth] = INDEXER;
    let scores = SEQUENCES * 2 * (heads * depth / 2 + 2 * heads + 2 * keys);
    let elements = scores + SEQUENCES * keys * (depth + 4) / 2;
    let ops: [(_, _, Prepare<'_>); 1] = [("paged_mqa_logits", elements, &|stream| match stream
        .device()
        .arch()
        .native(DType::F8E4M3)
    {
        DType::F8E4M3 => paged_logits(stream, F8E4M3::from_f32(0.5)),
        _ => paged_logits(stream, F8E4M3Fnuz::from_f32(0.5)),
    })];
    bench(criterion, "pa_mqa_logits", &ops);
}

fn paged_logits<F: Fp8>(stream: &Stream, number: F) -> Result<Launch> {
    let [_, keys, heads, depth] = INDEXER;
    let pages = SEQUENCES * keys / PAGE;
    let q = Tensor::filled(stream, &[SEQUENCES, 2, heads, depth], number)?;
    let kv_cache = Tensor::filled(stream, &[pages, PAGE, 1, depth + 4], 0x38u8)?;
    let weights = Tensor::filled(stream, &[SEQUENCES * 2, heads], 0.5f32)?;
    let lengths = Tensor::filled(stream, &[SEQUENCES], keys as i32)?;
    let table: Vec<i32> = (0..pages as i32).rev().collect();
    let table = Tensor::from_slice(stream, &table, &[SEQUENCES, keys / PAGE])?;
    let mut y = Tensor::zeros(stream, &[SEQUENCES * 2, keys])?;
    Ok(Box::new(move || {
        let options = MqaLogitsOptions::default().validate_indices(false);
        paged_mqa_logits_into(&q, &kv_cache, &weights, &lengths, &table, &options, &mut y)
    }))
}

criterion_group!(
    benches,
    rope,
    fused_qk_concat,
    fused_kv_cache,
    fused_qkv_split_qk_rope,
    fused_bmm_rope_kv_cache,
    fp8_mqa_logits,
    pa_mqa_logits
);
criterion_main!(benches);
