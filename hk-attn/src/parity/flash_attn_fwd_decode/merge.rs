//! Cases of `splitk_combine` and `attn_merge_states`.

use hk_core::dtype::{DType, Real, bf16, f16};
use hk_ref::attn::flash_attn_fwd_decode::{combined, results};
use hk_ref::{Case, CaseInfo, Draw, Expected, Setup};

use crate::{AttentionOutput, MhaOut, attn_merge_states_into, splitk_combine_into};

/// Results of parts of f32.
fn close(values: Vec<f64>) -> Expected {
    let allowed = values.iter().map(|value| 1e-5 + 1e-6 * value.abs()).collect();
    Expected { values, allowed, frobenius: Some(2e-6), ..Expected::default() }
}

fn of_type(values: Vec<f64>, dtype: DType) -> Expected {
    if dtype == DType::F32 { close(values) } else { results(values, dtype) }
}

/// Which parts have no weights: some of each row, and all of one.
fn is_empty(row: usize, part: usize) -> bool {
    row == 1 || (row + part).is_multiple_of(3)
}

fn merge_states<T: AttentionOutput + Real>([n, t, hq, dv]: [usize; 4]) -> Case {
    let (module, op) = ("flash_attn_fwd_decode", "attn_merge_states");
    let info = CaseInfo::new(module, op, "parts", &[T::DTYPE], &[n, t, hq, dv]);
    Case::new(info, move |s| {
        let mut o: Vec<T> = s.draw("o", &[n, t, hq, dv], Draw::Normal);
        let mut lse: Vec<f32> = s.draw("lse", &[n, hq, t], Draw::Scaled(2));
        for (part, row, head) in places([n, t, hq]) {
            if is_empty(row, part) {
                lse[(part * hq + head) * t + row] = f32::NEG_INFINITY;
                o[((part * t + row) * hq + head) * dv..][..dv].fill(T::encode(&[f64::NAN])[0]);
            }
        }
        let (o, lse) = (s.given("o", &[n, t, hq, dv], o), s.given("lse", &[n, hq, t], lse));
        let (numbers, logarithms) = (o.numbers(), lse.numbers());
        let (mut of_out, mut of_lse) = (vec![0.0; t * hq * dv], vec![0.0; hq * t]);
        for (_, row, head) in places([1, t, hq]) {
            let part = |part: usize| {
                let o = &numbers[((part * t + row) * hq + head) * dv..][..dv];
                (o, logarithms[(part * hq + head) * t + row], 1.0)
            };
            let (o, lse) = combined(&(0..n).map(part).collect::<Vec<_>>(), 1.0, dv);
            of_out[(row * hq + head) * dv..][..dv].copy_from_slice(&o);
            of_lse[head * t + row] = lse;
        }
        let out = s.output::<T>("out", &[t, hq, dv], of_type(of_out, T::DTYPE));
        let merged = s.output::<f32>("lse_out", &[hq, t], close(of_lse));
        s.call(move || {
            let (mut out, mut merged) = (out.get(), merged.get());
            let out = MhaOut { out: &mut *out, lse: Some(&mut *merged), s_dmask: None };
            attn_merge_states_into(&o.get(), &lse.get(), out)
        });
    })
}

fn combine<O: AttentionOutput + Real>([b, hq, n, sq, dv]: [usize; 5]) -> Case {
    let (module, op) = ("flash_attn_fwd_decode", "splitk_combine");
    let info = CaseInfo::new(module, op, "parts", &[O::DTYPE], &[b, hq, n, sq, dv]);
    Case::new(info, move |s| set_up_combine::<O>(s, [b, hq, n, sq, dv]))
}

fn set_up_combine<O: AttentionOutput + Real>(s: &mut Setup, [b, hq, n, sq, dv]: [usize; 5]) {
    let mut acc: Vec<f32> = s.draw("acc", &[b, hq, n, sq, dv], Draw::Normal);
    let mut m: Vec<f32> = s.draw("m", &[b, hq, n, sq], Draw::Scaled(2));
    let l: Vec<f32> = s.draw("l", &[b, hq, n, sq], Draw::Uniform);
    let l = l.into_iter().map(|l| l + 1.0).collect();
    let at = |head: usize, part: usize, row: usize| (head * n + part) * sq + row;
    for (part, row, head) in places([n, sq, b * hq]) {
        if is_empty(row, part) {
            m[at(head, part, row)] = f32::NEG_INFINITY;
            acc[at(head, part, row) * dv..][..dv].fill(f32::NAN);
        }
    }
    let acc = s.given("acc", &[b, hq, n, sq, dv], acc);
    let (m, l) = (s.given("m", &[b, hq, n, sq], m), s.given("l", &[b, hq, n, sq], l));
    let [sums, maxima, weights] = [acc.numbers(), m.numbers(), l.numbers()];
    let (mut of_out, mut of_lse) = (vec![0.0; b * sq * hq * dv], vec![0.0; b * hq * sq]);
    for (_, row, head) in places([1, sq, b * hq]) {
        let part = |part: usize| {
            let at = at(head, part, row);
            (&sums[at * dv..][..dv], maxima[at], weights[at])
        };
        let parts: Vec<_> = (0..n).map(part).collect();
        let (o, lse) = combined(&parts, std::f64::consts::LN_2, dv);
        let to = ((head / hq * sq + row) * hq + head % hq) * dv;
        of_out[to..][..dv].copy_from_slice(&o);
        of_lse[head * sq + row] = lse;
    }
    let out = s.output::<O>("out", &[b, sq, hq, dv], of_type(of_out, O::DTYPE));
    let lse = s.output::<f32>("lse", &[b, hq, sq], close(of_lse));
    s.call(move || {
        let (mut out, mut lse) = (out.get(), lse.get());
        let out = MhaOut { out: &mut *out, lse: Some(&mut *lse), s_dmask: None };
        splitk_combine_into(&acc.get(), &m.get(), &l.get(), out)
    });
}

/// Parts, rows and heads.
fn places([parts, rows, heads]: [usize; 3]) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..parts * rows * heads).map(move |i| (i / (rows * heads), i / heads % rows, i % heads))
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    vec![
        combine::<f32>([2, 3, 4, 2, 16]),
        combine::<bf16>([1, 2, 7, 3, 128]),
        combine::<f16>([2, 2, 1, 2, 300]),
        combine::<f32>([1, 5, 3, 4, 1]),
        merge_states::<f32>([3, 4, 2, 16]),
        merge_states::<bf16>([2, 5, 3, 128]),
        merge_states::<f16>([4, 3, 2, 67]),
        merge_states::<f32>([2, 3, 1, 513]),
    ]
}
