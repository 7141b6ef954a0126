//! What a product of whole tiles has to move.

use hk_core::Arch;
use hk_core::dtype::DType;
use hk_ref::Case;

use super::config::Config;

/// Bytes of an access of a wave in which each lane has 16.
const ACCESS: usize = 64 * 16;

/// A product of whole tiles that one launch computes; the last step along k may be of fewer elements, a
/// multiple of 8.
#[derive(Clone, Copy)]
pub(super) struct Whole {
    /// m, n, k.
    pub(super) shape: [usize; 3],
    pub(super) result: DType,
    /// What is read of the epilogue's operands, 16 bytes a lane at once.
    pub(super) beside: usize,
}

impl Whole {
    /// The case, which may read each block's rows of x and of w once, no element behind the last k, and
    /// may store whole runs of y only.
    pub(super) fn limit(self, config: &Config, case: Case) -> Case {
        let Self { shape: [m, n, k], result, beside } = self;
        let blocks = (m / config.m) * (n / config.n);
        let read = blocks * (config.m + config.n) * k * config.dtype.size() + beside;
        // Nothing is read behind the last step, but such loads are made.
        let loads = blocks * config.loaded(k.div_ceil(config.k)) * config.loads();
        let stores = m * n * result.size() / (64 * config.run_bytes(result));
        case.most_read(read as u64).most_accesses((loads + stores + beside / ACCESS) as u64)
    }
}

impl Config {
    /// Of how many steps there are loads if so many are multiplied: beside these, of those whose loads are under
    /// way at the end. On CDNA4, loops end after whole turns over the slots of LDS, but for steps that load
    /// nothing; in ping-pong, there are halves of two.
    fn loaded(&self, steps: usize) -> usize {
        match (self.arch, self.ping_pong) {
            (Arch::Gfx942, _) => steps + 1,
            (_, true) => steps + 2,
            (_, false) => self.stages + steps / self.stages * self.stages,
        }
    }

    /// Loads of all waves for one step along k.
    fn loads(&self) -> usize {
        let transposes = |is_transposed| is_transposed && self.arch == Arch::Gfx942;
        let of = |rows: usize, is_transposed| {
            // Lanes that transpose what they load have four loads each.
            let each = if transposes(is_transposed) { 4 } else { 1 };
            let all = rows * self.k * self.dtype.size() / 16;
            (all / each).div_ceil(self.threads) * each * self.threads / 64
        };
        of(self.m, self.layout.x_is_transposed()) + of(self.n, self.layout.w_is_transposed())
    }

    /// Bytes that a lane stores at once: of 8 consecutive columns if a wave has 32 or more, else of 4.
    fn run_bytes(&self, result: DType) -> usize {
        let transposes = self.arch == Arch::Gfx950 && self.layout.w_is_transposed();
        let run = if self.n / self.waves_n >= 32 && !transposes { 8 } else { 4 };
        (run * result.size()).min(16)
    }
}
