//! The instructions of a function.

use std::collections::BTreeMap;

use super::CodeObject;
use crate::isa::{Arch, Imm, Inst, Op, decode};

/// An instruction of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// Bytes from the function's first instruction.
    pub offset: u64,
    /// Virtual address.
    pub vaddr: u64,
    /// Place of its first byte in the file.
    pub position: usize,
    /// The instruction.
    pub inst: Inst,
}

/// Where execution goes on behind an instruction; offsets are as in [`Placed::offset`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// At the next one.
    Through,
    /// There only.
    Jump(u64),
    /// At the next one, or there.
    Branch(u64),
    /// Nowhere.
    End,
    /// Where a register says.
    Anywhere,
}

impl Placed {
    /// Where execution goes on.
    pub fn next(&self) -> Next {
        let info = self.inst.info;
        match info.op {
            Op::s_endpgm | Op::s_endpgm_saved | Op::s_endpgm_ordered_ps_done => Next::End,
            Op::s_setpc_b64
            | Op::s_swappc_b64
            | Op::s_call_b64
            | Op::s_rfe_b64
            | Op::s_rfe_restore_b64
            | Op::s_cbranch_i_fork
            | Op::s_cbranch_g_fork
            | Op::s_cbranch_join => Next::Anywhere,
            _ if info.imm == Imm::Branch => {
                let behind = self.offset + u64::from(self.inst.size);
                let distance = 4 * i64::from(self.inst.simm16.cast_signed());
                let target = behind.wrapping_add_signed(distance);
                if info.op == Op::s_branch { Next::Jump(target) } else { Next::Branch(target) }
            }
            _ => Next::Through,
        }
    }
}

impl CodeObject {
    /// The instructions of a function, in order, without words that do not decode; none if there is
    /// no such function, or its symbol has no size.
    pub fn instructions(&self, function: &str) -> Vec<Placed> {
        let Some(symbol) = self.functions.iter().find(|symbol| symbol.name == function) else {
            return Vec::new();
        };
        let Some(segment) = self.segments.iter().find(|s| s.range().contains(&symbol.vaddr)) else {
            return Vec::new();
        };
        let first = segment.file.start + (symbol.vaddr - segment.vaddr) as usize;
        let end = first.saturating_add(symbol.size as usize).min(segment.file.end);
        let bytes = self.bytes.get(first..end).unwrap_or(&[]);
        placed(self.arch(), bytes, symbol.vaddr, first)
    }
}

/// The instructions of a function in these bytes, at that address and place of the file, without words
/// that do not decode.
pub(crate) fn placed(arch: Arch, bytes: &[u8], vaddr: u64, position: usize) -> Vec<Placed> {
    let words: Vec<u32> =
        bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let mut placed = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let Ok(inst) = decode(arch, &words[at..]) else {
            at += 1;
            continue;
        };
        let dwords = usize::from(inst.size / 4);
        let offset = 4 * at as u64;
        let (vaddr, position) = (vaddr + offset, position + 4 * at);
        placed.push(Placed { offset, vaddr, position, inst });
        at += dwords;
    }
    placed
}

/// The places of the instructions at which execution can go on behind each.
pub(crate) fn successors(code: &[Placed]) -> Vec<Vec<usize>> {
    let places: BTreeMap<u64, usize> =
        code.iter().enumerate().map(|(at, placed)| (placed.offset, at)).collect();
    let all = code.iter().map(|placed| {
        let behind = placed.offset + u64::from(placed.inst.size);
        let offsets = match placed.next() {
            Next::Through => vec![behind],
            Next::Jump(target) => vec![target],
            Next::Branch(target) => vec![behind, target],
            Next::End | Next::Anywhere => vec![],
        };
        offsets.iter().filter_map(|offset| places.get(offset).copied()).collect()
    });
    all.collect()
}
