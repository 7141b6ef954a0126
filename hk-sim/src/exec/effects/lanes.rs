//! Effective addresses of memory instructions, computed from the registers before the instruction
//! is executed and without any help from its handler.

use super::memory::{Access, Memory, Space};
use crate::exec::{M0, PRIVATE_APERTURE, SHARED_APERTURE, WAVE, Wave};
use crate::isa::Inst;

/// Numbers of the bits that are set, ascending.
#[inline(always)]
pub(crate) fn ones(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let bit = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            bit
        })
    })
}

/// What each lane of an instruction accesses.
pub(crate) struct Reach {
    /// Global address, or offset in LDS or in the lane's private memory.
    pub(crate) at: [u64; WAVE],
    /// Bytes per lane.
    pub(crate) bytes: u32,
    /// Lanes that access global memory.
    pub(crate) global: u64,
    /// Lanes that access LDS.
    pub(crate) lds: u64,
    /// Lanes that access private memory.
    pub(crate) private: u64,
    /// Lanes of which a descriptor cuts the access off; `cut` has their bytes.
    pub(crate) short: u64,
    pub(crate) cut: [u8; WAVE],
    /// What is accessed of global memory.
    pub(crate) in_global: Ranges,
    /// What is accessed of LDS.
    pub(crate) in_lds: Ranges,
}

impl Reach {
    pub(crate) fn new() -> Self {
        Self {
            at: [0; WAVE],
            bytes: 0,
            global: 0,
            lds: 0,
            private: 0,
            short: 0,
            cut: [0; WAVE],
            in_global: Ranges::new(),
            in_lds: Ranges::new(),
        }
    }

    /// Bytes that a lane accesses.
    #[inline(always)]
    pub(crate) fn len(&self, lane: usize) -> u32 {
        if self.short >> lane & 1 == 0 { self.bytes } else { self.cut[lane].into() }
    }

    /// Bytes of global memory that all lanes access.
    pub(crate) fn global_bytes(&self) -> u64 {
        let whole = u64::from((self.global & !self.short).count_ones()) * u64::from(self.bytes);
        ones(self.global & self.short).fold(whole, |sum, lane| sum + u64::from(self.cut[lane]))
    }

    /// The first of `lanes` that accesses a byte.
    pub(crate) fn lane_at(&self, lanes: u64, byte: u64) -> Option<u32> {
        let covers = |lane: &usize| {
            let start = self.at[*lane];
            start <= byte && byte - start < self.len(*lane).into()
        };
        ones(lanes).find(covers).map(|lane| lane as u32)
    }

    /// Merges the accesses of neighbouring lanes.
    fn merge(&mut self) {
        let Self { at, bytes, global, lds, short, cut, in_global, in_lds, .. } = self;
        let len = |lane: usize| if *short >> lane & 1 == 0 { *bytes } else { cut[lane].into() };
        for (lanes, ranges) in [(*global, in_global), (*lds, in_lds)] {
            if lanes == u64::MAX && *short == 0 {
                ranges.merge_all(at, *bytes);
            } else {
                ranges.merge(at, lanes, len);
            }
        }
    }
}

/// Bytes that consecutive lanes access.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Range {
    pub(crate) start: u64,
    pub(crate) len: u32,
    /// First lane.
    pub(crate) lane: u32,
}

impl Range {
    pub(crate) fn end(self) -> u64 {
        self.start.saturating_add(self.len.into())
    }
}

/// Up to one range per lane.
pub(crate) struct Ranges {
    list: [Range; WAVE],
    count: usize,
    /// Whether neighbouring lanes share an address.
    pub(crate) shared: bool,
}

impl Ranges {
    fn new() -> Self {
        Self { list: [Range::default(); WAVE], count: 0, shared: false }
    }

    /// Merges the accesses of all lanes, which have the same length.
    fn merge_all(&mut self, at: &[u64; WAVE], bytes: u32) {
        let (mut starts, mut shared) = (1, false);
        for (lane, pair) in at.windows(2).enumerate() {
            starts |= u64::from(pair[1] != pair[0].wrapping_add(bytes.into())) << (lane + 1);
            shared |= pair[1] == pair[0];
        }
        if shared {
            return self.merge(at, u64::MAX, |_| bytes);
        }
        (self.count, self.shared) = (0, false);
        while starts != 0 {
            let lane = starts.trailing_zeros();
            starts &= starts - 1;
            let len = (starts.trailing_zeros() - lane) * bytes;
            self.push(Range { start: at[lane as usize % WAVE], len, lane });
        }
    }

    /// Merges the accesses of `lanes`.
    fn merge(&mut self, at: &[u64; WAVE], lanes: u64, len: impl Fn(usize) -> u32) {
        (self.count, self.shared) = (0, false);
        let mut open = Range::default();
        for lane in ones(lanes) {
            let (at, len) = (at[lane], len(lane));
            if at == open.end() && open.len != 0 {
                open.len += len;
            } else if at == open.start && len == open.len {
                self.shared = true;
            } else {
                self.push(open);
                open = Range { start: at, len, lane: lane as u32 };
            }
        }
        self.push(open);
    }

    #[inline(always)]
    fn push(&mut self, range: Range) {
        if range.len != 0 {
            // At most one range per lane is pushed.
            self.list[self.count & 63] = range;
            self.count += 1;
        }
    }

    pub(crate) fn as_slice(&self) -> &[Range] {
        &self.list[..self.count.min(WAVE)]
    }
}

/// Finds what the lanes of a vector memory or LDS instruction access; with `second` at the second
/// address of a two-address operation. For a direct-to-LDS load this is the side that it reads.
pub(crate) fn locate(
    wave: &Wave<'_>,
    inst: &Inst,
    memory: &Memory,
    second: bool,
    reach: &mut Reach,
) {
    find(wave, inst, memory, second, reach);
    reach.merge();
}

#[inline]
fn find(wave: &Wave<'_>, inst: &Inst, memory: &Memory, second: bool, reach: &mut Reach) {
    let exec = wave.exec();
    reach.bytes = memory.bytes;
    (reach.global, reach.lds, reach.private, reach.short) = (0, 0, 0, 0);
    if exec == 0 {
        return;
    }
    let offset = if second { memory.second.unwrap_or(0) } else { memory.offset };
    let vaddr = inst.src[0].vector_index();
    match memory.space {
        Space::Lds => {
            let Some(row) = vaddr else { return };
            for (at, &base) in reach.at.iter_mut().zip(wave.row(row)) {
                *at = base.wrapping_add_signed(offset).into();
            }
            reach.lds = exec;
        }
        Space::LdsByLane => {
            let start = u64::from(wave.sgpr[M0] & 0x3_ffff) + u64::from(offset as u32);
            for (lane, at) in reach.at.iter_mut().enumerate() {
                *at = start + 4 * lane as u64;
            }
            reach.lds = exec;
        }
        Space::Global | Space::Flat => {
            let offset = i64::from(offset);
            let Some(row) = vaddr else { return };
            if let Some(saddr) = inst.src[2].scalar_index() {
                let base = wave.sgpr64(saddr).wrapping_add_signed(offset);
                for (at, &low) in reach.at.iter_mut().zip(wave.row(row)) {
                    *at = base.wrapping_add(low.into());
                }
            } else {
                let (low, high) = (wave.row(row), wave.row((row + 1) & 511));
                for (lane, at) in reach.at.iter_mut().enumerate() {
                    let address = u64::from(low[lane]) | u64::from(high[lane]) << 32;
                    *at = address.wrapping_add_signed(offset);
                }
            }
            reach.global = exec;
            if memory.space == Space::Flat {
                split_apertures(reach);
            }
        }
        Space::Scratch => {
            let scalar = inst.src[2].scalar_index().map_or(0, |index| wave.sgpr[index]);
            let uniform = scalar.wrapping_add_signed(offset);
            for (lane, at) in reach.at.iter_mut().enumerate() {
                let vector = vaddr.map_or(0, |row| wave.row(row)[lane]);
                *at = uniform.wrapping_add(vector).into();
            }
            reach.private = exec;
        }
        Space::Buffer => buffer(wave, inst, memory, exec, reach),
        Space::Scalar | Space::ScalarBuffer | Space::None => {}
    }
}

/// Moves the lanes of a generic access that are in an aperture to where they belong.
fn split_apertures(reach: &mut Reach) {
    for lane in ones(reach.global) {
        let bit = 1 << lane;
        let at = &mut reach.at[lane];
        match *at >> 32 << 32 {
            SHARED_APERTURE => reach.lds |= bit,
            PRIVATE_APERTURE => reach.private |= bit,
            _ => continue,
        }
        *at &= 0xffff_ffff;
        reach.global &= !bit;
    }
}

/// The range check of buffers (CDNA4 ISA, 9.1.5).
fn buffer(wave: &Wave<'_>, inst: &Inst, memory: &Memory, exec: u64, reach: &mut Reach) {
    let Some(descriptor) = inst.src[2].scalar_index() else { return };
    let low = wave.sgpr64(descriptor);
    let records = u64::from(wave.sgpr[(descriptor + 2) & 127]);
    let word = wave.sgpr[(descriptor + 3) & 127];
    let format = word >> 15 & 15;
    let add_tid = word >> 23 & 1 != 0;
    if !add_tid && format == 0 {
        return;
    }
    let base = low & 0xffff_ffff_ffff;
    let stride = low >> 48 & 0x3fff | if add_tid { u64::from(format) << 14 } else { 0 };
    let swizzle = (low >> 63 != 0 && add_tid).then_some(8u64 << (word >> 21 & 3));
    let soffset = u64::from(wave.scalar(inst.src[3].code, inst.literal));
    let (idxen, offen) = (inst.mem.idxen, inst.mem.offen);
    let first = inst.src[0].vector_index().unwrap_or(0);
    let index_row = idxen.then(|| wave.row(first));
    let offset_row = offen.then(|| wave.row(first + usize::from(idxen)));
    let bytes = u64::from(memory.bytes);
    for lane in ones(exec) {
        let record = index_row.map_or(0, |row| u64::from(row[lane]));
        let offset = offset_row.map_or(0, |row| u64::from(row[lane])) + memory.offset as u64;
        let index = record + if add_tid { lane as u64 } else { 0 };
        let inside = match swizzle {
            None => index * stride + offset,
            Some(group) => {
                let row = index / group * stride + offset / 4 * 4;
                row * group + index % group * 4 + offset % 4
            }
        };
        let left = if add_tid && !idxen {
            u64::MAX
        } else if idxen && stride != 0 {
            if record < records { u64::MAX } else { 0 }
        } else {
            records.saturating_sub(soffset + offset)
        };
        reach.at[lane] = base.wrapping_add(soffset).wrapping_add(inside);
        let bit = 1 << lane;
        if left >= bytes {
            reach.global |= bit;
        } else if left >= 4 && memory.access != Access::Atomic {
            // The check is made for each dword.
            reach.global |= bit;
            reach.short |= bit;
            reach.cut[lane] = (left / 4 * 4) as u8;
        }
    }
}

/// The LDS side of a direct-to-LDS load: every active lane fills its slot.
pub(crate) fn locate_slots(
    wave: &Wave<'_>,
    memory: &Memory,
    slot: u32,
    exec: u64,
    reach: &mut Reach,
) {
    let start = i64::from(wave.sgpr[M0] & 0x3_fffc) + i64::from(memory.offset);
    reach.bytes = memory.bytes.max(4);
    (reach.global, reach.lds, reach.private, reach.short) = (0, exec, 0, 0);
    for (lane, at) in reach.at.iter_mut().enumerate() {
        *at = start.wrapping_add(i64::from(slot) * lane as i64) as u64;
    }
    reach.merge();
}

/// Base and offsets of the address of a scalar memory instruction.
fn scalar_address(wave: &Wave<'_>, inst: &Inst) -> Option<(u64, [i64; 2])> {
    let base = wave.sgpr64(inst.src[0].scalar_index()?);
    let soffset = inst.src[1].scalar_index().map_or(0, |index| i64::from(wave.sgpr[index]));
    let scaled = inst.info.base().contains("scratch");
    Some((base, [inst.offset.into(), if scaled { 64 * soffset } else { soffset }]))
}

/// Address of a scalar memory instruction if a part of it has low bits, which the hardware ignores.
pub(crate) fn unaligned_scalar(wave: &Wave<'_>, inst: &Inst, memory: &Memory) -> Option<u64> {
    let (base, [offset, soffset]) = scalar_address(wave, inst)?;
    let base = if memory.space == Space::ScalarBuffer { base & 0xffff_ffff_ffff } else { base };
    let address = base.wrapping_add_signed(offset).wrapping_add_signed(soffset);
    ((base | offset as u64 | soffset as u64) & 3 != 0).then_some(address)
}

/// Address and bytes of a scalar memory instruction; what a descriptor cuts off is left out.
pub(crate) fn locate_scalar(wave: &Wave<'_>, inst: &Inst, memory: &Memory) -> (u64, u32) {
    let Some((base, [offset, soffset])) = scalar_address(wave, inst) else { return (0, 0) };
    let offset = offset.wrapping_add(soffset);
    if memory.space != Space::ScalarBuffer {
        return (base.wrapping_add_signed(offset) & !3, memory.bytes);
    }
    let stride = base >> 48 & 0x3fff;
    let descriptor = inst.src[0].scalar_index().unwrap_or(0);
    let records = u64::from(wave.sgpr[(descriptor + 2) & 127]);
    let size = if stride == 0 { records } else { records * stride };
    let offset = (offset & !3) as u64;
    let left = size.saturating_sub(offset) & !3;
    let start = (base & 0xffff_ffff_fffc).wrapping_add(offset);
    (start, u64::from(memory.bytes).min(left) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(bytes: u32, at: impl Fn(u64) -> u64) -> Reach {
        Reach { bytes, at: std::array::from_fn(|lane| at(lane as u64)), ..Reach::new() }
    }

    fn merged(reach: &mut Reach, lanes: u64) -> Vec<(u64, u32, u32)> {
        reach.global = lanes;
        reach.merge();
        assert!(reach.in_lds.as_slice().is_empty());
        reach
            .in_global
            .as_slice()
            .iter()
            .map(|range| (range.start, range.len, range.lane))
            .collect()
    }

    #[test]
    fn accesses_of_neighbours_are_merged() {
        assert_eq!(merged(&mut reach(4, |lane| 100 + 4 * lane), u64::MAX), [(100, 256, 0)]);
        assert_eq!(merged(&mut reach(4, |_| 8), u64::MAX), [(8, 4, 0)]);
        assert_eq!(merged(&mut reach(4, |lane| 4 * lane), 0b1011), [(0, 8, 0), (12, 4, 3)]);
        assert_eq!(merged(&mut reach(4, |lane| 4 * lane), 0), []);
        assert_eq!(merged(&mut reach(4, |_| u64::MAX - 3), 0b11), [(u64::MAX - 3, 4, 0)]);
        let mut rows = reach(16, |lane| lane / 32 * 4096 + lane % 32 * 16);
        assert_eq!(merged(&mut rows, u64::MAX), [(0, 512, 0), (4096, 512, 32)]);
        let scattered = merged(&mut reach(4, |lane| 1000 - 8 * lane), u64::MAX);
        assert_eq!(scattered.len(), WAVE);
        let mut cut = reach(16, |lane| 16 * lane);
        (cut.short, cut.cut[1]) = (2, 4);
        assert_eq!(merged(&mut cut, 0b111), [(0, 20, 0), (32, 16, 2)]);
    }
}
