//! Cases of the module `fp8_mqa_logits`.

use hk_core::Arch;
use hk_core::dtype::{DType, F8E4M3, F8E4M3Fnuz, Scalar, bf16};
use hk_ref::attn::fp8_mqa_logits::{expected, sum, terms, window};
use hk_ref::{Arg, Case, CaseInfo, Draw, Edge, Placement, Setup, Size};

use crate::{MqaElement, MqaLogitsOptions, fp8_mqa_logits_into};

/// Which keys rows have.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Windows {
    /// All of them.
    All,
    /// Those up to the row's own.
    Causal,
    /// Some, or none, also such that there are not.
    Some,
}

impl Windows {
    /// Those of so many rows and keys.
    fn of(self, rows: usize, keys: usize) -> Vec<[i64; 2]> {
        let keys = keys as i64;
        let of = |row: i64| match self {
            Self::All => [0, keys],
            Self::Causal => [0, row + 1 + keys - rows as i64],
            Self::Some => match row % 5 {
                0 => [row * 7 % keys.max(1), keys / 2 + row],
                1 => [keys / 3, keys / 3],
                2 => [keys / 2, keys + 1000],
                3 => [keys * 2 / 3, keys / 4],
                _ => [-5, 1 + row * 3],
            },
        };
        (0..rows as i64).map(of).collect()
    }
}

/// What varies between cases, apart from element types and places.
#[derive(Clone, Copy)]
struct Spec {
    rows: usize,
    keys: usize,
    heads: usize,
    depth: usize,
    windows: Windows,
    scaled: bool,
    clean: bool,
    /// Has keys and scales that are no numbers, or infinite.
    special: bool,
    at_once: Option<u32>,
}

impl Spec {
    const fn new([rows, keys, heads, depth]: [usize; 4]) -> Self {
        let (windows, scaled, clean, special) = (Windows::All, true, true, false);
        Self { rows, keys, heads, depth, windows, scaled, clean, special, at_once: None }
    }

    fn case<T: MqaElement + Scalar>(self, arch: Option<Arch>) -> Case {
        let Self { rows, keys, heads, depth, .. } = self;
        let title = format!(
            "{:?}{}{}{}{}",
            self.windows,
            if self.scaled { ", scaled" } else { "" },
            if self.clean { ", clean" } else { "" },
            if self.special { ", special" } else { "" },
            self.at_once.map_or_else(String::new, |rows| format!(", {rows} rows at once"))
        );
        let (module, shape) = ("fp8_mqa_logits", [rows, keys, heads, depth]);
        let mut info = CaseInfo::new(module, module, title, &[T::DTYPE, DType::F32], &shape);
        info.arch = arch;
        let products = rows * keys * heads * depth;
        info.size = if products < 4_000_000 { Size::Quick } else { Size::Core };
        Case::new(info, move |s| self.set_up::<T>(s))
    }

    /// With elements of each type.
    fn cases(self) -> [Case; 3] {
        [
            self.case::<F8E4M3Fnuz>(Some(Arch::Gfx942)),
            self.case::<F8E4M3>(Some(Arch::Gfx950)),
            self.case::<bf16>(None),
        ]
    }

    fn set_up<T: MqaElement + Scalar>(self, s: &mut Setup) {
        let Self { rows, keys, heads, depth, .. } = self;
        let q = s.input::<T>("q", &[rows, heads, depth], Draw::Normal);
        let mut elements: Vec<T> = s.draw("kv", &[keys, depth], Draw::Normal);
        let mut scales: Vec<f32> = s.draw("kv_scales", &[keys], Draw::Normal);
        if self.special {
            for (key, scale) in [(0, f32::NAN), (keys / 3, f32::INFINITY), (keys / 2, -0.0)] {
                scales[key] = scale;
            }
            elements[(keys - 1) * depth + 3] = T::from_f64(f64::NAN);
        }
        let kv = s.given("kv", &[keys, depth], elements);
        let kv_scales = self.scaled.then(|| s.given("kv_scales", &[keys], scales));
        let weights = s.input::<f32>("weights", &[rows, heads], Draw::Normal);
        let windows = self.windows.of(rows, keys);
        let [cu_starts, cu_ends] = [("cu_starts", 0), ("cu_ends", 1)].map(|(name, of)| {
            let bounds = windows.iter().map(|window| window[of] as i32).collect();
            s.given::<i32>(name, &[rows], bounds)
        });

        let (queries, key_numbers, weight_numbers) = (q.numbers(), kv.numbers(), weights.numbers());
        let scale_numbers = kv_scales.as_ref().map(Arg::numbers);
        let mut scores = vec![None; rows * keys];
        for (row, bounds) in windows.into_iter().enumerate() {
            let q = &queries[row * heads * depth..][..heads * depth];
            let weights = &weight_numbers[row * heads..][..heads];
            for key in window(bounds, keys) {
                let scale = scale_numbers.as_ref().map_or(1.0, |scales| scales[key]);
                let k = &key_numbers[key * depth..][..depth];
                scores[row * keys + key] = Some(sum(&terms(q, weights, k, scale)));
            }
        }
        let held: Vec<f32> = s.draw("logits", &[rows, keys], Draw::Normal);
        let before: Vec<f64> = held.iter().copied().map(f64::from).collect();
        let expected = expected(&scores, (!self.clean).then_some(&before));
        let logits = s.output::<f32>("logits", &[rows, keys], expected).holding(held);
        s.call(move || {
            let options = MqaLogitsOptions::default().clean_logits(self.clean);
            let options = self.at_once.into_iter().fold(options, |of, r| of.rows_per_workgroup(r));
            let scales = kv_scales.as_ref().map(Arg::get);
            fp8_mqa_logits_into(
                &q.get(),
                &kv.get(),
                scales.as_deref(),
                &weights.get(),
                &cu_starts.get(),
                &cu_ends.get(),
                &options,
                &mut logits.get(),
            )
        });
    }
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let dense = Placement::DENSE;
    let gaps = dense.gap(8).shift(3);
    let mut cases = Vec::new();
    let mut add = |spec: Spec, place: Placement| {
        cases.extend(spec.cases().map(|case| case.place(place)));
    };
    for depth in [64, 128] {
        for [rows, keys] in [[1, 1], [1, 16], [17, 76], [61, 113]] {
            let spec = Spec::new([rows, keys, 32, depth]);
            add(Spec { windows: Windows::Some, at_once: Some(9), ..spec }, dense);
        }
        add(Spec::new([5, 70, 64, depth]), gaps);
    }
    // Heads and elements of other numbers, several steps of heads, and of rows.
    for [heads, depth] in [[1, 32], [3, 96], [40, 128], [64, 256], [130, 64], [8, 160]] {
        for (clean, at_once) in [(true, 1), (false, 3)] {
            let windows = if clean { Windows::Causal } else { Windows::Some };
            let spec = Spec::new([7, 40, heads, depth]);
            let place = if clean { dense.edge(Edge::End) } else { gaps };
            let at_once = Some(at_once);
            add(Spec { windows, clean, scaled: heads != 40, at_once, ..spec }, place);
        }
    }
    // Depths that are no whole chunks, with nothing or NaN behind rows.
    for (heads, depth) in [(3, 1), (33, 17), (70, 40), (2, 80), (5, 100), (4, 141), (2, 255)] {
        let spec = Spec::new([6, 70, heads, depth]);
        add(Spec { windows: Windows::Causal, at_once: Some(3), ..spec }, gaps);
        add(Spec { windows: Windows::Some, ..spec }, dense.edge(Edge::End));
    }
    for windows in [Windows::Causal, Windows::Some] {
        let spec = Spec::new([9, 50, 33, 32]);
        add(Spec { windows, special: true, at_once: Some(4), ..spec }, dense);
    }
    // More keys than a workgroup has, and rows that one of them has nothing for.
    for clean in [true, false] {
        let spec = Spec::new([6, 530, 4, 32]);
        add(Spec { windows: Windows::Some, clean, at_once: Some(6), ..spec }, dense);
    }
    add(Spec { at_once: Some(2), ..Spec::new([3, 5, 2, 32]) }, dense);
    for [rows, keys] in [[0, 5], [5, 0]] {
        add(Spec::new([rows, keys, 2, 32]), dense);
    }
    // DeepSeek-V3.2, and the first of it.
    for ([rows, keys], size) in [
        ([24, 600], Size::Core),
        ([128, 1024], Size::Large),
        ([1024, 1560], Size::Large),
        ([4096, 65_536], Size::Large),
    ] {
        let spec = Spec { windows: Windows::Causal, ..Spec::new([rows, keys, 64, 128]) };
        cases.extend(spec.cases().map(|case| case.size(size)));
    }
    cases
}
