//! Permutes between lanes, which use the LDS crossbar but not its memory.

use crate::exec::access::{each, spread, write_rows};
use crate::exec::{Flow, Lanes, MicroOp, WAVE, Wave};

/// Lane that a byte address of a permute means.
#[inline(always)]
fn lane_of(address: u32, offset: u32) -> usize {
    (address.wrapping_add(offset) / 4) as usize % WAVE
}

/// Each lane reads the lane that its address names; inactive ones give 0.
pub(super) fn bpermute(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
    let address = wave.row(usize::from(op.src[0]));
    let out = pull(wave, op.src[1], |lane| lane_of(address[lane], op.imm));
    finish(wave, op, &out)
}

/// Each lane sends to the lane that its address names; the highest sender wins, lanes that receive
/// nothing get 0.
pub(super) fn permute(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
    let (address, data) = (wave.row(usize::from(op.src[0])), wave.row(usize::from(op.src[1])));
    let mut out = [0; WAVE];
    for lane in each(wave.exec()) {
        out[lane_of(address[lane], op.imm)] = data[lane];
    }
    finish(wave, op, &out)
}

/// Fixed patterns by the offset field (CDNA3 ISA, DS_SWIZZLE_B32).
pub(super) fn swizzle(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
    let (data, pattern) = (op.src[0], op.imm as usize);
    let (low, middle, high) = (pattern & 31, pattern >> 5 & 31, pattern >> 10 & 31);
    let out = match pattern {
        // FFT: the reversed bits of the lane number, beside those that the mask keeps.
        0xe000.. => pull(wave, data, |lane| {
            let reversed = usize::from((lane as u8 & 31).reverse_bits() >> 3);
            reversed >> low.count_ones() | lane & (low | 32)
        }),
        // Rotation of the lane bits that the mask does not keep.
        0xc000.. => {
            let distance = if high & 1 == 0 { middle } else { 32 - middle };
            pull(wave, data, |lane| lane & (low | 32) | (lane + distance) & !low & 31)
        }
        // Four lanes among themselves.
        0x8000.. => pull(wave, data, |lane| lane & !3 | pattern >> (2 * (lane & 3)) & 3),
        // And, or, exclusive or of the lane number in a half wave.
        _ => pull(wave, data, |lane| ((lane & low | middle) ^ high) & 31 | lane & 32),
    };
    finish(wave, op, &out)
}

/// The value of lane `source` of every lane, 0 where that is inactive.
#[inline(always)]
fn pull(wave: &Wave<'_>, data: u16, source: impl Fn(usize) -> usize) -> Lanes {
    let (exec, data) = (wave.exec(), wave.row(usize::from(data)));
    if exec == u64::MAX {
        return std::array::from_fn(|lane| data[source(lane) % WAVE]);
    }
    std::array::from_fn(|lane| {
        let source = source(lane) % WAVE;
        data[source] & spread(exec, source) as u32
    })
}

fn finish(wave: &mut Wave<'_>, op: &MicroOp, out: &Lanes) -> Flow {
    write_rows(wave, op.dst, std::slice::from_ref(out), wave.exec());
    Flow::Next
}
