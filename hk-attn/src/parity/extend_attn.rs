//! Cases of `extend_attn_fwd`.

use hk_core::dtype::{DType, bf16, f16};
use hk_ref::attn::extend_attn::{Scores, results};
use hk_ref::draw::Random;
use hk_ref::{Case, CaseInfo, Draw, Setup};

use super::attention::{Inputs, Sizes, expected};
use crate::lean_atten::LeanElement;
use crate::{ExtendMask, ExtendOptions, ExtendPrefix, extend_attn_fwd_into};

/// What varies between cases.
#[derive(Debug, Clone)]
struct Spec {
    name: &'static str,
    /// New tokens, and all.
    sizes: Sizes,
    dtype: DType,
    is_causal: bool,
    cap: f32,
    /// Whether there is a mask, and whether it leaves out the tokens before.
    mask: Option<bool>,
    has_prefix: bool,
}

impl Spec {
    /// Of tokens before, and new ones.
    fn new(
        name: &'static str,
        tokens: &[[usize; 2]],
        heads: [usize; 2],
        widths: [usize; 2],
    ) -> Self {
        let lengths: Vec<_> = tokens.iter().map(|[before, new]| [*new, before + new]).collect();
        let sizes = Sizes { lengths, heads, widths };
        Self {
            name,
            sizes,
            dtype: DType::Bf16,
            is_causal: true,
            cap: 0.0,
            mask: None,
            has_prefix: true,
        }
    }

    fn case(self) -> Case {
        let mut title = self.name.to_owned();
        for (is_said, what) in [
            (self.is_causal, ", causal"),
            (self.cap > 0.0, ", capped"),
            (self.mask == Some(false), ", mask"),
            (self.mask == Some(true), ", mask of new tokens"),
            (!self.has_prefix, ", nothing before"),
        ] {
            title += if is_said { what } else { "" };
        }
        let shape = self.sizes.shape();
        let info = CaseInfo::new("extend_attn", "extend_attn_fwd", title, &[self.dtype], &shape);
        Case::new(info, move |s| match self.dtype {
            DType::F16 => set_up::<f16>(s, &self),
            _ => set_up::<bf16>(s, &self),
        })
    }
}

fn set_up<T: LeanElement>(s: &mut Setup, spec: &Spec) {
    let sizes = &spec.sizes;
    let ([hq, hk], [d, dv]) = (sizes.heads, sizes.widths);
    let (b, te) = (sizes.lengths.len(), sizes.rows(0));
    let q = s.input::<T>("q_extend", &[te, hq, d], Draw::Normal);
    let k = s.input::<T>("k_extend", &[te, hk, d], Draw::Normal);
    let v = s.input::<T>("v_extend", &[te, hk, dv], Draw::Normal);
    let before: Vec<_> = sizes.lengths.iter().map(|[new, all]| all - new).collect();
    let (wanted, tokens) = (before.iter().sum::<usize>(), before.iter().sum::<usize>() + 3);
    let mut random = Random::new(3);
    let mut free: Vec<_> = (0..tokens).collect();
    let indices: Vec<_> = (0..wanted).map(|_| free.swap_remove(random.below(free.len()))).collect();
    let buffers = spec.has_prefix.then(|| {
        // What no index names must not matter.
        let mut buffer = |name, width: usize| {
            let mut rows = s.draw::<T>(name, &[tokens, hk, width], Draw::Normal);
            let nan = T::encode(&vec![f64::NAN; hk * width]);
            for row in &free {
                rows[row * hk * width..][..hk * width].copy_from_slice(&nan);
            }
            s.given(name, &[tokens, hk, width], rows)
        };
        (buffer("k_buffer", d), buffer("v_buffer", dv))
    });
    let mut bounds = vec![0i32];
    before.iter().for_each(|count| bounds.push(bounds[bounds.len() - 1] + *count as i32));
    let qo_indptr = s.given::<i32>("qo_indptr", &[b + 1], sizes.bounds(0));
    let lists = spec.has_prefix.then(|| {
        let indices: Vec<_> = indices.iter().map(|index| *index as i64).collect();
        (s.given("kv_indptr", &[b + 1], bounds.clone()), s.given("kv_indices", &[wanted], indices))
    });
    // Rows of keys in the order of sequences.
    let rows = |of_buffer: Option<Vec<f64>>, new: Vec<f64>, width: usize| {
        let (mut all, mut at, row) = (Vec::new(), [0; 2], hk * width);
        for (before, [new_rows, _]) in before.iter().zip(&sizes.lengths) {
            for index in &indices[at[0]..at[0] + before] {
                let buffer = of_buffer.as_deref().unwrap_or_default();
                all.extend_from_slice(&buffer[index * row..][..row]);
            }
            all.extend_from_slice(&new[at[1] * row..][..new_rows * row]);
            at = [at[0] + before, at[1] + new_rows];
        }
        all
    };
    let (of_k, of_v) = match &buffers {
        Some((k, v)) => (Some(k.numbers()), Some(v.numbers())),
        None => (None, None),
    };
    let inputs =
        Inputs { q: q.numbers(), k: rows(of_k, k.numbers(), d), v: rows(of_v, v.numbers(), dv) };
    let mut starts = vec![0i64];
    for [new, all] in &sizes.lengths {
        starts.push(starts[starts.len() - 1] + (new * all) as i64);
    }
    let bytes = starts[b] as usize;
    let mut mask: Vec<u8> = (0..bytes).map(|_| u8::from(random.below(3) > 0)).collect();
    // The first new token sees nothing.
    if let Some([_, all]) = sizes.lengths.iter().find(|[new, _]| *new > 0) {
        mask[..*all].fill(0);
    }
    let scale = 1.0 / (d as f64).sqrt();
    let all = expected(sizes, &inputs, |b, _| {
        let [new, all] = sizes.lengths[b];
        let visible = spec.mask.map(|skips| {
            let mask = &mask[starts[b] as usize..][..new * all];
            let sees = |(at, byte): (usize, &u8)| *byte != 0 || (skips && at % all < all - new);
            mask.iter().enumerate().map(sees).collect()
        });
        let is_causal = spec.is_causal && spec.mask.is_none();
        Scores {
            scale,
            softcap: (spec.cap > 0.0).then_some(f64::from(spec.cap)),
            window: [None, is_causal.then_some(0)],
            first_position: (all - new) as i64,
            mask: visible,
            ..Scores::default()
        }
    });
    let masks = spec.mask.map(|_| {
        (
            s.given("custom_mask", &[bytes], mask.clone()),
            s.given("mask_indptr", &[b + 1], starts.clone()),
        )
    });
    let o = s.output::<T>("o_extend", &[te, hq, dv], results(all.o, T::DTYPE));
    let (most, spec) = (sizes.most(0), spec.clone());
    s.call(move || {
        let bounds = qo_indptr.get();
        let tensors = buffers.as_ref().map(|(k, v)| (k.get(), v.get()));
        let indices = lists.as_ref().map(|(bounds, indices)| (bounds.get(), indices.get()));
        let masks = masks.as_ref().map(|(mask, starts)| (mask.get(), starts.get()));
        let prefix = tensors.as_ref().zip(indices.as_ref()).map(|((k, v), (bounds, indices))| {
            ExtendPrefix {
                k_buffer: k,
                v_buffer: v,
                kv_indptr: bounds.into(),
                kv_indices: indices.into(),
            }
        });
        let mut options = ExtendOptions::default().is_causal(spec.is_causal).logit_cap(spec.cap);
        if let Some((mask, starts)) = &masks {
            options = options.custom_mask(ExtendMask {
                custom_mask: mask,
                mask_indptr: starts.into(),
                skip_prefix: spec.mask == Some(true),
            });
        }
        let (q, k, v) = (q.get(), k.get(), v.get());
        extend_attn_fwd_into(&q, &k, &v, &bounds, most, prefix.as_ref(), &options, &mut o.get())
    });
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let tokens = [[5, 17], [0, 64], [33, 1]];
    let odd = [[3, 5], [5, 3], [110, 9]];
    let specs = [
        Spec::new("tiny", &[[3, 2], [2, 3]], [4, 2], [8, 8]),
        Spec {
            cap: 20.0,
            mask: Some(false),
            ..Spec::new("tiny", &[[3, 2], [2, 3]], [4, 2], [8, 8])
        },
        Spec::new("ragged", &tokens, [4, 1], [48, 32]),
        Spec {
            is_causal: false,
            dtype: DType::F16,
            ..Spec::new("ragged", &tokens, [4, 1], [48, 32])
        },
        Spec::new("odd widths", &odd, [4, 2], [18, 19]),
        Spec { dtype: DType::F16, ..Spec::new("odd widths", &odd, [2, 2], [50, 19]) },
        Spec { mask: Some(false), ..Spec::new("ragged", &tokens, [4, 1], [48, 32]) },
        Spec {
            mask: Some(true),
            dtype: DType::F16,
            ..Spec::new("ragged", &tokens, [4, 2], [64, 64])
        },
        Spec { has_prefix: false, ..Spec::new("new alone", &[[0, 40], [0, 3]], [2, 1], [64, 64]) },
        Spec { cap: 3.0, ..Spec::new("wide", &[[70, 40], [9, 90]], [2, 1], [192, 128]) },
        Spec::new("wide", &[[70, 40], [9, 90]], [2, 1], [192, 128]),
        Spec::new("wide", &[[70, 40], [9, 90]], [2, 1], [256, 256]),
        Spec::new("latent", &[[70, 40], [9, 33]], [4, 1], [576, 512]),
        Spec { dtype: DType::F16, cap: 5.0, ..Spec::new("latent", &[[9, 20]], [2, 1], [288, 256]) },
        Spec::new("nothing new", &[[9, 0], [4, 5]], [2, 2], [64, 64]),
        Spec { mask: Some(false), ..Spec::new("no token", &[[9, 0], [4, 0]], [2, 2], [64, 64]) },
        // A list of no tokens.
        Spec::new("nothing in the cache", &[[0, 17], [0, 3]], [4, 2], [48, 32]),
    ];
    specs.into_iter().map(Spec::case).collect()
}
