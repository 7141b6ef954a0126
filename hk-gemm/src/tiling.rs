//! Which tile configuration a product gets, and into how many shares its reduction axis is cut.
//!
//! A pure function of sizes and tiles: the same product always runs the same way on a device.

use hk_core::kernel::TileConfig;

/// Longest chain of f32 additions along k in one accumulator.
const MAX_CHAIN: u64 = 65_536;
/// Most shares of k that are chosen without being asked for.
const MAX_SPLITS: u64 = 64;
/// Largest workspace for partial sums, in bytes.
const MAX_WORKSPACE: u64 = 256 << 20;

/// A product's sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) m: u64,
    pub(crate) n: u64,
    pub(crate) k: u64,
}

/// A tile's sizes and speed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tile {
    pub(crate) m: u64,
    pub(crate) n: u64,
    pub(crate) k: u64,
    /// Workgroups that a compute unit holds.
    per_cu: u64,
    /// Share of the peak that it reaches on large products, in percent.
    rate: u64,
}

impl Tile {
    /// What a configuration says of itself.
    pub(crate) fn of(config: &TileConfig) -> Self {
        let int = |name| {
            let value = config.int(name).and_then(|value| u64::try_from(value).ok());
            value.filter(|value| *value > 0).expect("every GEMM tile has this parameter")
        };
        let waves = u64::from(config.threads / 64).max(1);
        let per_cu = u64::from(config.resources.waves_per_simd) * 4 / waves;
        Self { m: int("BM"), n: int("BN"), k: int("BK"), per_cu: per_cu.max(1), rate: int("RATE") }
    }

    /// Blocks of the result.
    pub(crate) fn blocks(&self, problem: Problem) -> u64 {
        problem.m.div_ceil(self.m) * problem.n.div_ceil(self.n)
    }

    /// How k is cut, if the caller does not say: into enough shares to occupy every compute unit,
    /// but none shorter than four steps.
    pub(crate) fn split(&self, problem: Problem, compute_units: u64) -> Split {
        let slots = compute_units * self.per_cu;
        let free = slots / self.blocks(problem).max(1);
        let longest = (problem.k / (4 * self.k)).min(MAX_SPLITS);
        let workspace = MAX_WORKSPACE / (problem.m * problem.n * 4).max(1);
        Split::new(problem.k, self.k, free.min(longest).min(workspace).max(1))
    }

    /// The higher the better.
    pub(crate) fn score(&self, problem: Problem, compute_units: u64) -> f64 {
        let split = self.split(problem, compute_units);
        let slots = compute_units * self.per_cu;
        let work = self.blocks(problem) * split.count;
        // Slots that work in the last of several rounds.
        let occupied = work as f64 / (work.div_ceil(slots) * slots) as f64;
        let useful =
            (problem.m * problem.n) as f64 / (self.blocks(problem) * self.m * self.n) as f64;
        // A product of few rows is as fast as w can be read: the smallest tile that covers them.
        let rows = [16, 32, 64].into_iter().find(|rows| problem.m <= *rows);
        let class = if rows.is_none_or(|rows| rows == self.m) { 1.0 } else { 0.01 };
        // Partial sums cost traffic and a second kernel.
        let cost = if split.count > 1 { 0.9 } else { 1.0 };
        occupied * useful * self.rate as f64 * class * cost
    }
}

/// How the reduction axis is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Split {
    /// Number of shares.
    pub(crate) count: u64,
    /// Length of each but the last: a multiple of the tile's step.
    pub(crate) share: u64,
}

impl Split {
    /// About `wanted` shares of `k`, more if a chain would become too long, fewer if shares would
    /// be empty.
    pub(crate) fn new(k: u64, step: u64, wanted: u64) -> Self {
        let least = k.div_ceil(MAX_CHAIN / step * step);
        let share = k.div_ceil(wanted.max(least).max(1)).div_ceil(step) * step;
        Self { count: k.div_ceil(share), share }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Tile = Tile { m: 16, n: 64, k: 128, per_cu: 3, rate: 12 };
    const MIDDLE: Tile = Tile { m: 128, n: 128, k: 64, per_cu: 2, rate: 80 };
    const LARGE: Tile = Tile { m: 256, n: 256, k: 64, per_cu: 1, rate: 100 };

    fn best(m: u64, n: u64, k: u64) -> Tile {
        let score = |tile: &Tile| tile.score(Problem { m, n, k }, 304);
        [SMALL, MIDDLE, LARGE].into_iter().max_by(|a, b| score(a).total_cmp(&score(b))).unwrap()
    }

    #[test]
    fn shares_cover_k_without_overlap() {
        for k in [1, 63, 64, 65, 1000, 65_536, 65_537, 131_072, 524_288] {
            for step in [32, 64, 128, 256] {
                for wanted in [1, 2, 3, 7, 64, 10_000] {
                    let Split { count, share } = Split::new(k, step, wanted);
                    assert!(share.is_multiple_of(step) && share <= MAX_CHAIN);
                    assert!((count - 1) * share < k && k <= count * share, "{k} {step} {wanted}");
                }
            }
        }
    }

    #[test]
    fn few_rows_take_the_smallest_tile() {
        assert_eq!(best(1, 8192, 8192), SMALL);
        assert_eq!(best(16, 8192, 8192), SMALL);
    }

    #[test]
    fn large_products_take_the_largest_tile() {
        assert_eq!(best(8192, 8192, 8192), LARGE);
    }

    #[test]
    fn a_small_grid_is_filled_by_splitting() {
        let problem = Problem { m: 256, n: 256, k: 131_072 };
        let split = MIDDLE.split(problem, 304);
        assert_eq!(split.count * MIDDLE.blocks(problem), 256, "{split:?}");
        // Too short to be cut.
        assert_eq!(MIDDLE.split(Problem { k: 128, ..problem }, 304).count, 1);
    }
}
