//! Cases of the module `pa_mqa_logits`.

use hk_core::Arch;
use hk_core::dtype::{DType, F8E4M3, F8E4M3Fnuz, decode};
use hk_core::op::quant::Fp8;
use hk_ref::attn::fp8_mqa_logits::{Score, expected, sum, terms};
use hk_ref::attn::pa_mqa_logits::{end_of, key_of};
use hk_ref::{Case, CaseInfo, Draw, Edge, Placement, Setup, Size};

use crate::{
    MqaLogitsOptions, paged_mqa_logits_into, paged_mqa_logits_ragged_into,
    paged_mqa_logits_stage1_into,
};

/// The op.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Op {
    Paged,
    Ragged,
    Heads,
}

/// What varies between cases, apart from element types and places.
#[derive(Clone)]
struct Spec {
    op: Op,
    /// Keys of each sequence.
    lengths: Vec<usize>,
    next_n: usize,
    heads: usize,
    depth: usize,
    page_keys: usize,
    max_model_len: usize,
    clean: bool,
    at_once: Option<u32>,
    /// Lists pages that are not there, for which the last one is read; has a length beyond the scores,
    /// or a sum below 0, which ends no sequence.
    wild: bool,
}

/// The bytes of a code.
trait Code: Fp8 {
    fn bits(self) -> u8;
}

impl Code for F8E4M3 {
    fn bits(self) -> u8 {
        self.to_bits()
    }
}

impl Code for F8E4M3Fnuz {
    fn bits(self) -> u8 {
        self.to_bits()
    }
}

impl Spec {
    fn new(op: Op, lengths: &[usize], [next_n, heads, depth, page_keys]: [usize; 4]) -> Self {
        let max_model_len = lengths.iter().max().map_or(1, |longest| longest + 3);
        let (lengths, clean, at_once, wild) = (lengths.to_vec(), true, None, false);
        Self { op, lengths, next_n, heads, depth, page_keys, max_model_len, clean, at_once, wild }
    }

    fn case<F: Code>(self, arch: Arch) -> Case {
        let op = match self.op {
            Op::Paged => "paged_mqa_logits",
            Op::Ragged => "paged_mqa_logits_ragged",
            Op::Heads => "paged_mqa_logits_stage1",
        };
        let title = format!(
            "{:?}{}{}{}",
            self.lengths,
            if self.clean { ", clean" } else { "" },
            if self.wild { ", wild" } else { "" },
            self.at_once.map_or_else(String::new, |rows| format!(", {rows} rows at once"))
        );
        let Self { next_n, heads, depth, page_keys, max_model_len, .. } = self;
        let mut shape = vec![self.lengths.len(), next_n, heads, depth, max_model_len];
        if self.op != Op::Ragged {
            shape.insert(4, page_keys);
        }
        let mut info = CaseInfo::new("pa_mqa_logits", op, title, &[F::DTYPE, DType::F32], &shape);
        info.arch = Some(arch);
        let keys: usize = self.lengths.iter().sum();
        let products = keys * next_n * heads * depth;
        info.size = if products < 4_000_000 { Size::Quick } else { Size::Core };
        Case::new(info, move |s| self.set_up::<F>(s))
    }

    fn cases(self) -> [Case; 2] {
        [self.clone().case::<F8E4M3Fnuz>(Arch::Gfx942), self.case::<F8E4M3>(Arch::Gfx950)]
    }

    /// The pages of each sequence, in no order, among so many.
    fn pages(&self) -> (Vec<Vec<i64>>, usize) {
        let used = |length: &usize| length.div_ceil(self.page_keys);
        let count = self.lengths.iter().map(used).sum::<usize>() + 2;
        // A step that has no divisor in common with the number of pages visits all of them.
        let step = (count / 2 + 1..).find(|step| gcd(*step, count) == 1).unwrap_or(1);
        let mut next = 0;
        let mut page = || {
            next += 1;
            (next * step % count) as i64
        };
        let of = |length| (0..used(length)).map(|_| page()).collect();
        (self.lengths.iter().map(of).collect(), count)
    }

    fn set_up<F: Code>(&self, s: &mut Setup) {
        let Self { op, next_n, heads, depth, page_keys, max_model_len, clean, wild, .. } = *self;
        let count = self.lengths.len();
        let q = s.input::<F>("q", &[count, next_n, heads, depth], Draw::Normal);
        let rows = count * next_n;
        let weights = s.input::<f32>("weights", &[rows, heads], Draw::Normal);

        let (mut pages, page_count) = self.pages();
        let mut listed = pages.clone();
        if wild {
            let wrong = [i64::from(i32::MAX), -1, page_count as i64].into_iter().cycle();
            let places = pages.iter_mut().flatten().zip(listed.iter_mut().flatten());
            for ((page, listed), wrong) in places.step_by(2).zip(wrong) {
                (*page, *listed) = (page_count as i64 - 1, wrong);
            }
        }
        let all = page_count * page_keys;
        let codes: Vec<F> = s.draw("kv_cache", &[all, depth], Draw::Normal);
        let scales: Vec<f32> = s.draw("scales", &[all], Draw::Normal);
        // What no sequence has is no number.
        let mut is_used = vec![false; all];
        for (pages, length) in pages.iter().zip(&self.lengths) {
            (0..*length).for_each(|t| is_used[key_of(pages, page_keys, t)] = true);
        }
        let mut bytes = Vec::new();
        for page in 0..page_count {
            let keys = page * page_keys..(page + 1) * page_keys;
            for key in keys.clone() {
                let of = codes[key * depth..][..depth].iter();
                let nan = F::from_f64(f64::NAN);
                bytes.extend(of.map(|code| if is_used[key] { *code } else { nan }.bits()));
            }
            let of = keys.map(|key| if is_used[key] { scales[key] } else { f32::NAN });
            bytes.extend(of.flat_map(f32::to_le_bytes));
        }
        let width = depth + 4;
        let shape = match op {
            Op::Ragged => vec![page_count, 1, width],
            _ => vec![page_count, page_keys, 1, width],
        };
        let kv_cache = s.given::<u8>("kv_cache", &shape, bytes).place(Placement::DENSE);
        let (numbers, queries, of_heads) = (decode(&codes), q.numbers(), weights.numbers());

        let copies = if op == Op::Heads { heads } else { 1 };
        let mut scores: Vec<Option<Score>> = vec![None; copies * rows * max_model_len];
        for (row, (pages, length)) in
            (0..rows).map(|row| (row, (&pages[row / next_n], self.lengths[row / next_n])))
        {
            let q = &queries[row * heads * depth..][..heads * depth];
            let is_there = !wild || op != Op::Ragged || row / next_n > 0;
            for t in 0..if is_there { end_of(length, next_n, row % next_n) } else { 0 } {
                let key = key_of(pages, page_keys, t);
                let k = &numbers[key * depth..][..depth];
                let terms = terms(q, &of_heads[row * heads..][..heads], k, scales[key].into());
                let terms = if op == Op::Heads { terms } else { vec![sum(&terms)] };
                for (copy, score) in terms.into_iter().enumerate() {
                    scores[(copy * rows + row) * max_model_len + t] = Some(score);
                }
            }
        }
        let y_shape = match op {
            Op::Heads => vec![heads, rows, max_model_len],
            _ => vec![rows, max_model_len],
        };
        let held: Vec<f32> = s.draw("logits", &y_shape, Draw::Normal);
        let before: Vec<f64> = held.iter().copied().map(f64::from).collect();
        let expected = expected(&scores, (!clean).then_some(&before));
        let logits = s.output::<f32>("logits", &y_shape, expected).holding(held);

        let longest = listed.iter().map(Vec::len).max().unwrap_or(0) + 1;
        let (lengths, table) = match op {
            Op::Ragged => {
                let mut sums = vec![if wild { -1 } else { 0i32 }];
                sums.extend(self.lengths.iter().scan(0, |sum, length| {
                    *sum += *length as i32;
                    Some(*sum)
                }));
                let mut table: Vec<i32> =
                    listed.iter().flatten().map(|page| *page as i32).collect();
                // More than there are keys for, which need not be pages.
                table.extend([i32::MAX, -1]);
                let listed = table.len();
                let table = s.given::<i32>("kv_indices", &[listed], table);
                (s.given::<i32>("prefix_sum_context_lens", &[count + 1], sums), table)
            }
            _ => {
                let row = |(sequence, pages): (usize, &Vec<i64>)| {
                    let rest = [-1, i32::MAX][sequence % 2];
                    let mut row: Vec<i32> = pages.iter().map(|page| *page as i32).collect();
                    row.resize(longest, rest);
                    row
                };
                let table = listed.iter().enumerate().flat_map(row).collect();
                let table = s.given::<i32>("kv_indices", &[count, longest], table);
                let mut lengths: Vec<_> =
                    self.lengths.iter().map(|length| *length as i32).collect();
                lengths.iter_mut().take(wild.into()).for_each(|length| *length += 1000);
                (s.given::<i32>("context_lens", &[count], lengths), table)
            }
        };
        let options = MqaLogitsOptions::default().clean_logits(clean).validate_indices(!wild);
        let options = self.at_once.into_iter().fold(options, |of, r| of.rows_per_workgroup(r));
        s.call(move || {
            let (q, kv_cache, weights) = (q.get(), kv_cache.get(), weights.get());
            let (lengths, table, y) = (lengths.get(), table.get(), &mut *logits.get());
            let call = match op {
                Op::Paged => paged_mqa_logits_into,
                Op::Ragged => paged_mqa_logits_ragged_into,
                Op::Heads => paged_mqa_logits_stage1_into,
            };
            call(&q, &kv_cache, &weights, &lengths, &table, &options, y)
        });
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let dense = Placement::DENSE;
    let gaps = dense.gap(8).shift(3);
    let mut cases = Vec::new();
    let mut add = |spec: Spec, place: Placement| {
        cases.extend(spec.cases().map(|case| case.place(place)));
    };
    for op in [Op::Paged, Op::Heads] {
        for page_keys in [1, 16, 64] {
            let spec = Spec::new(op, &[77, 30], [1, 32, 128, page_keys]);
            add(spec, dense);
            let clean = page_keys != 16;
            let spec = Spec::new(op, &[1, 65], [2, 32, 64, page_keys]);
            add(Spec { clean, ..spec }, if clean { gaps } else { dense.edge(Edge::End) });
        }
        // Sequences that are shorter than their last tokens are many, or empty; some heads more than
        // are taken at once; more keys than a workgroup has.
        add(Spec::new(op, &[2, 0, 5], [4, 3, 32, 3]), dense);
        add(Spec::new(op, &[9], [2, 70, 96, 4]), gaps);
        let spec = Spec { at_once: Some(1), ..Spec::new(op, &[300, 140], [3, 2, 32, 16]) };
        add(spec.clone(), dense);
        add(Spec { max_model_len: 600, clean: false, ..spec }, dense);
        add(Spec { at_once: Some(2), ..Spec::new(op, &[6, 3], [2, 2, 256, 2]) }, dense);
    }
    for (lengths, next_n) in [(&[77, 30][..], 1), (&[3, 0, 40], 2), (&[0], 1)] {
        add(Spec::new(Op::Ragged, lengths, [next_n, 32, 128, 1]), gaps);
        let spec = Spec::new(Op::Ragged, lengths, [next_n, 5, 32, 1]);
        add(Spec { clean: next_n == 2, ..spec }, dense.edge(Edge::End));
    }
    add(Spec::new(Op::Ragged, &[3, 4], [2, 2, 32, 1]), dense);
    for (op, page_keys) in [(Op::Paged, 3), (Op::Heads, 3), (Op::Ragged, 1)] {
        let spec = Spec { max_model_len: 9, ..Spec::new(op, &[9, 4], [2, 4, 32, page_keys]) };
        add(spec.clone(), gaps);
        add(Spec { wild: true, ..spec }, dense);
    }
    // Depths that are no whole chunks, and scales that are not aligned.
    for (heads, depth) in [(3, 1), (33, 17), (2, 40), (70, 80), (5, 100), (2, 255)] {
        for (op, page_keys) in [(Op::Paged, 3), (Op::Heads, 16), (Op::Ragged, 1)] {
            let spec = Spec::new(op, &[9, 40], [2, heads, depth, page_keys]);
            let place = if page_keys == 16 { dense.edge(Edge::End) } else { gaps };
            add(spec, place);
        }
    }
    for heads in [1, 33] {
        add(Spec::new(Op::Heads, &[40], [2, heads, 64, 8]), dense);
    }
    add(Spec::new(Op::Paged, &[], [2, 2, 32, 4]), dense);
    // DeepSeek-V3.2.
    for (count, length, size) in [(2, 1000, Size::Core), (32, 4096, Size::Large)] {
        let spec = Spec::new(Op::Paged, &vec![length; count], [2, 64, 128, 64]);
        cases.extend(spec.cases().map(|case| case.size(size)));
    }
    cases
}
