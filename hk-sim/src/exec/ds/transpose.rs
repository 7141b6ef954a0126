//! Transposing reads of gfx950.
//!
//! In a group of 16 lanes, every lane addresses part of a row of a matrix: with elements of `BITS`
//! bits it reads `64 / BITS` of them (16 of 6 bits), and the reads of consecutive lanes follow each
//! other in 16-element rows. A lane receives the column of its number in the group, row after row.
//! The 16-bit and 8-bit forms are known from tuned kernels, the others follow the same rule.

use hk_types::FaultKind;

use super::locate;
use crate::exec::access::{Addresses, Body, Level, Places, write_rows};
use crate::exec::{Flow, Lanes, MicroOp, WAVE, Wave};

/// Lanes that transpose among themselves.
const GROUP: usize = 16;

/// Reads a transposed matrix of `BITS`-bit elements per group.
pub(super) struct Transpose<const BITS: usize>;

impl<const BITS: usize> Body for Transpose<BITS> {
    #[inline(always)]
    fn run<L: Level>(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
        let bytes = if BITS == 6 { 12 } else { 8 };
        if wave.exec() != u64::MAX {
            let detail = "a transposing read needs all lanes active";
            return wave.raise(FaultKind::IllegalState, detail, None, None);
        }
        let mut at = Addresses::new();
        locate(wave, op.src[0], op.imm, bytes, &mut at);
        // SAFETY: `locate` checked the lanes in range, the others point at 16 zeros; lowering
        // checked the rows.
        if unsafe { L::transpose::<BITS>(&at, wave.rows().add(usize::from(op.dst))) } {
            return Flow::Next;
        }
        let mut out = [[0; WAVE]; 3];
        for group in (0..WAVE).step_by(GROUP) {
            // The rows of the matrix, one after the other.
            let mut matrix = [0; 12 * GROUP];
            let bytes = bytes as usize;
            for lane in 0..GROUP {
                let from = at.pointer(group + lane);
                let to = &mut matrix[lane * bytes..][..bytes];
                // SAFETY: `locate` checked the lanes in range, the others point at 16 zeros.
                unsafe { to.as_mut_ptr().copy_from_nonoverlapping(from, bytes) };
            }
            columns::<BITS>(&matrix, group, &mut out);
        }
        write_rows(wave, op.dst, &out[..bytes as usize / 4], u64::MAX);
        Flow::Next
    }
}

/// Writes the columns of a matrix to the lanes from `group` on.
#[inline(always)]
fn columns<const BITS: usize>(matrix: &[u8; 12 * GROUP], group: usize, out: &mut [Lanes; 3]) {
    if BITS == 6 {
        let mut rows = [[0; GROUP]; GROUP];
        for (row, bytes) in rows.iter_mut().zip(matrix.chunks_exact(12)) {
            *row = six_bits(bytes);
        }
        let mut add = |index: usize, row: usize, shift: u32, drop: u32| {
            let lanes = &mut out[index][group..group + GROUP];
            for (lane, &element) in lanes.iter_mut().zip(&rows[row]) {
                *lane |= u32::from(element) >> drop << shift;
            }
        };
        for row in 0..GROUP {
            let (index, at) = (6 * row / 32, 6 * row as u32 % 32);
            add(index, row, at, 0);
            if at > 26 {
                // The element hangs over into the next dword.
                add(index + 1, row, 0, 32 - at);
            }
        }
        return;
    }
    // Elements of a dword of the result and bytes of a row of the matrix.
    let elements = 32 / BITS;
    let pitch = GROUP * BITS / 8;
    for (index, out) in out[..2].iter_mut().enumerate() {
        let mut lanes = [0; GROUP];
        for element in 0..elements {
            let row = &matrix[(index * elements + element) * pitch..][..pitch];
            for (column, lane) in lanes.iter_mut().enumerate() {
                let value = match BITS {
                    16 => u32::from(row[2 * column]) | u32::from(row[2 * column + 1]) << 8,
                    8 => row[column].into(),
                    _ => u32::from(row[column / 2] >> (4 * (column % 2)) & 15),
                };
                *lane |= value << (BITS * element);
            }
        }
        out[group..group + GROUP].copy_from_slice(&lanes);
    }
}

/// Elements of a row of sixteen 6-bit elements.
#[inline(always)]
fn six_bits(row: &[u8]) -> [u8; GROUP] {
    let mut elements = [0; GROUP];
    for (half, bytes) in elements.chunks_exact_mut(8).zip(row.chunks_exact(6)) {
        // Eight elements: halve the fields until each is in a byte.
        let mut word = [0; 8];
        word[..6].copy_from_slice(bytes);
        let mut word = u64::from_le_bytes(word);
        word = word & 0xff_ffff | (word & 0xffff_ff00_0000) << 8;
        word = word & 0x0fff_0000_0fff | (word & 0x00ff_f000_00ff_f000) << 4;
        word = word & 0x003f_003f_003f_003f | (word & 0x0fc0_0fc0_0fc0_0fc0) << 2;
        half.copy_from_slice(&word.to_le_bytes());
    }
    elements
}
