//! Which registers an instruction reads and writes.

use super::info::{Implicit, Slot};
use super::{Inst, Operand};

const VCC: Operand = Operand { code: Operand::VCC, dwords: 2 };
const EXEC: Operand = Operand { code: Operand::EXEC, dwords: 2 };
const M0: Operand = Operand { code: Operand::M0, dwords: 1 };
const FLAT_SCRATCH: Operand = Operand { code: 102, dwords: 2 };

/// Codes of the sources that are bits of the wave's state.
const SRC_VCCZ: u16 = 251;
const SRC_EXECZ: u16 = 252;
const SRC_SCC: u16 = 253;

impl Inst {
    /// Calls `f` with every register (tuple) that the instruction reads: sources, accumulators,
    /// and the implicit `vcc`, `exec`, `m0` and `flat_scratch`.
    ///
    /// SCC is not a register: see [`Inst::reads_scc`]. Of the registers that `s_movrel` addresses
    /// relative to `m0` it names the first. Hardware registers of `s_getreg` are not included.
    pub fn reads(&self, f: &mut impl FnMut(Operand)) {
        let is_register = |o: &Operand| o.is_some() && (o.code < 128 || o.is_vector());
        for operand in self.src.iter().filter(|o| is_register(o)) {
            f(*operand);
        }
        for operand in slots_where(&self.dst, &self.info.dst, |slot| slot.rw) {
            f(operand);
        }
        let implicit = self.implicit();
        for (bit, operand) in [
            (Implicit::VCC_READ, VCC),
            (Implicit::EXEC_READ, EXEC),
            (Implicit::M0_READ, M0),
            (Implicit::FLAT_SCRATCH_READ, FLAT_SCRATCH),
        ] {
            if implicit.has(bit) {
                f(operand);
            }
        }
    }

    /// Calls `f` with every register (tuple) that the instruction writes, as a whole or in part.
    pub fn writes(&self, f: &mut impl FnMut(Operand)) {
        for operand in slots_where(&self.dst, &self.info.dst, Slot::is_some) {
            f(operand);
        }
        for operand in slots_where(&self.src, &self.info.src, |slot| slot.rw) {
            f(operand);
        }
        let implicit = self.implicit();
        for (bit, operand) in [(Implicit::EXEC_WRITE, EXEC), (Implicit::M0_WRITE, M0)] {
            if implicit.has(bit) {
                f(operand);
            }
        }
    }

    /// Whether the scalar condition code is read.
    pub fn reads_scc(&self) -> bool {
        self.implicit().has(Implicit::SCC_READ)
    }

    /// Of `s_waitcnt`, how many vector memory instructions, and how many others, it leaves under way;
    /// none of a counter that it does not wait for.
    pub fn leaves_under_way(&self) -> (Option<u32>, Option<u32>) {
        let counts = u32::from(self.simm16);
        let (vector, lgkm) = (counts & 15 | counts >> 10 & 0x30, counts >> 8 & 15);
        ((vector < 63).then_some(vector), (lgkm < 15).then_some(lgkm))
    }

    /// Whether the scalar condition code is written.
    pub fn writes_scc(&self) -> bool {
        self.implicit().has(Implicit::SCC_WRITE)
    }

    /// Whether the execution mask is read, as a mask or as an operand.
    pub fn reads_exec(&self) -> bool {
        let mut found = false;
        self.reads(&mut |o| found |= o.code & !1 == Operand::EXEC);
        found
    }

    /// Whether the execution mask is written, by its nature or as an operand.
    pub fn writes_exec(&self) -> bool {
        let mut found = false;
        self.writes(&mut |o| found |= o.code & !1 == Operand::EXEC);
        found
    }

    /// Implicit registers of this instruction: those of its row and those that its fields add.
    pub fn implicit(&self) -> Implicit {
        let mut bits = self.info.implicit.0;
        if self.mem.lds {
            bits |= Implicit::M0_READ;
        }
        for source in self.src.iter().filter(|o| o.is_some()) {
            bits |= match source.code {
                SRC_VCCZ => Implicit::VCC_READ,
                SRC_EXECZ => Implicit::EXEC_READ,
                SRC_SCC => Implicit::SCC_READ,
                _ => 0,
            };
        }
        Implicit(bits)
    }
}

/// Operands that are present and whose slot has a property.
fn slots_where(
    operands: &[Operand],
    slots: &[Slot],
    property: impl Fn(Slot) -> bool,
) -> impl Iterator<Item = Operand> {
    let pairs = operands.iter().zip(slots);
    pairs.filter(move |(o, slot)| o.is_some() && property(**slot)).map(|(o, _)| *o)
}
