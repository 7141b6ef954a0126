//! Problems of hk-attn: attention. Heads are those of Llama 3 70B, or of DeepSeek-V3 on one of eight chips.

use hk_attn::{
    AttentionOptions, AttnForward, AttnGradientsOut, BackwardOptions, DecodeAppend, DecodeCache,
    ExtendOptions, ExtendPrefix, FlashLayout, FlashOptions, HstuOptions, LeanAttnOut, LeanBatch,
    LeanOptions, MhaOut, MlaDecodeOptions, MlaDecodeOut, MlaRope, MlaTokens, PaPrefillOptions,
    PagedSequences, PodOptions, PrefillOptions, PrefixCache, RopeStyle, SageAttnOut, SageOptions,
    SparseMlaOptions, SparseMlaOut, UnifiedAttnOptions, attn_merge_states_into,
    chunked_prefill_paged_decode_into, extend_attn_fwd_into, flash_attn_bwd_into,
    flash_attn_fwd_decode_append_into, flash_attn_fwd_prefill_into, hstu_attn_fwd_into,
    lean_attn_fwd_into, lean_attn_paged_fwd_into, mha_fused_bwd_into, mha_fwd_into,
    mha_onekernel_bwd_into, mla_decode_rope_into, pa_prefill_fwd_into, pod_attn_into,
    prefill_attn_fwd_into, sage_attn_into, sparse_mla_attn_fwd_into, unified_attn_fwd_into,
};
use hk_core::dtype::{F8E4M3, F8E4M3Fnuz, bf16};
use hk_core::{Arch, Result, Stream, Tensor};

use super::{Family, Launch, PAGE, normal, of_sizes};

/// Query and key heads, and elements of each.
const LLAMA: [usize; 3] = [64, 8, 128];
/// Heads, columns of latent values, and columns behind them.
const DEEPSEEK: [usize; 3] = [16, 512, 64];

/// Operations of a causal prompt: half of two products of each head.
fn causal(tokens: f64) -> f64 {
    let [heads, _, width] = LLAMA.map(|n| n as f64);
    2.0 * heads * tokens * tokens * width
}

/// Bytes of queries, keys, values and results of so many queries and keys.
fn moved(queries: f64, keys: f64) -> f64 {
    let [heads, kv_heads, width] = LLAMA.map(|n| n as f64);
    2.0 * width * (2.0 * heads * queries + 2.0 * kv_heads * keys)
}

/// Operations of so many scores of each head.
fn scores(count: f64) -> f64 {
    let [heads, _, width] = LLAMA.map(|n| n as f64);
    4.0 * heads * count * width
}

pub(super) fn families() -> Vec<Family> {
    let kind = "bf16, heads 64/8 of 128:";
    let latent = "bf16, heads 16 of 512+64:";
    let prompt = [("tokens", 1, 128)];
    let decode = [("batch", 1, 1), ("context", PAGE, 512)];
    let behind = [("new", 1, 32), ("context", PAGE, 256)];
    let whole = |[tokens]: [f64; 1]| [causal(tokens), moved(tokens, tokens)];
    // Five products instead of two.
    let back = |[tokens]: [f64; 1]| [2.5 * causal(tokens), 2.0 * moved(tokens, tokens)];
    let step = |[batch, context]: [f64; 2]| [batch * scores(context), batch * moved(1.0, context)];
    let chunk =
        |[new, context]: [f64; 2]| [scores(new * (context + new / 2.0)), moved(new, context + new)];
    vec![
        of_sizes("flash_attn_fwd_prefill", kind, prompt, whole, flash_prefill).at([4096], &[]),
        of_sizes("prefill_attn_fwd", kind, prompt, whole, prefill).at([4096], &[]),
        of_sizes("flash_attn_bwd", kind, prompt, back, |s, n| backward(s, n, 0)).at([2048], &[]),
        of_sizes("mha_onekernel_bwd", kind, prompt, back, |s, n| backward(s, n, 1)).at([2048], &[]),
        of_sizes("mha_fused_bwd", kind, prompt, back, |s, n| backward(s, n, 2)).at([2048], &[]),
        of_sizes(
            "sage_attn",
            kind,
            prompt,
            |[tokens]| [2.0 * causal(tokens), moved(tokens, tokens)],
            sage,
        )
        .at([4096], &[]),
        of_sizes(
            "hstu_attn_fwd",
            "bf16, heads 4 of 128:",
            [("batch", 1, 2), ("tokens", 1, 256)],
            |[batch, tokens]| {
                let rows = batch * tokens * 4.0 * 128.0;
                [2.0 * rows * tokens, 8.0 * rows]
            },
            |s, n| hstu(s, n, false),
        )
        .at([8, 2048], &[]),
        of_sizes(
            "hstu_attn_fwd",
            "bf16, targets, heads 4 of 128:",
            [("batch", 1, 2), ("tokens", 1, 256)],
            |[batch, tokens]| {
                let rows = batch * tokens * 4.0 * 128.0;
                [2.0 * rows * tokens, 8.0 * rows]
            },
            |s, n| hstu(s, n, true),
        )
        .at([8, 2048], &[]),
        of_sizes("flash_attn_fwd_decode", kind, decode, step, decode_append).at([16, 4096], &[]),
        of_sizes("mha_fwd", "bf16 decode, heads 64/8 of 128:", decode, step, mha_decode)
            .at([16, 4096], &[]),
        of_sizes(
            "attn_merge_states",
            "bf16, heads 64 of 128:",
            [("parts", 1, 8), ("rows", 1, 16)],
            |[parts, rows]| {
                let [heads, _, width] = LLAMA.map(|n| n as f64);
                let elements = rows * heads * width;
                [2.0 * parts * elements, 2.0 * elements * (parts + 1.0)]
            },
            merge,
        )
        .at([16, 256], &[]),
        of_sizes("lean_attn_fwd", kind, decode, step, lean).at([4, 8192], &[]),
        of_sizes("lean_attn_paged_fwd", kind, decode, step, lean_paged).at([4, 8192], &[]),
        of_sizes(
            "pod_attn",
            kind,
            [("tokens", 1, 128), ("context", 1, 512)],
            |[tokens, context]| {
                [causal(tokens) + scores(context), moved(tokens, tokens) + moved(1.0, context)]
            },
            pod,
        )
        .at([2048, 8192], &[]),
        of_sizes("unified_attn_fwd", kind, behind, chunk, unified).at([512, 4096], &[]),
        of_sizes("extend_attn_fwd", kind, behind, chunk, extend).at([512, 4096], &[]),
        of_sizes("pa_prefill_fwd", kind, behind, chunk, |s, n| cached(s, n, false))
            .at([512, 4096], &[]),
        of_sizes("chunked_prefill_paged_decode", kind, behind, chunk, |s, n| cached(s, n, true))
            .at([256, 4096], &[]),
        of_sizes(
            "mla_decode_rope",
            latent,
            [("batch", 1, 2), ("context", 1, 1024)],
            |[batch, context]| {
                let [heads, values, more] = DEEPSEEK.map(|n| n as f64);
                let keys = values + more;
                [
                    2.0 * batch * heads * context * (keys + values),
                    2.0 * batch * (context * keys + heads * (keys + values)),
                ]
            },
            mla,
        )
        .at([32, 4096], &[]),
        of_sizes(
            "sparse_mla_attn_fwd",
            latent,
            [("queries", 1, 2), ("context", 4 * PAGE, 2048)],
            |[queries, context]| {
                let [heads, values, more] = DEEPSEEK.map(|n| n as f64);
                let (keys, chosen) = (values + more, context / 4.0);
                [
                    2.0 * queries * heads * chosen * (keys + values),
                    2.0 * (context * keys + queries * heads * (keys + values)),
                ]
            },
            sparse,
        )
        .at([128, 8192], &[]),
    ]
}

fn tensor(stream: &Stream, shape: &[usize]) -> Result<Tensor<bf16>> {
    normal(stream, shape)
}

/// So many numbers, the largest first, as of pages that lie in another order.
fn reversed(stream: &Stream, shape: &[usize]) -> Result<Tensor<i32>> {
    let count: usize = shape.iter().product();
    let numbers: Vec<_> = (0..count as i32).rev().collect();
    Tensor::from_slice(stream, &numbers, shape)
}

fn flash_prefill(stream: &Stream, [tokens]: [usize; 1]) -> Result<Launch> {
    let [hq, hk, d] = LLAMA;
    let of = |heads| tensor(stream, &[1, heads, tokens, d]);
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
}

fn prefill(stream: &Stream, [tokens]: [usize; 1]) -> Result<Launch> {
    let [hq, hk, d] = LLAMA;
    let of = |heads| tensor(stream, &[tokens, heads, d]);
    let (q, k, v, mut out) = (of(hq)?, of(hk)?, of(hk)?, of(hq)?);
    let start = Tensor::from_slice(stream, &[0i32], &[1])?;
    let length = Tensor::from_slice(stream, &[tokens as i32], &[1])?;
    Ok(Box::new(move || {
        let options = PrefillOptions::default();
        prefill_attn_fwd_into(&q, &k, &v, &start, &length, tokens, &options, &mut out)
    }))
}

/// What forward found is not there; no time depends on it.
fn backward(stream: &Stream, [tokens]: [usize; 1], module: usize) -> Result<Launch> {
    let [hq, hk, d] = LLAMA;
    let of = |heads| tensor(stream, &[1, tokens, heads, d]);
    let (q, k, v, dout, given) = (of(hq)?, of(hk)?, of(hk)?, of(hq)?, of(hq)?);
    let (mut dq, mut dk, mut dv) = (of(hq)?, of(hk)?, of(hk)?);
    let lse = Tensor::<f32>::zeros(stream, &[1, hq, tokens])?;
    let mut delta = Tensor::zeros(stream, &[1, hq, tokens])?;
    Ok(Box::new(move || {
        let options = AttentionOptions::default().causal(true);
        let options = BackwardOptions::default().attention(options);
        let given = AttnForward { q: &q, k: &k, v: &v, out: &given, lse: &lse };
        let (dq, dk, dv) = (&mut *dq, &mut *dk, &mut *dv);
        let out = AttnGradientsOut { dq, dk, dv, delta: &mut delta, dsink: None };
        match module {
            0 => flash_attn_bwd_into(&dout, &given, &options, out),
            1 => mha_onekernel_bwd_into(&dout, &given, &options, out),
            _ => mha_fused_bwd_into(&dout, &given, &options, out),
        }
    }))
}

fn sage(stream: &Stream, [tokens]: [usize; 1]) -> Result<Launch> {
    let [hq, hk, d] = LLAMA;
    let of = |heads| tensor(stream, &[1, tokens, heads, d]);
    let (q, k, v, mut out) = (of(hq)?, of(hk)?, of(hk)?, of(hq)?);
    let arch = stream.device().arch();
    Ok(Box::new(move || {
        let options = SageOptions::default();
        let out = SageAttnOut { out: &mut out, lse: None };
        match arch {
            Arch::Gfx942 => sage_attn_into::<_, F8E4M3Fnuz>(&q, &k, &v, &options, out),
            Arch::Gfx950 => sage_attn_into::<_, F8E4M3>(&q, &k, &v, &options, out),
        }
    }))
}

fn hstu(stream: &Stream, [batch, tokens]: [usize; 2], has_targets: bool) -> Result<Launch> {
    let of = || tensor(stream, &[batch * tokens, 4, 128]);
    let (q, k, v, mut out) = (of()?, of()?, of()?, of()?);
    let bounds: Vec<_> = (0..=batch).map(|n| (n * tokens) as i32).collect();
    let bounds = Tensor::from_slice(stream, &bounds, &[batch + 1])?;
    let targets = Tensor::filled(stream, &[batch], 20)?;
    Ok(Box::new(move || {
        let mut options = HstuOptions::default().validate_indices(false);
        if has_targets {
            options = options.num_targets(&targets);
        }
        hstu_attn_fwd_into(&q, &k, &v, &bounds, tokens, 1.0, &options, &mut out)
    }))
}

fn mha_decode(stream: &Stream, [batch, context]: [usize; 2]) -> Result<Launch> {
    let [hq, hk, d] = LLAMA;
    let of = |rows, heads| tensor(stream, &[batch, rows, heads, d]);
    let (q, k, v, mut out) = (of(1, hq)?, of(context, hk)?, of(context, hk)?, of(1, hq)?);
    Ok(Box::new(move || {
        let options = AttentionOptions::default().causal(true);
        mha_fwd_into(&q, &k, &v, &options, MhaOut { out: &mut *out, lse: None, s_dmask: None })
    }))
}

/// Results of parts of the keys.
fn merge(stream: &Stream, [parts, rows]: [usize; 2]) -> Result<Launch> {
    let [heads, _, d] = LLAMA;
    let (o, mut out) =
        (tensor(stream, &[parts, rows, heads, d])?, tensor(stream, &[rows, heads, d])?);
    let lse = Tensor::filled(stream, &[parts, heads, rows], 1.0f32)?;
    Ok(Box::new(move || {
        attn_merge_states_into(&o, &lse, MhaOut { out: &mut *out, lse: None, s_dmask: None })
    }))
}

fn decode_append(stream: &Stream, [batch, context]: [usize; 2]) -> Result<Launch> {
    let [hq, hk, d] = LLAMA;
    let of = |rows, heads| tensor(stream, &[batch, rows, heads, d]);
    let (q, mut out) = (of(1, hq)?, of(1, hq)?);
    let (mut k, mut v, new) = (of(context, hk)?, of(context, hk)?, of(1, hk)?);
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
}

fn lean(stream: &Stream, [batch, context]: [usize; 2]) -> Result<Launch> {
    let [hq, hk, d] = LLAMA;
    let of = |rows, heads| tensor(stream, &[batch * rows, heads, d]);
    let (q, k, v, mut out) = (of(1, hq)?, of(context, hk)?, of(context, hk)?, of(1, hq)?);
    let lengths = Tensor::filled(stream, &[batch], context as i32)?;
    Ok(Box::new(move || {
        let out = LeanAttnOut { out: &mut *out, lse: None };
        lean_attn_fwd_into(&q, &k, &v, &lengths, &LeanOptions::default(), out)
    }))
}

fn lean_paged(stream: &Stream, [batch, context]: [usize; 2]) -> Result<Launch> {
    let [hq, hk, d] = LLAMA;
    let (q, mut out) = (tensor(stream, &[batch, 1, hq, d])?, tensor(stream, &[batch, 1, hq, d])?);
    let cache = || tensor(stream, &[batch * context / PAGE, PAGE, hk, d]);
    let (k, v) = (cache()?, cache()?);
    let table = reversed(stream, &[batch, context / PAGE])?;
    let lengths = Tensor::filled(stream, &[batch], context as i32)?;
    Ok(Box::new(move || {
        let out = LeanAttnOut { out: &mut *out, lse: None };
        lean_attn_paged_fwd_into(&q, &k, &v, &table, &lengths, &LeanOptions::default(), out)
    }))
}

/// A prompt, and a step of decoding behind a context.
fn pod(stream: &Stream, [tokens, context]: [usize; 2]) -> Result<Launch> {
    let [hq, hk, d] = LLAMA;
    let of = |queries: usize, keys: usize| -> Result<_> {
        let of = |rows, heads| tensor(stream, &[rows, heads, d]);
        let lengths = Tensor::from_slice(stream, &[keys as i32], &[1])?;
        Ok((of(queries, hq)?, of(keys, hk)?, of(keys, hk)?, of(queries, hq)?, lengths))
    };
    let (mut decode, mut prefill) = (of(1, context)?, of(tokens, tokens)?);
    Ok(Box::new(move || {
        let (q, k, v, out, lengths) = &mut decode;
        let first = LeanBatch { q, k, v, kv_lens: (&*lengths).into() };
        let (q, k, v, out_pf, lengths) = &mut prefill;
        let second = LeanBatch { q, k, v, kv_lens: (&*lengths).into() };
        pod_attn_into(&first, &second, &PodOptions::default(), out, out_pf)
    }))
}

/// New tokens of a prompt behind a paged context, and a step of decoding of another sequence.
fn unified(stream: &Stream, [new, context]: [usize; 2]) -> Result<Launch> {
    let [hq, hk, d] = LLAMA;
    let (q, mut out) = (tensor(stream, &[new + 1, hq, d])?, tensor(stream, &[new + 1, hq, d])?);
    let bounds = Tensor::from_slice(stream, &[0, new as i32, new as i32 + 1], &[3])?;
    let keys = (context + new).next_multiple_of(PAGE);
    let lengths = Tensor::filled(stream, &[2], (context + new) as i32)?;
    let table = reversed(stream, &[2, keys / PAGE])?;
    let of = || tensor(stream, &[2 * keys / PAGE, PAGE, hk, d]);
    let (k, v) = (of()?, of()?);
    Ok(Box::new(move || {
        let sequences = PagedSequences {
            cu_seqlens_q: (&bounds).into(),
            max_seqlen_q: new,
            seqused_k: (&lengths).into(),
            max_seqlen_k: context + new,
            block_table: (&table).into(),
        };
        let options = UnifiedAttnOptions::default();
        unified_attn_fwd_into(&q, &k, &v, &sequences, &options, &mut out)
    }))
}

fn extend(stream: &Stream, [new, context]: [usize; 2]) -> Result<Launch> {
    let [hq, hk, d] = LLAMA;
    let of = |rows, heads| tensor(stream, &[rows, heads, d]);
    let (q, k, v, mut o) = (of(new, hq)?, of(new, hk)?, of(new, hk)?, of(new, hq)?);
    let (k_buffer, v_buffer) = (of(context, hk)?, of(context, hk)?);
    let indices = reversed(stream, &[context])?;
    let bounds = |rows: usize| Tensor::from_slice(stream, &[0, rows as i32], &[2]);
    let (qo_indptr, kv_indptr) = (bounds(new)?, bounds(context)?);
    Ok(Box::new(move || {
        let prefix = ExtendPrefix {
            k_buffer: &k_buffer,
            v_buffer: &v_buffer,
            kv_indptr: (&kv_indptr).into(),
            kv_indices: (&indices).into(),
        };
        let options = ExtendOptions::default();
        extend_attn_fwd_into(&q, &k, &v, &qo_indptr, new, Some(&prefix), &options, &mut o)
    }))
}

/// New tokens behind a context of a paged cache, and a step of decoding if there is to be.
fn cached(stream: &Stream, [tokens, context]: [usize; 2], has_step: bool) -> Result<Launch> {
    const X: usize = 8;
    let [hq, hk, d] = LLAMA;
    let new = tokens + usize::from(has_step);
    let of = |heads| tensor(stream, &[new, heads, d]);
    let (q, k, v, mut out) = (of(hq)?, of(hk)?, of(hk)?, of(hq)?);
    let (keys, count) = ((context + tokens).next_multiple_of(PAGE), 1 + usize::from(has_step));
    let blocks = count * keys / PAGE;
    let key_cache = tensor(stream, &[blocks, hk, d / X, PAGE, X])?;
    let value_cache = tensor(stream, &[blocks, hk, d, PAGE])?;
    let b_loc = reversed(stream, &[count, keys / PAGE])?;
    let bounds = [0, tokens as i32, new as i32];
    let bounds = Tensor::from_slice(stream, &bounds[..=count], &[count + 1])?;
    let lengths = [context + tokens, context].map(|length| length as i32);
    let lengths = Tensor::from_slice(stream, &lengths[..count], &[count])?;
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
            chunked_prefill_paged_decode_into(&q, &k, &v, &cache, tokens, &options, &mut out)
        } else {
            pa_prefill_fwd_into(&q, &k, &v, &cache, tokens, &options, &mut out)
        }
    }))
}

fn mla(stream: &Stream, [batch, context]: [usize; 2]) -> Result<Launch> {
    let [hq, c, r] = DEEPSEEK;
    let (q, mut out) = (tensor(stream, &[batch, hq, c + r])?, tensor(stream, &[batch, hq, c])?);
    let k_buffer = tensor(stream, &[batch * context, 1, c + r])?;
    let bounds: Vec<_> = (0..=batch).map(|n| (n * context) as i32).collect();
    let kv_indptr = Tensor::from_slice(stream, &bounds, &[batch + 1])?;
    let kv_indices = reversed(stream, &[batch * context])?;
    let cos_sin_cache = tensor(stream, &[context, r])?;
    let positions = Tensor::filled(stream, &[batch], context as i32 - 1)?;
    let mut k_pe_tokens = tensor(stream, &[batch, r])?;
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
        let out = MlaDecodeOut { out: &mut *out, attn_logits: None };
        let options = MlaDecodeOptions::default();
        mla_decode_rope_into(&q, &k_buffer, None, &tokens, rope, 0.1, &options, out)
    }))
}

/// Of a quarter of the context.
fn sparse(stream: &Stream, [queries, context]: [usize; 2]) -> Result<Launch> {
    let [hq, c, r] = DEEPSEEK;
    let chosen = context / 4;
    let q = tensor(stream, &[queries, hq, c + r])?;
    let mut out = tensor(stream, &[queries, hq, c])?;
    let kv = tensor(stream, &[context / PAGE, PAGE, 1, c + r])?;
    let indices: Vec<_> = (0..queries * chosen).map(|i| (i * 7 % context) as i32).collect();
    let topk_indices = Tensor::from_slice(stream, &indices, &[queries, chosen])?;
    Ok(Box::new(move || {
        let out = SparseMlaOut { out: &mut *out, lse: None };
        sparse_mla_attn_fwd_into(&q, &kv, &topk_indices, c, &SparseMlaOptions::default(), out)
    }))
}
