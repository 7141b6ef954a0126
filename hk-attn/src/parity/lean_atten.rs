//! Cases of `lean_attn_fwd`, and what those of its other forms share with them.

use hk_core::dtype::{DType, bf16, f16};
use hk_ref::attn::lean_atten::{Scores, logarithms, results};
use hk_ref::{Arg, Case, CaseInfo, Draw, Setup, Size};

use super::attention::{Inputs, Results, Sizes, expected};
use super::paged::poison;
use super::{lean_atten_paged, pod_attn};
use crate::lean_atten::LeanElement;
use crate::{LeanAttnOut, LeanMode, LeanOptions, lean_attn_fwd_into};

/// Which op a case is of.
#[derive(Debug, Clone)]
pub(super) enum Form {
    Dense,
    /// Slots of a page.
    Paged(usize),
    /// Slots of a page of a head.
    ByHeads(usize),
    /// With the prefill, and the shares of prefill and decoding.
    Pod(Sizes, [u32; 2]),
}

/// What varies between cases.
#[derive(Debug, Clone)]
pub(super) struct Spec {
    name: &'static str,
    pub(super) sizes: Sizes,
    form: Form,
    pub(super) causal: bool,
    scale: Option<f32>,
    programs: Option<u32>,
    /// Rows of queries and keys of a tile, if they are chosen.
    blocks: Option<[u32; 2]>,
    /// Whether keys that no query sees are NaN.
    unseen: bool,
    /// The key of the first sequence whose value is NaN.
    pub(super) wild: Option<usize>,
    /// Keys behind those of all sequences.
    spare: usize,
    mode: LeanMode,
    dtype: DType,
    size: Size,
}

impl Spec {
    pub(super) fn new(
        name: &'static str,
        queries: usize,
        keys: &[usize],
        heads: [usize; 2],
        d: usize,
    ) -> Self {
        let lengths: Vec<_> = keys.iter().map(|keys| [queries, *keys]).collect();
        Self {
            name,
            sizes: Sizes::packed(&lengths, heads, d),
            form: Form::Dense,
            causal: false,
            scale: None,
            programs: None,
            blocks: None,
            unseen: false,
            wild: None,
            spare: 1,
            mode: LeanMode::Reduce,
            dtype: DType::Bf16,
            size: Size::Quick,
        }
    }

    pub(super) fn by(self, programs: u32, mode: LeanMode) -> Self {
        Self { programs: Some(programs), mode, ..self }
    }

    pub(super) fn causal(self) -> Self {
        Self { causal: true, ..self }
    }

    pub(super) fn of(self, dtype: DType) -> Self {
        Self { dtype, ..self }
    }

    /// With tiles of so many rows of queries and keys.
    pub(super) fn tiles(self, blocks: [u32; 2]) -> Self {
        Self { blocks: Some(blocks), ..self }
    }

    /// With the value of that key of the first sequence NaN.
    pub(super) fn wild(self, key: usize) -> Self {
        Self { wild: Some(key), ..self }
    }

    pub(super) fn form(self, form: Form) -> Self {
        Self { form, ..self }
    }

    fn names(&self) -> [&'static str; 2] {
        match self.form {
            Form::Dense => ["lean_atten", "lean_attn_fwd"],
            Form::Paged(_) => ["lean_atten_paged", "lean_attn_paged_fwd"],
            Form::ByHeads(_) => ["lean_atten_paged", "lean_attn_paged_by_heads_fwd"],
            Form::Pod(..) => ["pod_attn", "pod_attn"],
        }
    }

    pub(super) fn options(&self) -> LeanOptions {
        let options = LeanOptions::default().causal(self.causal).mode(self.mode);
        let options = self.scale.into_iter().fold(options, LeanOptions::scale);
        let options = self.programs.into_iter().fold(options, LeanOptions::program_count);
        self.blocks.into_iter().fold(options, |options, [m, n]| options.block_m(m).block_n(n))
    }

    pub(super) fn case(self) -> Case {
        let mut title = format!("{}, {:?}", self.name, self.mode);
        title += if self.causal { ", causal" } else { "" };
        title += if self.unseen { ", unseen keys are NaN" } else { "" };
        title += if self.wild.is_some() { ", a value is NaN" } else { "" };
        title += if self.scale.is_some() { ", scaled" } else { "" };
        if let Some(programs) = self.programs {
            title += &format!(", {programs} programs");
        }
        if let Some([m, n]) = self.blocks {
            title += &format!(", tiles of {m} and {n}");
        }
        match &self.form {
            Form::Dense => (),
            Form::Paged(size) | Form::ByHeads(size) => title += &format!(", pages of {size}"),
            Form::Pod(_, ratios) => title += &format!(", ratios {ratios:?}"),
        }
        let lengths: Vec<_> = self.sizes.lengths.iter().map(|[_, keys]| keys).collect();
        title += &match lengths.len() {
            ..=100 => format!(", keys {lengths:?}"),
            count => format!(", {count} sequences, {} keys more", self.spare),
        };
        let [module, op] = self.names();
        let info = CaseInfo::new(module, op, title, &[self.dtype], &self.sizes.shape()[..6]);
        let info = CaseInfo { size: self.size, ..info };
        Case::new(info, move |s| match self.dtype {
            DType::F16 => set_up::<f16>(s, &self),
            _ => set_up::<bf16>(s, &self),
        })
    }
}

fn set_up<T: LeanElement>(s: &mut Setup, spec: &Spec) {
    match &spec.form {
        Form::Dense => dense::<T>(s, spec),
        Form::Paged(size) => lean_atten_paged::paged::<T>(s, spec, *size),
        Form::ByHeads(size) => lean_atten_paged::by_heads::<T>(s, spec, *size),
        Form::Pod(prefill, ratios) => pod_attn::pod::<T>(s, spec, prefill, *ratios),
    }
}

/// What comes out; query 0 of a causal one is at key `first(b)`.
pub(super) fn attended(
    spec: &Spec,
    sizes: &Sizes,
    inputs: &Inputs,
    first: Option<fn([usize; 2]) -> i64>,
) -> Results {
    let scale = spec.scale.map_or(1.0 / (sizes.widths[0] as f64).sqrt(), f64::from);
    expected(sizes, inputs, |b, _| Scores {
        scale,
        window: [None, first.map(|_| 0)],
        first_position: first.map_or(0, |first| first(sizes.lengths[b])),
        ..Scores::default()
    })
}

/// Tensors of sequences whose keys follow each other.
pub(super) struct Batch<T: LeanElement> {
    pub(super) q: Arg<T>,
    pub(super) k: Arg<T>,
    pub(super) v: Arg<T>,
    pub(super) lengths: Arg<i32>,
}

impl<T: LeanElement> Batch<T> {
    /// Keys and values that no causal query sees are NaN, if `unseen`; `spare` are of no sequence.
    pub(super) fn new(
        s: &mut Setup,
        [q, k, v, lengths]: [&'static str; 4],
        sizes: &Sizes,
        unseen: bool,
        spare: usize,
    ) -> Self {
        let ([hq, hk], d) = (sizes.heads, sizes.widths[0]);
        let keys = [sizes.rows(1) + spare, hk, d];
        let mut rows = [k, v].map(|name| s.draw::<T>(name, &keys, Draw::Normal));
        let mut first = 0;
        for [queries, count] in &sizes.lengths {
            let at = (first + queries.min(count)) * hk * d..(first + count) * hk * d;
            if unseen {
                rows.iter_mut().for_each(|rows| rows[at.clone()].fill(poison()));
            }
            first += count;
        }
        let [of_keys, of_values] = rows;
        let of_sequences = sizes.lengths.iter().map(|[_, keys]| *keys as i32).collect();
        Self {
            q: s.input(q, &[sizes.rows(0), hq, d], Draw::Normal),
            k: s.given(k, &keys, of_keys),
            v: s.given(v, &keys, of_values),
            lengths: s.given(lengths, &[sizes.lengths.len()], of_sequences),
        }
    }

    pub(super) fn inputs(&self) -> Inputs {
        Inputs { q: self.q.numbers(), k: self.k.numbers(), v: self.v.numbers() }
    }
}

fn dense<T: LeanElement>(s: &mut Setup, spec: &Spec) {
    let sizes = &spec.sizes;
    let names = ["q", "k", "v", "kv_lens"];
    let batch = Batch::<T>::new(s, names, sizes, spec.unseen, spec.spare);
    let all = attended(spec, sizes, &batch.inputs(), spec.causal.then_some(|_| 0));
    let lse = logarithms(all.lse_of_heads());
    let ([hq, _], d) = (sizes.heads, sizes.widths[0]);
    let out = s.output::<T>("out", &[sizes.rows(0), hq, d], results(all.o, T::DTYPE));
    let lse = s.output::<f32>("lse", &[sizes.lengths.len(), hq, sizes.most(0)], lse);
    let options = spec.options();
    s.call(move || {
        let (mut out, mut lse) = (out.get(), lse.get());
        let into = LeanAttnOut { out: &mut *out, lse: Some(&mut *lse) };
        let lengths = batch.lengths.get();
        lean_attn_fwd_into(&batch.q.get(), &batch.k.get(), &batch.v.get(), &lengths, &options, into)
    });
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let (reduce, flags) = (LeanMode::Reduce, LeanMode::Flags);
    let mut specs = vec![
        Spec::new("tiny", 3, &[5, 2], [4, 2], 16).by(3, flags),
        Spec::new("ragged", 16, &[64, 200], [4, 4], 64),
        Spec::new("ragged", 16, &[64, 200], [4, 2], 64).by(7, flags).of(DType::F16),
        Spec::new("causal", 128, &[128], [2, 2], 64).causal().by(5, reduce),
        Spec::new("causal", 70, &[130, 64, 9], [2, 1], 128).causal().by(3, flags),
        Spec::new("no keys", 3, &[0, 40, 0], [2, 1], 64).by(2, reduce),
        Spec::new("few rows", 1, &[300, 5, 77], [8, 2], 128).by(6, flags),
        Spec::new("few rows", 1, &[300, 5, 77], [8, 2], 128).by(6, reduce).of(DType::F16),
        Spec::new("wide", 9, &[90, 33], [4, 2], 256).by(5, reduce),
        Spec::new("wide", 9, &[90, 33], [4, 2], 256).by(5, flags).of(DType::F16),
        Spec::new("odd width", 20, &[90, 33], [2, 2], 19).by(5, flags),
        Spec::new("odd width", 20, &[90, 33], [2, 2], 201).by(5, reduce).of(DType::F16),
        Spec { scale: Some(0.25), ..Spec::new("long", 40, &[500], [2, 2], 96) }.by(4, reduce),
        Spec::new("many sequences", 2, &[9; 70], [2, 2], 16).by(13, flags),
    ];
    for (queries, blocks) in [(40, [16, 32]), (130, [16, 32]), (3, [128, 64])] {
        let spec = Spec::new("tiles", queries, &[150, 70], [2, 1], 64).by(5, flags).causal();
        specs.push(Spec { blocks: Some(blocks), ..spec });
    }
    for d in [64, 256] {
        let spec = || Spec::new("causal", 70, &[130, 200, 9], [2, 1], d).causal().by(5, flags);
        specs.push(Spec { unseen: true, ..spec() });
        specs.push(Spec { unseen: true, ..spec() }.of(DType::F16));
    }
    for programs in [1, 2, 3, 7, 64] {
        for mode in [reduce, flags] {
            specs.push(Spec::new("programs", 40, &[150, 70], [2, 1], 64).by(programs, mode));
        }
    }
    // Far fewer tiles of keys than there would be if each sequence had all of them.
    let lengths: Vec<_> = (0..1 << 12).map(|b| usize::from(b % 99 == 0)).collect();
    let spec = Spec::new("keys of few", 1, &lengths, [1, 1], 1).by(64, reduce);
    specs.push(Spec { spare: 1 << 24, size: Size::Core, ..spec });
    specs.into_iter().map(Spec::case).collect()
}
