//! Which tile configuration a product gets, and into how many shares its reduction axis is cut.
//!
//! A pure function of sizes and tiles: the same product always runs the same way on a device.

use crate::Arch;
use crate::kernel::TileConfig;

/// Longest chain of f32 additions along k in one accumulator.
pub const MAX_CHAIN: u64 = 65_536;
/// Most shares of k that are chosen without being asked for, and steps of the shortest.
const MAX_SPLITS: u64 = 64;
const MIN_STEPS: u64 = 4;
/// Largest workspace for partial sums, in bytes.
const MAX_WORKSPACE: u64 = 256 << 20;
/// What cutting the last blocks takes besides, in cycles: two more launches, of about 5 us in all.
const TAIL_CYCLES: f64 = 12_000.0;
/// And the part of a product's time that it must save.
const LEAST_GAIN: f64 = 0.03;
/// Where the last blocks may begin: rows of scales that are shuffled are together.
const TAIL_LINES: u64 = 32;
// What an estimate of time counts with: fitted to times of `a16w16` by the model of `hk-timing`, with 36
// problems from 1 to 32,768 rows on MI325X and MI355X. Of the pairs of tiles that differ by more than 10 %,
// 91 % are in the same order.

/// Products of 16 bits that a compute unit of gfx942 adds up per cycle; one of gfx950 adds up twice as many.
const MACS_PER_CYCLE: f64 = 1024.0;
/// The share of them that kernels reach.
const REACHED: f64 = 0.6;
/// Elements that gfx942 expands take as long as those of so many bits.
const EXPANDED_BITS: f64 = 32.0;
/// Bytes per cycle that reach a compute unit from the caches.
const UNIT_BYTES_PER_CYCLE: f64 = 25.0;
/// Bytes per cycle that reach the device from memory.
const BYTES_PER_CYCLE: f64 = 2000.0;
/// Cycles from a load to its data.
const LATENCY: f64 = 1800.0;
/// Cycles that the launch of what adds up shares of k takes.
const SPLIT_CYCLES: f64 = 13_000.0;

/// Bytes that a lane moves together: rows of operands are aligned to so many.
const CHUNK: u64 = 16;
/// Bytes below which a buffer descriptor and offsets in it must stay.
const BUFFER_BYTES: u64 = 1 << 31;

/// A product's sizes, none above [`Problem::MAX_SIZE`], and how its operands are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Problem {
    /// Products of one size.
    pub batch: u64,
    /// Rows of the result.
    pub m: u64,
    /// Columns of the result.
    pub n: u64,
    /// Length of the reduction axis.
    pub k: u64,
    /// Whether x and w are stored as `(k, rows)`.
    pub transposed: [bool; 2],
    /// Bits of an element of x, and of one of w.
    pub bits: [u64; 2],
    /// Length of the groups of k, which are not cut: a power of two.
    pub group: u64,
}

impl Problem {
    /// Nothing.
    pub const NONE: Self =
        Self { batch: 0, m: 0, n: 0, k: 0, transposed: [false; 2], bits: [16; 2], group: 1 };

    /// Largest m, n, k or batch: the kernels count rows, columns, k and matrices in 32 bits.
    pub const MAX_SIZE: u64 = i32::MAX as u64;

    /// Lengths of the rows of x and of w, as they are stored.
    fn widths(&self) -> [u64; 2] {
        let Self { m, n, k, transposed: [x, w], .. } = *self;
        [if x { m } else { k }, if w { n } else { k }]
    }

    /// Bytes of so many rows of x and of w, of so many elements.
    fn bytes_of(&self, [x_rows, w_rows, k]: [u64; 3]) -> f64 {
        let [x_bits, w_bits] = self.bits.map(|bits| bits as f64);
        (x_rows as f64 * x_bits + w_rows as f64 * w_bits) * k as f64 / 8.0
    }
}

/// So many elements of some bits in the units that memory counts: bytes, if an element is no longer.
fn units(elements: u64, bits: u64) -> u64 {
    elements / (8 / bits).max(1)
}

/// A tile's sizes and speed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tile {
    /// Rows of a block of the result.
    pub m: u64,
    /// Columns of a block.
    pub n: u64,
    /// Step along the reduction axis.
    pub k: u64,
    threads: u64,
    /// Workgroups that a compute unit holds.
    per_cu: u64,
    /// Rows of w that a block multiplies.
    w_rows: u64,
    /// Steps whose loads are under way while one is multiplied.
    ahead: u64,
    /// Whether it is of gfx950, which multiplies elements of 4 bits as they are.
    is_cdna4: bool,
}

/// What several things take that are done at once, each hidden by the others but for a part.
fn together<const N: usize>(cycles: [f64; N]) -> f64 {
    cycles.map(|of| of * of).iter().sum::<f64>().sqrt()
}

/// What it takes to write so many partial sums and to read them.
fn cycles_of_sums(count: f64) -> f64 {
    2.0 * 4.0 * count / BYTES_PER_CYCLE
}

/// A size among the parameters that all tile configurations of a core have.
fn parameter(config: &TileConfig, name: &str) -> u64 {
    let value = config.int(name).and_then(|value| u64::try_from(value).ok());
    value.filter(|value| *value > 0).expect("every tile of the core has this parameter")
}

impl Tile {
    /// What a configuration says of itself.
    pub fn of(config: &TileConfig) -> Self {
        let int = |name| parameter(config, name);
        let threads = u64::from(config.threads);
        // Gates, and what they let through.
        let halves = if config.flag("GATED") == Some(true) { 2 } else { 1 };
        let per_cu = u64::from(config.resources.waves_per_simd) * 4 / (threads / 64).max(1);
        Self {
            m: int("BM"),
            n: int("BN") / halves,
            k: int("BK"),
            threads,
            per_cu: per_cu.max(1),
            w_rows: int("BN"),
            ahead: (int("STAGES") - 1).max(1),
            is_cdna4: config.image.arch == Arch::Gfx950.name(),
        }
    }

    /// The tile of the second product that a configuration of the feed-forward pair makes.
    pub fn down_half(self, config: &TileConfig) -> Self {
        let n = parameter(config, "DOWN_BN");
        Self { n, w_rows: n, k: parameter(config, "DOWN_BK"), ..self }
    }

    /// Workgroups that a compute unit holds.
    pub const fn per_cu(&self) -> u64 {
        self.per_cu
    }

    /// Blocks of all results.
    fn blocks(&self, problem: Problem) -> u64 {
        let blocks = problem.m.div_ceil(self.m) * problem.n.div_ceil(self.n);
        blocks.saturating_mul(problem.batch)
    }

    /// Workgroups of a launch, if HIP can count its work-items.
    pub fn grid(&self, problem: Problem, split: Split) -> Option<u32> {
        let grid = self.blocks(problem).checked_mul(split.count)?;
        u32::try_from(grid).ok().filter(|_| grid <= self.most_workgroups())
    }

    /// Most workgroups of a launch: HIP counts the work-items in 32 bits.
    pub fn most_workgroups(&self) -> u64 {
        u64::from(u32::MAX) / self.threads
    }

    /// The longest distances between rows of x and of w, as they are stored, at which the buffer of
    /// a tile, and the offsets in it, stay within their bits: in bytes, of elements that are shorter.
    pub fn longest_strides(&self, problem: Problem) -> [u64; 2] {
        let longest = |transposed: bool, rows: u64, tile_rows: u64, bits: u64| {
            // What is loaded for rows past the end of the matrix does not matter, as their results
            // are not stored; past the end of k it must be zero.
            let (lines, width) =
                if transposed { (self.k, tile_rows) } else { (rows.min(tile_rows), self.k) };
            let left = BUFFER_BYTES / (bits / 8).max(1) - 1 - units(width, bits);
            left.checked_div(lines.saturating_sub(1)).unwrap_or(u64::MAX)
        };
        let ([x, w], [x_bits, w_bits]) = (problem.transposed, problem.bits);
        [longest(x, problem.m, self.m, x_bits), longest(w, problem.n, self.n, w_bits)]
    }

    /// The largest of the quantities that have 32 bits in the kernels, in units of its limit: a
    /// product of more than 1 cannot be computed with this tile.
    fn load(&self, problem: Problem, split: Split) -> f64 {
        let widths = problem.widths().into_iter().zip(problem.bits);
        let rows = widths.zip(self.longest_strides(problem)).map(|((width, bits), most)| {
            units(width.next_multiple_of(8 * CHUNK / bits), bits) as f64 / most as f64
        });
        let work = self.blocks(problem) as f64 * split.count as f64;
        rows.fold(work / self.most_workgroups() as f64, f64::max)
    }

    /// How k is cut, if the caller does not say: into as many shares, of those that compute units have
    /// room for and that have four steps each, as take the least time.
    pub fn split(&self, problem: Problem, compute_units: u64) -> Split {
        self.fastest_split(problem, compute_units).1
    }

    /// The same, behind the cycles that it takes.
    fn fastest_split(&self, problem: Problem, compute_units: u64) -> (f64, Split) {
        let slots = compute_units * self.per_cu;
        let free = slots / self.blocks(problem).max(1);
        let longest = (problem.k / (MIN_STEPS * self.step(problem))).min(MAX_SPLITS);
        let results = problem.m.saturating_mul(problem.n).saturating_mul(problem.batch);
        let sums = results.saturating_mul(4);
        let workspace = MAX_WORKSPACE / sums.max(1);
        let most = free.min(longest).min(workspace).max(1);
        let timed = |count| {
            let split = self.split_into(problem, count);
            (self.cycles(problem, split, compute_units), split)
        };
        let powers = (1..u64::BITS).map(|power| 1 << power).take_while(|count| *count < most);
        let others = powers.chain((most > 1).then_some(most)).map(timed);
        others.fold(timed(1), |best, other| if other.0 < best.0 { other } else { best })
    }

    /// The last blocks of results that are not cut, if they are better cut along k than left to fill a part
    /// of the device: rows or columns of blocks of each, or whole ones, behind as many as whole rounds take,
    /// and where `may_begin` lets them begin.
    pub fn tail(
        &self,
        problem: Problem,
        compute_units: u64,
        may_begin: impl Fn(Axis, u64) -> bool,
    ) -> Option<Tail> {
        let slots = compute_units * self.per_cu;
        let blocks = self.blocks(problem);
        let (rounds, in_whole_rounds) = (blocks.div_ceil(slots), blocks / slots * slots);
        if in_whole_rounds == 0 || in_whole_rounds == blocks {
            return None;
        }
        let longest = (problem.k / (MIN_STEPS * self.step(problem))).min(MAX_SPLITS);
        let round = self.round_cycles(problem);
        let Problem { batch, m, n, .. } = problem;
        let (rows, columns) = (m.div_ceil(self.m), n.div_ceil(self.n));
        let mut best = None;
        // Losses of less than this are not worth more launches.
        let mut least = rounds as f64 * round * LEAST_GAIN;
        for (axis, lines, line, size) in [
            (Axis::Rows, rows, columns * batch, self.m),
            (Axis::Columns, columns, rows * batch, self.n),
            (Axis::Matrices, batch, rows * columns, 1),
        ] {
            let whole = in_whole_rounds / line;
            let first = whole * size;
            let is_together = axis == Axis::Matrices || first.is_multiple_of(TAIL_LINES);
            if whole == 0 || whole >= lines || !is_together || !may_begin(axis, first) {
                continue;
            }
            let tail = (lines - whole) * line;
            for wanted in 2..=longest {
                let split = self.split_into(problem, wanted);
                let shares = tail.saturating_mul(split.count);
                let sums = shares.saturating_mul(self.m * self.w_rows);
                if split.count != wanted || sums > MAX_WORKSPACE / 4 {
                    continue;
                }
                let share = split.share as f64 / problem.k as f64;
                let cut =
                    (whole * line).div_ceil(slots) as f64 + shares.div_ceil(slots) as f64 * share;
                let more = TAIL_CYCLES + cycles_of_sums(sums as f64);
                let gain = (rounds as f64 - cut) * round - more;
                if gain > least {
                    (best, least) = (Some(Tail { axis, first, split }), gain);
                }
            }
        }
        best
    }

    /// Cycles that blocks take of a compute unit that is full of them.
    fn round_cycles(&self, problem: Problem) -> f64 {
        self.block_cycles(problem, problem.k.div_ceil(self.k), [self.per_cu, 1])
    }

    /// Cycles that so many blocks of so many steps take of a compute unit, which has them in so many
    /// rounds: what the matrix units need, what fills LDS, and waits for memory, if the last two are not
    /// quite hidden.
    fn block_cycles(&self, problem: Problem, steps: u64, [blocks, rounds]: [u64; 2]) -> f64 {
        let [blocks, rounds, steps] = [blocks, rounds, steps].map(|count| count as f64);
        let [x_bits, w_bits] = problem.bits;
        let bits = match self.is_cdna4 || x_bits.min(w_bits) >= 8 {
            true => x_bits.max(w_bits).max(8) as f64,
            false => EXPANDED_BITS,
        };
        let macs = (self.m * self.w_rows * self.k) as f64 * bits / 16.0;
        let per_cycle = if self.is_cdna4 { 2.0 * MACS_PER_CYCLE } else { MACS_PER_CYCLE };
        let bytes = problem.bytes_of([self.m, self.w_rows, self.k]);
        together([
            blocks * steps * macs / (per_cycle * REACHED),
            blocks * steps * bytes / UNIT_BYTES_PER_CYCLE,
            rounds * steps * LATENCY / self.ahead as f64,
        ])
    }

    /// An estimate of a product's time in cycles, without what is the same for all tiles.
    fn cycles(&self, problem: Problem, split: Split, compute_units: u64) -> f64 {
        let work = self.blocks(problem).saturating_mul(split.count);
        let in_turn = [work.div_ceil(compute_units), work.div_ceil(compute_units * self.per_cu)];
        let of_blocks = self.block_cycles(problem, split.share.div_ceil(self.k), in_turn);
        let [batch, m, n] = [problem.batch, problem.m, problem.n].map(|size| size as f64);
        let results = batch * m * n;
        let bytes = batch * problem.bytes_of([problem.m, problem.n, problem.k]) + 2.0 * results;
        let time = together([of_blocks, bytes / BYTES_PER_CYCLE]);
        match split.count {
            1 => time,
            count => time + SPLIT_CYCLES + cycles_of_sums(count as f64 * results),
        }
    }

    /// As [`Split::new`].
    pub fn split_into(&self, problem: Problem, wanted: u64) -> Split {
        Split::new(problem.k, self.step(problem), wanted)
    }

    /// The least that k is cut into: steps are multiples of groups, or these of those.
    fn step(&self, problem: Problem) -> u64 {
        // Rows with longer groups are no longer than a chain, and are not cut.
        self.k.max(problem.group.min(MAX_CHAIN))
    }

    /// The higher the better, the shorter the estimated time; negative if the tile cannot serve.
    pub fn score(&self, problem: Problem, compute_units: u64) -> f64 {
        let (cycles, split) = self.fastest_split(problem, compute_units);
        let load = self.load(problem, split);
        if load > 1.0 {
            // Of tiles that cannot, the one with the widest limit is to say what it is.
            return -load;
        }
        1.0 / cycles.max(1.0)
    }
}

/// How the reduction axis is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// Number of shares.
    pub count: u64,
    /// Length of each but the last: a multiple of the tile's step.
    pub share: u64,
}

impl Split {
    /// At most `wanted` shares of `k`, each but the last a whole number of steps; more if a chain
    /// would become too long.
    pub fn new(k: u64, step: u64, wanted: u64) -> Self {
        let least = k.div_ceil(MAX_CHAIN / step * step);
        let share = k.div_ceil(wanted.max(least).max(1)).div_ceil(step) * step;
        Self { count: k.div_ceil(share), share }
    }
}

/// Lines of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// Rows of each matrix.
    Rows,
    /// Columns of each.
    Columns,
    /// Whole matrices of a batch.
    Matrices,
}

/// Rows or columns of results, or whole ones, that are cut along k, behind others that are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail {
    /// Which.
    pub axis: Axis,
    /// The first row, column or matrix.
    pub first: u64,
    /// How they are cut.
    pub split: Split,
}

impl Tail {
    /// The product without these, and the one of them.
    pub const fn cut(&self, problem: Problem) -> [Problem; 2] {
        let first = self.first;
        match self.axis {
            Axis::Rows => {
                [Problem { m: first, ..problem }, Problem { m: problem.m - first, ..problem }]
            }
            Axis::Columns => {
                [Problem { n: first, ..problem }, Problem { n: problem.n - first, ..problem }]
            }
            Axis::Matrices => {
                let batch = problem.batch - first;
                [Problem { batch: first, ..problem }, Problem { batch, ..problem }]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn tile([m, n, k]: [u64; 3], threads: u64, per_cu: u64) -> Tile {
        Tile { m, n, k, threads, per_cu, w_rows: n, ahead: 1, is_cdna4: false }
    }

    const SMALL: Tile = tile([16, 64, 256], 256, 3);
    const MIDDLE: Tile = tile([128, 128, 64], 256, 2);
    const LARGE: Tile = tile([256, 256, 64], 512, 1);
    const TILES: [Tile; 3] = [SMALL, MIDDLE, LARGE];
    /// One product of 16-bit elements, with x and w stored as `(rows, k)`.
    const PLAIN: Problem =
        Problem { batch: 1, m: 1, n: 1, k: 1, transposed: [false; 2], bits: [16; 2], group: 1 };

    fn best_for(problem: Problem) -> Tile {
        let score = |tile: &Tile| tile.score(problem, 304);
        TILES.into_iter().max_by(|a, b| score(a).total_cmp(&score(b))).unwrap()
    }

    fn best(m: u64, n: u64, k: u64) -> Tile {
        best_for(Problem { m, n, k, ..PLAIN })
    }

    #[test]
    fn shares_cover_k_without_overlap() {
        for k in [1, 63, 64, 65, 1000, 65_536, 65_537, 131_072, 524_288] {
            for step in [32, 64, 128, 256] {
                for wanted in [1, 2, 3, 7, 64, 10_000] {
                    let Split { count, share } = Split::new(k, step, wanted);
                    assert!(share.is_multiple_of(step) && share <= MAX_CHAIN);
                    assert!((count - 1) * share < k && k <= count * share, "{k} {step} {wanted}");
                    assert!(count <= wanted.max(k.div_ceil(MAX_CHAIN)), "{k} {step} {wanted}");
                }
            }
        }
    }

    #[test]
    fn groups_may_be_longer_than_rows() {
        for (k, group) in [(330, 1 << 17), (330, 1 << 30), (MAX_CHAIN, 1 << 30)] {
            let problem = Problem { m: 5, n: 24, k, group, ..PLAIN };
            for tile in TILES {
                assert!(tile.score(problem, 304) > 0.0, "{problem:?}");
                let Split { count, share } = tile.split_into(problem, 7);
                assert!(count == 1 && share >= k, "{problem:?}");
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
        let problem = Problem { m: 256, n: 256, k: 131_072, ..PLAIN };
        let split = MIDDLE.split(problem, 304);
        assert_eq!(split.count * MIDDLE.blocks(problem), 256, "{split:?}");
        // Too short to be cut.
        assert_eq!(MIDDLE.split(Problem { k: 128, ..problem }, 304).count, 1);
    }

    #[test]
    fn the_last_blocks_of_a_large_product_are_cut() {
        // 1,024 blocks, of which 304 are computed at a time: 28 rows of 32 fill three rounds, but for 16.
        let square = Problem { m: 8192, n: 8192, k: 8192, ..PLAIN };
        let split = Split { count: 2, share: 4096 };
        let tail = Tail { axis: Axis::Rows, first: 28 * 256, split };
        let tail_of = |problem, units| LARGE.tail(problem, units, |_, _| true);
        assert_eq!(tail_of(square, 304), Some(tail));
        assert_eq!(tail.cut(square).map(|part| [part.m, part.n]), [[7168, 8192], [1024, 8192]]);
        // Four rounds are full.
        assert_eq!(tail_of(square, 256), None);
        // Columns where rows may not begin.
        let columns = LARGE.tail(square, 304, |axis, _| axis != Axis::Rows);
        assert_eq!(columns, Some(Tail { axis: Axis::Columns, ..tail }));
        // One row of blocks.
        let wide = Problem { m: 256, n: 400 * 256, ..square };
        let tail = tail_of(wide, 304).unwrap();
        assert_eq!((tail.axis, tail.first), (Axis::Columns, 304 * 256));
        // The last of 20 matrices of 16 blocks.
        let several = Problem { batch: 20, m: 1024, n: 1024, ..square };
        let tail = tail_of(several, 304).unwrap();
        assert_eq!((tail.axis, tail.first), (Axis::Matrices, 19));
        assert_eq!(tail.cut(several).map(|part| part.batch), [19, 1]);
        // The last row of blocks of each of three, as one matrix has too many.
        let wide = Problem { batch: 3, m: 11 * 256, n: 10 * 256, ..square };
        let tail = tail_of(wide, 304).unwrap();
        assert_eq!((tail.axis, tail.first), (Axis::Rows, 10 * 256));
        assert_eq!(tail.cut(wide).map(|part| [part.batch, part.m]), [[3, 2560], [3, 256]]);
        // Too short, or too few.
        assert_eq!(tail_of(Problem { k: 256, ..square }, 304), None);
        assert_eq!(tail_of(Problem { m: 4096, n: 4096, ..square }, 304), None);
    }

    /// What a tile's buffers span, in bytes, by the kernels' own arithmetic (`operand::tile_bytes`)
    /// in integers that are wide enough, for rows that are `stride` apart.
    fn buffer_bytes(tile: Tile, problem: Problem, strides: [u64; 2]) -> [u128; 2] {
        let bytes = |transposed: bool, rows: u64, tile_rows: u64, stride: u64| {
            let rows = rows.min(tile_rows);
            let (lines, width) = if transposed { (tile.k, rows) } else { (rows, tile.k) };
            let width = u128::from(width.next_multiple_of(8));
            (u128::from(lines - 1) * u128::from(stride) + width) * 2
        };
        let [x, w] = problem.transposed;
        [bytes(x, problem.m, tile.m, strides[0]), bytes(w, problem.n, tile.n, strides[1])]
    }

    #[test]
    fn strides_up_to_the_longest_and_no_more_stay_below_a_buffers_limit() {
        let sizes = [1, 2, 15, 16, 17, 255, 256, 4_194_304, Problem::MAX_SIZE];
        for transposed in [[false; 2], [true, false], [false, true], [true; 2]] {
            for (m, n) in sizes.into_iter().flat_map(|m| sizes.map(|n| (m, n))) {
                for tile in TILES {
                    let problem = Problem { m, n, k: 8, transposed, ..PLAIN };
                    let longest = tile.longest_strides(problem);
                    let rows = [(m, tile.m), (n, tile.n)];
                    for i in 0..2 {
                        let single = !transposed[i] && rows[i].0 == 1;
                        assert_eq!(longest[i] == u64::MAX, single, "{tile:?} {problem:?}");
                        if single {
                            continue;
                        }
                        let bytes = |more| {
                            // All rows of the tile, as offsets are computed for all of them.
                            let all = Problem { m: m.max(tile.m), n: n.max(tile.n), ..problem };
                            let of = if transposed[i] { all } else { problem };
                            buffer_bytes(tile, of, longest.map(|most| most.min(1 << 40) + more))[i]
                        };
                        assert!(bytes(0) < 1 << 31, "{tile:?} {problem:?}");
                        assert!(bytes(1) >= 1 << 31, "{tile:?} {problem:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_tile_that_can_is_chosen_where_the_fastest_cannot() {
        // Rows of 256 k of the smallest tile would be too far apart.
        let wide = Problem { n: 4_300_000, k: 256, transposed: [false, true], ..PLAIN };
        assert_eq!(best_for(Problem { n: 4_000_000, ..wide }), SMALL);
        assert_ne!(best_for(wide), SMALL);
        assert!(best_for(wide).score(wide, 304) > 0.0);
        // More workgroups than HIP counts, but for the larger tiles.
        let blocks = Problem { m: 1, n: 1 << 30, k: 8, ..PLAIN };
        assert_eq!(SMALL.grid(blocks, Split::new(8, SMALL.k, 1)), None);
        let best = best_for(blocks);
        assert_eq!(best.grid(blocks, Split::new(8, best.k, 1)), Some((1 << 30) / best.n as u32));
        // None can: the one with the widest limit.
        let longest = Problem { m: 64, n: 1, k: Problem::MAX_SIZE, ..PLAIN };
        assert_eq!(best_for(longest), SMALL);
        assert!(SMALL.score(longest, 304) < 0.0);
    }

    #[test]
    fn a_single_row_may_be_as_long_as_can_be_counted() {
        for tile in TILES {
            let dot = Problem { m: 1, n: 1, k: Problem::MAX_SIZE, ..PLAIN };
            assert!(tile.load(dot, tile.split(dot, 304)) < 1.0);
        }
    }

    #[test]
    fn grids_are_counted_without_overflow() {
        let size = Problem::MAX_SIZE;
        let largest = Problem { m: size, n: size, k: size, ..PLAIN };
        for tile in TILES {
            let split = Split::new(size, tile.k, size);
            assert_eq!(tile.grid(largest, split), None);
            assert!(tile.score(largest, 304) < 0.0);
            let most = tile.most_workgroups();
            let rows = |blocks| Problem { m: 1, n: blocks * tile.n, k: 8, ..PLAIN };
            let one = Split::new(8, tile.k, 1);
            let fits = tile.grid(rows(most), one).map(u64::from);
            assert!(fits == Some(most) && most * tile.threads <= u64::from(u32::MAX));
            assert_eq!(tile.grid(rows(most + 1), one), None);
        }
    }
}
