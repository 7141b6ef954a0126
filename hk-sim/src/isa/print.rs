//! Printer: the text that LLVM prints for an instruction.
//!
//! Where LLVM's text does not name the encoding unambiguously, the printer prints what assembles
//! to the same bytes: `lit(...)` around a literal that the assembler would turn into an inline
//! constant, and plain numbers in place of a macro that loses bits.

mod imm;

use std::fmt::{Display, Formatter, Result, Write};

use super::info::{Class, Elem, Imm, Mods, Slot};
use super::{Dpp, Ext, Format, Inst, Operand, Sdwa};

impl Display for Inst {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.ext {
            Ext::None => f.write_str(self.info.mnemonic)?,
            Ext::Dpp(_) => write!(f, "{}_dpp", self.info.base())?,
            Ext::Sdwa(_) => write!(f, "{}_sdwa", self.info.base())?,
        }
        let mut printer = Printer { inst: self, f, first: true };
        match self.info.format {
            Format::Sop1 | Format::Sop2 => printer.operands(),
            Format::Sopc | Format::Sopk | Format::Sopp => printer.scalar_with_immediate(),
            Format::Smem => printer.smem(),
            Format::Ds => printer.ds(),
            Format::Flat | Format::Global | Format::Scratch => printer.flat(),
            Format::Mubuf | Format::Mtbuf => printer.buffer(),
            Format::Vop1 | Format::Vop2 | Format::Vopc => {
                printer.operands()?;
                match self.ext {
                    Ext::None => Ok(()),
                    Ext::Dpp(dpp) => printer.dpp(dpp),
                    Ext::Sdwa(sdwa) => printer.sdwa(sdwa),
                }
            }
            Format::Vop3a | Format::Vop3b => {
                printer.operands()?;
                printer.vop3_modifiers()
            }
            Format::Vop3p => {
                printer.operands()?;
                printer.vop3p_modifiers()
            }
            Format::Mai | Format::Vop3px2 => {
                printer.operands()?;
                printer.mai_modifiers()
            }
        }
    }
}

/// The name of a register or a constant; a constant without an operand type prints as 32-bit one,
/// a literal as `literal`.
impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.code {
            _ if !self.is_some() => f.write_str("none"),
            Operand::LITERAL => f.write_str("literal"),
            128..255 => constant(f, Slot::NONE, self.code),
            _ => register(f, *self),
        }
    }
}

struct Printer<'a, 'f> {
    inst: &'a Inst,
    f: &'a mut Formatter<'f>,
    first: bool,
}

impl Printer<'_, '_> {
    fn separator(&mut self) -> Result {
        let text = if self.first { " " } else { ", " };
        self.first = false;
        self.f.write_str(text)
    }

    /// All destinations and sources in order.
    fn operands(&mut self) -> Result {
        for at in 0..2 {
            self.dst(at)?;
        }
        for at in 0..5 {
            self.src(at)?;
        }
        Ok(())
    }

    fn dst(&mut self, at: usize) -> Result {
        let operand = self.inst.dst[at];
        if !operand.is_some() {
            return Ok(());
        }
        self.separator()?;
        register(self.f, operand)
    }

    /// Source `at` with its modifiers.
    fn src(&mut self, at: usize) -> Result {
        let inst = self.inst;
        let operand = inst.src[at];
        if !operand.is_some() {
            return Ok(());
        }
        self.separator()?;
        if let Ext::Sdwa(Sdwa { src_sext, .. }) = inst.ext
            && src_sext.get(at) == Some(&true)
        {
            self.f.write_str("sext(")?;
            self.source(at)?;
            return self.f.write_char(')');
        }
        let inline_modifiers = inst.info.format != Format::Vop3p || inst.info.mods.has(Mods::MIX);
        let neg = inline_modifiers && inst.neg & (1 << at) != 0;
        let abs = inline_modifiers && inst.abs & (1 << at) != 0;
        // A minus sign in front of a constant would be taken as part of it.
        let constant = (128..256).contains(&operand.code) && !is_named(operand.code);
        let (open, close) = match (neg, abs) {
            (false, false) => ("", ""),
            (false, true) => ("|", "|"),
            (true, false) if constant => ("neg(", ")"),
            (true, false) => ("-", ""),
            (true, true) => ("-|", "|"),
        };
        self.f.write_str(open)?;
        self.source(at)?;
        self.f.write_str(close)
    }

    /// Source `at` without modifiers.
    fn source(&mut self, at: usize) -> Result {
        let (operand, slot) = (self.inst.src[at], self.inst.info.src[at]);
        if operand.code == Operand::LITERAL {
            return literal(self.f, slot, self.inst.literal, self.inst.info.format);
        }
        if (128..256).contains(&operand.code) {
            return constant(self.f, slot, operand.code);
        }
        register(self.f, operand)
    }

    fn flag(&mut self, set: bool, text: &str) -> Result {
        if set { write!(self.f, " {text}") } else { Ok(()) }
    }

    /// List of bits such as ` op_sel:[0,1]`, unless it has its default value.
    fn list(&mut self, name: &str, bits: impl IntoIterator<Item = bool>) -> Result {
        write!(self.f, " {name}:[")?;
        for (at, bit) in bits.into_iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(self.f, "{comma}{}", u8::from(bit))?;
        }
        self.f.write_char(']')
    }

    fn sources(&self) -> usize {
        self.inst.src.iter().filter(|o| o.is_some()).count()
    }

    fn clamp_omod(&mut self) -> Result {
        self.flag(self.inst.clamp, "clamp")?;
        self.f.write_str(["", " mul:2", " mul:4", " div:2"][usize::from(self.inst.omod & 3)])
    }

    fn vop3_modifiers(&mut self) -> Result {
        let (inst, mods) = (self.inst, self.inst.info.mods);
        if mods.has(Mods::BITOP3) && inst.bitop3 != 0 {
            match inst.bitop3 {
                small @ 0..=10 => write!(self.f, " bitop3:{small}")?,
                table => write!(self.f, " bitop3:{table:#x}")?,
            }
        }
        if mods.has(Mods::FETCH) {
            self.flag(inst.op_sel & 2 != 0, "bound_ctrl:1")?;
            self.flag(inst.op_sel & 1 != 0, "fi:1")?;
        } else if inst.op_sel != 0 {
            // Conversions that write one byte use bit 2 for it although they have two sources.
            let sources = self.sources().max(if mods.sel & 4 != 0 { 3 } else { 0 });
            let bits = (0..sources).chain([3]).map(|at| inst.op_sel & (1 << at) != 0);
            self.list("op_sel", bits)?;
        }
        self.clamp_omod()
    }

    fn vop3p_modifiers(&mut self) -> Result {
        let (inst, mods, sources) = (self.inst, self.inst.info.mods, self.sources());
        let all = (1_u8 << sources) - 1;
        let bits = |mask: u8| (0..sources).map(move |at| mask & (1 << at) != 0);
        if inst.op_sel != 0 {
            self.list("op_sel", bits(inst.op_sel))?;
        }
        let default_hi = if mods.has(Mods::MIX) { 0 } else { all };
        if mods.sel_hi != 0 && inst.op_sel_hi & all != default_hi {
            self.list("op_sel_hi", bits(inst.op_sel_hi))?;
        }
        if !mods.has(Mods::MIX) {
            if inst.neg != 0 {
                self.list("neg_lo", bits(inst.neg))?;
            }
            if inst.abs != 0 {
                self.list("neg_hi", bits(inst.abs))?;
            }
        }
        self.clamp_omod()
    }

    fn mai_modifiers(&mut self) -> Result {
        let (inst, mods) = (self.inst, self.inst.info.mods);
        if inst.info.format == Format::Vop3px2 {
            let bits = |mask: u8| (0..3).map(move |at| mask & (1 << at) != 0);
            if inst.op_sel != 0 {
                self.list("op_sel", bits(inst.op_sel))?;
            }
            self.list("op_sel_hi", bits(inst.op_sel_hi))?;
        }
        if inst.cbsz != 0 {
            write!(self.f, " cbsz:{}", inst.cbsz)?;
        }
        if inst.abid != 0 {
            write!(self.f, " abid:{}", inst.abid)?;
        }
        if inst.blgp == 0 {
            return Ok(());
        }
        if mods.neg != 0 {
            return self.list("neg", (0..3).map(|at| inst.blgp & (1 << at) != 0));
        }
        write!(self.f, " blgp:{}", inst.blgp)
    }

    fn dpp(&mut self, dpp: Dpp) -> Result {
        self.f.write_char(' ')?;
        imm::dpp_ctrl(self.f, dpp.ctrl)?;
        write!(self.f, " row_mask:{:#x} bank_mask:{:#x}", dpp.row_mask, dpp.bank_mask)?;
        self.flag(dpp.bound_ctrl, "bound_ctrl:1")
    }

    fn sdwa(&mut self, sdwa: Sdwa) -> Result {
        const SEL: [&str; 8] =
            ["BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD", "7"];
        const UNUSED: [&str; 4] = ["UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "3"];
        let info = self.inst.info;
        let sel = |at: u8| SEL[usize::from(at & 7)];
        self.clamp_omod()?;
        let fixed_dst = info.format == Format::Vopc || info.mods.has(Mods::DSTDWORD);
        if !fixed_dst && info.dst[0].is_some() {
            let unused = UNUSED[usize::from(sdwa.dst_unused & 3)];
            write!(self.f, " dst_sel:{} dst_unused:{unused}", sel(sdwa.dst_sel))?;
        }
        for at in 0..2 {
            if info.src[at].is_some() {
                write!(self.f, " src{at}_sel:{}", sel(sdwa.src_sel[at]))?;
            }
        }
        Ok(())
    }

    fn scalar_with_immediate(&mut self) -> Result {
        let simm16 = self.inst.simm16;
        let info = self.inst.info;
        // s_setreg names the hardware register before the value.
        let leads = info.format == Format::Sopk && info.imm == Imm::HwReg && !info.dst[0].is_some();
        if leads {
            self.separator()?;
            imm::immediate(self.f, info.imm, simm16)?;
        }
        if info.dst[0].is_some() {
            self.dst(0)?;
        }
        for at in 0..2 {
            self.src(at)?;
        }
        let unprinted = info.imm == Imm::None || info.imm == Imm::Optional && simm16 == 0;
        if leads || unprinted {
            return Ok(());
        }
        self.separator()?;
        imm::immediate(self.f, info.imm, simm16)
    }

    fn smem(&mut self) -> Result {
        let inst = self.inst;
        if inst.info.imm == Imm::Probe {
            self.separator()?;
            imm::immediate(self.f, Imm::Probe, inst.simm16)?;
        }
        if inst.src[2].is_some() {
            self.src(2)?;
        } else {
            self.dst(0)?;
        }
        self.src(0)?;
        self.src(1)?;
        if inst.src[0].is_some() {
            let sign = if inst.offset < 0 { "-" } else { "" };
            let magnitude = inst.offset.unsigned_abs();
            if !inst.src[1].is_some() {
                self.separator()?;
                write!(self.f, "{sign}{magnitude:#x}")?;
            } else if inst.raw[0] & (1 << 17) != 0 {
                write!(self.f, " offset:{sign}{magnitude:#x}")?;
            }
        }
        self.flag(inst.mem.glc, "glc")
    }

    fn ds(&mut self) -> Result {
        let inst = self.inst;
        self.operands()?;
        if inst.info.imm == Imm::Swizzle {
            imm::swizzle(self.f, inst.offset as u16)?;
        } else if inst.info.mods.has(Mods::OFF2) {
            if inst.offset != 0 {
                write!(self.f, " offset0:{}", inst.offset)?;
            }
            if inst.offset1 != 0 {
                write!(self.f, " offset1:{}", inst.offset1)?;
            }
        } else if inst.offset != 0 {
            write!(self.f, " offset:{}", inst.offset)?;
        }
        self.flag(inst.mem.gds, "gds")
    }

    /// Source `at`, or `off` where it is absent.
    fn src_or_off(&mut self, at: usize) -> Result {
        if self.inst.src[at].is_some() {
            return self.src(at);
        }
        self.separator()?;
        self.f.write_str("off")
    }

    fn flat(&mut self) -> Result {
        let inst = self.inst;
        self.dst(0)?;
        self.src_or_off(0)?;
        self.src(1)?;
        if inst.info.format != Format::Flat {
            self.src_or_off(2)?;
        }
        self.offset_and_cache()
    }

    fn offset_and_cache(&mut self) -> Result {
        let inst = self.inst;
        if inst.offset != 0 {
            write!(self.f, " offset:{}", inst.offset)?;
        }
        self.cache()
    }

    fn cache(&mut self) -> Result {
        let mem = self.inst.mem;
        self.flag(mem.sc0, "sc0")?;
        self.flag(mem.nt, "nt")?;
        self.flag(mem.sc1, "sc1")
    }

    fn buffer(&mut self) -> Result {
        let inst = self.inst;
        if inst.info.mods.has(Mods::NOADDR) {
            return self.cache();
        }
        if inst.src[1].is_some() {
            self.src(1)?;
        } else {
            self.dst(0)?;
        }
        self.src_or_off(0)?;
        self.src(2)?;
        self.src(3)?;
        if inst.info.imm == Imm::BufFormat {
            imm::buffer_format(self.f, inst.mem.dfmt, inst.mem.nfmt)?;
        }
        self.flag(inst.mem.idxen, "idxen")?;
        self.flag(inst.mem.offen, "offen")?;
        self.offset_and_cache()?;
        self.flag(inst.mem.lds, "lds")
    }
}

/// Whether a constant code is a special register, printed by name.
fn is_named(code: u16) -> bool {
    matches!(code, 235..=239 | 251..=253)
}

fn register(f: &mut Formatter<'_>, operand: Operand) -> Result {
    let Operand { code, dwords } = operand;
    let tuple = |f: &mut Formatter<'_>, kind: &str, first: u16| {
        if dwords == 1 {
            write!(f, "{kind}{first}")
        } else {
            write!(f, "{kind}[{first}:{}]", first + u16::from(dwords) - 1)
        }
    };
    let named = |f: &mut Formatter<'_>, name: &str, first: u16| match (dwords, code - first) {
        (1, 0) => write!(f, "{name}_lo"),
        (1, _) => write!(f, "{name}_hi"),
        _ => f.write_str(name),
    };
    match code {
        0..=101 => tuple(f, "s", code),
        102 | 103 => named(f, "flat_scratch", 102),
        104 | 105 => named(f, "xnack_mask", 104),
        106 | 107 => named(f, "vcc", 106),
        108..=123 => tuple(f, "ttmp", code - 108),
        124 => f.write_str("m0"),
        126 | 127 => named(f, "exec", 126),
        Operand::VGPR..Operand::AGPR => tuple(f, "v", code - Operand::VGPR),
        Operand::AGPR.. => tuple(f, "a", code - Operand::AGPR),
        _ => write!(f, "reserved{code}"),
    }
}

fn constant(f: &mut Formatter<'_>, slot: Slot, code: u16) -> Result {
    const FLOAT: [&str; 8] = ["0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"];
    let wide = matches!(slot.elem, Elem::F64 | Elem::B64);
    f.write_str(match code {
        128..=192 => return write!(f, "{}", code - 128),
        193..=208 => return write!(f, "-{}", code - 192),
        235 => "src_shared_base",
        236 => "src_shared_limit",
        237 => "src_private_base",
        238 => "src_private_limit",
        239 => "src_pops_exiting_wave_id",
        240..=247 => FLOAT[usize::from(code - 240)],
        248 if wide => "0.15915494309189532",
        248 => "0.15915494",
        251 => "src_vccz",
        252 => "src_execz",
        253 => "src_scc",
        _ => return write!(f, "reserved{code}"),
    })
}

/// Inline constant that the assembler would use for the number `value`.
fn inlined(slot: Slot, value: u32) -> Option<u16> {
    let float =
        |patterns: [u32; 9]| patterns.iter().position(|&p| p == value).map(|at| 240 + at as u16);
    let integer = |value: i64| match value {
        0..=64 => Some(128 + value as u16),
        -16..=-1 => Some((192 - value) as u16),
        _ => None,
    };
    match slot.elem {
        Elem::F16 => {
            let short = if value <= 0xffff { i64::from(value as u16 as i16) } else { value.into() };
            integer(short).or(float(F16_PATTERNS))
        }
        Elem::Bf16 => {
            let short = if value <= 0xffff { i64::from(value as u16 as i16) } else { value.into() };
            integer(short).or(float(BF16_PATTERNS))
        }
        Elem::B16 if slot.count == 1 => integer(value.into()),
        Elem::F64 => integer(value.into()).or(float(F64_PATTERNS)),
        Elem::B64 => integer(value.into()),
        _ => integer((value as i32).into()).or(float(F32_PATTERNS)),
    }
}

const F16_PATTERNS: [u32; 9] =
    [0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118];
const BF16_PATTERNS: [u32; 9] =
    [0x3f00, 0xbf00, 0x3f80, 0xbf80, 0x4000, 0xc000, 0x4080, 0xc080, 0x3e22];
const F32_PATTERNS: [u32; 9] = [
    0x3f00_0000,
    0xbf00_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x4000_0000,
    0xc000_0000,
    0x4080_0000,
    0xc080_0000,
    0x3e22_f983,
];
/// High dwords; the low ones are zero. 1/2π has no such pattern.
const F64_PATTERNS: [u32; 9] = [
    0x3fe0_0000,
    0xbfe0_0000,
    0x3ff0_0000,
    0xbff0_0000,
    0x4000_0000,
    0xc000_0000,
    0x4010_0000,
    0xc010_0000,
    u32::MAX,
];

fn literal(f: &mut Formatter<'_>, slot: Slot, value: u32, format: Format) -> Result {
    match (inlined(slot, value), slot.class, format) {
        // The literal of s_setreg_imm32 is printed like any number, having no other encoding.
        (Some(code), Class::Literal, Format::Sopk) => constant(f, slot, code),
        (Some(_), class, _) if class != Class::Literal => write!(f, "lit({value:#x})"),
        _ => write!(f, "{value:#x}"),
    }
}
