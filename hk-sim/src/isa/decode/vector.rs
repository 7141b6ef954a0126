//! VOP1, VOP2, VOPC, VOP3, VOP3P and the matrix instructions.

use super::super::info::{Class, Forms, Mods, Slot};
use super::super::{Dpp, Ext, Operand, Sdwa};
use super::{Building, DecodeError, Decoder, Format, Inst, bit, bits};

const SDWA: u32 = 249;
const DPP: u32 = 250;

/// VOP3P opcodes of the scale prefix and of the two instructions that may follow it.
const LD_SCALE: u32 = 44;
const F8F6F4: [u32; 2] = [45, 46];

impl Decoder<'_> {
    pub(super) fn vop12c(&self) -> Result<Inst, DecodeError> {
        let w = self.word;
        let (format, op, vsrc1) = match bits(w, 31, 25) {
            0x3f => (Format::Vop1, bits(w, 16, 9), 0),
            0x3e => (Format::Vopc, bits(w, 24, 17), bits(w, 16, 9)),
            _ => (Format::Vop2, bits(w, 30, 25), bits(w, 16, 9)),
        };
        let mut b = self.begin(format, op, 1)?;
        let info = b.inst.info;
        let form = match bits(w, 8, 0) {
            SDWA if info.forms.has(Forms::SDWA) => Forms::SDWA,
            DPP if info.forms.has(Forms::DPP) => Forms::DPP,
            _ => 0,
        };
        if form != 0 {
            b.extend(self, 2)?;
        }
        b.clear_ignored(form);
        if format != Format::Vopc {
            b.inst.dst[0] = b.register(info.dst[0], "vdst", bits(w, 24, 17))?;
            b.inst.dst[1] = b.operand(info.dst[1], "vcc", 0, false)?;
        }
        match form {
            Forms::SDWA => Self::sdwa(b, vsrc1),
            Forms::DPP => Self::dpp(b, vsrc1),
            _ => {
                let src0 = bits(b.inst.raw[0], 8, 0);
                if format == Format::Vopc {
                    b.inst.dst[0] = b.operand(info.dst[0], "vcc", 0, false)?;
                }
                b.inst.src[0] = b.source_or_literal(info.src[0], "src0", src0)?;
                b.rest_of_sources(vsrc1, Class::Vgpr)?;
                b.literal(self)?;
                Ok(b.inst)
            }
        }
    }

    fn sdwa(mut b: Building, vsrc1: u32) -> Result<Inst, DecodeError> {
        let info = b.inst.info;
        let x = b.inst.raw[1];
        if info.format == Format::Vopc {
            b.inst.dst[0] = if bit(x, 15) {
                let mask = Slot { class: Class::ScalarReg, ..info.dst[0] };
                b.operand(mask, "sdst", bits(x, 14, 8), false)?
            } else {
                b.zero("sdst", bits(x, 14, 8))?;
                b.operand(info.dst[0], "vcc", 0, false)?
            };
        } else {
            b.clamp_omod(bit(x, 13), bits(x, 15, 14))?;
        }
        let sources = if info.src[1].is_some() { 2 } else { 1 };
        let mut sdwa = Sdwa { dst_sel: 0, dst_unused: 0, src_sel: [0; 2], src_sext: [false; 2] };
        for at in 0..2 {
            let shift = 16 + 8 * at as u32;
            let field = bits(x, shift + 7, shift);
            if at >= sources || !info.src[at].is_some() {
                b.zero("src_sel", field)?;
                continue;
            }
            let sel = field & 7;
            if sel == 7 {
                return Err(b.bad("src_sel", sel));
            }
            sdwa.src_sel[at] = sel as u8;
            sdwa.src_sext[at] = bit(field, 3);
            b.within("sext", u32::from(bit(field, 3)) << at, info.mods.sext.into())?;
            b.source_mods(at, bit(field, 4), bit(field, 5))?;
            let number = if at == 0 { bits(x, 7, 0) } else { vsrc1 };
            let slot = Slot { class: Class::Any, ..info.src[at] };
            let code = if bit(field, 7) { number } else { number | 256 };
            b.inst.src[at] = b.operand(slot, "src", code, false)?;
        }
        if !info.src[0].is_some() {
            b.zero("src0", bits(x, 7, 0))?;
        }
        if !info.src[1].is_some() {
            b.zero("vsrc1", vsrc1)?;
        }
        b.inst.src[2] = b.operand(info.src[2], "vcc", 0, false)?;
        if info.format != Format::Vopc {
            sdwa.dst_sel = bits(x, 10, 8) as u8;
            sdwa.dst_unused = bits(x, 12, 11) as u8;
            if sdwa.dst_sel == 7 || sdwa.dst_unused == 3 {
                return Err(b.bad("dst_sel", bits(x, 12, 8)));
            }
            if info.mods.has(Mods::DSTDWORD) && (sdwa.dst_sel, sdwa.dst_unused) != (6, 0) {
                return Err(b.bad("dst_sel", bits(x, 12, 8)));
            }
            if !info.dst[0].is_some() {
                b.zero("dst_sel", bits(x, 12, 8))?;
            }
        }
        b.inst.ext = Ext::Sdwa(sdwa);
        Ok(b.inst)
    }

    fn dpp(mut b: Building, vsrc1: u32) -> Result<Inst, DecodeError> {
        let info = b.inst.info;
        let x = b.inst.raw[1];
        let ctrl = bits(x, 16, 8);
        let newbcast = matches!(ctrl, 0x150..=0x15f);
        let legal = newbcast
            || !info.mods.has(Mods::DPP64)
                && (matches!(ctrl, 0..=0xff | 0x130 | 0x134 | 0x138 | 0x13c | 0x140..=0x143)
                    || matches!(ctrl, 0x101..=0x10f | 0x111..=0x11f | 0x121..=0x12f));
        if !legal {
            return Err(b.bad("dpp_ctrl", ctrl));
        }
        b.inst.ext = Ext::Dpp(Dpp {
            ctrl: ctrl as u16,
            bound_ctrl: bit(x, 19),
            bank_mask: bits(x, 27, 24) as u8,
            row_mask: bits(x, 31, 28) as u8,
        });
        b.source_mods(0, bit(x, 20), bit(x, 21))?;
        b.source_mods(1, bit(x, 22), bit(x, 23))?;
        b.inst.src[0] = b.register(info.src[0], "src0", bits(x, 7, 0))?;
        b.rest_of_sources(vsrc1, Class::Vgpr)?;
        Ok(b.inst)
    }

    pub(super) fn vop3(&self) -> Result<Inst, DecodeError> {
        if bits(self.word, 25, 23) == 7 {
            return self.vop3p();
        }
        let mut b = self.begin(Format::Vop3a, bits(self.word, 25, 16), 2)?;
        let info = b.inst.info;
        let [w0, w1, ..] = b.inst.raw;
        b.inst.dst[0] = b.register(info.dst[0], "vdst", bits(w0, 7, 0))?;
        let fields = [bits(w1, 8, 0), bits(w1, 17, 9), bits(w1, 26, 18)];
        for (at, value) in fields.into_iter().enumerate() {
            b.inst.src[at] = b.source9(info.src[at], "src", value, false)?;
        }
        if info.mods.has(Mods::BITOP3) {
            // The truth table takes the place of the modifiers.
            b.inst.bitop3 =
                ((bits(w1, 28, 27) << 6) | (bits(w0, 10, 8) << 3) | bits(w1, 31, 29)) as u8;
            b.zero("clamp", bits(w0, 15, 15))?;
        } else {
            if info.format == Format::Vop3a {
                b.inst.abs = b.masked("abs", bits(w0, 10, 8), info.mods.abs)?;
            }
            b.inst.neg = b.masked("neg", bits(w1, 31, 29), info.mods.neg)?;
            b.clamp_omod(bit(w0, 15), bits(w1, 28, 27))?;
        }
        if info.format == Format::Vop3b {
            b.inst.dst[1] = b.operand(info.dst[1], "sdst", bits(w0, 14, 8), false)?;
        } else {
            b.inst.op_sel = b.masked("op_sel", bits(w0, 14, 11), info.mods.sel)?;
        }
        Ok(b.inst)
    }

    fn vop3p(&self) -> Result<Inst, DecodeError> {
        let op = bits(self.word, 22, 16);
        if op == LD_SCALE
            && let Some(&next) = self.words.get(2)
            && bits(next, 31, 23) == 0x1a7
            && F8F6F4.contains(&bits(next, 22, 16))
            && bits(next, 14, 11) == 1
        {
            return self.scaled(bits(next, 22, 16));
        }
        let mut b = self.begin(Format::Vop3p, op, 2)?;
        if b.inst.info.format == Format::Mai {
            b.mai(0)?;
            return Ok(b.inst);
        }
        let info = b.inst.info;
        let [w0, w1, ..] = b.inst.raw;
        b.inst.dst[0] = b.register(info.dst[0], "vdst", bits(w0, 7, 0))?;
        let fields = [bits(w1, 8, 0), bits(w1, 17, 9), bits(w1, 26, 18)];
        for (at, value) in fields.into_iter().enumerate() {
            b.inst.src[at] = b.source9(info.src[at], "src", value, false)?;
        }
        b.clamp_omod(bit(w0, 15), 0)?;
        b.inst.neg = b.masked("neg_lo", bits(w1, 31, 29), info.mods.neg)?;
        b.inst.abs = b.masked("neg_hi", bits(w0, 10, 8), info.mods.abs)?;
        b.inst.op_sel = b.masked("op_sel", bits(w0, 13, 11), info.mods.sel)?;
        let sel_hi = bits(w1, 28, 27) | (bits(w0, 14, 14) << 2);
        b.within("op_sel_hi", !sel_hi & 7, info.mods.sel_hi.into())?;
        b.inst.op_sel_hi = sel_hi as u8;
        Ok(b.inst)
    }

    /// 128-bit form: scale operands in the first half, matrix instruction in the second.
    fn scaled(&self, op: u32) -> Result<Inst, DecodeError> {
        let mut b = self.begin(Format::Vop3px2, op, 4)?;
        let info = b.inst.info;
        let [w0, w1, ..] = b.inst.raw;
        b.inst.op_sel = bits(w0, 12, 11) as u8;
        b.inst.op_sel_hi = bits(w1, 28, 27) as u8;
        b.inst.src[3] = b.operand(info.src[3], "scale_src0", bits(w1, 8, 0), false)?;
        b.inst.src[4] = b.operand(info.src[4], "scale_src1", bits(w1, 17, 9), false)?;
        b.mai(2)?;
        // Bit 0 marks the scaled form; it selects nothing.
        b.inst.abid = 0;
        Ok(b.inst)
    }
}

impl Building {
    /// Scalar or vector source that is a literal if the operation and the slot allow one.
    pub(super) fn source_or_literal(
        &self,
        slot: Slot,
        field: &'static str,
        value: u32,
    ) -> Result<Operand, DecodeError> {
        let legal = self.inst.info.forms.has(Forms::LIT)
            && matches!(slot.class, Class::Any | Class::Scalar)
            && slot.is_some();
        if legal && value == u32::from(Operand::LITERAL) {
            return Ok(Operand { code: Operand::LITERAL, dwords: slot.dwords });
        }
        self.source9(slot, field, value, false)
    }

    /// Register from an 8-bit field that can also name a VGPR.
    fn register(
        &self,
        slot: Slot,
        field: &'static str,
        value: u32,
    ) -> Result<Operand, DecodeError> {
        let class = if slot.class == Class::Any { Class::Vgpr } else { slot.class };
        if class == Class::ScalarReg && value > 127 {
            return Err(self.bad(field, value));
        }
        self.operand(Slot { class, ..slot }, field, value, false)
    }

    /// Sources after the first of a 32-bit vector encoding: one of them is `vsrc1`.
    fn rest_of_sources(&mut self, vsrc1: u32, class: Class) -> Result<(), DecodeError> {
        let info = self.inst.info;
        let mut encoded = false;
        for at in 1..3 {
            let slot = info.src[at];
            let here = slot.is_some() && slot.class == class;
            encoded |= here;
            if slot.is_some() {
                let value = if here { vsrc1 } else { 0 };
                self.inst.src[at] = self.operand(slot, "vsrc1", value, false)?;
            }
        }
        if encoded { Ok(()) } else { self.zero("vsrc1", vsrc1) }
    }

    fn masked(&self, field: &'static str, value: u32, allowed: u8) -> Result<u8, DecodeError> {
        self.within(field, value, allowed.into())?;
        Ok(value as u8)
    }

    fn source_mods(&mut self, at: usize, neg: bool, abs: bool) -> Result<(), DecodeError> {
        let mods = self.inst.info.mods;
        self.within("neg", u32::from(neg) << at, mods.neg.into())?;
        self.within("abs", u32::from(abs) << at, mods.abs.into())?;
        self.inst.neg |= u8::from(neg) << at;
        self.inst.abs |= u8::from(abs) << at;
        Ok(())
    }

    fn clamp_omod(&mut self, clamp: bool, omod: u32) -> Result<(), DecodeError> {
        let mods = self.inst.info.mods;
        if clamp && !mods.has(Mods::CLAMP) {
            return Err(self.bad("clamp", 1));
        }
        if omod != 0 && !mods.has(Mods::OMOD) {
            return Err(self.bad("omod", omod));
        }
        self.inst.clamp = clamp;
        self.inst.omod = omod as u8;
        Ok(())
    }

    /// Fills a matrix instruction whose word starts at `raw[at]`.
    fn mai(&mut self, at: usize) -> Result<(), DecodeError> {
        let info = self.inst.info;
        let (w0, w1) = (self.inst.raw[at], self.inst.raw[at + 1]);
        let (vdst, acc_cd) = (bits(w0, 7, 0), bit(w0, 15));
        let src = [bits(w1, 8, 0), bits(w1, 17, 9), bits(w1, 26, 18)];
        let acc = [bit(w1, 27), bit(w1, 28)];
        self.inst.cbsz = bits(w0, 10, 8) as u8;
        self.inst.abid = bits(w0, 14, 11) as u8;
        self.inst.blgp = bits(w1, 31, 29) as u8;
        let mods = info.mods;
        if mods.flags & (Mods::BCAST | Mods::INDEX | Mods::FMT) == 0 {
            // The accumulator moves fix every modifier bit.
            self.inst.dst[0] = self.operand(info.dst[0], "vdst", vdst, false)?;
            self.inst.src[0] = self.source9(info.src[0], "src0", src[0], false)?;
            self.zero("src1", src[1] | src[2])?;
            let fixed = (w0 & 0xff00, w1 >> 27);
            self.inst.abid = 0;
            return if fixed == (0x4000, 3) { Ok(()) } else { Err(self.bad("modifier", w0)) };
        }
        let mut slots = [info.src[0], info.src[1]];
        if mods.has(Mods::FMT) {
            for (slot, format) in slots.iter_mut().zip([self.inst.cbsz, self.inst.blgp]) {
                slot.dwords = match format {
                    0 | 1 => 8,
                    2 | 3 => 6,
                    4 => 4,
                    _ => return Err(self.bad("format", format.into())),
                };
            }
            if info.format == Format::Mai {
                self.zero("abid", self.inst.abid.into())?;
            }
        }
        if mods.has(Mods::INDEX) {
            self.zero("blgp", self.inst.blgp.into())?;
        }
        self.inst.dst[0] = self.operand(info.dst[0], "vdst", vdst, acc_cd)?;
        for i in 0..2 {
            self.inst.src[i] = self.source9(slots[i], "src", src[i], acc[i])?;
        }
        self.inst.src[2] = self.source9(info.src[2], "src2", src[2], acc_cd)?;
        Ok(())
    }
}
