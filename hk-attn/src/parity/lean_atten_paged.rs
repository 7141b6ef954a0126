//! Cases of `lean_attn_paged_fwd` and `lean_attn_paged_by_heads_fwd`.

use hk_core::dtype::DType;
use hk_ref::attn::lean_atten_paged::{logarithms, results};
use hk_ref::draw::Random;
use hk_ref::{Arg, Case, Draw, Setup};

use super::attention::{Inputs, Sizes};
use super::lean_atten::{Form, Spec, attended};
use crate::lean_atten::LeanElement;
use crate::{LeanAttnOut, LeanMode, lean_attn_paged_by_heads_fwd_into, lean_attn_paged_fwd_into};

/// Pages of sequences in any order, of `blocks` that there are, and junk where none is needed.
fn pages(random: &mut Random, wanted: &[usize], row: usize, blocks: usize) -> Vec<Vec<i32>> {
    let mut free: Vec<_> = (0..blocks).collect();
    let mut rows = Vec::new();
    for count in wanted {
        let mut pages = vec![i32::MAX; row];
        for page in &mut pages[..*count] {
            *page = free.swap_remove(random.below(free.len())) as i32;
        }
        rows.push(pages);
    }
    rows
}

/// Of caches whose pages all heads share.
pub(super) fn paged<T: LeanElement>(s: &mut Setup, spec: &Spec, size: usize) {
    let sizes = &spec.sizes;
    let (b, [hq, hk], d) = (sizes.lengths.len(), sizes.heads, sizes.widths[0]);
    let wanted: Vec<_> = sizes.lengths.iter().map(|[_, keys]| keys.div_ceil(size)).collect();
    let row = wanted.iter().max().copied().unwrap_or_default() + 1;
    let blocks = wanted.iter().sum::<usize>() + 2;
    let table = pages(&mut Random::new(7), &wanted, row, blocks);
    let q = s.input::<T>("q", &[b, sizes.most(0), hq, d], Draw::Normal);
    let slots = slots_of(sizes, &table, size);
    let cache = |s: &mut Setup, name, wild| {
        poisoned::<T>(s, name, &[blocks, size, hk, d], (&slots[..], wild), hk * d)
    };
    let ((k, of_k), (v, of_v)) = (cache(s, "k_cache", None), cache(s, "v_cache", spec.wild));
    let page_table = s.given("page_table", &[b, row], table.concat());
    let lengths = sizes.lengths.iter().map(|[_, keys]| *keys as i32).collect();
    let lengths = s.given::<i32>("kv_lens", &[b], lengths);
    let inputs = Inputs { q: q.numbers(), k: of_k, v: of_v };
    let first = |[queries, keys]: [usize; 2]| keys as i64 - queries as i64;
    let all = attended(spec, sizes, &inputs, spec.causal.then_some(first));
    let lse = logarithms(all.lse_of_heads());
    let out = s.output::<T>("out", &[b, sizes.most(0), hq, d], results(all.o, T::DTYPE));
    let lse = s.output::<f32>("lse", &[b, hq, sizes.most(0)], lse);
    let options = spec.options();
    s.call(move || {
        let (mut out, mut lse) = (out.get(), lse.get());
        let into = LeanAttnOut { out: &mut *out, lse: Some(&mut *lse) };
        let (q, k, v) = (q.get(), k.get(), v.get());
        let (table, lengths) = (page_table.get(), lengths.get());
        lean_attn_paged_fwd_into(&q, &k, &v, &table, &lengths, &options, into)
    });
}

/// Slots of the keys of all sequences.
fn slots_of(sizes: &Sizes, table: &[Vec<i32>], size: usize) -> Vec<usize> {
    let mut slots = Vec::new();
    for (pages, [_, keys]) in table.iter().zip(&sizes.lengths) {
        slots.extend((0..*keys).map(|j| pages[j / size] as usize * size + j % size));
    }
    slots
}

/// A cache whose unused slots are NaN, as is one of the used ones, and the rows of these.
fn poisoned<T: LeanElement>(
    s: &mut Setup,
    name: &'static str,
    shape: &[usize],
    (slots, wild): (&[usize], Option<usize>),
    width: usize,
) -> (Arg<T>, Vec<f64>) {
    let drawn = s.draw::<T>(name, shape, Draw::Normal);
    let mut elements = T::encode(&vec![f64::NAN; drawn.len()]);
    for (at, slot) in slots.iter().enumerate() {
        let row = slot * width..(slot + 1) * width;
        if wild != Some(at) {
            elements[row.clone()].copy_from_slice(&drawn[row]);
        }
    }
    let used = slots.iter().flat_map(|slot| &elements[slot * width..][..width]).copied();
    let numbers = hk_core::dtype::decode(&used.collect::<Vec<_>>());
    (s.given(name, shape, elements), numbers)
}

/// Of caches of which each head has pages of its own.
pub(super) fn by_heads<T: LeanElement>(s: &mut Setup, spec: &Spec, size: usize) {
    let sizes = &spec.sizes;
    let ([h, _], d) = (sizes.heads, sizes.widths[0]);
    let of_sequences: Vec<_> = sizes.lengths.iter().map(|[_, keys]| keys / size).collect();
    let used: usize = of_sequences.iter().sum();
    let (row, blocks) = (used + 1, used + 2);
    let mut random = Random::new(11);
    let tables: Vec<_> =
        (0..h).map(|_| pages(&mut random, &[used], row, blocks).concat()).collect();
    let rows = blocks * size;
    let q = s.input::<T>("q", &[h, sizes.rows(0), d], Draw::Normal);
    let slots: Vec<Vec<_>> = tables
        .iter()
        .map(|pages| (0..used * size).map(|j| pages[j / size] as usize * size + j % size).collect())
        .collect();
    let all_slots: Vec<_> = slots
        .iter()
        .enumerate()
        .flat_map(|(h, of)| of.iter().map(move |slot| h * rows + slot))
        .collect();
    let cache =
        |s: &mut Setup, name| poisoned::<T>(s, name, &[h, rows, d], (&all_slots[..], None), d);
    let ((k, of_k), (v, of_v)) = (cache(s, "k"), cache(s, "v"));
    // From heads of rows to rows of heads.
    let rows_first = |x: &[f64]| -> Vec<f64> {
        let rows = x.len() / (h * d);
        let row = |i: usize| (0..h).flat_map(move |head| x[(head * rows + i) * d..][..d].to_vec());
        (0..rows).flat_map(row).collect()
    };
    let inputs = Inputs { q: rows_first(&q.numbers()), k: rows_first(&of_k), v: rows_first(&of_v) };
    let all = attended(spec, sizes, &inputs, None);
    let mut o = vec![0.0; all.o.len()];
    for (i, row) in all.o.chunks(h * d).enumerate() {
        for (head, row) in row.chunks(d).enumerate() {
            o[(head * sizes.rows(0) + i) * d..][..d].copy_from_slice(row);
        }
    }
    let tables = s.given::<i32>("kv_block_tables", &[h, row], tables.concat());
    let mut end = 0;
    let ends = of_sequences.iter().map(|blocks| {
        end += *blocks as i32;
        end
    });
    let ends = s.given::<i32>("batch_num_block_n", &[sizes.lengths.len()], ends.collect());
    let out = s.output::<T>("out", &[h, sizes.rows(0), d], results(o, T::DTYPE));
    let options = spec.options();
    s.call(move || {
        let (tables, ends) = (tables.get(), ends.get());
        lean_attn_paged_by_heads_fwd_into(
            &q.get(),
            &k.get(),
            &v.get(),
            &tables,
            &ends,
            size,
            &options,
            &mut out.get(),
        )
    });
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let (reduce, flags) = (LeanMode::Reduce, LeanMode::Flags);
    let mut specs = Vec::new();
    for (dtype, mode) in [(DType::Bf16, reduce), (DType::F16, flags)] {
        let paged = |spec: Spec, size| spec.by(5, mode).of(dtype).form(Form::Paged(size));
        specs.extend([
            paged(Spec::new("tiny", 3, &[5, 2], [4, 2], 16), 2),
            paged(Spec::new("paged", 4, &[70, 1], [4, 2], 64), 16),
            paged(Spec::new("paged", 4, &[70, 1], [4, 2], 64).causal(), 7),
            paged(Spec::new("single slots", 2, &[40, 0, 33], [2, 1], 128), 1),
        ]);
        let by_heads = |spec: Spec, size| spec.by(5, mode).of(dtype).form(Form::ByHeads(size));
        specs.extend([
            by_heads(Spec::new("tiny", 3, &[4, 2], [4, 4], 16), 2),
            by_heads(Spec::new("of heads", 16, &[128, 64], [4, 4], 64), 64),
            by_heads(Spec::new("of heads", 2, &[48, 0, 24], [3, 3], 40), 12),
        ]);
    }
    // Tiles of 16 queries: the first sees nothing, and the second no value that is NaN.
    let spec = Spec::new("late queries", 48, &[24], [1, 1], 64).causal().by(3, reduce);
    specs.push(spec.wild(8).tiles([16, 32]).form(Form::Paged(16)));
    specs.into_iter().map(Spec::case).collect()
}
