//! FLAT, GLOBAL and SCRATCH instructions.

use super::access::{
    Access, Addresses, Hits, Space, base_in_region, check_regions, each, lower_access, spread,
    violation,
};
use super::simd::SimdLevel;
use super::wave::{PRIVATE_APERTURE, SHARED_APERTURE};
use super::{Flow, MicroOp, Unsupported, WAVE, Wave};
use crate::isa::{Format, Inst};

/// Value of `src[3]` where the instruction has no scalar address.
const NO_SGPR: u16 = u16::MAX;
/// Bit of [`MicroOp::flags`]: a VGPR is part of a scratch address.
const SVE: u32 = 1 << 16;

/// Lowers a FLAT, GLOBAL or SCRATCH instruction.
pub(super) fn lower(inst: &Inst, level: SimdLevel) -> Result<MicroOp, Unsupported> {
    match (inst.info.format, inst.src[2].is_some()) {
        (Format::Flat, _) => lower_in::<Flat>(inst, level),
        (Format::Scratch, _) => lower_in::<Scratch>(inst, level),
        (_, false) => lower_in::<Global<false>>(inst, level),
        (_, true) => lower_in::<Global<true>>(inst, level),
    }
}

fn lower_in<S: Space>(inst: &Inst, level: SimdLevel) -> Result<MicroOp, Unsupported> {
    let mut micro = lower_access::<S>(inst, level)?;
    micro.src[3] = inst.src[2].scalar_index().map_or(NO_SGPR, |sgpr| sgpr as u16);
    if inst.mem.sve {
        micro.flags |= SVE;
    }
    Ok(micro)
}

/// Global memory; with `SADDR` the vector address is an unsigned offset from a scalar one.
struct Global<const SADDR: bool>;

impl<const SADDR: bool> Space for Global<SADDR> {
    const LOCAL: bool = false;

    #[inline(always)]
    fn locate(
        wave: &mut Wave<'_>,
        op: &MicroOp,
        bytes: u32,
        access: Access,
        at: &mut Addresses,
    ) -> Result<Hits, Flow> {
        let first = usize::from(op.src[0]);
        let offset = i64::from(op.imm as i32) as u64;
        if SADDR {
            let base = wave.sgpr64(usize::from(op.src[3])).wrapping_add(offset);
            let low = wave.row(first);
            for (address, &offset) in at.0.iter_mut().zip(low) {
                *address = base.wrapping_add(offset.into());
            }
        } else {
            flat_addresses(wave, first, offset, at);
        }
        let exec = wave.exec();
        check_regions(wave, at, exec, bytes, access)?;
        Ok(Hits::all_or_nothing(exec))
    }

    #[inline(always)]
    fn locate_all(wave: &mut Wave<'_>, op: &MicroOp, bytes: u32) -> Option<u64> {
        if wave.exec() != u64::MAX {
            return None;
        }
        let base = if SADDR {
            wave.sgpr64(usize::from(op.src[3]))
        } else {
            let high = wave.row(usize::from(op.src[0]) + 1);
            let different = high.iter().fold(0, |different, word| different | word ^ high[0]);
            if different != 0 {
                return None;
            }
            u64::from(high[0]) << 32
        };
        let base = base.wrapping_add_signed(i64::from(op.imm as i32));
        base_in_region(wave, base, op.src[0], bytes)
    }
}

/// Addresses from a pair of rows.
#[inline(always)]
fn flat_addresses(wave: &Wave<'_>, first: usize, offset: u64, at: &mut Addresses) {
    let (low, high) = (wave.row(first), wave.row(first + 1));
    for (address, (&low, &high)) in at.0.iter_mut().zip(low.iter().zip(high)) {
        *address = (u64::from(low) | u64::from(high) << 32).wrapping_add(offset);
    }
}

/// Global memory, LDS and private memory through their apertures.
struct Flat;

impl Space for Flat {
    const LOCAL: bool = false;

    #[inline(always)]
    fn locate(
        wave: &mut Wave<'_>,
        op: &MicroOp,
        bytes: u32,
        access: Access,
        at: &mut Addresses,
    ) -> Result<Hits, Flow> {
        flat_addresses(wave, usize::from(op.src[0]), u64::from(op.imm), at);
        let exec = wave.exec();
        // Inactive lanes may only cost time here.
        let in_aperture = at.0.iter().fold(false, |any, &address| {
            let high = address >> 32;
            any | (high == SHARED_APERTURE >> 32) | (high == PRIVATE_APERTURE >> 32)
        });
        let mut global = exec;
        if in_aperture {
            for lane in each(exec) {
                let Some(aperture) = aperture(at.0[lane]) else { continue };
                global &= !(1 << lane);
                let offset = at.0[lane] as u32;
                let pointer = match aperture {
                    Aperture::Shared => lds_pointer(wave, offset, bytes),
                    Aperture::Private => scratch_pointer(wave, lane, offset, bytes),
                };
                match pointer {
                    Some(pointer) => at.0[lane] = pointer,
                    None => return Err(violation(wave, Some(lane), at.0[lane], bytes, access)),
                }
            }
        }
        if global == exec {
            check_regions(wave, at, exec, bytes, access)?;
        } else {
            // The check moves the lanes that it does not check out of the way: keep a copy.
            let mut checked = Addresses(at.0);
            check_regions(wave, &mut checked, global, bytes, access)?;
            for lane in each(!exec) {
                at.0[lane] = Addresses::nowhere();
            }
        }
        Ok(Hits::all_or_nothing(exec))
    }
}

/// Part of the address space that is not global memory.
enum Aperture {
    Shared,
    Private,
}

#[inline(always)]
fn aperture(address: u64) -> Option<Aperture> {
    match address >> 32 << 32 {
        SHARED_APERTURE => Some(Aperture::Shared),
        PRIVATE_APERTURE => Some(Aperture::Private),
        _ => None,
    }
}

/// Host address of LDS.
fn lds_pointer(wave: &Wave<'_>, offset: u32, bytes: u32) -> Option<u64> {
    let end = offset.checked_add(bytes)?;
    (end <= wave.lds_len).then(|| wave.lds.expose_provenance() as u64 + u64::from(offset))
}

/// Host address of a lane's private memory.
fn scratch_pointer(wave: &mut Wave<'_>, lane: usize, offset: u32, bytes: u32) -> Option<u64> {
    let end = offset.checked_add(bytes)?;
    let start = lane as u64 * u64::from(wave.scratch_per_lane) + u64::from(offset);
    (end <= wave.scratch_per_lane)
        .then(|| wave.scratch.as_mut_ptr().expose_provenance() as u64 + start)
}

/// Private memory.
struct Scratch;

impl Space for Scratch {
    const LOCAL: bool = true;

    #[inline(always)]
    fn locate(
        wave: &mut Wave<'_>,
        op: &MicroOp,
        bytes: u32,
        access: Access,
        at: &mut Addresses,
    ) -> Result<Hits, Flow> {
        let scalar = if op.src[3] == NO_SGPR { 0 } else { wave.sgpr[usize::from(op.src[3])] };
        let uniform = scalar.wrapping_add(op.imm);
        let size = u64::from(wave.scratch_per_lane);
        let base = wave.scratch.as_mut_ptr().expose_provenance() as u64;
        let exec = wave.exec();
        let mut offsets = [uniform; WAVE];
        if op.flags & SVE != 0 {
            for (offset, &vector) in offsets.iter_mut().zip(wave.row(usize::from(op.src[0]))) {
                *offset = offset.wrapping_add(vector);
            }
        }
        let limit = size.wrapping_sub(bytes.into()).cast_signed();
        if at.set_offsets(base, &offsets, limit, exec) {
            for (lane, address) in at.0.iter_mut().enumerate() {
                *address += (lane as u64 * size) & spread(exec, lane);
            }
            return Ok(Hits::all_or_nothing(exec));
        }
        let stray = each(exec).find(|&lane| i64::from(offsets[lane]) > limit);
        let address = stray.map_or(0, |lane| PRIVATE_APERTURE | u64::from(offsets[lane]));
        Err(violation(wave, stray, address, bytes, access))
    }
}
