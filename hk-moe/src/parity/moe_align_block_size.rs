//! Cases of `moe_align_block_size`.

use hk_core::dtype::DType;
use hk_ref::moe::moe_align_block_size::moe_align_block_size as reference;
use hk_ref::{Case, CaseInfo, Expected, Placement, Setup, Size};

use super::loads::{Load, ids};
use crate::{MoeAlignOptions, MoeAlignOut, moe_align_block_size_into};

/// What varies between cases.
#[derive(Debug, Clone, Copy)]
struct Spec {
    /// Tokens, experts, those of a token, and rows of a tile.
    shape: [usize; 4],
    load: Load,
    is_mapped: bool,
    is_flat: bool,
    has_sums: bool,
    size: Size,
    place: Placement,
}

impl Spec {
    const fn new(shape: [usize; 4]) -> Self {
        let (is_mapped, is_flat, has_sums) = (false, false, true);
        let (load, size, place) = (Load::Uniform, Size::Quick, Placement::DENSE);
        Self { shape, load, is_mapped, is_flat, has_sums, size, place }
    }

    fn case(self) -> Case {
        let mut title = format!("{:?}", self.load);
        for (is_set, flag) in [
            (self.is_mapped, " map"),
            (self.is_flat, " flat"),
            (!self.has_sums, " no sums"),
            (self.place != Placement::DENSE, " not aligned"),
        ] {
            title += if is_set { flag } else { "" };
        }
        let op = "moe_align_block_size";
        let case = Case::new(CaseInfo::new(op, op, title, &[DType::I32], &self.shape), move |s| {
            set_up(s, self);
        });
        case.size(self.size).place(self.place).writes_once()
    }
}

/// Integers that must come out.
fn exactly<'a>(values: impl IntoIterator<Item = &'a usize>) -> Expected {
    Expected::exact(values.into_iter().map(|value| *value as f64).collect())
}

fn set_up(s: &mut Setup, spec: Spec) {
    let Spec { shape: [tokens, experts, k, block], .. } = spec;
    let ids = ids([tokens, k, experts], spec.load);
    let aligned = reference(&ids, experts, block);
    let shape = if spec.is_flat { vec![tokens * k] } else { vec![tokens, k] };
    let ids = s.given("topk_ids", &shape, ids);
    // Every third expert is here, in the opposite order.
    let local = |expert: usize| match expert % 3 {
        0 => (experts - expert) as i32,
        _ => -1,
    };
    let map = spec
        .is_mapped
        .then(|| s.given("expert_map", &[experts], (0..experts).map(local).collect()));
    let name = |expert: usize| if spec.is_mapped { local(expert) } else { expert as i32 };
    let names = aligned.experts.iter().map(|of| of.map_or(-1.0, |of| f64::from(name(of))));
    let tiles = s.output("expert_ids", &[aligned.experts.len()], Expected::exact(names.collect()));
    let sorted = s.output("sorted_token_ids", &[aligned.sorted.len()], exactly(&aligned.sorted));
    let total = s.output("num_tokens_post_pad", &[1], exactly(&[aligned.rows]));
    let sums = spec.has_sums.then(|| {
        let hist = s.output::<i32>("hist", &[experts], exactly(&aligned.hist));
        (hist, s.output::<i32>("offsets", &[experts + 1], exactly(&aligned.offsets)))
    });
    s.call(move || {
        let map = map.as_ref().map(|map| map.get());
        let is_right = spec.load != Load::Wrong;
        let options = MoeAlignOptions::default().validate_indices(is_right);
        let options = map.as_deref().into_iter().fold(options, MoeAlignOptions::expert_map);
        let (mut sorted, mut tiles, mut total) = (sorted.get(), tiles.get(), total.get());
        let mut sums = sums.as_ref().map(|(hist, offsets)| (hist.get(), offsets.get()));
        let (hist, offsets) = match &mut sums {
            Some((hist, offsets)) => (Some(&mut **hist), Some(&mut **offsets)),
            None => (None, None),
        };
        let out = MoeAlignOut {
            sorted_token_ids: &mut sorted,
            expert_ids: &mut tiles,
            num_tokens_post_pad: &mut total,
            hist,
            offsets,
        };
        moe_align_block_size_into(&ids.get(), experts, block, &options, out)
    });
}

/// Those of the specification, and such beside which another launch or window begins.
const SHAPES: [[usize; 4]; 28] = [
    [1, 2, 1, 16],
    [4, 2, 1, 16],
    [8, 2, 1, 16],
    [16, 2, 1, 16],
    [16, 8, 4, 16],
    [16, 8, 4, 32],
    [16, 8, 4, 128],
    [16, 48, 4, 64],
    [32, 224, 12, 128],
    [256, 8, 1, 64],
    [1, 256, 8, 16],
    [64, 256, 8, 16],
    [512, 512, 10, 16],
    [2048, 128, 4, 64],
    [1024, 8, 2, 128],
    [0, 8, 2, 16],
    [7, 1, 1, 16],
    [50, 257, 4, 32],
    [40, 1024, 2, 128],
    [100, 513, 3, 1],
    [33, 7, 1, 4],
    [128, 64, 2, 1],
    [9, 40, 3, 256],
    [11, 5, 2, 7],
    [4096, 3, 1, 16],
    [4097, 3, 1, 16],
    [2050, 600, 2, 8],
    [63, 2000, 64, 16],
];

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut specs: Vec<_> = SHAPES.map(Spec::new).to_vec();
    for load in [Load::Zipf, Load::One(3), Load::Even, Load::Wrong, Load::Absent] {
        for shape in [[40, 9, 2, 16], [37, 64, 6, 32], [1300, 64, 4, 16], [700, 520, 6, 4]] {
            specs.push(Spec { load, ..Spec::new(shape) });
        }
    }
    // More tiles of an expert than lanes name at once.
    specs.push(Spec { load: Load::One(1), ..Spec::new([3000, 3, 1, 16]) });
    specs.push(Spec { load: Load::One(600), ..Spec::new([9000, 700, 1, 32]) });
    // Whole tiles, and one gate more.
    for tokens in [64, 65] {
        specs.push(Spec { load: Load::One(0), ..Spec::new([tokens, 4, 1, 64]) });
    }
    for shape in [[29, 24, 3, 8], [2100, 24, 3, 8]] {
        let mapped = Spec { is_mapped: true, ..Spec::new(shape) };
        specs.push(mapped);
        specs.push(Spec { is_flat: true, has_sums: false, ..mapped });
        specs.push(Spec { is_flat: true, ..Spec::new(shape) });
        specs.push(Spec { place: Placement::DENSE.shift(1), ..mapped });
    }
    let many = |size, shape, load| Spec { size, load, ..Spec::new(shape) };
    specs.push(many(Size::Core, [65_537, 64, 1, 32], Load::Zipf));
    specs.push(many(Size::Core, [4096, 256, 8, 128], Load::Uniform));
    specs.push(many(Size::Core, [100, 32_767, 3, 16], Load::Uniform));
    for shape in [[16_384, 512, 10, 128], [16_384, 256, 8, 64], [16_384, 8, 2, 128]] {
        specs.extend([Load::Uniform, Load::Zipf].map(|load| many(Size::Large, shape, load)));
    }
    specs.into_iter().map(Spec::case).collect()
}
