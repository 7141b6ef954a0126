//! Experts of tokens, as routers may choose them.

use hk_ref::draw::Random;
use hk_ref::moe::moe_align_block_size::moe_align_block_size;
use hk_ref::{Arg, Setup};

use crate::AlignedGates;

/// How tokens are spread over experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Load {
    /// Each is as likely as any other.
    Uniform,
    /// That of rank r is as likely as `1 / r^1.1`.
    Zipf,
    /// All gates have this one.
    One(usize),
    /// All have as many, as nearly as possible.
    Even,
    /// Each gate has one that there is, or none, or one that there is not.
    Wrong,
    /// None has any.
    Absent,
}

/// The expert of each of k gates of each token.
pub(super) fn ids([tokens, k, experts]: [usize; 3], load: Load) -> Vec<i32> {
    let mut random = Random::new((tokens * 31 + k) as u64 * 97 + experts as u64);
    let weight = |rank: usize| match load {
        Load::Zipf => (rank as f64 + 1.0).powf(-1.1),
        _ => 1.0,
    };
    let sums: Vec<f64> = (0..experts)
        .scan(0.0, |sum, rank| {
            *sum += weight(rank);
            Some(*sum)
        })
        .collect();
    let mut ids = Vec::with_capacity(tokens * k);
    for gate in 0..tokens * k {
        let mut drawn = || {
            let at = random.unit() * sums[experts - 1];
            // Experts of one rank are not those of the lowest numbers.
            sums.partition_point(|sum| *sum < at).min(experts - 1) * 7919 % experts
        };
        ids.push(match load {
            Load::Uniform | Load::Zipf if k <= experts => {
                // The experts of a token are not the same.
                let token = gate / k * k;
                loop {
                    let id = drawn() as i32;
                    if !ids[token..].contains(&id) {
                        break id;
                    }
                }
            }
            Load::Uniform | Load::Zipf => drawn() as i32,
            Load::One(expert) => expert as i32,
            Load::Even => (gate % experts) as i32,
            Load::Wrong => match gate % 5 {
                0 => -1,
                1 => [experts as i32, i32::MAX, i32::MIN, -2, 1 << 16][random.below(5)],
                _ => drawn() as i32,
            },
            Load::Absent => -1,
        });
    }
    ids
}

/// Gates in order of their experts, as products are given them.
pub(super) struct Aligned {
    /// The expert of each gate.
    pub(super) ids: Vec<i32>,
    sorted: Arg<i32>,
    tiles: Arg<i32>,
    length: Arg<i32>,
    block_size: usize,
}

impl Aligned {
    /// Of so many rows, gates of a row, and experts, of which one may be elsewhere; in tiles of so many rows.
    pub(super) fn new(
        s: &mut Setup,
        shape: [usize; 3],
        load: Load,
        block_size: usize,
        absent: Option<usize>,
    ) -> Self {
        let ids = ids(shape, load);
        let aligned = moe_align_block_size(&ids, shape[2], block_size);
        let sorted = aligned.sorted.iter().map(|gate| *gate as i32).collect();
        let of_tiles = aligned.experts.iter().map(|expert| match expert {
            Some(expert) if Some(*expert) != absent => *expert as i32,
            _ => -1,
        });
        let length = vec![aligned.rows as i32];
        Self::given(s, ids, block_size, [sorted, of_tiles.collect(), length])
    }

    /// As [`new`](Self::new), with what routing never gives, in three turns: numbers of gates that there are not, tiles
    /// of experts that there are not in place of those of the one that is elsewhere, and more rows than there is room
    /// for. The first gate is in no row.
    pub(super) fn wrong(
        s: &mut Setup,
        shape: [usize; 3],
        block_size: usize,
        absent: usize,
        turn: usize,
    ) -> Self {
        let experts = shape[2];
        let mut ids = ids(shape, Load::Uniform);
        ids[0] = -1;
        let aligned = moe_align_block_size(&ids, experts, block_size);
        let none = [-1, ids.len() as i32 + 1, i32::MIN, i32::MAX];
        let of_row = |(row, gate): (usize, &usize)| match *gate < ids.len() {
            true => *gate as i32,
            false => none[row % none.len()],
        };
        let sorted: Vec<_> = aligned.sorted.iter().enumerate().map(of_row).collect();
        let nowhere = [experts as i32, -2, i32::MAX];
        let of_tile = |(tile, expert): (usize, &Option<usize>)| match expert {
            Some(expert) if *expert != absent => *expert as i32,
            Some(_) => nowhere[(tile + turn) % nowhere.len()],
            // Behind all rows.
            None => (tile % experts) as i32,
        };
        let tiles = aligned.experts.iter().enumerate().map(of_tile).collect();
        let length = [sorted.len() as i32 + 1, -1, i32::MAX][turn % 3];
        Self::given(s, ids, block_size, [sorted, tiles, vec![length]])
    }

    /// Of these experts of gates: the gates of rows, the experts of tiles, and how many rows there are.
    fn given(
        s: &mut Setup,
        ids: Vec<i32>,
        block_size: usize,
        [sorted, tiles, length]: [Vec<i32>; 3],
    ) -> Self {
        let sorted = s.given("sorted_token_ids", &[sorted.len()], sorted);
        let tiles = s.given("expert_ids", &[tiles.len()], tiles);
        let length = s.given("num_tokens_post_pad", &[1], length);
        Self { ids, sorted, tiles, length, block_size }
    }

    /// Calls `body` with them.
    pub(super) fn with<R>(&self, body: impl FnOnce(&AlignedGates<'_>) -> R) -> R {
        body(&AlignedGates {
            sorted_token_ids: &self.sorted.get(),
            expert_ids: &self.tiles.get(),
            num_tokens_post_pad: &self.length.get(),
            block_size: self.block_size,
        })
    }
}
