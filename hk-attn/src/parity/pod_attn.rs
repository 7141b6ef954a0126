//! Cases of `pod_attn`.

use hk_core::dtype::DType;
use hk_ref::attn::pod_attn::results;
use hk_ref::{Case, Setup};

use super::attention::{Results, Sizes};
use super::lean_atten::{Batch, Form, Spec, attended};
use crate::lean_atten::LeanElement;
use crate::{LeanBatch, LeanMode, PodOptions, pod_attn_into};

/// Both attentions.
pub(super) fn pod<T: LeanElement>(s: &mut Setup, spec: &Spec, prefill: &Sizes, ratios: [u32; 2]) {
    let decode = &spec.sizes;
    let first = Batch::<T>::new(s, ["q", "k", "v", "kv_lens"], decode, false, 1);
    let names = ["q_pf", "k_pf", "v_pf", "kv_lens_pf"];
    let second = Batch::<T>::new(s, names, prefill, false, 1);
    let of_first = attended(spec, decode, &first.inputs(), None);
    let of_second = attended(spec, prefill, &second.inputs(), Some(|_| 0));
    let mut out = |name, sizes: &Sizes, of: Results| {
        let shape = [sizes.rows(0), sizes.heads[0], sizes.widths[0]];
        s.output::<T>(name, &shape, results(of.o, T::DTYPE))
    };
    let (out, out_pf) = (out("out", decode, of_first), out("out_pf", prefill, of_second));
    let options = PodOptions::default().lean(spec.options()).ratios(ratios[0], ratios[1]);
    s.call(move || {
        let tensors =
            [&first, &second].map(|of| (of.q.get(), of.k.get(), of.v.get(), of.lengths.get()));
        let [decode, prefill] = tensors.each_ref().map(|(q, k, v, lengths)| LeanBatch {
            q,
            k,
            v,
            kv_lens: lengths.into(),
        });
        pod_attn_into(&decode, &prefill, &options, &mut out.get(), &mut out_pf.get())
    });
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let (reduce, flags) = (LeanMode::Reduce, LeanMode::Flags);
    let mut specs = Vec::new();
    for (dtype, mode) in [(DType::Bf16, reduce), (DType::F16, flags)] {
        let prefill =
            |queries: usize, keys: &[usize], heads, d| Spec::new("", queries, keys, heads, d).sizes;
        let pod = |spec: Spec, of, programs, ratios| {
            spec.by(programs, mode).of(dtype).form(Form::Pod(of, ratios))
        };
        let heads = [4, 2];
        specs.extend([
            pod(
                Spec::new("tiny", 3, &[5, 2], heads, 16),
                prefill(2, &[3, 4, 2], heads, 16),
                5,
                [1, 1],
            ),
            pod(
                Spec::new("pod", 16, &[64, 100], [2, 2], 64),
                prefill(128, &[128], [2, 2], 64),
                9,
                [2, 1],
            ),
            pod(
                Spec::new("without prefill", 16, &[64], [2, 2], 64),
                prefill(0, &[], [2, 2], 64),
                4,
                [0, 1],
            ),
            pod(
                Spec::new("without decoding", 0, &[], [2, 2], 64),
                prefill(40, &[40, 50], [2, 2], 64),
                4,
                [1, 3],
            ),
        ]);
    }
    specs.into_iter().map(Spec::case).collect()
}
