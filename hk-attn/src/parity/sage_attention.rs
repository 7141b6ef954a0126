//! Cases of the module `sage_attention`.

use hk_core::Arch;
use hk_core::dtype::{DType, F8E4M3, F8E4M3Fnuz, Real, bf16, decode, f16};
use hk_core::op::quant::{ByteCode, Fp8};
use hk_ref::attn::attention::Head;
use hk_ref::attn::sage_attention::{
    Coded, attended, blocks, codes, logarithms, means, products, results, rounded, scales, smoothed,
};
use hk_ref::{Arg, Case, CaseInfo, Draw, Setup, Size};

use crate::{
    AttentionElement, SageAttnOut, SageCodes, SageLut, SageOptions, SageQuantOut,
    sage_attn_fwd_into, sage_attn_into, sage_quant_into,
};

/// What varies between cases.
#[derive(Debug, Clone)]
struct Spec {
    name: &'static str,
    b: usize,
    rows: [usize; 2],
    heads: [usize; 2],
    widths: [usize; 2],
    blocks: [usize; 2],
    causal: bool,
    window: [Option<u32>; 2],
    heads_first: bool,
    smooth_k: bool,
    q_smooth: bool,
    /// Whether blocks of queries see some blocks of keys only, the first of them none.
    sparse: bool,
    /// What is added to keys, so that they have a mean.
    offset: f32,
}

impl Spec {
    fn new(name: &'static str, rows: [usize; 2], heads: [usize; 2], d: usize) -> Self {
        Self {
            name,
            b: 1,
            rows,
            heads,
            widths: [d, d],
            blocks: [64, 64],
            causal: false,
            window: [None; 2],
            heads_first: false,
            smooth_k: true,
            q_smooth: false,
            sparse: false,
            offset: 0.0,
        }
    }

    fn title(&self) -> String {
        let [blk_q, blk_k] = self.blocks;
        let mut title = format!("{}, blocks of {blk_q} and {blk_k}", self.name);
        let mut say = |is_said: bool, what: &str| title += if is_said { what } else { "" };
        say(self.causal, ", causal");
        say(self.window != [None; 2], ", windowed");
        say(self.heads_first, ", heads first");
        say(!self.smooth_k, ", with means of keys");
        say(self.q_smooth, ", without means of queries");
        say(self.sparse, ", sparse");
        title
    }

    fn info(&self, op: &'static str, dtypes: &[DType], arch: Option<Arch>) -> CaseInfo {
        let ([sq, sk], [hq, hk], [d, dv]) = (self.rows, self.heads, self.widths);
        let shape = [self.b, sq, sk, hq, hk, d, dv];
        let info = CaseInfo::new("sage_attention", op, self.title(), dtypes, &shape);
        let is_quick = self.b * sq * sk * hq * (d + dv) < 6_000_000;
        let size = if is_quick { Size::Quick } else { Size::Core };
        CaseInfo { arch, size, ..info }
    }

    /// The shape of a tensor of rows of heads.
    fn shape(&self, rows: usize, heads: usize, width: usize) -> Vec<usize> {
        let b = self.b;
        if self.heads_first { vec![b, heads, rows, width] } else { vec![b, rows, heads, width] }
    }

    /// Rows of a head, of such a tensor.
    fn head(
        &self,
        x: &[f64],
        [b, h]: [usize; 2],
        [rows, heads, width]: [usize; 3],
    ) -> Vec<Vec<f64>> {
        let at = |row: usize| self.place([b, h, row], [rows, heads]) * width;
        (0..rows).map(|row| x[at(row)..][..width].to_vec()).collect()
    }

    /// Number of a row of a head.
    fn place(&self, [b, h, row]: [usize; 3], [rows, heads]: [usize; 2]) -> usize {
        match self.heads_first {
            true => (b * heads + h) * rows + row,
            false => (b * rows + row) * heads + h,
        }
    }

    fn counts(&self) -> [usize; 2] {
        [0, 1].map(|of| self.rows[of].div_ceil(self.blocks[of]))
    }

    /// Blocks of keys that block `of` of queries of head `h` sees.
    fn seen(&self, h: usize, of: usize) -> Vec<usize> {
        let [_, k_blocks] = self.counts();
        (0..k_blocks).filter(|block| of > 0 && (block + of + h).is_multiple_of(2)).collect()
    }

    fn options(&self) -> SageOptions<'static> {
        SageOptions::default()
            .causal(self.causal)
            .window(self.window[0], self.window[1])
            .blocks(self.blocks[0], self.blocks[1])
            .heads_first(self.heads_first)
            .smooth_k(self.smooth_k)
            .q_smooth(self.q_smooth)
    }

    /// Keys that are visible before a query's position, and behind it.
    fn sides(&self) -> [Option<usize>; 2] {
        let right = if self.causal { Some(0) } else { self.window[1] };
        [self.window[0], right].map(|side| side.map(|keys| keys as usize))
    }
}

/// Lists of blocks, if there are any.
struct Lut([Arg<i32>; 3]);

impl Lut {
    fn new(s: &mut Setup, spec: &Spec) -> Self {
        let ([hq, _], [q_blocks, _]) = (spec.heads, spec.counts());
        let (mut list, mut starts, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        for entry in 0..spec.b * hq * q_blocks {
            let seen = spec.seen(entry / q_blocks % hq, entry % q_blocks);
            starts.push(list.len() as i32);
            counts.push(seen.len() as i32);
            list.extend(seen.into_iter().map(|block| block as i32));
        }
        let entries = [starts.len()];
        Self([
            s.given("kv_block_indices", &[list.len()], list),
            s.given("lut_start", &entries, starts),
            s.given("lut_count", &entries, counts),
        ])
    }
}

/// Attention of codes.
fn forward<F: Fp8 + AttentionElement>(spec: Spec, arch: Arch) -> Case {
    let info = spec.info("sage_attn_fwd", &[DType::I8, F::DTYPE, DType::Bf16], Some(arch));
    Case::new(info, move |s| {
        let ([sq, sk], [hq, hk], [d, dv]) = (spec.rows, spec.heads, spec.widths);
        let (b, [q_blocks, k_blocks]) = (spec.b, spec.counts());
        let q = s.input::<i8>("q", &spec.shape(sq, hq, d), Draw::Codes);
        let k = s.input::<i8>("k", &spec.shape(sk, hk, d), Draw::Codes);
        let v = s.input::<F>("v", &spec.shape(sk, hk, dv), Draw::Normal);
        let q_descale = s.input::<f32>("q_descale", &[b, hq, q_blocks], Draw::Scaled(-8));
        let k_descale = s.input::<f32>("k_descale", &[b, hk, k_blocks], Draw::Scaled(-8));
        let v_descale = s.input::<f32>("v_descale", &[b, hk, dv], Draw::Normal);
        let of_delta = [b, hq, q_blocks, sk];
        let delta = spec.q_smooth.then(|| s.input::<f32>("delta_s", &of_delta, Draw::Normal));
        let delta_lse =
            spec.smooth_k.then(|| s.input::<f32>("delta_lse", &[b, hq, sq], Draw::Normal));
        let lut = spec.sparse.then(|| Lut::new(s, &spec));

        let numbers = [decode(&q.elements()), decode(&k.elements()), decode(&v.elements())];
        let [by_q, by_k, by_v] = [&q_descale, &k_descale, &v_descale].map(Arg::numbers);
        let by_delta = delta.as_ref().map(Arg::numbers);
        let more = delta_lse.as_ref().map(Arg::numbers);
        let (mut o, mut lse) = (vec![0.0; b * sq * hq * dv], Vec::new());
        let mut all_largest = o.clone();
        for entry in 0..b * hq {
            let (b, h) = (entry / hq, entry % hq);
            let of = h / (hq / hk);
            let head = Head {
                q: spec.head(&numbers[0], [b, h], [sq, hq, d]),
                k: spec.head(&numbers[1], [b, of], [sk, hk, d]),
                v: spec.head(&numbers[2], [b, of], [sk, hk, dv]),
            };
            let delta = by_delta.as_ref().map(|delta| -> Vec<Vec<f64>> {
                let of = |block: usize| delta[(entry * q_blocks + block) * sk..][..sk].to_vec();
                (0..q_blocks).map(of).collect()
            });
            let seen: Vec<_> = (0..q_blocks).map(|block| spec.seen(h, block)).collect();
            let coded = Coded {
                q: (&by_q[entry * q_blocks..][..q_blocks], spec.blocks[0]),
                k: (&by_k[(b * hk + of) * k_blocks..][..k_blocks], spec.blocks[1]),
                v: &by_v[(b * hk + of) * dv..][..dv],
                delta: delta.as_deref(),
                seen: spec.sparse.then_some(&seen),
                window: spec.sides(),
            };
            let magnitudes = |row: &Vec<f64>| -> f64 {
                let of = row.iter().zip(coded.v).map(|(x, scale)| (x * scale).abs());
                of.fold(0.0, f64::max)
            };
            let largest = head.v.iter().map(magnitudes).fold(0.0, f64::max);
            for (i, row) in attended(&head, &coded).into_iter().enumerate() {
                let at = spec.place([b, h, i], [sq, hq]) * dv;
                o[at..at + dv].copy_from_slice(&row.o);
                all_largest[at..at + dv].fill(largest);
                lse.push(row.lse + more.as_ref().map_or(0.0, |more| more[entry * sq + i]));
            }
        }
        let out = s.output::<bf16>("out", &spec.shape(sq, hq, dv), results(o, &all_largest));
        let lse = s.output::<f32>("lse", &[b, hq, sq], logarithms(lse));
        let spec = spec.clone();
        s.call(move || {
            let (q, k, v) = (q.get(), k.get(), v.get());
            let [by_q, by_k, by_v] = [&q_descale, &k_descale, &v_descale].map(Arg::get);
            let (delta, delta_lse) =
                (delta.as_ref().map(Arg::get), delta_lse.as_ref().map(Arg::get));
            let codes = SageCodes {
                q: &q,
                k: &k,
                v: &v,
                q_descale: &by_q,
                k_descale: &by_k,
                v_descale: &by_v,
                delta_s: delta.as_deref(),
                delta_lse: delta_lse.as_deref(),
            };
            let (mut out, mut lse) = (out.get(), lse.get());
            let into = SageAttnOut { out: &mut out, lse: Some(&mut lse) };
            let Some(Lut(lists)) = &lut else {
                return sage_attn_fwd_into(&codes, &spec.options(), into);
            };
            let [list, start, count] = lists.each_ref().map(Arg::get);
            let lut = SageLut {
                kv_block_indices: (&list).into(),
                lut_start: (&start).into(),
                lut_count: (&count).into(),
            };
            sage_attn_fwd_into(&codes, &spec.options().block_lut(lut), into)
        });
    })
}

/// Queries, keys and values of a case of numbers.
fn numbers<T: Real>(s: &mut Setup, spec: &Spec) -> [Arg<T>; 3] {
    let ([sq, sk], [hq, hk], [d, dv]) = (spec.rows, spec.heads, spec.widths);
    let q = s.input::<T>("q", &spec.shape(sq, hq, d), Draw::Normal);
    let shape = spec.shape(sk, hk, d);
    let keys: Vec<T> = s.draw("k", &shape, Draw::Normal);
    let offset = f64::from(spec.offset);
    let keys = keys.into_iter().map(|key| T::from_f64(key.to_f64() + offset)).collect();
    let k = s.given("k", &shape, keys);
    [q, k, s.input::<T>("v", &spec.shape(sk, hk, dv), Draw::Normal)]
}

/// The quantiser.
fn quantise<T: Real, F: Fp8>(spec: Spec, arch: Arch) -> Case {
    let info = spec.info("sage_quant", &[T::DTYPE, DType::I8, F::DTYPE], Some(arch));
    Case::new(info, move |s| {
        let ([sq, sk], [hq, hk], [d, dv]) = (spec.rows, spec.heads, spec.widths);
        let (b, [q_blocks, k_blocks], [blk_q, blk_k]) = (spec.b, spec.counts(), spec.blocks);
        let [q, k, v] = numbers::<T>(s, &spec);
        let given = [q.numbers(), k.numbers(), v.numbers()];
        let scale = 1.0 / (d as f32).sqrt();
        let factor = f64::from(scale * std::f32::consts::LOG2_E);

        let mut q8 = vec![0.0; b * sq * hq * d];
        let (mut k8, mut v8) = (vec![0.0; b * sk * hk * d], vec![0.0; b * sk * hk * dv]);
        let (mut q_scales, mut k_scales, mut v_scales) = (Vec::new(), Vec::new(), Vec::new());
        let (mut delta, mut sizes) = (Vec::new(), Vec::new());
        let (mut delta_lse, mut lse_sizes) = (Vec::new(), Vec::new());
        let put = |to: &mut [f64], rows: &[Vec<f64>], [b, h, heads]: [usize; 3]| {
            for (i, row) in rows.iter().enumerate() {
                let at = spec.place([b, h, i], [rows.len(), heads]) * row.len();
                to[at..at + row.len()].copy_from_slice(row);
            }
        };
        let mut of_keys = Vec::new();
        for entry in 0..b * hk {
            let (b, h) = (entry / hk, entry % hk);
            let keys = spec.head(&given[1], [b, h], [sk, hk, d]);
            let mean: Vec<f64> = match spec.smooth_k && sk > 0 {
                true => means(&keys, sk).into_iter().map(rounded::<T>).collect(),
                false => vec![0.0; d],
            };
            let keys = if spec.smooth_k { smoothed::<T>(&keys, &mean) } else { keys };
            let coded = blocks(&keys, blk_k, 127.0);
            put(&mut k8, &coded.codes, [b, h, hk]);
            k_scales.extend(coded.scales);
            let values = spec.head(&given[2], [b, h], [sk, hk, dv]);
            let most = f64::from(<F as ByteCode>::MOST);
            let by_channel: Vec<f64> = (0..dv)
                .map(|at| values.iter().fold(0.0, |most: f64, row| most.max(row[at].abs())))
                .map(|amax| f64::from(amax as f32 / most as f32))
                .collect();
            let code = |row: &Vec<f64>| {
                let of = |(x, scale): (&f64, &f64)| if *scale == 0.0 { 0.0 } else { x / scale };
                row.iter().zip(&by_channel).map(of).collect()
            };
            put(&mut v8, &values.iter().map(code).collect::<Vec<_>>(), [b, h, hk]);
            v_scales.extend(by_channel);
            of_keys.push((keys, mean));
        }
        for entry in 0..b * hq {
            let (b, h) = (entry / hq, entry % hq);
            let (keys, mean) = &of_keys[b * hk + h / (hq / hk)];
            let queries = spec.head(&given[0], [b, h], [sq, hq, d]);
            for row in &queries {
                let terms = || row.iter().zip(mean).map(|(q, mean)| q * mean * f64::from(scale));
                delta_lse.push(terms().sum::<f64>());
                lse_sizes.push(terms().map(f64::abs).sum::<f64>() + 1e-3);
            }
            let scaled: Vec<Vec<f64>> =
                queries.iter().map(|row| row.iter().map(|x| x * factor).collect()).collect();
            let mut changed = Vec::new();
            for block in scaled.chunks(blk_q) {
                if !spec.q_smooth {
                    changed.extend_from_slice(block);
                    continue;
                }
                let mean = means(block, blk_q);
                changed.extend(smoothed::<T>(block, &mean));
                for key in keys {
                    let terms = || key.iter().zip(&mean).map(|(k, mean)| k * mean);
                    delta.push(terms().sum());
                    sizes.push(1e-2 * terms().map(f64::abs).sum::<f64>());
                }
            }
            let coded = blocks(&changed, blk_q, 127.0);
            put(&mut q8, &coded.codes, [b, h, hq]);
            q_scales.extend(coded.scales);
        }
        let q_codes = s.output::<i8>("q8", &spec.shape(sq, hq, d), codes(q8));
        let k_codes = s.output::<i8>("k8", &spec.shape(sk, hk, d), codes(k8));
        let v_codes = s.output::<F>("v8", &spec.shape(sk, hk, dv), codes(v8));
        // A mean that is rounded the other way moves scales.
        let near = |values: Vec<f64>, is_moved: bool| match is_moved {
            true => {
                let sizes: Vec<f64> = values.iter().map(|value| value.abs()).collect();
                products(values, &sizes)
            }
            false => scales(values),
        };
        let q_descale =
            s.output::<f32>("q_descale", &[b, hq, q_blocks], near(q_scales, spec.q_smooth));
        let k_descale =
            s.output::<f32>("k_descale", &[b, hk, k_blocks], near(k_scales, spec.smooth_k));
        let v_descale = s.output::<f32>("v_descale", &[b, hk, dv], scales(v_scales));
        let delta_s = spec
            .q_smooth
            .then(|| s.output::<f32>("delta_s", &[b, hq, q_blocks, sk], products(delta, &sizes)));
        let delta_lse = s.output::<f32>("delta_lse", &[b, hq, sq], products(delta_lse, &lse_sizes));
        let spec = spec.clone();
        s.call(move || {
            let (mut q8, mut k8, mut v8) = (q_codes.get(), k_codes.get(), v_codes.get());
            let (mut by_q, mut by_k, mut by_v) =
                (q_descale.get(), k_descale.get(), v_descale.get());
            let mut delta = delta_s.as_ref().map(|delta| delta.get());
            let out = SageQuantOut {
                q: &mut q8,
                k: &mut k8,
                v: &mut v8,
                q_descale: &mut by_q,
                k_descale: &mut by_k,
                v_descale: &mut by_v,
                delta_s: delta.as_deref_mut(),
                delta_lse: Some(&mut *delta_lse.get()),
            };
            sage_quant_into(&q.get(), &k.get(), &v.get(), &spec.options(), out)
        });
    })
}

/// Both, against attention of the numbers themselves.
fn whole<T: Real, F: Fp8 + AttentionElement>(spec: Spec, arch: Arch) -> Case {
    let info = spec.info("sage_attn", &[T::DTYPE, F::DTYPE, DType::Bf16], Some(arch));
    Case::new(info, move |s| {
        let ([sq, sk], [hq, hk], [d, dv]) = (spec.rows, spec.heads, spec.widths);
        let b = spec.b;
        let [q, k, v] = numbers::<T>(s, &spec);
        let given = [q.numbers(), k.numbers(), v.numbers()];
        let (mut o, mut lse) = (vec![0.0; b * sq * hq * dv], Vec::new());
        for entry in 0..b * hq {
            let (b, h) = (entry / hq, entry % hq);
            let of = h / (hq / hk);
            let head = Head {
                q: spec.head(&given[0], [b, h], [sq, hq, d]),
                k: spec.head(&given[1], [b, of], [sk, hk, d]),
                v: spec.head(&given[2], [b, of], [sk, hk, dv]),
            };
            let scale = 1.0 / (d as f64).sqrt() / std::f64::consts::LN_2;
            let coded = Coded {
                q: (&[scale], sq.max(1)),
                k: (&[1.0], sk.max(1)),
                v: &vec![1.0; dv],
                delta: None,
                seen: None,
                window: spec.sides(),
            };
            for (i, row) in attended(&head, &coded).into_iter().enumerate() {
                let at = spec.place([b, h, i], [sq, hq]) * dv;
                o[at..at + dv].copy_from_slice(&row.o);
                lse.push(row.lse);
            }
        }
        let most = vec![5.0; o.len()];
        let mut expected = results(o, &most);
        expected.frobenius = Some(5e-2);
        let out = s.output::<bf16>("out", &spec.shape(sq, hq, dv), expected);
        let mut expected = logarithms(lse);
        expected.allowed = vec![5e-2; expected.values.len()];
        let lse = s.output::<f32>("lse", &[b, hq, sq], expected);
        let spec = spec.clone();
        s.call(move || {
            let (mut out, mut lse) = (out.get(), lse.get());
            let into = SageAttnOut { out: &mut out, lse: Some(&mut lse) };
            sage_attn_into::<T, F>(&q.get(), &k.get(), &v.get(), &spec.options(), into)
        });
    })
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let spec = Spec::new;
    let mut forwards = vec![
        Spec { b: 2, widths: [16, 8], q_smooth: true, ..spec("tiny", [3, 5], [4, 2], 16) },
        Spec { b: 2, widths: [16, 8], sparse: true, ..spec("tiny", [130, 5], [4, 2], 16) },
        spec("one", [1, 1], [1, 1], 128),
        spec("few", [4, 4], [2, 1], 128),
        Spec { smooth_k: false, ..spec("two", [2, 1], [1, 1], 128) },
        Spec { heads_first: true, ..spec("two keys", [1, 2], [2, 1], 128) },
        Spec { causal: true, ..spec("more queries", [32, 16], [2, 1], 128) },
        Spec { causal: true, ..spec("more keys", [64, 128], [2, 1], 128) },
        Spec { causal: true, blocks: [128, 64], ..spec("several blocks", [200, 300], [4, 2], 64) },
        Spec {
            blocks: [256, 128],
            q_smooth: true,
            ..spec("usual blocks", [300, 270], [2, 1], 128)
        },
        Spec { window: [Some(20), Some(7)], ..spec("near", [150, 170], [2, 2], 72) },
        Spec { sparse: true, blocks: [64, 128], ..spec("blocks", [200, 300], [4, 2], 128) },
        Spec { sparse: true, heads_first: true, ..spec("blocks", [130, 257], [2, 1], 200) },
        Spec { q_smooth: true, causal: true, ..spec("wide", [70, 90], [2, 1], 256) },
        Spec { widths: [19, 7], ..spec("odd widths", [33, 70], [2, 1], 19) },
        spec("no keys", [3, 0], [2, 1], 64),
        spec("no queries", [0, 3], [2, 1], 64),
    ];
    forwards.push(Spec { b: 2, ..spec("heads of groups", [65, 129], [6, 2], 96) });
    for spec in forwards {
        cases.push(forward::<F8E4M3Fnuz>(spec.clone(), Arch::Gfx942));
        cases.push(forward::<F8E4M3>(spec, Arch::Gfx950));
    }
    let quantised = [
        Spec { b: 2, widths: [16, 8], q_smooth: true, ..spec("tiny", [3, 5], [4, 2], 16) },
        Spec { offset: 3.0, ..spec("with a mean", [70, 200], [2, 1], 128) },
        Spec { offset: 3.0, smooth_k: false, ..spec("with a mean", [70, 200], [2, 1], 128) },
        Spec {
            q_smooth: true,
            blocks: [128, 64],
            ..spec("several blocks", [300, 700], [4, 2], 64)
        },
        Spec { heads_first: true, ..spec("heads", [150, 70], [2, 2], 256) },
        Spec { widths: [19, 7], q_smooth: true, ..spec("odd widths", [90, 70], [2, 1], 19) },
        spec("no keys", [3, 0], [2, 1], 64),
        spec("no queries", [0, 3], [2, 1], 64),
    ];
    for spec in quantised {
        cases.push(quantise::<bf16, F8E4M3Fnuz>(spec.clone(), Arch::Gfx942));
        cases.push(quantise::<f16, F8E4M3>(spec.clone(), Arch::Gfx950));
        cases.push(quantise::<f32, F8E4M3Fnuz>(spec, Arch::Gfx942));
    }
    let wholes = [
        Spec { b: 2, widths: [16, 8], q_smooth: true, ..spec("tiny", [3, 5], [4, 2], 16) },
        Spec { offset: 2.0, causal: true, ..spec("layer", [70, 90], [4, 2], 128) },
        Spec { offset: 2.0, q_smooth: true, ..spec("layer", [150, 130], [2, 1], 64) },
        Spec { smooth_k: false, heads_first: true, ..spec("layer", [40, 130], [2, 2], 128) },
    ];
    for spec in wholes {
        cases.push(whole::<bf16, F8E4M3Fnuz>(spec.clone(), Arch::Gfx942));
        cases.push(whole::<f16, F8E4M3>(spec.clone(), Arch::Gfx950));
        cases.push(whole::<f32, F8E4M3>(spec, Arch::Gfx950));
    }
    cases
}
