//! How long accesses to memory and LDS take, on the way through the ports of a compute unit.

use std::collections::VecDeque;

use hk_sim::isa::Arch;
use hk_sim::trace::{Access, AccessKind, Counter, LINE};

use super::{L1_SETS, Outstanding, Reason, Unit, Wave};
use crate::instruction::{Kind, SLOT};

/// Commands and data entries of an LDS port.
const LDS_COMMANDS: usize = 8;
const LDS_ENTRIES: u64 = 10;
const L1_WAYS: usize = 64;

#[derive(Default)]
pub(super) struct Port {
    free: f64,
    /// End and data entries of what is in the queue.
    queue: VecDeque<(u64, u64)>,
}

impl Unit<'_> {
    /// Starts an access that a wave issues at `now`: its counter goes up until it has been served.
    pub(super) fn access(&mut self, wave: &mut Wave<'_>, access: &Access, kind: Kind, now: u64) {
        self.done.asked += u64::from(access.bytes);
        match access.counter {
            Counter::Scalar => {
                let latency = self.scalar_access(wave, access, now);
                wave.lgkm.retain(|of| of.end > now);
                let reason = Reason::ScalarWait;
                wave.lgkm.push(Outstanding { end: latency, reason, conflicts: 0 });
            }
            Counter::Lds => {
                let end = self.lds(wave.simd / 2, access, now);
                wave.lgkm.retain(|of| of.end > now);
                let end = wave.lgkm.iter().map(|of| of.end).fold(end, u64::max);
                let conflicts = u64::from(access.lds_conflicts);
                wave.lgkm.push(Outstanding { end, reason: Reason::LdsWait, conflicts });
            }
            Counter::Vector | Counter::Flat => {
                let bypass = kind == Kind::VectorMemory { bypass: true };
                let mut end = self.vector_memory(wave, access, bypass, now);
                if access.kind == AccessKind::ToLds {
                    end += self.lds_from_memory(access, now);
                } else if access.lds_phases != 0 {
                    end = end.max(self.lds(wave.simd / 2, access, now));
                }
                while wave.vector.front().is_some_and(|end| *end <= now) {
                    wave.vector.pop_front();
                }
                let end = end.max(wave.vector.back().copied().unwrap_or(0));
                wave.vector.push_back(end);
                if access.counter == Counter::Flat {
                    wave.lgkm.retain(|of| of.end > now);
                    wave.lgkm.push(Outstanding { end, reason: Reason::VectorWait, conflicts: 0 });
                }
            }
        }
    }

    fn scalar_access(&mut self, wave: &Wave<'_>, access: &Access, now: u64) -> u64 {
        self.scalar = now + SLOT;
        let mut latency = self.by.scalar_hit;
        for line in wave.trace.lines_of(access) {
            if self.scalar_lines.insert(line.number) {
                latency = self.by.scalar_miss;
            }
        }
        now + latency as u64
    }

    /// When an access to LDS that is issued at `now` has been served.
    fn lds(&mut self, port: usize, access: &Access, now: u64) -> u64 {
        let (dwords, busy) = port_cycles(self.arch, access);
        let array = f64::from(access.lds_phases + access.lds_conflicts);
        let port = &mut self.ports[port];
        let start = port.free.max(now as f64);
        let in_array = self.array.max(start) + array;
        self.array = in_array;
        let end = in_array.max(start + busy);
        self.done.lds_port += end - start;
        port.free = end;
        while port.queue.front().is_some_and(|(end, _)| *end <= now) {
            port.queue.pop_front();
        }
        port.queue.push_back((end.ceil() as u64, dwords));
        self.done.lds_array += u64::from(access.lds_phases + access.lds_conflicts);
        self.done.lds_conflicts += u64::from(access.lds_conflicts);
        let returns = matches!(access.kind, AccessKind::Load | AccessKind::Atomic);
        let more = if returns { self.by.lds_roundtrip } else { 0.0 };
        (end + more).ceil() as u64
    }

    /// Cycles that data from memory, asked for at `now`, take in the array of LDS; they need no port. They
    /// count from now on: when the data come is known before, but others are served until then.
    fn lds_from_memory(&mut self, access: &Access, now: u64) -> u64 {
        let cycles = u64::from(access.lds_phases + access.lds_conflicts);
        self.array = self.array.max(now as f64) + cycles as f64;
        self.done.lds_array += cycles;
        self.done.lds_conflicts += u64::from(access.lds_conflicts);
        cycles
    }

    /// When an access to device memory that is issued at `now` has been served.
    fn vector_memory(&mut self, wave: &Wave<'_>, access: &Access, bypass: bool, now: u64) -> u64 {
        let lines = wave.trace.lines_of(access);
        let mut of_set = [0_u32; L1_SETS];
        for line in lines {
            of_set[line.number as usize % L1_SETS] += 1;
        }
        let most = of_set.into_iter().max().unwrap_or(0);
        let rate =
            if access.kind == AccessKind::ToLds { self.by.dtl_return } else { self.by.l1_return };
        let cycles = (f64::from(access.bytes) / rate).max(f64::from(most)).max(SLOT as f64);
        let start = self.pipe.max(now as f64);
        let piped = start + cycles;
        self.pipe = piped;
        self.done.l1 += cycles;
        let mut end = piped;
        for line in lines {
            let bytes = f64::from(line.bytes);
            let served = match access.kind {
                AccessKind::Load | AccessKind::ToLds => {
                    // No line of another workgroup is shared in the L1.
                    let tag = line.number.wrapping_mul(1 << 12) ^ wave.group as u64;
                    if !bypass && self.l1_hit(line.number as usize % L1_SETS, tag) {
                        piped + self.by.l1_hit - SLOT as f64
                    } else {
                        let at = room(&mut self.inflight, self.by.l1_inflight, start);
                        let since = self.groups[wave.group].ask(line.number);
                        let mut there = self.back.read(self.by, at, LINE as f64, since);
                        if bypass {
                            there += self.by.l1_bypass;
                        }
                        enter(&mut self.inflight, there);
                        there.max(piped)
                    }
                }
                AccessKind::Store => {
                    let at = room(&mut self.writes, self.by.wr_inflight, piped);
                    let there = self.back.write(self.by, at, bytes);
                    enter(&mut self.writes, there);
                    there
                }
                AccessKind::Atomic => {
                    let since = self.groups[wave.group].ask(line.number);
                    self.back.read(self.by, piped, bytes, since) + self.by.l2_atomic
                }
            };
            end = end.max(served);
        }
        end.ceil() as u64
    }

    /// Whether the L1 has a line, which it has afterwards.
    fn l1_hit(&mut self, set: usize, tag: u64) -> bool {
        let set = &mut self.l1[set];
        let found = set.iter().position(|&line| line == tag);
        if let Some(at) = found {
            set.remove(at);
        } else if set.len() == L1_WAYS {
            set.pop_front();
        }
        set.push_back(tag);
        found.is_some()
    }
}

impl Port {
    /// When the queue takes an access.
    pub(super) fn accepts(&self, access: &Access) -> u64 {
        let entries = entries(access);
        let (mut commands, mut data) = (0, 0);
        // From the last on: as many as may stand before it.
        for &(end, taken) in self.queue.iter().rev() {
            commands += 1;
            data += taken;
            if commands >= LDS_COMMANDS || data + entries > LDS_ENTRIES {
                return end;
            }
        }
        0
    }
}

/// Data entries of the port's queue that an access takes; one access may fill them.
fn entries(access: &Access) -> u64 {
    match access.kind {
        AccessKind::Load | AccessKind::ToLds => 1,
        AccessKind::Store | AccessKind::Atomic => (1 + u64::from(access.dwords)).min(LDS_ENTRIES),
    }
}

/// Data entries, and cycles of the port.
fn port_cycles(arch: Arch, access: &Access) -> (u64, f64) {
    let cycles = match (access.kind, access.dwords) {
        (AccessKind::Load, 0 | 1) => 4.0,
        (AccessKind::Load, 2) => {
            if arch == Arch::Gfx950 {
                4.0
            } else {
                8.0
            }
        }
        (AccessKind::Load, 4) => {
            if arch == Arch::Gfx950 {
                8.0
            } else {
                16.0
            }
        }
        (AccessKind::Load, 3) => 16.0,
        (AccessKind::ToLds, _) => 0.0,
        (AccessKind::Load, dwords) | (AccessKind::Store | AccessKind::Atomic, dwords) => {
            f64::from(4 + 4 * dwords)
        }
    };
    (entries(access), cycles)
}

/// When one of `most` places is free for what comes at `at`.
fn room(queue: &mut VecDeque<f64>, most: f64, at: f64) -> f64 {
    while queue.front().is_some_and(|&end| end <= at) {
        queue.pop_front();
    }
    let over = (queue.len() + 1).saturating_sub(most as usize);
    over.checked_sub(1).and_then(|last| queue.get(last)).map_or(at, |&end| end.max(at))
}

/// Notes the end of what took a place; the queue is sorted.
fn enter(queue: &mut VecDeque<f64>, end: f64) {
    let at = queue.partition_point(|&other| other <= end);
    queue.insert(at, end);
}
