//! Cases of `expt_data_compute` and its stages.

use hk_core::dtype::DType;
use hk_ref::draw::Random;
use hk_ref::moe::moe_expt_data::{ExpertData, moe_expt_data as reference, packed};
use hk_ref::{Case, CaseInfo, Expected, Placement, Setup};

use crate::{
    ExptDataOptions, ExptDataOut, expt_data_compute_into, expt_data_stage1_into,
    expt_data_stage2_fused_into, expt_data_stage2_into, max_num_tiles,
};

/// How many gates experts have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counts {
    /// Up to 199.
    Drawn,
    /// One has 4099, others none.
    One,
    /// None at both ends.
    NoneAtEnds,
    /// As many as a tile has rows, or one more.
    Whole,
    /// At most one each.
    Few,
    /// Up to as many as a tile has rows.
    OneTile,
    /// 511 and 513 by turns.
    Many,
    /// Numbers below zero and others that are no counts.
    Wrong,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Compute,
    Stage1,
    Stage2,
    Fused,
}

/// What varies between cases.
#[derive(Debug, Clone, Copy)]
struct Spec {
    op: Op,
    /// Experts, and rows of a tile.
    shape: [usize; 2],
    counts: Counts,
    /// Tiles more than there may have to be; below zero only without looking at counts.
    more: isize,
    place: Placement,
}

impl Spec {
    fn case(self) -> Case {
        let op = match self.op {
            Op::Compute => "expt_data_compute",
            Op::Stage1 => "expt_data_stage1",
            Op::Stage2 => "expt_data_stage2",
            Op::Fused => "expt_data_stage2_fused",
        };
        let mut title = format!("{:?}, {} tiles more", self.counts, self.more);
        if self.place != Placement::DENSE {
            title += ", not aligned";
        }
        let info = CaseInfo::new("moe_expt_data", op, title, &[DType::I32], &self.shape);
        Case::new(info, move |s| set_up(s, self)).place(self.place).writes_once()
    }

    fn counts(&self) -> Vec<i32> {
        let [experts, rows] = self.shape;
        let mut random = Random::new((experts * 257 + rows) as u64);
        let count = |expert: usize| match self.counts {
            Counts::Drawn => random.below(200),
            Counts::One if expert == experts / 2 => 4099,
            Counts::NoneAtEnds if expert > 0 && expert + 1 < experts => random.below(99) + 1,
            Counts::One | Counts::NoneAtEnds => 0,
            Counts::Whole => rows + random.below(2),
            Counts::Few => random.below(2),
            Counts::OneTile => random.below(rows + 1),
            Counts::Many => 511 + 2 * (expert % 2),
            Counts::Wrong => [3, 1 << 31, 100, 1 << 30, (1 << 32) - 1][random.below(5)],
        };
        (0..experts).map(count).map(|count| count as u32 as i32).collect()
    }
}

fn exactly(values: &[usize]) -> Expected {
    Expected::exact(values.iter().map(|value| *value as f64).collect())
}

fn set_up(s: &mut Setup, spec: Spec) {
    let Spec { op, shape: [experts, rows], .. } = spec;
    let log2 = rows.ilog2();
    let given = spec.counts();
    let counts: Vec<_> = given.iter().map(|count| (*count).max(0) as usize).collect();
    let is_wrong = spec.counts == Counts::Wrong || spec.more < 0;
    let hist = s.given("hist", &[experts], given);
    if spec.counts == Counts::Wrong {
        return set_up_wrong(s, &hist, spec);
    }
    let gates = counts.iter().sum();
    let ExpertData { offsets, first_tiles, tiles } = reference(&counts, rows);
    let most = max_num_tiles(gates, experts, log2).saturating_add_signed(spec.more);
    // What the map holds before.
    let held: Vec<i32> = (0..most).map(|tile| 1000 + tile as i32).collect();
    let named = tiles.iter().map(|tile| match op {
        Op::Stage1 => None,
        Op::Fused if tile.1 > 0 => None,
        _ => Some(packed(*tile)),
    });
    let behind = match op {
        Op::Compute | Op::Stage1 => Some(-1),
        Op::Stage2 | Op::Fused => None,
    };
    let named = named.chain(std::iter::repeat(behind));
    let map: Vec<_> = named.zip(&held).map(|(name, held)| name.unwrap_or(*held)).collect();
    let map = s.output::<i32>("block_pid_map", &[most], Expected::bits(&map)).holding(held);
    let options = ExptDataOptions::default().validate_indices(!is_wrong);
    if matches!(op, Op::Stage2 | Op::Fused) {
        let first_tiles = first_tiles.iter().map(|tile| *tile as i32).collect();
        let offs = s.given("token_offs_pad", &[experts + 1], first_tiles);
        s.call(move || {
            let (hist, offs, mut map) = (hist.get(), offs.get(), map.get());
            match op {
                Op::Fused => expt_data_stage2_fused_into(&hist, &offs, log2, &options, &mut map),
                _ => expt_data_stage2_into(&hist, &offs, log2, &options, &mut map),
            }
        });
        return;
    }
    let raw = s.output::<i32>("token_offs_raw", &[experts + 1], exactly(&offsets));
    let pad = s.output::<i32>("token_offs_pad", &[experts + 1], exactly(&first_tiles));
    s.call(move || {
        let (mut raw, mut pad, mut map) = (raw.get(), pad.get(), map.get());
        let out = ExptDataOut {
            token_offs_raw: &mut raw,
            token_offs_pad: &mut pad,
            block_pid_map: &mut map,
        };
        match op {
            Op::Stage1 => expt_data_stage1_into(&hist.get(), gates, log2, &options, out),
            _ => expt_data_compute_into(&hist.get(), gates, log2, &options, out),
        }
    });
}

/// Of counts and offsets that are none, nothing outside of the map may come: of the map, tiles that
/// begin in it.
fn set_up_wrong(s: &mut Setup, hist: &hk_ref::Arg<i32>, spec: Spec) {
    let [experts, rows] = spec.shape;
    let (log2, most) = (rows.ilog2(), 20);
    let firsts = [i32::MIN, -1, 1 << 20, i32::MAX, 20];
    let mut firsts: Vec<_> = firsts.into_iter().cycle().take(experts + 1).collect();
    // The tiles of one begin in the map, and do not end there.
    let has_many = |count: &i32| *count == 1 << 30;
    let expert = hist.elements().iter().position(has_many).expect("one has many gates");
    firsts[expert] = 15;
    let named = (0..5).map(|tile| packed((expert, tile)));
    let map: Vec<i32> = std::iter::repeat_n(7, 15).chain(named).collect();
    let map = s.output::<i32>("block_pid_map", &[most], Expected::bits(&map));
    let map = map.holding(vec![7; most]);
    let offs = s.given("token_offs_pad", &[experts + 1], firsts);
    let hist = hist.clone();
    s.call(move || {
        let options = ExptDataOptions::default().validate_indices(false);
        expt_data_stage2_into(&hist.get(), &offs.get(), log2, &options, &mut map.get())
    });
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    let mut add = |op, shape, counts, more, place| {
        specs.push(Spec { op, shape, counts, more, place });
    };
    let dense = Placement::DENSE;
    for op in [Op::Compute, Op::Stage1, Op::Stage2] {
        add(op, [8, 64], Counts::Drawn, 0, dense);
        for (at, experts) in [1, 8, 32, 128, 256, 257, 512, 1500].into_iter().enumerate() {
            let rows = [16, 32, 64, 128, 256][at % 5];
            for counts in
                [Counts::Drawn, Counts::One, Counts::NoneAtEnds, Counts::Whole, Counts::Few]
            {
                add(op, [experts, rows], counts, if at % 2 == 0 { 9 } else { 1 }, dense);
            }
        }
        add(op, [33, 16], Counts::Drawn, 3, dense.shift(1));
        add(op, [300, 16], Counts::Drawn, 5000, dense);
        add(op, [256, 128], Counts::Many, 0, dense);
    }
    for shape in [[8, 64], [700, 16], [5, 256]] {
        for counts in [Counts::OneTile, Counts::Few] {
            add(Op::Fused, shape, counts, 2, dense);
        }
    }
    // Of which no more than there is room for are named.
    for op in [Op::Compute, Op::Stage2] {
        add(op, [40, 16], Counts::Drawn, -60, dense);
    }
    add(Op::Fused, [40, 16], Counts::Drawn, -1, dense);
    add(Op::Stage2, [9, 16], Counts::Wrong, 0, dense);
    add(Op::Stage2, [600, 32], Counts::Wrong, 0, dense);
    specs.into_iter().map(Spec::case).collect()
}
