//! The op of the module `unified_attn` against its reference, and what it refuses.

use crate::common::devices;
use hk_attn::{
    AttentionOptions, CacheLayout, Device, KvCacheOptions, KvCaches, PagedSequences, Result,
    Stream, Tensor, UnifiedAttnOptions, bf16, f16, parity, reshape_and_cache, unified_attn_fwd,
};
use hk_core::Error;

#[test]
fn unified_attn_has_parity() {
    hk_ref::run_module("unified_attn", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn unified_attn_rejects_wrong_tensors() {
    hk_ref::run_rejections("unified_attn", &parity::cases(), &devices());
}

/// What is given to a call: bounds and lengths of two sequences, and their pages of two slots, of
/// which there are four.
#[derive(Clone, Copy)]
struct Given {
    bounds: [i32; 3],
    max_seqlen_q: usize,
    lengths: [i32; 2],
    max_seqlen_k: usize,
    table: [i32; 6],
}

const RIGHT: Given = Given {
    bounds: [0, 2, 5],
    max_seqlen_q: 3,
    lengths: [4, 3],
    max_seqlen_k: 4,
    table: [3, 0, i32::MAX, 1, 2, -1],
};

fn call(device: &Device, given: Given, options: &UnifiedAttnOptions<'_>) -> Result<()> {
    let stream = device.default_stream();
    let Given { bounds, max_seqlen_q, lengths, max_seqlen_k, table } = given;
    let q = Tensor::filled(&stream, &[5, 4, 16], bf16::ONE)?;
    let cache = Tensor::filled(&stream, &[4, 2, 2, 16], bf16::ONE)?;
    let bounds = Tensor::from_slice(&stream, &bounds, &[3])?;
    let lengths = Tensor::from_slice(&stream, &lengths, &[2])?;
    let table = Tensor::from_slice(&stream, &table, &[2, 3])?;
    let sequences = PagedSequences {
        cu_seqlens_q: (&bounds).into(),
        max_seqlen_q,
        seqused_k: (&lengths).into(),
        max_seqlen_k,
        block_table: (&table).into(),
    };
    unified_attn_fwd(&q, &cache, &cache, &sequences, options)?;
    stream.synchronize()
}

#[test]
fn unified_attn_looks_at_sequences_and_pages() {
    for device in devices() {
        let options = UnifiedAttnOptions::default();
        assert!(call(&device, RIGHT, &options).is_ok());
        for (arg, given) in [
            ("cu_seqlens_q", Given { bounds: [0, 6, 5], ..RIGHT }),
            ("max_seqlen_q", Given { max_seqlen_q: 2, ..RIGHT }),
            ("seqused_k", Given { lengths: [4, 2], ..RIGHT }),
            ("seqused_k", Given { lengths: [4, 5], ..RIGHT }),
            ("seqused_k", Given { lengths: [-1, 3], ..RIGHT }),
            ("block_table", Given { table: [4, 0, 0, 1, 2, 0], ..RIGHT }),
            ("block_table", Given { table: [3, 0, 0, -1, 2, 0], ..RIGHT }),
        ] {
            let error = call(&device, given, &options).unwrap_err();
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
            // Nothing is read where it should not be, even so.
            let attention = options.attention.validate_indices(false);
            assert!(call(&device, given, &UnifiedAttnOptions { attention, ..options }).is_ok());
        }
    }
}

#[test]
fn unified_attn_names_the_option_that_is_wrong() {
    for device in devices() {
        let stream = device.default_stream();
        let bias = Tensor::filled(&stream, &[1, 1, 1, 6], 1.0f32).unwrap();
        let options = AttentionOptions::default();
        for (arg, attention) in [
            ("window", options.window(None, 1)),
            ("softcap", options.softcap(-1.0)),
            ("bias", options.bias(&bias)),
        ] {
            let layout = CacheLayout::Nhd;
            let error =
                call(&device, RIGHT, &UnifiedAttnOptions { attention, layout }).unwrap_err();
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
        }
    }
}

#[test]
fn unified_attn_refuses_types_and_pages_that_do_not_go_together() {
    for device in devices() {
        let stream = device.default_stream();
        let bounds = Tensor::from_slice(&stream, &[0, 1], &[2]).unwrap();
        let one = Tensor::filled(&stream, &[1], 1i32).unwrap();
        let table = Tensor::filled(&stream, &[1, 1], 0i32).unwrap();
        let sequences = PagedSequences {
            cu_seqlens_q: (&bounds).into(),
            max_seqlen_q: 1,
            seqused_k: (&one).into(),
            max_seqlen_k: 1,
            block_table: (&table).into(),
        };
        let options = UnifiedAttnOptions::default();
        let cache = Tensor::filled(&stream, &[1, 2, 1, 16], bf16::ONE).unwrap();
        let wrong = |error: Error, name: &str| {
            assert!(matches!(error, Error::Value { arg, .. } if arg == name), "{error}");
        };
        let q = Tensor::filled(&stream, &[1, 1, 16], 1i8).unwrap();
        wrong(unified_attn_fwd(&q, &cache, &cache, &sequences, &options).unwrap_err(), "k_cache");
        let q = Tensor::filled(&stream, &[1, 1, 16], f16::ONE).unwrap();
        wrong(unified_attn_fwd(&q, &cache, &cache, &sequences, &options).unwrap_err(), "k_cache");
        let q = Tensor::filled(&stream, &[1, 1, 16], bf16::ONE).unwrap();
        let layout = CacheLayout::PagedXShuffledV;
        let options = UnifiedAttnOptions { layout, ..options };
        let k = Tensor::filled(&stream, &[1, 1, 1, 16, 16], 1i8).unwrap();
        wrong(unified_attn_fwd(&q, &k, &k, &sequences, &options).unwrap_err(), "bs");
        // Runs of three are none.
        let q = Tensor::filled(&stream, &[1, 1, 3], bf16::ONE).unwrap();
        let k = Tensor::filled(&stream, &[1, 1, 1, 3, 3], bf16::ONE).unwrap();
        wrong(unified_attn_fwd(&q, &k, &k, &sequences, &options).unwrap_err(), "bs");
        let q = Tensor::filled(&stream, &[1, 1, 18], bf16::ONE).unwrap();
        let k = Tensor::filled(&stream, &[1, 1, 4, 4, 4], bf16::ONE).unwrap();
        let v = Tensor::filled(&stream, &[1, 1, 1, 18, 4], bf16::ONE).unwrap();
        wrong(unified_attn_fwd(&q, &k, &v, &sequences, &options).unwrap_err(), "d");
    }
}

/// A sequence and its cache of pages of four slots, in which nothing is a number yet.
struct Growing {
    stream: Stream,
    caches: [Tensor<bf16>; 2],
    table: Tensor<i32>,
}

/// Tokens of the sequence, heads of queries and of keys, and their width.
const TOKENS: usize = 45;
const HEADS: [usize; 2] = [4, 2];
const WIDTH: usize = 64;
const PAGE: usize = 4;
/// The pages, in the order of tokens.
const PAGES: [i32; 12] = [7, 3, 11, 0, 5, 9, 1, 10, 2, 8, 4, 6];

impl Growing {
    fn new(device: &Device) -> Result<Self> {
        let stream = device.default_stream();
        let shape = [PAGES.len(), PAGE, HEADS[1], WIDTH];
        let cache = || Tensor::filled(&stream, &shape, bf16::NAN);
        let (caches, table) =
            ([cache()?, cache()?], Tensor::from_slice(&stream, &PAGES, &[1, 12])?);
        Ok(Self { stream, caches, table })
    }

    /// Rows of so many heads of the tokens from one on, which are the same in every call.
    fn rows(&self, seed: usize, heads: usize, [from, to]: [usize; 2]) -> Result<Tensor<bf16>> {
        let number = |i: usize| ((i * 7919 + seed * 104_729) % 2003) as f32 / 700.0 - 1.43;
        let all = from * heads * WIDTH..to * heads * WIDTH;
        let elements: Vec<_> = all.map(|i| bf16::from_f32(number(i))).collect();
        Tensor::from_slice(&self.stream, &elements, &[to - from, heads, WIDTH])
    }

    /// The results of these tokens, whose keys and values are put into the cache before.
    fn attend(&mut self, tokens: [usize; 2], options: AttentionOptions<'_>) -> Result<Vec<f32>> {
        let [from, to] = tokens;
        let (q, k, v) = (
            self.rows(1, HEADS[0], tokens)?,
            self.rows(2, HEADS[1], tokens)?,
            self.rows(3, HEADS[1], tokens)?,
        );
        let slot = |token: usize| PAGES[token / PAGE] * PAGE as i32 + (token % PAGE) as i32;
        let slots: Vec<_> = (from..to).map(slot).collect();
        let slots = Tensor::from_slice(&self.stream, &slots, &[to - from])?;
        let [key, value] = &mut self.caches;
        let caches = KvCaches { key: &mut **key, value: &mut **value };
        reshape_and_cache(&k, &v, &slots, &KvCacheOptions::default(), caches)?;
        let integers = |numbers: &[usize]| {
            let numbers: Vec<_> = numbers.iter().map(|number| *number as i32).collect();
            Tensor::from_slice(&self.stream, &numbers, &[numbers.len()])
        };
        let (bounds, length) = (integers(&[0, to - from])?, integers(&[to])?);
        let sequences = PagedSequences {
            cu_seqlens_q: (&bounds).into(),
            max_seqlen_q: to - from,
            seqused_k: (&length).into(),
            max_seqlen_k: to,
            block_table: (&self.table).into(),
        };
        let options = UnifiedAttnOptions { attention: options, layout: CacheLayout::Nhd };
        let [key, value] = &self.caches;
        let out = unified_attn_fwd(&q, key, value, &sequences, &options)?;
        Ok(out.to_vec()?.into_iter().map(bf16::to_f32).collect())
    }
}

#[test]
fn unified_attn_of_a_prompt_and_steps_is_that_of_all_tokens() {
    for device in devices() {
        let sinks = Tensor::from_slice(&device.default_stream(), &[0.5f32, -1.0, 2.0, 0.0], &[4]);
        let sinks = sinks.unwrap();
        let plain = AttentionOptions::default();
        for options in [plain, plain.window(Some(9), None).softcap(20.0), plain.sink(&sinks)] {
            let whole = Growing::new(&device).unwrap().attend([0, TOKENS], options).unwrap();
            let mut growing = Growing::new(&device).unwrap();
            let mut parts = growing.attend([0, 31], options).unwrap();
            for token in 31..TOKENS {
                parts.extend(growing.attend([token, token + 1], options).unwrap());
            }
            assert_eq!(parts.len(), whole.len());
            // Of different tiles, whose weights are rounded to bf16 at other maxima.
            let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 2f32.powi(-6) * b.abs().max(0.25);
            let far = parts.iter().zip(&whole).position(|pair| !close(pair));
            assert!(far.is_none(), "element {far:?} of {}", device.info().name);
        }
    }
}
