//! Decoder from instruction words to [`Inst`].
//!
//! Bits that hardware ignores, which `isa/ignored.csv` lists, count as the assembler would have
//! written them; any other unused field must hold what it writes. So printing and assembling an
//! accepted instruction yields its bytes again, but for ignored bits. Two rules of the assembler
//! are not checked: that vector instructions read at most one scalar register or literal, and that
//! tuples of vector registers start at an even one. An operand must be of its class: LLVM's
//! disassembler also takes registers of other chips, tuples that are not aligned or end behind the
//! last register, and constants where there is none, which no assembler writes (`REFUSED` in
//! `tests/decode.rs` has one of each kind).

mod memory;
mod scalar;
mod vector;

use super::ignored::without_ignored;
use super::info::{Class, Slot};
use super::table::OPS;
use super::{Arch, DecodeError, Ext, Format, Inst, MemBits, OpInfo, Operand};

/// Opcodes per format; formats that share an opcode space are counted at the first of them.
const SPACES: [(Format, usize); 17] = [
    (Format::Sop2, 128),
    (Format::Sopk, 32),
    (Format::Sop1, 256),
    (Format::Sopc, 128),
    (Format::Sopp, 128),
    (Format::Smem, 256),
    (Format::Vop1, 256),
    (Format::Vop2, 64),
    (Format::Vopc, 256),
    (Format::Vop3a, 1024),
    (Format::Vop3p, 128),
    (Format::Vop3px2, 128),
    (Format::Ds, 256),
    (Format::Flat, 128),
    (Format::Scratch, 128),
    (Format::Global, 128),
    (Format::Mubuf, 128),
];
const MTBUF_OPS: usize = 16;

const fn space_start(format: Format) -> usize {
    let format = match format {
        Format::Vop3b => Format::Vop3a,
        Format::Mai => Format::Vop3p,
        other => other,
    };
    let mut start = 0;
    let mut i = 0;
    while i < SPACES.len() && SPACES[i].0 as usize != format as usize {
        start += SPACES[i].1;
        i += 1;
    }
    start
}

const LOOKUP_LEN: usize = space_start(Format::Mtbuf) + MTBUF_OPS;
const ABSENT: u16 = u16::MAX;

/// Row number of every opcode of every space.
static LOOKUP: [u16; LOOKUP_LEN] = {
    let mut lookup = [ABSENT; LOOKUP_LEN];
    let mut row = 0;
    while row < OPS.len() {
        lookup[space_start(OPS[row].format) + OPS[row].opcode as usize] = row as u16;
        row += 1;
    }
    lookup
};

/// Decodes the instruction at the start of `words`.
///
/// # Errors
///
/// Says why the words are not an instruction of `arch`.
pub fn decode(arch: Arch, words: &[u32]) -> Result<Inst, DecodeError> {
    let Some(&word) = words.first() else {
        return Err(DecodeError::Truncated { have: 0 });
    };
    let decoder = Decoder { arch, words, word };
    match word >> 30 {
        0 | 1 => decoder.vop12c(),
        2 => decoder.sop(),
        _ => match (word >> 26) & 15 {
            0 => decoder.smem(),
            4 => decoder.vop3(),
            6 => decoder.ds(),
            7 => decoder.flat(),
            8 => decoder.mubuf(),
            10 => decoder.mtbuf(),
            _ => Err(DecodeError::Unknown { arch, word, format: None, opcode: 0 }),
        },
    }
}

/// Bits `lo..=hi` of a word.
fn bits(word: u32, hi: u32, lo: u32) -> u32 {
    (word >> lo) & (u32::MAX >> (31 - (hi - lo)))
}

/// Bit `at` of a word.
fn bit(word: u32, at: u32) -> bool {
    (word >> at) & 1 != 0
}

/// Input of one decode.
struct Decoder<'a> {
    arch: Arch,
    words: &'a [u32],
    /// First word.
    word: u32,
}

impl Decoder<'_> {
    /// Word `at`, which the encoding needs.
    fn at(&self, at: usize) -> Result<u32, DecodeError> {
        self.words
            .get(at)
            .copied()
            .ok_or(DecodeError::Truncated { have: self.words.len().min(at) * 4 })
    }

    /// Starts an instruction of `dwords` words with the table row of an opcode.
    fn begin(&self, format: Format, opcode: u32, dwords: usize) -> Result<Building, DecodeError> {
        let at = LOOKUP[space_start(format) + opcode as usize];
        let info = OPS.get(usize::from(at)).filter(|row| row.archs.has(self.arch));
        let Some(info) = info else {
            return Err(DecodeError::Unknown {
                arch: self.arch,
                word: self.word,
                format: Some(format),
                opcode: opcode as u16,
            });
        };
        let mut building = Building { inst: blank(info), word: self.word };
        building.extend(self, dwords)?;
        // What follows these decides which of their bits count.
        if !matches!(info.format, Format::Vop1 | Format::Vop2 | Format::Vopc) {
            building.clear_ignored(0);
        }
        Ok(building)
    }
}

fn blank(info: &'static OpInfo) -> Inst {
    Inst {
        info,
        size: 0,
        raw: [0; 4],
        dst: [Operand::NONE; 2],
        src: [Operand::NONE; 5],
        literal: 0,
        simm16: 0,
        neg: 0,
        abs: 0,
        op_sel: 0,
        op_sel_hi: 0,
        clamp: false,
        omod: 0,
        bitop3: 0,
        ext: Ext::None,
        cbsz: 0,
        abid: 0,
        blgp: 0,
        offset: 0,
        offset1: 0,
        mem: MemBits::default(),
    }
}

/// An instruction whose fields are being filled in.
struct Building {
    inst: Inst,
    word: u32,
}

impl Building {
    /// Makes the instruction `dwords` words long.
    fn extend(&mut self, decoder: &Decoder<'_>, dwords: usize) -> Result<(), DecodeError> {
        for at in usize::from(self.inst.size / 4)..dwords {
            self.inst.raw[at] = decoder.at(at)?;
        }
        self.inst.size = (dwords * 4) as u8;
        Ok(())
    }

    /// Gives ignored bits of the words so far the values that the assembler writes; `form` is the
    /// dword that extends a 32-bit vector encoding.
    fn clear_ignored(&mut self, form: u8) {
        let [w0, w1, ..] = &mut self.inst.raw;
        let word = without_ignored(self.inst.info, form, u64::from(*w0) | u64::from(*w1) << 32);
        (*w0, *w1) = (word as u32, (word >> 32) as u32);
    }

    fn bad(&self, field: &'static str, value: u32) -> DecodeError {
        DecodeError::Operand { op: self.inst.info.op, field, value, word: self.word }
    }

    /// Requires that only bits of `allowed` are set in a field.
    fn within(&self, field: &'static str, value: u32, allowed: u32) -> Result<(), DecodeError> {
        if value & !allowed == 0 { Ok(()) } else { Err(self.bad(field, value)) }
    }

    /// Requires that an unused field is zero.
    fn zero(&self, field: &'static str, value: u32) -> Result<(), DecodeError> {
        self.within(field, value, 0)
    }

    /// Operand of a slot from its field; an absent slot requires a zero field.
    ///
    /// `acc` selects AGPRs where the slot may hold either kind. Vector source fields are 9 bits
    /// wide; register-only fields give a register number.
    fn operand(
        &self,
        slot: Slot,
        field: &'static str,
        value: u32,
        acc: bool,
    ) -> Result<Operand, DecodeError> {
        if !slot.is_some() {
            self.zero(field, value)?;
            return Ok(Operand::NONE);
        }
        let code = value as u16;
        let dwords = slot.dwords;
        let vector = |base: u16, index: u16| {
            (index + u16::from(dwords) <= 256).then_some(Operand { code: base + index, dwords })
        };
        let register = || is_scalar_reg(code, dwords).then_some(Operand { code, dwords });
        let scalar = || register().or(is_const(code).then_some(Operand { code, dwords }));
        let found = match slot.class {
            Class::ScalarReg | Class::Address => register(),
            Class::ScalarNamed => {
                let special = matches!(code, 235..=239 | 251..=253);
                register().or(special.then_some(Operand { code, dwords }))
            }
            Class::Scalar => scalar(),
            Class::Vgpr => vector(Operand::VGPR, code & 255),
            Class::Agpr => vector(Operand::AGPR, code & 255),
            Class::VgprOrAgpr => {
                vector(if acc { Operand::AGPR } else { Operand::VGPR }, code & 255)
            }
            Class::Any if code >= Operand::VGPR => vector(Operand::VGPR, code & 255),
            Class::Any => scalar(),
            Class::VectorOrConst if code >= Operand::VGPR => {
                vector(if acc { Operand::AGPR } else { Operand::VGPR }, code & 255)
            }
            Class::VectorOrConst => is_const(code).then_some(Operand { code, dwords }),
            Class::Literal => Some(Operand { code: Operand::LITERAL, dwords }),
            Class::Vcc => Some(Operand { code: Operand::VCC, dwords }),
        };
        found.ok_or_else(|| self.bad(field, value))
    }

    /// As [`Self::operand`] for a 9-bit source field, where a register-only slot must hold a
    /// vector register.
    fn source9(
        &self,
        slot: Slot,
        field: &'static str,
        value: u32,
        acc: bool,
    ) -> Result<Operand, DecodeError> {
        let vector_only = matches!(slot.class, Class::Vgpr | Class::Agpr | Class::VgprOrAgpr);
        if slot.is_some() && vector_only && value < u32::from(Operand::VGPR) {
            return Err(self.bad(field, value));
        }
        self.operand(slot, field, value, acc)
    }

    /// Reads the literal after the first `dwords` words if an operand is one.
    fn literal(&mut self, decoder: &Decoder<'_>) -> Result<(), DecodeError> {
        let is_literal = |o: &Operand| o.is_some() && o.code == Operand::LITERAL;
        if self.inst.src.iter().any(is_literal) {
            self.extend(decoder, 2)?;
            self.inst.literal = self.inst.raw[1];
        }
        Ok(())
    }
}

/// Whether `code` starts a scalar register (tuple) of `dwords` registers.
fn is_scalar_reg(code: u16, dwords: u8) -> bool {
    match dwords {
        1 => code <= 127 && code != 125,
        2 => code.is_multiple_of(2) && code <= 126 && code != 124,
        _ => {
            let end = code + u16::from(dwords);
            code.is_multiple_of(4) && (end <= 102 || (code >= 108 && end <= 124))
        }
    }
}

/// Whether `code` is an inline constant or a special read-only source.
fn is_const(code: u16) -> bool {
    matches!(code, 128..=208 | 235..=248 | 251..=253)
}
