//! Bank conflicts of LDS.

use crate::isa::Arch;

/// What an access does to LDS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
    Atomic,
}

/// Most lanes of a phase, and so most dwords of one bank.
const LANES: usize = 64;
/// Most banks.
const BANKS: usize = 64;
/// Most phases.
const PHASES: usize = 8;

/// Phase of each quad of lanes in half a wave, for reads of three dwords, and of four on gfx942.
const EIGHT_LANES: [usize; 8] = [0, 1, 2, 3, 1, 0, 3, 2];
/// The same for reads of four dwords on gfx950.
const SIXTEEN_LANES: [usize; 8] = [0, 1, 1, 0, 1, 0, 0, 1];

/// Phase of a lane.
fn phase(arch: Arch, direction: Direction, dwords: usize, lane: usize) -> usize {
    let (half, quad) = (lane / 32, lane % 32 / 4);
    let wide = arch == Arch::Gfx950;
    match (direction, dwords) {
        (Direction::Read, 1) if wide => 0,
        (Direction::Read, 2) if wide => half,
        (Direction::Read, 4) if wide => 2 * half + SIXTEEN_LANES[quad],
        (_, 1) => half,
        (_, 2) => lane / 16,
        (Direction::Read, _) => 4 * half + EIGHT_LANES[quad],
        _ => lane / 8,
    }
}

fn banks(arch: Arch, direction: Direction, dwords: usize) -> usize {
    let wide = arch == Arch::Gfx950 && direction == Direction::Read && dwords != 3;
    if wide { BANKS } else { BANKS / 2 }
}

/// Counts conflicts.
pub(crate) struct Banks {
    /// Dwords asked of each bank in a phase, and how many; kept to save their initialisation.
    dwords: Box<[[u64; LANES]; BANKS]>,
    asked: [usize; BANKS],
    /// Accesses that were counted, those that come often first: loops repeat a few.
    counted: Vec<Counted>,
}

/// How many accesses are remembered.
const REMEMBERED: usize = 16;

/// An access without the dword that it begins at, which does not matter: it moves all banks alike.
#[derive(Clone, PartialEq)]
struct Pattern {
    arch: Arch,
    direction: Direction,
    bytes: u32,
    lanes: u64,
    /// Of each lane that takes part, from the first one's dword.
    offsets: [u32; LANES],
}

struct Counted {
    pattern: Pattern,
    cycles: u64,
}

impl Pattern {
    fn new(arch: Arch, direction: Direction, bytes: u32, lanes: u64, at: &[u64; LANES]) -> Self {
        let first = at[lanes.trailing_zeros() as usize % LANES] / 4 * 4;
        let offset = |lane: usize| match lanes >> lane & 1 {
            0 => 0,
            _ => at[lane].wrapping_sub(first) as u32,
        };
        Self { arch, direction, bytes, lanes, offsets: std::array::from_fn(offset) }
    }
}

impl Banks {
    pub(crate) fn new() -> Self {
        let dwords = Box::new([[0; LANES]; BANKS]);
        Self { dwords, asked: [0; BANKS], counted: Vec::with_capacity(REMEMBERED) }
    }

    /// Phases in which an access of `bytes` bytes by `lanes` is served.
    pub(crate) fn phases(arch: Arch, direction: Direction, bytes: u32, lanes: u64) -> u32 {
        let width = bytes.div_ceil(4).clamp(1, 4) as usize;
        let of = |lane| phase(arch, direction, width, lane);
        let found = (0..LANES).filter(|lane| lanes >> lane & 1 != 0);
        found.fold(0_u32, |seen, lane| seen | 1 << of(lane)).count_ones()
    }

    /// Cycles that conflicts add to an access of `bytes` bytes at the LDS offsets `at` of `lanes`.
    pub(crate) fn conflict_cycles(
        &mut self,
        arch: Arch,
        direction: Direction,
        bytes: u32,
        lanes: u64,
        at: &[u64; LANES],
    ) -> u64 {
        let pattern = Pattern::new(arch, direction, bytes, lanes, at);
        if let Some(found) = self.counted.iter().position(|counted| counted.pattern == pattern) {
            let cycles = self.counted[found].cycles;
            self.counted.swap(found, found / 2);
            return cycles;
        }
        let cycles = self.count(arch, direction, bytes, lanes, at);
        self.counted.truncate(REMEMBERED - 1);
        self.counted.insert(0, Counted { pattern, cycles });
        cycles
    }

    fn count(
        &mut self,
        arch: Arch,
        direction: Direction,
        bytes: u32,
        lanes: u64,
        at: &[u64; LANES],
    ) -> u64 {
        let width = bytes.div_ceil(4).clamp(1, 4) as usize;
        let banks = banks(arch, direction, width);
        let mut of_phase = [0; PHASES];
        for lane in (0..LANES).filter(|lane| lanes >> lane & 1 != 0) {
            of_phase[phase(arch, direction, width, lane)] |= 1_u64 << lane;
        }
        let mut cycles = 0;
        for lanes in of_phase.into_iter().filter(|lanes| *lanes != 0) {
            self.asked.fill(0);
            for (_, &start) in at.iter().enumerate().filter(|(lane, _)| lanes >> lane & 1 != 0) {
                for dword in start / 4..(start + u64::from(bytes)).div_ceil(4) {
                    self.ask(dword as usize % banks, dword, direction);
                }
            }
            let busiest = self.asked.iter().max().copied().unwrap_or(0);
            cycles += busiest.saturating_sub(1) as u64;
        }
        cycles
    }

    fn ask(&mut self, bank: usize, dword: u64, direction: Direction) {
        let (dwords, asked) = (&mut self.dwords[bank], &mut self.asked[bank]);
        // Lanes share a dword, unless each changes it.
        let shared = direction != Direction::Atomic && dwords[..*asked].contains(&dword);
        if !shared && *asked < LANES {
            dwords[*asked] = dword;
            *asked += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycles(arch: Arch, direction: Direction, bytes: u32, at: impl Fn(u64) -> u64) -> u64 {
        let at = std::array::from_fn(|lane| at(lane as u64));
        Banks::new().conflict_cycles(arch, direction, bytes, u64::MAX, &at)
    }

    #[test]
    fn a_pattern_counts_the_same_wherever_it_begins() {
        let mut banks = Banks::new();
        for turn in 0..100_u64 {
            // More patterns than are remembered, some of which differ in one lane, each moved about.
            let stride = 4 << (turn % 5);
            let odd = turn % 7;
            let first = turn % 3 * 36 + turn % 4;
            let at = std::array::from_fn(|lane| {
                let lane = lane as u64;
                first + lane * stride + if lane == 9 { 4 * odd } else { 0 }
            });
            let count = |banks: &mut Banks| {
                banks.conflict_cycles(Arch::Gfx942, Direction::Read, 4, u64::MAX, &at)
            };
            let fresh = count(&mut Banks::new());
            assert_eq!(count(&mut banks), fresh, "{turn}");
        }
    }

    #[test]
    fn contiguous_and_broadcast_accesses_have_no_conflicts() {
        for arch in [Arch::Gfx942, Arch::Gfx950] {
            for direction in [Direction::Read, Direction::Write] {
                for bytes in [1, 2, 4, 8, 16] {
                    assert_eq!(cycles(arch, direction, bytes, |lane| lane * u64::from(bytes)), 0);
                }
            }
            assert_eq!(cycles(arch, Direction::Read, 4, |_| 20), 0);
            assert_eq!(cycles(arch, Direction::Read, 16, |_| 64), 0);
        }
    }

    #[test]
    fn a_stride_of_all_banks_is_fully_serial() {
        use Direction::{Read, Write};
        // Lanes less phases: what counters of an MI300X show, 62, 60 and 56 for reads.
        for (direction, bytes, gfx942, gfx950) in [
            (Read, 4, 62, 63),
            (Read, 8, 60, 62),
            (Read, 16, 56, 60),
            (Read, 12, 56, 56),
            (Write, 4, 62, 62),
            (Write, 8, 60, 60),
            (Write, 16, 56, 56),
        ] {
            let stride = |lane| lane * 256;
            assert_eq!(cycles(Arch::Gfx942, direction, bytes, stride), gfx942, "{bytes}");
            assert_eq!(cycles(Arch::Gfx950, direction, bytes, stride), gfx950, "{bytes}");
        }
    }

    #[test]
    fn lanes_of_other_phases_do_not_conflict() {
        // Quads 0 and 5 share a phase on gfx942, quads 0 and 4 do not.
        let only = |quad: u64| 0xf_u64 << (4 * quad);
        let apart = |quads: [u64; 2], arch| {
            let at =
                std::array::from_fn(|lane| if lane / 4 == quads[1] as usize { 4096 } else { 0 });
            let lanes = only(quads[0]) | only(quads[1]);
            Banks::new().conflict_cycles(arch, Direction::Read, 16, lanes, &at)
        };
        assert_eq!([apart([0, 5], Arch::Gfx942), apart([0, 4], Arch::Gfx942)], [1, 0]);
        assert_eq!([apart([0, 3], Arch::Gfx950), apart([0, 4], Arch::Gfx950)], [1, 0]);
    }

    #[test]
    fn phases_are_those_of_lanes_that_take_part() {
        let phases = |bytes, lanes| {
            let of = |arch| Banks::phases(arch, Direction::Read, bytes, lanes);
            [of(Arch::Gfx942), of(Arch::Gfx950)]
        };
        assert_eq!(phases(4, u64::MAX), [2, 1]);
        assert_eq!(phases(8, u64::MAX), [4, 2]);
        assert_eq!(phases(16, u64::MAX), [8, 4]);
        assert_eq!((phases(8, 1), phases(16, 0)), ([1, 1], [0, 0]));
    }

    #[test]
    fn atomics_of_one_dword_take_turns() {
        assert_eq!(cycles(Arch::Gfx942, Direction::Atomic, 4, |_| 0), 62);
        assert_eq!(cycles(Arch::Gfx942, Direction::Atomic, 4, |lane| 4 * lane), 0);
        assert_eq!(cycles(Arch::Gfx942, Direction::Write, 4, |_| 0), 0);
    }
}
