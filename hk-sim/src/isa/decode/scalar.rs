//! SOP1, SOP2, SOPC, SOPK, SOPP and SMEM.

use super::super::info::{Imm, Mods};
use super::{Building, DecodeError, Decoder, Format, Inst, bit, bits};

impl Decoder<'_> {
    pub(super) fn sop(&self) -> Result<Inst, DecodeError> {
        match bits(self.word, 29, 23) {
            0x7d => self.sop1(),
            0x7e => self.sopc(),
            0x7f => self.sopp(),
            op if op >= 0x60 => self.sopk(),
            op => self.sop2(op),
        }
    }

    fn sop2(&self, op: u32) -> Result<Inst, DecodeError> {
        let mut b = self.begin(Format::Sop2, op, 1)?;
        let info = b.inst.info;
        let word = b.inst.raw[0];
        b.inst.dst[0] = b.operand(info.dst[0], "sdst", bits(word, 22, 16), false)?;
        self.ssrc(b, bits(word, 15, 8))
    }

    fn sop1(&self) -> Result<Inst, DecodeError> {
        let mut b = self.begin(Format::Sop1, bits(self.word, 15, 8), 1)?;
        let info = b.inst.info;
        b.inst.dst[0] = b.operand(info.dst[0], "sdst", bits(b.inst.raw[0], 22, 16), false)?;
        self.ssrc(b, 0)
    }

    fn sopc(&self) -> Result<Inst, DecodeError> {
        let mut b = self.begin(Format::Sopc, bits(self.word, 22, 16), 1)?;
        let mut ssrc1 = bits(b.inst.raw[0], 15, 8);
        if b.inst.info.imm == Imm::GprIdx {
            b.inst.simm16 = ssrc1 as u16;
            ssrc1 = 0;
        }
        self.ssrc(b, ssrc1)
    }

    /// Fills both scalar sources and the literal.
    fn ssrc(&self, mut b: Building, ssrc1: u32) -> Result<Inst, DecodeError> {
        let info = b.inst.info;
        for (at, (field, value)) in
            [("ssrc0", bits(b.inst.raw[0], 7, 0)), ("ssrc1", ssrc1)].into_iter().enumerate()
        {
            b.inst.src[at] = b.source_or_literal(info.src[at], field, value)?;
        }
        b.literal(self)?;
        Ok(b.inst)
    }

    fn sopk(&self) -> Result<Inst, DecodeError> {
        let mut b = self.begin(Format::Sopk, bits(self.word, 27, 23), 1)?;
        let info = b.inst.info;
        let word = b.inst.raw[0];
        let sdst = bits(word, 22, 16);
        b.inst.simm16 = word as u16;
        if info.dst[0].is_some() {
            b.inst.dst[0] = b.operand(info.dst[0], "sdst", sdst, false)?;
        } else if info.src[0].class == super::Class::Literal {
            b.zero("sdst", sdst)?;
            b.inst.src[0] = b.operand(info.src[0], "literal", 0, false)?;
            b.literal(self)?;
        } else {
            // Comparisons and s_setreg read the register of the destination field.
            b.inst.src[0] = b.operand(info.src[0], "sdst", sdst, false)?;
            b.inst.dst[0] = b.inst.src[0];
        }
        Ok(b.inst)
    }

    fn sopp(&self) -> Result<Inst, DecodeError> {
        let mut b = self.begin(Format::Sopp, bits(self.word, 22, 16), 1)?;
        b.inst.simm16 = self.word as u16;
        if b.inst.info.imm == Imm::None {
            b.zero("simm16", bits(self.word, 15, 0))?;
        }
        Ok(b.inst)
    }

    pub(super) fn smem(&self) -> Result<Inst, DecodeError> {
        let mut b = self.begin(Format::Smem, bits(self.word, 25, 18), 2)?;
        let info = b.inst.info;
        let [w0, w1, ..] = b.inst.raw;
        b.inst.mem.glc = bit(w0, 16);
        let sdata = bits(w0, 12, 6);
        let returns = !info.mods.has(Mods::RET) || b.inst.mem.glc;
        if info.imm == Imm::Probe {
            b.inst.simm16 = sdata as u16;
        }
        if info.dst[0].is_some() && returns {
            b.inst.dst[0] = b.operand(info.dst[0], "sdata", sdata, false)?;
        }
        if info.src[2].is_some() {
            b.inst.src[2] = b.operand(info.src[2], "sdata", sdata, false)?;
        }
        if !info.src[0].is_some() {
            return Ok(b.inst);
        }
        b.inst.src[0] = b.operand(info.src[0], "sbase", bits(w0, 5, 0) << 1, false)?;
        let (imm, soffset_en) = (bit(w0, 17), bit(w0, 14));
        if imm {
            b.inst.offset = ((w1 << 11) as i32) >> 11;
        }
        let soffset = match (imm, soffset_en) {
            (true, false) => return Ok(b.inst),
            (true, true) => bits(w1, 31, 25),
            (false, true) => {
                // The assembler names the register of a lone scalar offset in the other field.
                b.inst.raw[0] &= !(1 << 14);
                b.inst.raw[1] = bits(w1, 31, 25);
                bits(w1, 31, 25)
            }
            (false, false) => bits(w1, 6, 0),
        };
        b.inst.src[1] = b.operand(info.src[1], "soffset", soffset, false)?;
        Ok(b.inst)
    }
}
