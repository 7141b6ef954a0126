//! MUBUF and MTBUF: buffers behind a descriptor in four scalar registers.

mod format;

use std::sync::atomic::{Ordering, fence};

use super::access::{
    Access, Addresses, Hits, Space, base_in_region, check_regions, each, extremes, lower_access,
    vector_op,
};
use super::simd::SimdLevel;
use super::{Flow, MicroOp, Unsupported, WAVE, Wave};
use crate::isa::{Format, Inst};

/// Bits of [`MicroOp::flags`].
const OFFEN: u32 = 1 << 16;
const IDXEN: u32 = 1 << 17;
/// The instruction converts formats.
const TYPED: u32 = 1 << 18;

/// Lowers a MUBUF or MTBUF instruction.
pub(super) fn lower(inst: &Inst, level: SimdLevel) -> Result<MicroOp, Unsupported> {
    let opcode = inst.info.opcode;
    let mtbuf = inst.info.format == Format::Mtbuf;
    if !mtbuf && matches!(opcode, 40 | 41) {
        // Write-back and invalidation of the caches: the order of this thread's accesses.
        let fenced = |_: &mut Wave<'_>, _: &MicroOp| {
            fence(Ordering::SeqCst);
            Flow::Next
        };
        return Ok(MicroOp::new(fenced, inst));
    }
    let mut micro = if let Some(typed) = format::Typed::of(opcode, inst) {
        let mut micro = vector_op(typed.handler(), inst);
        micro.flags |= TYPED;
        micro.literal = typed.bits();
        micro
    } else {
        lower_access::<Buffer>(inst, level)?
    };
    let Some(descriptor) = inst.src[2].scalar_index() else {
        return Err(Unsupported::Operands("the descriptor is no scalar register"));
    };
    micro.dst1 = descriptor as u16;
    micro.src[3] = inst.src[3].code;
    if inst.mem.offen {
        micro.flags |= OFFEN;
    }
    if inst.mem.idxen {
        micro.flags |= IDXEN;
    }
    Ok(micro)
}

/// Fields of a buffer descriptor (CDNA4 ISA, table 48).
struct Descriptor {
    base: u64,
    stride: u64,
    records: u64,
    add_tid: bool,
    /// Lanes are interleaved by dwords, in groups of this many records.
    swizzle: Option<u64>,
    /// Format fields.
    word: u32,
}

impl Descriptor {
    #[inline(always)]
    fn of(wave: &Wave<'_>, op: &MicroOp) -> Self {
        let first = usize::from(op.dst1);
        let (base, word) = (wave.sgpr64(first), wave.sgpr[first + 3]);
        let add_tid = word >> 23 & 1 != 0;
        let mut stride = base >> 48 & 0x3fff;
        if add_tid && op.flags & TYPED == 0 {
            stride |= u64::from(word >> 15 & 15) << 14;
        }
        // Production kernels set the swizzle bit for accesses that are linear on the hardware; only
        // together with the lane number it interleaves.
        let swizzled = base >> 63 != 0 && add_tid;
        Self {
            base: base & 0xffff_ffff_ffff,
            stride,
            records: wave.sgpr[first + 2].into(),
            add_tid,
            swizzle: swizzled.then_some(8 << (word >> 21 & 3)),
            word,
        }
    }

    /// A descriptor without data format is an unbound resource: loads give 0, stores do nothing.
    /// With the lane number added, the field is part of the stride.
    fn is_unbound(&self) -> bool {
        !self.add_tid && self.word >> 15 & 15 == 0
    }
}

/// Memory of a buffer.
struct Buffer;

impl Space for Buffer {
    const LOCAL: bool = false;

    #[inline(always)]
    fn locate(
        wave: &mut Wave<'_>,
        op: &MicroOp,
        bytes: u32,
        access: Access,
        at: &mut Addresses,
    ) -> Result<Hits, Flow> {
        let buffer = Descriptor::of(wave, op);
        let exec = wave.exec();
        if op.flags & IDXEN == 0 && !buffer.add_tid && !buffer.is_unbound() {
            let soffset = u64::from(wave.scalar(op.src[3], 0)).wrapping_add(op.imm.into());
            let base = buffer.base.wrapping_add(soffset);
            // Last legal offset of a lane; negative if there is none.
            let limit = buffer.records.wrapping_sub(soffset + u64::from(bytes)).cast_signed();
            let inside = if op.flags & OFFEN != 0 {
                at.set_offsets(base, wave.row(usize::from(op.src[0])), limit, exec)
            } else {
                at.0 = [base; WAVE];
                limit >= 0
            };
            if inside {
                check_regions(wave, at, exec, bytes, access)?;
                return Ok(Hits::all_or_nothing(exec));
            }
        }
        locate_any(wave, op, &buffer, bytes, access, at)
    }

    #[inline(always)]
    fn locate_all(wave: &mut Wave<'_>, op: &MicroOp, bytes: u32) -> Option<u64> {
        let buffer = Descriptor::of(wave, op);
        let is_linear = op.flags & (IDXEN | OFFEN) == OFFEN && !buffer.add_tid;
        if wave.exec() != u64::MAX || !is_linear || buffer.is_unbound() {
            return None;
        }
        let soffset = u64::from(wave.scalar(op.src[3], 0)) + u64::from(op.imm);
        let limit = buffer.records.checked_sub(soffset + u64::from(bytes))?;
        let base = buffer.base.wrapping_add(soffset);
        let (_, greatest) = extremes(wave.row(usize::from(op.src[0])));
        if u64::from(greatest) > limit {
            return None;
        }
        base_in_region(wave, base, op.src[0], bytes)
    }
}

/// Locates the lanes of any buffer one by one.
#[inline(never)]
fn locate_any(
    wave: &mut Wave<'_>,
    op: &MicroOp,
    buffer: &Descriptor,
    bytes: u32,
    access: Access,
    at: &mut Addresses,
) -> Result<Hits, Flow> {
    let exec = wave.exec();
    let soffset = u64::from(wave.scalar(op.src[3], 0));
    let (idxen, offen) = (op.flags & IDXEN != 0, op.flags & OFFEN != 0);
    let first = usize::from(op.src[0]);
    let structured = idxen && buffer.stride != 0;
    let private = buffer.add_tid && !idxen;
    let mut hits = Hits { whole: 0, parts: [0; 4] };
    for lane in each(if buffer.is_unbound() { 0 } else { exec }) {
        let record = if idxen { u64::from(wave.row(first)[lane]) } else { 0 };
        let offset = if offen { u64::from(wave.row(first + usize::from(idxen))[lane]) } else { 0 }
            + u64::from(op.imm);
        let index = record + if buffer.add_tid { lane as u64 } else { 0 };
        let inside = match buffer.swizzle {
            None => index * buffer.stride + offset,
            Some(group) => {
                let row = index / group * buffer.stride + offset / 4 * 4;
                row * group + index % group * 4 + offset % 4
            }
        };
        at.0[lane] = buffer.base.wrapping_add(soffset).wrapping_add(inside);
        // Bytes from the lane's address to the end of the range.
        let left = match (private, structured) {
            (true, _) => u64::MAX,
            (_, true) => {
                if record < buffer.records {
                    u64::MAX
                } else {
                    0
                }
            }
            _ => buffer.records.saturating_sub(soffset + offset),
        };
        let bit = 1 << lane;
        if left >= u64::from(bytes) {
            hits.whole |= bit;
        }
        for (index, part) in hits.parts.iter_mut().enumerate() {
            if left >= 4 * (index as u64 + 1) {
                *part |= bit;
            }
        }
    }
    for part in &mut hits.parts {
        *part |= hits.whole;
    }
    for lane in each(!hits.whole & !hits.parts[0]) {
        at.0[lane] = Addresses::nowhere();
    }
    check_parts(wave, at, &hits, bytes, access)?;
    Ok(hits)
}

/// Checks that what a buffer allows is memory.
fn check_parts(
    wave: &mut Wave<'_>,
    at: &Addresses,
    hits: &Hits,
    bytes: u32,
    access: Access,
) -> Result<(), Flow> {
    let mut checked = Addresses(at.0);
    check_regions(wave, &mut checked, hits.whole, bytes, access)?;
    for index in 0..(bytes / 4) as usize {
        let some = hits.parts[index] & !hits.whole;
        if some != 0 {
            let mut checked = Addresses(at.0.map(|address| address + 4 * index as u64));
            check_regions(wave, &mut checked, some, 4, access)?;
        }
    }
    Ok(())
}
