//! VGPR indexing: what `s_set_gpr_idx_on` and its relatives do to the operands of instructions.
//!
//! While bit 27 of MODE is set, the low byte of `m0` is added to the register numbers of the
//! operands that bits 15:12 of `m0` select:
//!
//! | instructions | bit 12, SRC0 | bit 13, SRC1 | bit 14, SRC2 | bit 15, DST |
//! |---|---|---|---|---|
//! | VOP1, VOP2, VOPC, VOP3, VOP3P, also with SDWA or DPP | `src0` | `src1` | `src2` | `vdst` |
//! | `v_fmamk`, `v_fmaak` | `src0` | `vsrc1` | | `vdst` |
//! | `v_swap`, `v_permlane*_swap` | the second register | | | the first |
//! | `v_readlane`, `v_readfirstlane` | `src0` | | | |
//! | `v_writelane` | | | | `vdst` |
//! | `v_accvgpr_read`, `_write`, `_mov` | `src0` | | | `vdst` |
//! | MFMA | A | B | C | D |
//! | SMFMAC | A | B | the index register | C and D |
//! | prefix of scaled MFMA | scale of A | scale of B | | |
//! | DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF, scalar instructions | | | | |
//!
//! It counts VGPRs and accumulation registers alike, each within its bank. Scalar registers,
//! constants and literals stay. An operand that is read and written (an accumulator, a register of
//! which a part is kept) is one operand, that of DST. Tuples move as a whole. There is no register
//! behind `v255` or `a255`: the manuals call such an index illegal, and here it is a fault.

use std::sync::OnceLock;

use super::info::Class;
use super::{Inst, Operand};

/// Bit of MODE that turns indexing on.
pub(crate) const MODE_GPR_INDEX: u32 = 1 << 27;
/// Registers of a bank.
const BANK: u16 = 256;
/// Bit of the selection for destinations.
const DST: usize = 3;

/// An index and the operands that it moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GprIndex {
    offset: u8,
    select: u8,
}

/// An operand moved past the last register of its bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the index in m0 moves {operand} by {offset}, past the last register")]
pub struct PastLastRegister {
    /// The operand as encoded.
    operand: Operand,
    offset: u8,
}

impl GprIndex {
    /// The index of a wave with these registers; `None` if it moves nothing.
    pub fn of(mode: u32, m0: u32) -> Option<Self> {
        let (offset, select) = (m0 as u8, (m0 >> 12 & 15) as u8);
        (mode & MODE_GPR_INDEX != 0 && offset != 0 && select != 0)
            .then_some(Self { offset, select })
    }

    /// The instruction as it is executed under the index.
    ///
    /// # Errors
    /// An operand has no register.
    pub fn apply(self, inst: &Inst) -> Result<Inst, PastLastRegister> {
        let mut moved = inst.clone();
        if !inst.info.format.is_valu() {
            return Ok(moved);
        }
        let mut field = 0;
        for (at, (operand, slot)) in moved.src.iter_mut().zip(&inst.info.src).enumerate() {
            // The scales belong to the prefix, which counts its own sources.
            if at == 3 {
                field = 0;
            }
            self.shift(operand, field)?;
            field += usize::from(slot.class != Class::Literal);
        }
        self.shift(&mut moved.dst[0], DST)?;
        Ok(moved)
    }

    fn shift(self, operand: &mut Operand, field: usize) -> Result<(), PastLastRegister> {
        if !operand.is_vector() || self.select >> field & 1 == 0 {
            return Ok(());
        }
        let number = (operand.code - Operand::VGPR) % BANK + u16::from(self.offset);
        if number + u16::from(operand.dwords) > BANK {
            return Err(PastLastRegister { operand: *operand, offset: self.offset });
        }
        operand.code += u16::from(self.offset);
        Ok(())
    }
}

/// Values that depend on the index, each made when it is first needed and kept.
#[derive(Debug)]
pub(crate) struct ByIndex<T>(OnceLock<Box<(GprIndex, T, Self)>>);

impl<T> Default for ByIndex<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T> ByIndex<T> {
    /// The value of an index.
    pub(crate) fn get(&self, index: GprIndex, make: impl Fn() -> T) -> &T {
        let mut list = self;
        loop {
            let first = list.0.get_or_init(|| Box::new((index, make(), Self::default())));
            let (found, value, rest) = &**first;
            if *found == index {
                return value;
            }
            list = rest;
        }
    }
}
