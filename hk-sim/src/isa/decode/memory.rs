//! DS, FLAT, SCRATCH, GLOBAL, MUBUF and MTBUF.

use super::super::info::{Mods, Slot};
use super::super::{Arch, Operand};
use super::{Building, DecodeError, Decoder, Format, Inst, bit, bits};

/// Field value of an absent scalar address.
const OFF: u32 = 0x7f;

impl Decoder<'_> {
    pub(super) fn ds(&self) -> Result<Inst, DecodeError> {
        let mut b = self.begin(Format::Ds, bits(self.word, 24, 17), 2)?;
        let info = b.inst.info;
        let [w0, w1, ..] = b.inst.raw;
        let acc = bit(w0, 25);
        if bit(w0, 16) != info.mods.has(Mods::GDS) {
            return Err(b.bad("gds", bits(w0, 16, 16)));
        }
        b.inst.mem.gds = bit(w0, 16);
        b.inst.dst[0] = b.operand(info.dst[0], "vdst", bits(w1, 31, 24), acc)?;
        b.inst.src[0] = b.operand(info.src[0], "addr", bits(w1, 7, 0), acc)?;
        b.inst.src[1] = b.operand(info.src[1], "data0", bits(w1, 15, 8), acc)?;
        b.inst.src[2] = b.operand(info.src[2], "data1", bits(w1, 23, 16), acc)?;
        if acc
            && !b.inst.dst.iter().chain(&b.inst.src).any(|o| o.is_some() && o.code >= Operand::AGPR)
        {
            return Err(b.bad("acc", 1));
        }
        if info.mods.has(Mods::NOADDR) {
            b.zero("offset", bits(w0, 15, 0))?;
        } else if info.mods.has(Mods::OFF2) {
            b.inst.offset = bits(w0, 7, 0) as i32;
            b.inst.offset1 = bits(w0, 15, 8) as u8;
        } else {
            b.inst.offset = bits(w0, 15, 0) as i32;
        }
        Ok(b.inst)
    }

    pub(super) fn flat(&self) -> Result<Inst, DecodeError> {
        let w0 = self.word;
        let format = match bits(w0, 15, 14) {
            0 => Format::Flat,
            1 => Format::Scratch,
            2 => Format::Global,
            _ => {
                let (arch, opcode) = (self.arch, bits(w0, 24, 18) as u16);
                return Err(DecodeError::Unknown { arch, word: w0, format: None, opcode });
            }
        };
        let mut b = self.begin(format, bits(w0, 24, 18), 2)?;
        let info = b.inst.info;
        let [w0, w1, ..] = b.inst.raw;
        let acc = bit(w1, 23);
        b.inst.mem.sc0 = bit(w0, 16);
        b.inst.mem.nt = bit(w0, 17);
        b.inst.mem.sc1 = bit(w0, 25);
        b.inst.mem.lds = info.mods.has(Mods::LDS);
        b.inst.offset = ((w0 << 19) as i32) >> 19;
        let (vaddr, saddr) = (bits(w1, 7, 0), bits(w1, 22, 16));
        let mut address = info.src[0];
        if format == Format::Flat {
            b.zero("saddr", saddr)?;
        } else if saddr != OFF {
            b.inst.src[2] = b.operand(info.src[2], "saddr", saddr, false)?;
            // With a scalar base the vector address is a 32-bit offset.
            address.dwords = 1;
        }
        if format == Format::Scratch {
            b.inst.mem.sve = bit(w0, 13);
            if !b.inst.mem.sve {
                address = Slot::NONE;
            }
        } else {
            b.zero("sve", bits(w0, 13, 13))?;
        }
        b.inst.src[0] = b.operand(address, "vaddr", vaddr, false)?;
        b.inst.src[1] = b.operand(info.src[1], "data", bits(w1, 15, 8), acc)?;
        b.returned(bits(w1, 31, 24), acc)?;
        Ok(b.inst)
    }

    pub(super) fn mubuf(&self) -> Result<Inst, DecodeError> {
        let mut b = self.begin(Format::Mubuf, bits(self.word, 24, 18), 2)?;
        let info = b.inst.info;
        let [w0, w1, ..] = b.inst.raw;
        b.inst.mem.sc0 = bit(w0, 14);
        b.inst.mem.sc1 = bit(w0, 15);
        b.inst.mem.nt = bit(w0, 17);
        b.inst.mem.lds = bit(w0, 16);
        let lds_legal = info.mods.has(Mods::LDSBIT)
            || info.mods.has(Mods::LDSBIT950) && self.arch == Arch::Gfx950;
        if b.inst.mem.lds && !lds_legal {
            return Err(b.bad("lds", 1));
        }
        if info.mods.has(Mods::NOADDR) {
            b.zero("address", (w0 & 0x3000) | w1)?;
            return Ok(b.inst);
        }
        b.buffer(w0, w1)
    }

    pub(super) fn mtbuf(&self) -> Result<Inst, DecodeError> {
        let mut b = self.begin(Format::Mtbuf, bits(self.word, 18, 15), 2)?;
        let [w0, w1, ..] = b.inst.raw;
        b.inst.mem.sc0 = bit(w0, 14);
        b.inst.mem.sc1 = bit(w1, 21);
        b.inst.mem.nt = bit(w1, 22);
        b.inst.mem.dfmt = bits(w0, 22, 19) as u8;
        b.inst.mem.nfmt = bits(w0, 25, 23) as u8;
        b.buffer(w0, w1)
    }
}

impl Building {
    /// Result register of a load or an atomic.
    fn returned(&mut self, vdst: u32, acc: bool) -> Result<(), DecodeError> {
        let info = self.inst.info;
        let returns = info.dst[0].is_some() && (!info.mods.has(Mods::RET) || self.inst.mem.sc0);
        let slot = if returns { info.dst[0] } else { Slot::NONE };
        self.inst.dst[0] = self.operand(slot, "vdst", vdst, acc)?;
        if acc && !returns && !info.src[1].is_some() {
            return Err(self.bad("acc", 1));
        }
        Ok(())
    }

    /// Address and data fields that MUBUF and MTBUF share.
    fn buffer(mut self, w0: u32, w1: u32) -> Result<Inst, DecodeError> {
        let info = self.inst.info;
        let acc = bit(w1, 23);
        self.inst.offset = bits(w0, 11, 0) as i32;
        self.inst.mem.offen = bit(w0, 12);
        self.inst.mem.idxen = bit(w0, 13);
        let dwords = bits(w0, 12, 12) + bits(w0, 13, 13);
        let address = Slot { dwords: dwords as u8, ..info.src[0] };
        self.inst.src[0] = self.operand(address, "vaddr", bits(w1, 7, 0), false)?;
        let vdata = bits(w1, 15, 8);
        if self.inst.mem.lds {
            self.zero("acc", acc.into())?;
        } else {
            if info.src[1].is_some() {
                self.inst.src[1] = self.operand(info.src[1], "vdata", vdata, acc)?;
            }
            if info.dst[0].is_some() && (!info.mods.has(Mods::RET) || self.inst.mem.sc0) {
                self.inst.dst[0] = self.operand(info.dst[0], "vdata", vdata, acc)?;
            }
        }
        self.inst.src[2] = self.operand(info.src[2], "srsrc", bits(w1, 20, 16) << 2, false)?;
        let soffset = bits(w1, 31, 24);
        if soffset == u32::from(Operand::LITERAL) {
            return Err(self.bad("soffset", soffset));
        }
        self.inst.src[3] = self.operand(info.src[3], "soffset", soffset, false)?;
        Ok(self.inst)
    }
}
