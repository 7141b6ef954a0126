//! What the lanes of one vector memory or LDS instruction move.

use super::facts::{Access, Facts, Memory, ones};
use crate::exec::Wave;
use crate::exec::effects::Reach;

/// Most bytes that are compared at a time.
const MOST: usize = 256;

/// One instruction at one of its addresses.
pub(super) struct Transfer<'t, 'w> {
    wave: &'t Wave<'w>,
    reach: &'t Reach,
    /// Lanes that are concerned.
    lanes: u64,
    /// First row of the data of a store.
    data: Option<usize>,
    /// Bits of a row below the data of a store.
    below: usize,
}

impl<'t, 'w> Transfer<'t, 'w> {
    /// The lanes are those of `reach` that access LDS, or those that access device memory.
    pub(super) fn new(
        wave: &'t Wave<'w>,
        facts: &Facts,
        memory: &Memory,
        second: bool,
        lanes: u64,
        reach: &'t Reach,
    ) -> Self {
        let row = if second { memory.second_data } else { memory.data };
        let data = row.filter(|_| memory.access == Access::Store);
        let below = if facts.inst.info.base().ends_with("_d16_hi") { 16 } else { 0 };
        Self { wave, reach, lanes, data, below }
    }

    /// The first lane that accesses a byte.
    pub(super) fn lane_at(&self, address: u64) -> Option<u32> {
        self.reach.lane_at(self.lanes, address)
    }

    /// Byte number `at` of what a lane stores.
    fn byte(&self, data: usize, lane: usize, at: usize) -> u8 {
        (self.wave.row((data + at / 4) & 511)[lane] >> (self.below + at % 4 * 8)) as u8
    }

    /// Whether a store leaves `len` bytes as they are, which `peek` copies.
    pub(super) fn leaves(
        &self,
        start: u64,
        len: u64,
        peek: impl FnOnce(&Wave<'_>, &mut [u8]) -> bool,
    ) -> bool {
        let (mut now, len) = ([0; MOST], len as usize);
        let Some(data) = self.data.filter(|_| len <= MOST) else { return false };
        if !peek(self.wave, &mut now[..len]) {
            return false;
        }
        let mut then = now;
        for lane in ones(self.lanes) {
            let at = self.reach.at[lane];
            let end = at.saturating_add(self.reach.len(lane).into()).min(start + len as u64);
            for address in at.max(start)..end {
                then[(address - start) as usize] = self.byte(data, lane, (address - at) as usize);
            }
        }
        then[..len] == now[..len]
    }

    /// Two lanes that store different bytes to one address, and the address.
    pub(super) fn disagreement(&self) -> Option<([usize; 2], u64)> {
        let data = self.data?;
        let mut order: Vec<usize> = ones(self.lanes).collect();
        order.sort_by_key(|&lane| self.reach.at[lane]);
        // All have the same length, so who agrees with the next agrees with those behind it.
        order.windows(2).find_map(|pair| {
            let [first, second] = [pair[0], pair[1]];
            let [at, start] = [first, second].map(|lane| self.reach.at[lane]);
            let end = at
                .saturating_add(self.reach.len(first).into())
                .min(start.saturating_add(self.reach.len(second).into()));
            let differs = |address: &u64| {
                let byte = |lane, at| self.byte(data, lane, (address - at) as usize);
                byte(first, at) != byte(second, start)
            };
            (start..end).find(differs).map(|address| ([first, second], address))
        })
    }
}
