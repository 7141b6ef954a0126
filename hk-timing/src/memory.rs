//! What is behind the L1: which level has a line, and how fast the levels are.
//!
//! Which level has the lines that a workgroup asks for first follows from footprints. Let `D(n)` be
//! the distinct lines of `n` workgroups. It is measured for samples and continued as `D(1) n^a`:
//! for neighbours on one XCD, which gives what the L2 must fetch for all that run at once, and for
//! workgroups all over the grid, which gives what the launch takes from HBM. Where workgroups share rows and
//! columns, few samples hardly meet and the second goes on too steeply, so it ends at the size of the
//! allocations that are read. A line that a workgroup asks for again is in the L2 if what all workgroups of the
//! XCD asked for since then fits there, by the first of these laws; else, of as many as are asked for by one of
//! those that share them, in the MALL, if what the whole chip asked for fits there; else in HBM.
//!
//! HBM loses time whenever it turns from reads to writes. How much follows from the bytes of both in the launch:
//! nothing with one of them, most with as many of each, for which there is a published rate.
//!
//! Latency under load comes from the servers: each compute unit has its share of every rate, and its
//! requests take turns. There is no further term for queues.

use std::collections::{BTreeSet, HashSet};

use hk_sim::exec::Dispatch;
use hk_sim::mem::Mapping;
use hk_sim::trace::{AccessKind, Counter, GroupTrace, LINE};

use crate::Parameters;

/// Where first requests of lines are served, as shares of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shares {
    /// Not in the L2.
    pub(crate) beyond_l2: f64,
    /// Of those, not in the MALL.
    pub(crate) beyond_mall: f64,
    /// Lines that all workgroups of an XCD, and of the chip, ask for, per line of one of them.
    pub(crate) per_line: [f64; 2],
    /// Bytes written, as a share of those that HBM reads or writes.
    pub(crate) written: f64,
}

/// The distinct lines of device memory that a workgroup reads.
fn lines(group: &GroupTrace) -> HashSet<u64> {
    let mut found = HashSet::new();
    for wave in &group.waves {
        for access in &wave.accesses {
            if access.counter != Counter::Scalar && access.kind != AccessKind::Store {
                found.extend(wave.lines_of(access).iter().map(|line| line.number));
            }
        }
    }
    found
}

/// Bytes that a workgroup writes to device memory.
fn written(group: &GroupTrace) -> f64 {
    let accesses = group.waves.iter().flat_map(|wave| &wave.accesses);
    let stores =
        accesses.filter(|of| of.counter != Counter::Scalar && of.kind == AccessKind::Store);
    stores.map(|of| f64::from(of.bytes)).sum()
}

/// Distinct lines of one workgroup on average, and the exponent of their growth.
fn growth(groups: &[&HashSet<u64>]) -> (f64, f64) {
    let count = groups.len() as f64;
    let sum: usize = groups.iter().map(|lines| lines.len()).sum();
    if sum == 0 {
        return (0.0, 1.0);
    }
    let mut union: HashSet<u64> = HashSet::new();
    groups.iter().for_each(|lines| union.extend(lines.iter()));
    let single = sum as f64 / count;
    let exponent =
        if groups.len() < 2 { 1.0 } else { (union.len() as f64 / single).ln() / count.ln() };
    (single, exponent.clamp(0.0, 1.0))
}

/// Lines of the allocations that these lines are in: a launch has no more. Infinite if a line is in none of
/// them, as those of private memory.
fn allocated(sets: &[HashSet<u64>], regions: &[Mapping]) -> f64 {
    let region_of = |line: &u64| {
        let address = line * LINE;
        let behind = regions.partition_point(|region| region.base <= address);
        let at = behind.checked_sub(1)?;
        (address < regions[at].base + regions[at].mapped).then_some(at)
    };
    let found: Option<BTreeSet<usize>> = sets.iter().flatten().map(region_of).collect();
    let lines = |at: usize| regions[at].len.div_ceil(LINE) as f64;
    found.map_or(f64::INFINITY, |found| found.into_iter().map(lines).sum())
}

impl Shares {
    /// Shares of a launch of `groups` workgroups, with `at_once` on each XCD at a time. The first `neighbours`
    /// traces are of one XCD; with `warm`, what the MALL can hold is there.
    pub(crate) fn of(
        dispatch: &Dispatch,
        traces: &[GroupTrace],
        neighbours: usize,
        groups: u64,
        at_once: f64,
        warm: bool,
        by: &Parameters,
    ) -> Self {
        let sets: Vec<_> = traces.iter().map(lines).collect();
        let near: Vec<_> = sets.iter().take(neighbours.max(1)).collect();
        let all: Vec<_> = sets.iter().collect();
        let (single, near) = growth(&near);
        let (average, far) = growth(&all);
        let stores = traces.iter().map(written).sum::<f64>() / traces.len().max(1) as f64;
        if single == 0.0 {
            let written = if stores == 0.0 { 0.0 } else { 1.0 };
            return Self { beyond_l2: 1.0, beyond_mall: 1.0, per_line: [1.0; 2], written };
        }
        let groups = groups as f64;
        let xcds = f64::from(dispatch.product.xcds);
        let of_chip = (at_once.max(1.0) * xcds).min(groups);
        let mut per_line = [at_once.max(1.0), of_chip].map(|groups| groups.powf(near));
        let beyond_l2 = at_once.max(1.0).powf(near - 1.0);
        let footprint = (average * groups.powf(far)).min(allocated(&sets, &dispatch.regions));
        let requests = average * groups * beyond_l2;
        let bytes = footprint * LINE as f64;
        let room = by.mall_effective * f64::from(1 << 20);
        let at_once = (at_once * xcds * average * beyond_l2).min(footprint) * LINE as f64;
        if bytes <= room {
            // Nothing leaves the MALL.
            per_line[1] = 0.0;
        }
        let beyond_mall = if bytes <= room && warm {
            0.0
        } else if at_once <= room {
            // What runs at once shares through the MALL what its XCDs do not.
            (footprint / requests).min(1.0)
        } else {
            1.0
        };
        let reads = average * LINE as f64 * beyond_l2 * beyond_mall;
        let written = if stores == 0.0 { 0.0 } else { stores / (stores + reads) };
        Self { beyond_l2, beyond_mall, per_line, written }
    }
}

/// A rate that all who ask share: each is served behind those before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Server {
    cycles_per_byte: f64,
    free: f64,
    busy: f64,
}

impl Server {
    pub(crate) fn new(bytes_per_cycle: f64) -> Self {
        Self { cycles_per_byte: 1.0 / bytes_per_cycle, free: 0.0, busy: 0.0 }
    }

    /// When a request of `bytes` that comes at `at` has been served.
    pub(crate) fn serve(&mut self, at: f64, bytes: f64) -> f64 {
        let cycles = bytes * self.cycles_per_byte;
        self.busy += cycles;
        self.free = self.free.max(at) + cycles;
        self.free
    }

    /// Cycles in which it served.
    pub(crate) fn busy(&self) -> f64 {
        self.busy
    }

    /// When all of it has been served.
    pub(crate) fn free(&self) -> f64 {
        self.free
    }
}

/// What a compute unit sees of the memory behind its L1.
#[derive(Clone, Debug)]
pub(crate) struct Back {
    /// Clock in GHz, by which nanoseconds become cycles.
    pub(crate) clock: f64,
    pub(crate) shares: Shares,
    pub(crate) l2_read: Server,
    pub(crate) l2_write: Server,
    pub(crate) fabric: Server,
    pub(crate) hbm: Server,
    /// Bytes of HBM that a byte written costs, in bytes read.
    pub(crate) write_cost: f64,
    /// Lines that a workgroup may ask for before one it had is no longer in the L2, and in the MALL.
    kept: [f64; 2],
    carry: [f64; 2],
    /// Bytes that the L2, what is behind it, and HBM were asked for.
    pub(crate) bytes: [f64; 3],
}

/// How much longer HBM takes for the same bytes because it turns between reads and writes, of which `written` is
/// the share of the latter. Of the times that a byte takes, half of each and both together are published.
fn turns(by: &Parameters, written: f64) -> f64 {
    let apart = (1.0 - written) / by.hbm_read + written / by.hbm_write;
    let lost = 1.0 / by.hbm_copy - (1.0 / by.hbm_read + 1.0 / by.hbm_write) / 2.0;
    1.0 + 4.0 * written * (1.0 - written) * lost.max(0.0) / apart
}

impl Back {
    /// With the share of one of `active` compute units, `per_xcd` of each XCD.
    pub(crate) fn new(
        by: &Parameters,
        clock: f64,
        shares: Shares,
        active: f64,
        per_xcd: f64,
    ) -> Self {
        // TB/s are thousands of bytes per cycle at a GHz.
        let rate = |terabytes: f64| terabytes * 1e3 / clock;
        let fabric = (rate(by.fabric_read) / per_xcd).min(rate(by.mall_rate) / active);
        Self {
            clock,
            shares,
            l2_read: Server::new(by.l2_read / per_xcd),
            l2_write: Server::new(by.l2_write / per_xcd),
            fabric: Server::new(fabric),
            hbm: Server::new(rate(by.hbm_peak * by.hbm_read) / active / turns(by, shares.written)),
            write_cost: by.hbm_read / by.hbm_write,
            kept: [by.l2_size / shares.per_line[0], by.mall_effective / shares.per_line[1]]
                .map(|of| of * f64::from(1 << 20) / LINE as f64),
            carry: [0.0; 2],
            bytes: [0.0; 3],
        }
    }

    /// Whether the next of many events is one of a share of them.
    fn next(carry: &mut f64, share: f64) -> bool {
        *carry += share;
        let is_one = *carry >= 1.0 - 1e-9;
        if is_one {
            *carry -= 1.0;
        }
        is_one
    }

    /// When a line that is asked for at `at` arrives, of which its workgroup asked for `since` others since it had
    /// it, if it did.
    pub(crate) fn read(&mut self, by: &Parameters, at: f64, bytes: f64, since: Option<u64>) -> f64 {
        self.bytes[0] += bytes;
        let served = self.l2_read.serve(at, bytes);
        let is_kept = since.is_some_and(|lines| lines as f64 <= self.kept[0]);
        if is_kept || !Self::next(&mut self.carry[0], self.shares.beyond_l2) {
            return served + by.l2_hit;
        }
        self.bytes[1] += bytes;
        let served = self.fabric.serve(served, bytes);
        let is_in_mall = match since {
            Some(lines) => lines as f64 <= self.kept[1],
            None => !Self::next(&mut self.carry[1], self.shares.beyond_mall),
        };
        if is_in_mall {
            return served + by.mall_latency * self.clock;
        }
        self.bytes[2] += bytes;
        self.hbm.serve(served, bytes) + by.hbm_latency * self.clock
    }

    /// When a line that is written at `at` has been taken. The L2 writes it to HBM later.
    pub(crate) fn write(&mut self, by: &Parameters, at: f64, bytes: f64) -> f64 {
        self.bytes[0] += bytes;
        self.bytes[2] += bytes;
        self.hbm.serve(at, bytes * self.write_cost);
        self.l2_write.serve(at, bytes) + by.l2_hit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_of_shared_and_of_own_lines() {
        let shared: HashSet<u64> = (0..64).collect();
        let own: Vec<HashSet<u64>> = (0..8).map(|n| (100 * n..100 * n + 64).collect()).collect();
        assert_eq!(growth(&[&shared; 8]), (64.0, 0.0));
        let (single, exponent) = growth(&own.iter().collect::<Vec<_>>());
        assert!(single == 64.0 && (exponent - 1.0).abs() < 1e-9);
        assert_eq!(growth(&[&HashSet::new()]), (0.0, 1.0));
    }

    #[test]
    fn a_line_is_where_it_still_fits() {
        let product = hk_sim::Product::by_name("mi300x").expect("it is one");
        let by = Parameters::of(product).expect("the set is whole");
        // Two workgroups of an XCD, and sixteen of the chip, each with its own lines.
        let per_line = [2.0, 16.0];
        let shares = Shares { beyond_l2: 1.0, beyond_mall: 1.0, per_line, written: 0.0 };
        let time = |since| {
            let mut back = Back::new(&by, 1.0, shares, 304.0, 38.0);
            (back.read(&by, 0.0, LINE as f64, since), back.bytes)
        };
        let (l2, mall) = ((2 << 20) / LINE, (12 << 20) / LINE);
        for (since, bytes) in [
            (None, [128.0; 3]),
            (Some(1), [128.0, 0.0, 0.0]),
            (Some(l2), [128.0, 0.0, 0.0]),
            (Some(l2 + 1), [128.0, 128.0, 0.0]),
            (Some(mall), [128.0, 128.0, 0.0]),
            (Some(mall + 1), [128.0; 3]),
        ] {
            assert_eq!(time(since).1, bytes, "{since:?}");
        }
        assert!(time(Some(1)).0 < time(Some(mall)).0 && time(Some(mall)).0 < time(None).0);
    }

    #[test]
    fn turning_costs_nothing_with_one_of_both_and_most_with_as_many() {
        let product = hk_sim::Product::by_name("mi300x").expect("it is one");
        let by = Parameters::of(product).expect("the set is whole");
        assert_eq!([turns(&by, 0.0), turns(&by, 1.0)], [1.0, 1.0]);
        let apart = (1.0 / by.hbm_read + 1.0 / by.hbm_write) / 2.0;
        assert!((turns(&by, 0.5) * apart * by.hbm_copy - 1.0).abs() < 1e-12);
        assert!(turns(&by, 0.25) > 1.0 && turns(&by, 0.25) < turns(&by, 0.5));
    }

    #[test]
    fn a_server_takes_turns() {
        let mut server = Server::new(2.0);
        assert_eq!([server.serve(10.0, 4.0), server.serve(0.0, 4.0)], [12.0, 14.0]);
        assert_eq!((server.serve(100.0, 2.0), server.free()), (101.0, 101.0));
    }
}
