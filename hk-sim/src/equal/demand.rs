//! Which bits of registers may matter later, from the ends of the program backwards.

use super::bits::{self, Bit};
use super::known::{Facts, Known};
use super::{EXEC, REGISTERS, SCC, exhaust, only_writes, registers};
use crate::isa::{Elem, Ext, Format, Inst, Operand};
use crate::object::{Placed, successors};

/// The bits of every register on which an address, a branch, a store or EXEC may depend.
#[derive(Clone, PartialEq)]
pub(super) struct Demand(Vec<u32>);

impl Demand {
    fn nothing() -> Self {
        Self(vec![0; REGISTERS])
    }

    pub(super) fn of(&self, register: usize) -> u32 {
        // Everything may depend on EXEC.
        if (EXEC..128).contains(&register) { u32::MAX } else { self.0[register] }
    }

    fn join(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    fn add(&mut self, operand: Operand, bits: u32) {
        registers(operand).for_each(|register| self.0[register] |= bits);
    }

    /// From what is demanded behind an instruction, what is before it, where something is known.
    fn before(&mut self, inst: &Inst, known: &Facts) {
        let behind = self.clone();
        for (operand, slot) in inst.dst.iter().zip(&inst.info.dst) {
            let every_bit = matches!(slot.elem, Elem::B32 | Elem::B64 | Elem::F32 | Elem::F64)
                && inst.ext == Ext::None
                && !slot.rw
                && !["s_cmov", "v_writelane", "_d16"]
                    .iter()
                    .any(|w| inst.info.op.name().contains(w));
            if every_bit && (known.whole() || !operand.is_vector()) {
                registers(*operand).for_each(|register| self.0[register] = 0);
            }
        }
        if inst.writes_scc() {
            self.0[SCC] = 0;
        }
        let writes = only_writes(inst);
        if writes && !any(inst, &behind) {
            return;
        }
        if inst.reads_scc() {
            self.0[SCC] = u32::MAX;
        }
        let scc = inst.writes_scc() && behind.0[SCC] != 0;
        if writes && !scc && self.by_bits(inst, &behind, known).is_some() {
            return;
        }
        inst.reads(&mut |operand| {
            let format_of_buffer =
                inst.info.format == Format::Mubuf && !inst.info.op.name().contains("format");
            if format_of_buffer && operand == inst.src[2] {
                let word = |at| Operand { code: operand.code + at, dwords: 1 };
                (0..2).for_each(|at| self.add(word(at), u32::MAX));
                self.add(word(2), u32::MAX << idle_bits_of_size(inst, known));
                // Where elements come from, and the number's format.
                self.add(word(3), !0x7fff);
            } else if inst.mem.lds && operand.code == Operand::M0 {
                // Loads to LDS go to dwords of 256 KiB.
                self.add(operand, 0x3_fffc);
            } else if operand == inst.src[1] && operand != inst.src[0] {
                self.add(operand, stored_bits(inst));
            } else {
                self.add(operand, u32::MAX);
            }
        });
    }

    /// Adds the bits of the sources that the demanded ones of the result come from, if that is known.
    fn by_bits(&mut self, inst: &Inst, behind: &Self, known: &Facts) -> Option<()> {
        if inst.dst[1].is_some() || inst.info.dst[0].rw {
            return None;
        }
        let all: Vec<usize> = registers(inst.dst[0]).collect();
        if bits::carries_up(inst) {
            let highest = behind.of(all[0]).checked_ilog2()?;
            inst.reads(&mut |operand| self.add(operand, u32::MAX >> (31 - highest)));
            return Some(());
        }
        let demanded = all.iter().fold(0, |bits, register| bits | behind.of(*register));
        if let Some(bits) = bits::bitwise(inst, demanded, known) {
            inst.reads(&mut |operand| {
                let of_source = |(at, _): (usize, &Operand)| bits.get(at).copied();
                let sources = inst.src.iter().enumerate();
                let found: Vec<u32> = sources
                    .filter(|(_, source)| **source == operand)
                    .filter_map(of_source)
                    .collect();
                let bits = found.into_iter().reduce(|a, b| a | b).unwrap_or(u32::MAX);
                self.add(operand, bits);
            });
            return Some(());
        }
        let words = bits::result(inst, known)?;
        let mut found = Vec::new();
        for (word, register) in words.iter().zip(&all) {
            for bit in (0..32).filter(|bit| behind.of(*register) >> bit & 1 != 0) {
                match word[bit] {
                    Bit::Is(_) => {}
                    Bit::Of(register, bit) => found.push((usize::from(register), 1 << bit)),
                    Bit::Opaque => return None,
                }
            }
        }
        found.into_iter().for_each(|(register, bit)| self.0[register] |= bit);
        Some(())
    }
}

/// Which bits of its second source an instruction may store or read otherwise: of global memory, that is the
/// data.
fn stored_bits(inst: &Inst) -> u32 {
    let name = inst.info.op.name();
    let Some((_, what)) = name.split_once("global_store_").or(name.split_once("buffer_store_"))
    else {
        return u32::MAX;
    };
    match what {
        "byte" => 0xff,
        "short" => 0xffff,
        "byte_d16_hi" => 0xff_0000,
        "short_d16_hi" => 0xffff_0000,
        _ => u32::MAX,
    }
}

/// How many of the lowest bits of a buffer's size decide nothing: those that the accesses' ends cannot have,
/// where all that they are sums of are multiples of a power of two. Only as far as dwords, which may be in the
/// buffer one by one.
fn idle_bits_of_size(inst: &Inst, known: &Facts) -> u32 {
    const DWORD: u32 = 2;
    let Inst { src: [address, _, descriptor, distance, ..], mem, offset, .. } = inst;
    let zeros = |operand: Operand| match bits::source(inst, operand, known).first() {
        Some(word) => word.iter().take_while(|bit| **bit == Bit::Is(false)).count() as u32,
        None => 0,
    };
    // Of structures, the size counts records.
    let word = Operand { code: descriptor.code + 1, dwords: 1 };
    let is_raw = bits::source(inst, word, known)
        .first()
        .is_some_and(|word| word[16..].iter().all(|bit| *bit == Bit::Is(false)));
    if !is_raw || mem.idxen || !inst.info.op.name().contains("_dword") {
        return 0;
    }
    let of_address = if mem.offen { zeros(*address) } else { DWORD };
    [of_address, zeros(*distance), offset.trailing_zeros()].into_iter().fold(DWORD, u32::min)
}

/// Whether something that the instruction writes is demanded.
pub(super) fn any(inst: &Inst, behind: &Demand) -> bool {
    let mut any = inst.writes_scc() && behind.of(SCC) != 0;
    inst.writes(&mut |operand| any |= registers(operand).any(|register| behind.of(register) != 0));
    any
}

/// What is demanded behind each instruction, with what is known before each.
pub(super) fn behind(code: &[Placed], known: &[Known]) -> Vec<Demand> {
    let next = successors(code);
    let mut from: Vec<Vec<usize>> = vec![Vec::new(); code.len()];
    for (at, next) in next.iter().enumerate() {
        next.iter().for_each(|to| from[*to].push(at));
    }
    let mut before = vec![Demand::nothing(); code.len()];
    let behind = |before: &[Demand], at: usize| {
        let mut demand = Demand::nothing();
        next[at].iter().for_each(|to| demand.join(&before[*to]));
        demand
    };
    let mut seen = vec![false; code.len()];
    exhaust(0..code.len(), true, |at| {
        let mut demand = behind(&before, at);
        demand.before(&code[at].inst, &known[at].all);
        let first = !std::mem::replace(&mut seen[at], true);
        if demand == before[at] && !first {
            return vec![];
        }
        before[at] = demand;
        from[at].clone()
    });
    (0..code.len()).map(|at| behind(&before, at)).collect()
}
