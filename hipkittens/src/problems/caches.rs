//! Problems of hk-attn around attention: rotations, caches, logits of indexers.

use hk_attn::{
    Angles, BmmRopeOptions, FusedQkCatOut, FusedQkRopeCatAndCacheMlaOut,
    FusedQkRopeReshapeAndCacheOut, FusedQkvSplitQkNormRopeCacheOut, FusedQkvSplitQkRopeOut,
    KvCacheOptions, KvCaches, MqaElement, MqaLogitsOptions, QkNormOptions, QkWeights, Rope2cOut,
    RopeLayout, RopeOptions, RopeStyle, RowOptions, cat_and_cache_mla, fp8_mqa_logits_into,
    fused_fp4_bmm_rope_cat_and_cache_mla_into, fused_fp8_bmm_rope_cat_and_cache_mla_into,
    fused_qk_cat_into, fused_qk_rope_cat_and_cache_mla_into, fused_qk_rope_cat_into,
    fused_qk_rope_reshape_and_cache_into, fused_qkv_split_qk_norm_rope_cache_into,
    fused_qkv_split_qk_rope_into, paged_mqa_logits_into, reshape_and_cache, rope_2c_into,
    rope_into, rope_thd_into,
};
use hk_core::dtype::{E8M0, F4x2E2M1, F8E4M3, bf16};
use hk_core::op::quant::Fp8;
use hk_core::{Result, Stream, Tensor};

use super::{Family, HEAD, Launch, MX_BLOCK, PAGE, normal, of_sizes};

/// Query and key heads of Llama 3 70B, and elements of each.
const LLAMA: [usize; 3] = [64, 8, 128];
/// Of Qwen3-Next, of which a quarter is rotated.
const QWEN: [usize; 3] = [16, 2, 256];
/// Query and key heads of DeepSeek-V3, and elements of each that are not rotated and that are.
const DEEPSEEK: [usize; 4] = [128, 1, 512, 64];
/// Heads of the indexer of DeepSeek-V3.2, and elements of each.
const INDEXER: [usize; 2] = [64, 128];
/// Keys of a block of its cache.
const KEYS: usize = 64;

fn numbers<const N: usize>(of: [usize; N]) -> [f64; N] {
    of.map(|n| n as f64)
}

pub(super) fn families() -> Vec<Family> {
    let tokens = [("tokens", PAGE, 64)];
    let llama = "bf16, heads 64/8 of 128:";
    let deepseek = "bf16, heads 128/1 of 512+64:";
    let logits = |[rows, keys]: [f64; 2]| {
        let [heads, depth] = numbers(INDEXER);
        let flops = 2.0 * rows * keys * heads * depth;
        [flops, rows * heads * (depth + 4.0) + keys * (depth + 4.0) + 4.0 * rows * keys]
    };
    let absorbed = |bytes: f64| {
        move |[tokens]: [f64; 1]| {
            let [heads, _, n, r] = numbers(DEEPSEEK);
            let head = HEAD as f64;
            let weights = heads * n * head;
            let rows = 2.0 * tokens * heads * (head + n + 2.0 * r);
            [2.0 * tokens * weights, rows + bytes * weights]
        }
    };
    vec![
        of_sizes(
            "fused_qk_rope_cat",
            deepseek,
            tokens,
            |[tokens]| {
                let [qh, kh, n, r] = numbers(DEEPSEEK);
                let all = tokens * (qh + kh);
                [3.0 * all * r, 4.0 * all * (n + r)]
            },
            |stream, sizes| cat(stream, sizes, true),
        )
        .at([4096], &[]),
        of_sizes(
            "fused_qk_cat",
            deepseek,
            tokens,
            |[tokens]| {
                let [qh, kh, n, r] = numbers(DEEPSEEK);
                [0.0, 4.0 * tokens * (qh + kh) * (n + r)]
            },
            |stream, sizes| cat(stream, sizes, false),
        )
        .at([4096], &[]),
        of_sizes(
            "rope",
            "bf16, angles, heads 64 of 128:",
            tokens,
            |[tokens]| {
                let [heads, _, d] = numbers(LLAMA);
                [3.0 * tokens * heads * d, 4.0 * tokens * heads * d + tokens * d]
            },
            rope_by_angles,
        )
        .at([4096], &[]),
        of_sizes(
            "rope_2c",
            llama,
            tokens,
            |[tokens]| {
                let [qh, kh, d] = numbers(LLAMA);
                [3.0 * tokens * d * (qh + kh), 2.0 * tokens * d * (2.0 * (qh + kh) + 1.0)]
            },
            rope_two,
        )
        .at([4096], &[]),
        of_sizes(
            "rope_thd",
            "bf16, four sequences, heads 64 of 128:",
            tokens,
            |[tokens]| {
                let [heads, _, d] = numbers(LLAMA);
                // Sequences begin at the same rows of tables.
                [3.0 * tokens * heads * d, 4.0 * tokens * heads * d + tokens * d / 2.0]
            },
            rope_sequences,
        )
        .at([4096], &[]),
        of_sizes(
            "cat_and_cache_mla",
            "bf16, heads 1 of 512+64:",
            tokens,
            |[tokens]| {
                let [_, kh, n, r] = numbers(DEEPSEEK);
                [0.0, 4.0 * tokens * kh * (n + r)]
            },
            cat_and_cache,
        )
        .at([4096], &[]),
        of_sizes(
            "reshape_and_cache",
            "bf16, heads 8 of 128:",
            tokens,
            |[tokens]| {
                let [_, kh, d] = numbers(LLAMA);
                [0.0, 8.0 * tokens * kh * d]
            },
            only_cache,
        )
        .at([4096], &[]),
        of_sizes(
            "fused_qk_rope_reshape_and_cache",
            llama,
            tokens,
            |[tokens]| {
                let [qh, kh, d] = numbers(LLAMA);
                [3.0 * tokens * d * (qh + kh), 2.0 * tokens * d * (2.0 * qh + 5.0 * kh)]
            },
            rope_and_cache,
        )
        .at([4096], &[]),
        of_sizes(
            "fused_qk_rope_cat_and_cache_mla",
            deepseek,
            tokens,
            |[tokens]| {
                let [qh, kh, n, r] = numbers(DEEPSEEK);
                let moved = 2.0 * qh * (n + r) + kh * (2.0 * n + 3.0 * r);
                [3.0 * tokens * (qh + kh) * r, 2.0 * tokens * moved]
            },
            rope_and_cache_mla,
        )
        .at([4096], &[]),
        of_sizes(
            "fused_qkv_split_qk_rope",
            llama,
            tokens,
            |[tokens]| {
                let [qh, kh, d] = numbers(LLAMA);
                [3.0 * tokens * d * (qh + kh), 4.0 * tokens * d * (qh + 2.0 * kh)]
            },
            split,
        )
        .at([4096], &[]),
        of_sizes(
            "fused_qkv_split_qk_norm_rope_cache",
            "bf16, heads 16/2 of 256:",
            tokens,
            |[tokens]| {
                let [qh, kh, d] = numbers(QWEN);
                [7.0 * tokens * d * (qh + kh), 2.0 * tokens * d * (2.0 * qh + 6.0 * kh)]
            },
            norm_and_cache,
        )
        .at([4096], &[]),
        of_sizes(
            "fused_fp8_bmm_rope_cat_and_cache_mla",
            "bf16, fp8, heads 128 of 128 to 512+64:",
            [("tokens", 1, 4)],
            absorbed(1.0),
            |stream, sizes| native!(bmm_fp8(stream, sizes)),
        )
        .at([64], &[]),
        of_sizes(
            "fused_fp4_bmm_rope_cat_and_cache_mla",
            "bf16, mxfp4, heads 128 of 128 to 512+64:",
            [("tokens", 1, 4)],
            absorbed(17.0 / 32.0),
            |stream, [tokens]| bmm(stream, tokens, None::<Tensor<F8E4M3>>),
        )
        .at([64], &[]),
        of_sizes(
            "fp8_mqa_logits",
            "fp8, heads 64 of 128:",
            [("rows", 1, 16), ("keys", 1, 1024)],
            logits,
            |stream, sizes| native!(mqa_logits(stream, sizes)),
        )
        .at([512, 4096], &[]),
        of_sizes(
            "fp8_mqa_logits",
            "bf16, heads 64 of 128:",
            [("rows", 1, 16), ("keys", 1, 1024)],
            move |[rows, keys]| {
                let ([flops, moved], [heads, depth]) = (logits([rows, keys]), numbers(INDEXER));
                [flops, moved + rows * heads * depth + keys * (depth - 4.0)]
            },
            mqa_logits::<bf16>,
        )
        .at([512, 4096], &[]),
        of_sizes(
            "paged_mqa_logits",
            "fp8, heads 64 of 128:",
            [("sequences", 1, 2), ("context", KEYS, 1024)],
            |[sequences, keys]| {
                let [heads, depth] = numbers(INDEXER);
                let moved = 2.0 * heads * (depth + 4.0) + keys * (depth + 4.0) + 8.0 * keys;
                [4.0 * sequences * keys * heads * depth, sequences * moved]
            },
            |stream, sizes| native!(paged_logits(stream, sizes)),
        )
        .at([16, 8192], &[]),
    ]
}

fn tensor(stream: &Stream, shape: &[usize]) -> Result<Tensor<bf16>> {
    normal(stream, shape)
}

/// As many slots as tokens, in another order.
fn slots(stream: &Stream, tokens: usize) -> Result<Tensor<i32>> {
    let slots: Vec<i32> = (0..tokens as i32).rev().collect();
    Tensor::from_slice(stream, &slots, &[tokens])
}

fn options() -> RopeOptions<'static> {
    RopeOptions::default().validate_indices(false)
}

fn cat(stream: &Stream, [tokens]: [usize; 1], rotates: bool) -> Result<Launch> {
    let [qh, kh, n, r] = DEEPSEEK;
    let of = |heads, width| tensor(stream, &[tokens, heads, width]);
    let (q1, q2, mut q) = (of(qh, n)?, of(qh, r)?, of(qh, n + r)?);
    let (k1, k2, mut k) = (of(kh, n)?, of(kh, r)?, of(kh, n + r)?);
    let table = tensor(stream, &[tokens, r / 2])?;
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

fn rope_by_angles(stream: &Stream, [tokens]: [usize; 1]) -> Result<Launch> {
    let [heads, _, d] = LLAMA;
    let of = || tensor(stream, &[tokens, heads, d]);
    let (x, mut y, table) = (of()?, of()?, tensor(stream, &[tokens, d / 2])?);
    Ok(Box::new(move || {
        rope_into(&x, RopeLayout::Thd, &Angles::freqs(&table), &options(), &mut *y)
    }))
}

fn rope_two(stream: &Stream, [tokens]: [usize; 1]) -> Result<Launch> {
    let [qh, kh, d] = LLAMA;
    let of = |heads| tensor(stream, &[tokens, heads, d]);
    let (q, k, mut q_out, mut k_out) = (of(qh)?, of(kh)?, of(qh)?, of(kh)?);
    let table = tensor(stream, &[tokens, d / 2])?;
    Ok(Box::new(move || {
        let (angles, out) =
            (Angles::tables(&table, &table), Rope2cOut { q: &mut *q_out, k: &mut *k_out });
        rope_2c_into(&q, &k, RopeLayout::Thd, &angles, &options(), out)
    }))
}

/// Of four sequences, a quarter of the tokens each.
fn rope_sequences(stream: &Stream, [tokens]: [usize; 1]) -> Result<Launch> {
    let [heads, _, d] = LLAMA;
    let of = || tensor(stream, &[tokens, heads, d]);
    let (x, mut y, table) = (of()?, of()?, tensor(stream, &[tokens, d / 2])?);
    let bounds = [0, 1, 2, 3, 4].map(|quarters| (tokens * quarters / 4) as i32);
    let bounds = Tensor::from_slice(stream, &bounds, &[bounds.len()])?;
    Ok(Box::new(move || {
        let angles = Angles::tables(&table, &table);
        rope_thd_into(&x, &bounds, &angles, &options(), &mut y)
    }))
}

fn cat_and_cache(stream: &Stream, [tokens]: [usize; 1]) -> Result<Launch> {
    let [_, kh, n, r] = DEEPSEEK;
    let of = |width| tensor(stream, &[tokens, kh, width]);
    let (k_nope, k_pe, mut kv_cache) = (of(n)?, of(r)?, of(n + r)?);
    let slots = slots(stream, tokens)?;
    Ok(Box::new(move || {
        let options = KvCacheOptions::default().rope(options());
        cat_and_cache_mla(&k_nope, &k_pe, &slots, &options, &mut kv_cache)
    }))
}

fn only_cache(stream: &Stream, [tokens]: [usize; 1]) -> Result<Launch> {
    let [_, heads, d] = LLAMA;
    let of = || tensor(stream, &[tokens, heads, d]);
    let (k, v, slots) = (of()?, of()?, slots(stream, tokens)?);
    let shape = [tokens / PAGE, PAGE, heads, d];
    let (mut key, mut value) = (tensor(stream, &shape)?, tensor(stream, &shape)?);
    Ok(Box::new(move || {
        let caches = KvCaches { key: &mut *key, value: &mut *value };
        reshape_and_cache(&k, &v, &slots, &KvCacheOptions::default().rope(options()), caches)
    }))
}

fn rope_and_cache(stream: &Stream, [tokens]: [usize; 1]) -> Result<Launch> {
    let [qh, kh, d] = LLAMA;
    let of = |heads| tensor(stream, &[tokens, heads, d]);
    let (q, k, v, slots) = (of(qh)?, of(kh)?, of(kh)?, slots(stream, tokens)?);
    let (mut q_out, mut k_out) = (of(qh)?, of(kh)?);
    let shape = [tokens / PAGE, PAGE, kh, d];
    let (mut key, mut value) = (tensor(stream, &shape)?, tensor(stream, &shape)?);
    let table = tensor(stream, &[tokens, d / 2])?;
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

fn rope_and_cache_mla(stream: &Stream, [tokens]: [usize; 1]) -> Result<Launch> {
    let [qh, kh, n, r] = DEEPSEEK;
    let of = |heads, width| tensor(stream, &[tokens, heads, width]);
    let (q_nope, q_pe, mut q) = (of(qh, n)?, of(qh, r)?, of(qh, n + r)?);
    let (k_nope, k_pe, mut k_pe_out) = (of(kh, n)?, of(kh, r)?, of(kh, r)?);
    let (slots, mut kv_cache) = (slots(stream, tokens)?, of(kh, n + r)?);
    let table = tensor(stream, &[tokens, r / 2])?;
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

fn split(stream: &Stream, [tokens]: [usize; 1]) -> Result<Launch> {
    let [qh, kh, d] = LLAMA;
    let qkv = tensor(stream, &[tokens, (qh + 2 * kh) * d])?;
    let of = |heads| tensor(stream, &[tokens, heads, d]);
    let (mut q, mut k, mut v) = (of(qh)?, of(kh)?, of(kh)?);
    let table = tensor(stream, &[tokens, d / 2])?;
    Ok(Box::new(move || {
        let out = FusedQkvSplitQkRopeOut { q: &mut *q, k: &mut *k, v: &mut *v };
        fused_qkv_split_qk_rope_into(&qkv, &Angles::tables(&table, &table), &options(), out)
    }))
}

fn norm_and_cache(stream: &Stream, [tokens]: [usize; 1]) -> Result<Launch> {
    let [qh, kh, d] = QWEN;
    let qkv = tensor(stream, &[tokens, (qh + 2 * kh) * d])?;
    let of = |heads| tensor(stream, &[tokens, heads, d]);
    let (mut q, mut k, mut v) = (of(qh)?, of(kh)?, of(kh)?);
    let shape = [tokens / PAGE, PAGE, kh, d];
    let (mut key, mut value) = (tensor(stream, &shape)?, tensor(stream, &shape)?);
    let (weight, table) = (tensor(stream, &[d])?, tensor(stream, &[tokens, d / 8])?);
    let slots = slots(stream, tokens)?;
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
        let options = QkNormOptions::default().cache(cache);
        let weights = QkWeights { q: &*weight, k: &*weight };
        fused_qkv_split_qk_norm_rope_cache_into(&qkv, weights, &angles, &slots, &options, out)
    }))
}

fn bmm_fp8<F: Fp8>(stream: &Stream, [tokens]: [usize; 1]) -> Result<Launch> {
    let [heads, _, n, _] = DEEPSEEK;
    bmm(stream, tokens, Some(normal::<F>(stream, &[heads, n, HEAD])?))
}

/// With matrices of 8 bits, or of 4.
fn bmm<F: Fp8>(stream: &Stream, tokens: usize, bytes: Option<Tensor<F>>) -> Result<Launch> {
    let [qh, kh, n, r] = DEEPSEEK;
    let of = |heads, width| tensor(stream, &[tokens, heads, width]);
    let q_nope = of(qh, HEAD)?.into_permuted(&[1, 0, 2])?;
    let (q_pe, mut q) = (of(qh, r)?, of(qh, n + r)?);
    let (k_nope, k_pe, mut k_pe_out) = (of(kh, n)?, of(kh, r)?, of(kh, r)?);
    let (slots, mut kv_cache) = (slots(stream, tokens)?, of(kh, n + r)?);
    let (table, scale) = (tensor(stream, &[tokens, r / 2])?, Tensor::filled(stream, &[1], 0.5)?);
    let codes = Tensor::filled(stream, &[qh, n, HEAD], F4x2E2M1::from_bits(0x45))?;
    let blocks = Tensor::filled(stream, &[qh, n, HEAD / MX_BLOCK], E8M0::from_f32(0.5))?;
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

/// With scales of keys if they are of 8 bits.
fn mqa_logits<F: MqaElement>(stream: &Stream, [rows, keys]: [usize; 2]) -> Result<Launch> {
    let [heads, depth] = INDEXER;
    let q = normal::<F>(stream, &[rows, heads, depth])?;
    let kv = normal::<F>(stream, &[keys, depth])?;
    let (scales, weights) =
        (Tensor::filled(stream, &[keys], 0.5f32)?, Tensor::filled(stream, &[rows, heads], 0.5f32)?);
    let starts = Tensor::filled(stream, &[rows], 0)?;
    let ends = Tensor::filled(stream, &[rows], keys as i32)?;
    let mut y = Tensor::empty(stream, &[rows, keys])?;
    Ok(Box::new(move || {
        let options = MqaLogitsOptions::default();
        let scales = (size_of::<F>() == 1).then_some(&*scales);
        fp8_mqa_logits_into(&q, &kv, scales, &weights, &starts, &ends, &options, &mut y)
    }))
}

/// Of two tokens of each sequence.
fn paged_logits<F: Fp8>(stream: &Stream, [sequences, keys]: [usize; 2]) -> Result<Launch> {
    let [heads, depth] = INDEXER;
    let pages = sequences * keys / KEYS;
    let q = normal::<F>(stream, &[sequences, 2, heads, depth])?;
    let kv_cache = Tensor::filled(stream, &[pages, KEYS, 1, depth + 4], 0x38u8)?;
    let weights = Tensor::filled(stream, &[sequences * 2, heads], 0.5f32)?;
    let lengths = Tensor::filled(stream, &[sequences], keys as i32)?;
    let table: Vec<i32> = (0..pages as i32).rev().collect();
    let table = Tensor::from_slice(stream, &table, &[sequences, keys / KEYS])?;
    let mut y = Tensor::empty(stream, &[sequences * 2, keys])?;
    Ok(Box::new(move || {
        let options = MqaLogitsOptions::default().validate_indices(false);
        paged_mqa_logits_into(&q, &kv_cache, &weights, &lengths, &table, &options, &mut y)
    }))
}
