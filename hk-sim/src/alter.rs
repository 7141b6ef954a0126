//! Alterations of ordinary machine instructions, as a slip of a programmer or of a compiler might
//! make them. A kernel with one of them in it is a mutant, which good tests notice.
//!
//! An alteration changes bits of the encoding and keeps its size, so that nothing else moves. It is
//! decoded again, and dropped where the chip has no such instruction. Hints and waits have none:
//! [`mutants`](crate::sanitize::mutants) are those of waits and barriers.
//!
//! The copies that compilers make of one line of source differ in registers and constants. What is
//! done to an instruction is therefore told as a [`Change`], which speaks of neither, and which can
//! be made in all of them.

mod field;

use crate::exec::Program;
use crate::isa::{Arch, Elem, Format, Inst, Op, OpInfo, Operand, decode};

use field::{Field, modifier_fields, opcode_field, source_field};

/// What is altered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// An integer constant or offset, by 1; the offset of a scalar load, whose two low bits do not
    /// count, by 4; of the constants for all lanes, true and false.
    Integer,
    /// A floating-point constant, negated or doubled; 4, which has no double, halved.
    Float,
    /// A comparison, for its neighbour: `<` and `<=`, `>` and `>=`, `==` and `!=`, ordered and not.
    Compare,
    /// Two operands of which the order matters, swapped.
    Swap,
    /// Addition and subtraction.
    AddSub,
    /// The two choices of a selection, swapped.
    Select,
    /// Minimum and maximum.
    MinMax,
}

impl Kind {
    /// A word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Float => "float",
            Self::Compare => "compare",
            Self::Swap => "swap",
            Self::AddSub => "add-sub",
            Self::Select => "select",
            Self::MinMax => "min-max",
        }
    }
}

/// What is done to an instruction, whatever its registers and constants are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Change {
    /// What is altered.
    pub kind: Kind,
    /// Of which part.
    pub part: Part,
    /// Of the two ways in which a number is altered, the second: one less, or of twice the size.
    pub second: bool,
}

/// A part of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// The operation, or the order of operands.
    Whole,
    /// A source, by its number.
    Source(u8),
    /// An immediate field, by its number.
    Field(u8),
}

impl Change {
    const fn whole(kind: Kind) -> Self {
        Self { kind, part: Part::Whole, second: false }
    }

    const fn number(kind: Kind, part: Part) -> [Self; 2] {
        [Self { kind, part, second: false }, Self { kind, part, second: true }]
    }
}

/// An instruction that stands in place of another.
#[derive(Clone, Debug, PartialEq)]
pub struct Alteration {
    /// What was done. No two alterations of an instruction have the same.
    pub change: Change,
    /// The instruction, of the same size.
    pub inst: Inst,
}

impl Alteration {
    /// The encoded instruction.
    pub fn words(&self) -> &[u32] {
        &self.inst.raw[..usize::from(self.inst.size / 4)]
    }
}

/// The alterations of an instruction, in a fixed order.
pub fn alterations(arch: Arch, inst: &Inst) -> Vec<Alteration> {
    let mut found = Alterations { arch, inst, found: Vec::new() };
    found.constants();
    found.immediates();
    found.operations();
    found.swaps();
    found.signs();
    found.found
}

/// Inline constants of integers: 0 to 64, then -1 to -16.
const INTEGERS: std::ops::RangeInclusive<u16> = 128..=208;
/// Inline constants of floating-point numbers: 0.5, -0.5, 1, -1, 2, -2, 4, -4.
const FLOATS: std::ops::RangeInclusive<u16> = 240..=247;

struct Alterations<'a> {
    arch: Arch,
    inst: &'a Inst,
    found: Vec<Alteration>,
}

impl Alterations<'_> {
    /// Adds what `make` makes of the encoding, if that is another instruction of the same size
    /// that is executed.
    fn add(&mut self, change: Change, make: impl FnOnce(&mut [u32; 4])) {
        let mut raw = self.inst.raw;
        make(&mut raw);
        let size = self.inst.size;
        let Ok(inst) = decode(self.arch, &raw[..usize::from(size / 4)]) else { return };
        let known = |other: &Alteration| other.inst.raw == inst.raw;
        if inst.size == size
            && inst.raw != self.inst.raw
            && !self.found.iter().any(known)
            && Program::supports(self.arch, &inst).is_ok()
        {
            self.found.push(Alteration { change, inst });
        }
    }

    /// Constants among the operands.
    fn constants(&mut self) {
        for at in 0..self.inst.src.len() {
            let (operand, slot) = (self.inst.src[at], self.inst.info.src[at]);
            if !operand.is_some() || !slot.is_some() {
                continue;
            }
            let number = !matches!(slot.elem, Elem::B16 | Elem::B32 | Elem::B64);
            let part = Part::Source(at as u8);
            if operand.code == Operand::LITERAL {
                self.literal(number, slot.elem, part);
                continue;
            }
            let Some(field) = source_field(self.inst, at) else { continue };
            let code = operand.code;
            if FLOATS.contains(&code) {
                let [negate, double] = Change::number(Kind::Float, part);
                self.add(negate, |raw| field.set(raw, ((code - 240) ^ 1) + 240));
                let doubled = if code < 246 { code + 2 } else { code - 2 };
                self.add(double, |raw| field.set(raw, doubled));
            } else if INTEGERS.contains(&code) && !number {
                let value = if code <= 192 { i32::from(code) - 128 } else { 192 - i32::from(code) };
                let changes = Change::number(Kind::Integer, part);
                for (change, next) in changes.into_iter().zip([value + 1, value - 1]) {
                    if is_mask(self.inst.info.op) && next != -1 - value {
                        continue;
                    }
                    let Some(code) = inline(next) else { continue };
                    self.add(change, |raw| field.set(raw, code));
                }
            }
        }
    }

    /// The literal, which is the last dword.
    fn literal(&mut self, number: bool, elem: Elem, part: Part) {
        let last = usize::from(self.inst.size / 4) - 1;
        let literal = self.inst.literal;
        // Moves have no element type. Integers of this range are rare.
        let exponent = literal >> 23 & 0xff;
        let moved = self.inst.src[1..].iter().all(|operand| !operand.is_some());
        if number || moved && (97..=157).contains(&exponent) {
            let (sign, double) = match elem {
                Elem::F16 => (1 << 15, 1 << 10),
                Elem::Bf16 => (1 << 15, 1 << 7),
                Elem::F64 => (1 << 31, 1 << 20),
                _ => (1 << 31, 1 << 23),
            };
            let changes = Change::number(Kind::Float, part);
            self.add(changes[0], |raw| raw[last] = literal ^ sign);
            self.add(changes[1], |raw| raw[last] = literal.wrapping_add(double));
        } else {
            let changes = Change::number(Kind::Integer, part);
            self.add(changes[0], |raw| raw[last] = literal.wrapping_add(1));
            self.add(changes[1], |raw| raw[last] = literal.wrapping_sub(1));
        }
    }

    /// Immediate fields: scalar constants and offsets of memory instructions.
    fn immediates(&mut self) {
        let info = self.inst.info;
        let by = |field: Field, step: u32| (field, step);
        let fields = match info.format {
            Format::Sopk if is_arithmetic(info.op) => vec![by(Field::new(0, 0, 16), 1)],
            Format::Smem if self.inst.raw[0] >> 17 & 1 != 0 => vec![by(Field::new(1, 0, 21), 4)],
            Format::Ds if info.mods.has(crate::isa::Mods::OFF2) => {
                vec![by(Field::new(0, 0, 8), 1), by(Field::new(0, 8, 8), 1)]
            }
            Format::Ds if info.imm == crate::isa::Imm::None => vec![by(Field::new(0, 0, 16), 1)],
            Format::Flat | Format::Global | Format::Scratch => vec![by(Field::new(0, 0, 13), 1)],
            Format::Mubuf | Format::Mtbuf => vec![by(Field::new(0, 0, 12), 1)],
            _ => Vec::new(),
        };
        for (at, (field, step)) in fields.into_iter().enumerate() {
            let value = field.get(&self.inst.raw);
            let [more, less] = Change::number(Kind::Integer, Part::Field(at as u8));
            // An offset of 0 is none, but of a scalar load it is the first argument's.
            if value == 0 && !matches!(info.format, Format::Smem | Format::Sopk) {
                continue;
            }
            self.add(more, |raw| field.set(raw, value.wrapping_add(step) as u16));
            if value != 0 || info.format == Format::Sopk {
                self.add(less, |raw| field.set_all(raw, value.wrapping_sub(step)));
            }
        }
    }

    /// Another operation with the same operands.
    fn operations(&mut self) {
        let name = self.inst.info.op.name();
        if let Some(other) = neighbour(name) {
            self.operation(Kind::Compare, &other);
        }
        for (kind, one, other) in [
            (Kind::AddSub, "_add_", "_sub_"),
            (Kind::AddSub, "_addc_", "_subb_"),
            (Kind::AddSub, "_addk_", "_subk_"),
            (Kind::MinMax, "_min_", "_max_"),
            (Kind::MinMax, "_min3_", "_max3_"),
        ] {
            let same = |a: usize, b: usize| self.inst.src[a] == self.inst.src[b];
            if kind == Kind::MinMax && same(0, 1) {
                continue;
            }
            for (from, to) in [(one, other), (other, one)] {
                if name.contains(from) {
                    self.operation(kind, &name.replacen(from, to, 1));
                }
            }
        }
        // Subtractions in reverse swap the operands.
        for (from, to) in [("v_sub_", "v_subrev_"), ("v_subb_", "v_subbrev_")] {
            for (from, to) in [(from, to), (to, from)] {
                if name.starts_with(from) && self.inst.src[0] != self.inst.src[1] {
                    self.operation(Kind::Swap, &name.replacen(from, to, 1));
                }
            }
        }
    }

    fn operation(&mut self, kind: Kind, name: &str) {
        let info = self.inst.info;
        let fits = |row: &&OpInfo| {
            let widths = |slots: &[crate::isa::Slot]| -> Vec<u8> {
                slots.iter().map(|slot| slot.dwords).collect()
            };
            row.format == info.format
                && row.archs.has(self.arch)
                && widths(&row.dst) == widths(&info.dst)
                && widths(&row.src) == widths(&info.src)
        };
        let Some(op) = Op::from_name(name) else { return };
        let Some(row) = op.encodings().find(fits) else { return };
        let Some(field) = opcode_field(info.format) else { return };
        self.add(Change::whole(kind), |raw| field.set(raw, row.opcode));
    }

    /// Two operands in each other's place.
    fn swaps(&mut self) {
        let Some((kind, [a, b])) = ordered(self.inst.info.op) else { return };
        let sources = &self.inst.src;
        if sources[a] == sources[b] || [a, b].iter().any(|at| !sources[*at].is_some()) {
            return;
        }
        let fields = (source_field(self.inst, a), source_field(self.inst, b));
        let (Some(first), Some(second)) = fields else { return };
        let (one, other) = (first.get(&self.inst.raw), second.get(&self.inst.raw));
        if first.bits != second.bits {
            // The second can only name a vector register, the first anything.
            if one < 256 {
                return;
            }
            self.add(Change::whole(kind), |raw| {
                first.set_all(raw, other + 256);
                second.set_all(raw, one - 256);
            });
            return;
        }
        let modifiers = modifier_fields(self.inst.info.format, a, b);
        self.add(Change::whole(kind), |raw| {
            first.set_all(raw, other);
            second.set_all(raw, one);
            for (first, second) in modifiers {
                let (one, other) = (first.get(raw), second.get(raw));
                first.set_all(raw, other);
                second.set_all(raw, one);
            }
        });
    }

    /// Additions that have no subtraction beside them, but an operand that can be negated.
    fn signs(&mut self) {
        let at = match self.inst.info.op {
            Op::v_add_f64 | Op::v_pk_add_f32 | Op::v_pk_add_f16 => 1,
            Op::v_fma_f32 | Op::v_fma_f64 | Op::v_pk_fma_f32 | Op::v_fma_mix_f32 => 2,
            _ => return,
        };
        let high = Field::new(0, 8 + at, 1);
        let low = Field::new(1, 29 + at, 1);
        let packed =
            matches!(self.inst.info.op, Op::v_pk_add_f32 | Op::v_pk_add_f16 | Op::v_pk_fma_f32);
        self.add(Change::whole(Kind::AddSub), |raw| {
            low.set_all(raw, low.get(raw) ^ 1);
            if packed {
                high.set_all(raw, high.get(raw) ^ 1);
            }
        });
    }
}

/// Whether constants of the operation are false and true for all lanes, 0 and -1: others next to
/// these would be true or false for one lane.
fn is_mask(op: Op) -> bool {
    let name = op.name();
    let bitwise = ["mov_b64", "cselect_b64", "and_b64", "or_b64", "andn2_b64", "orn2_b64"];
    name.starts_with("s_") && bitwise.iter().any(|end| name.ends_with(end))
}

/// Code of an inline integer.
fn inline(value: i32) -> Option<u16> {
    match value {
        0..=64 => Some(128 + value as u16),
        -16..=-1 => Some((192 - value) as u16),
        _ => None,
    }
}

/// Whether the immediate of a SOPK instruction is a number.
fn is_arithmetic(op: Op) -> bool {
    let name = op.name();
    ["s_movk", "s_cmovk", "s_cmpk", "s_addk", "s_mulk"].iter().any(|start| name.starts_with(start))
}

/// The comparison beside this one.
fn neighbour(name: &str) -> Option<String> {
    if let Some(rest) = name.strip_prefix("s_bitcmp") {
        let (bit, rest) = rest.split_at_checked(1)?;
        return Some(format!("s_bitcmp{}{rest}", if bit == "0" { 1 } else { 0 }));
    }
    let prefix = ["v_cmp_", "v_cmpx_", "s_cmp_", "s_cmpk_"];
    let prefix = prefix.into_iter().find(|prefix| name.starts_with(prefix))?;
    let (condition, kind) = name[prefix.len()..].split_once('_')?;
    let scalar = prefix.starts_with('s');
    let other = match condition {
        "lt" => "le",
        "le" => "lt",
        "gt" => "ge",
        "ge" => "gt",
        "nlt" => "nle",
        "nle" => "nlt",
        "ngt" => "nge",
        "nge" => "ngt",
        "eq" if scalar => "lg",
        "eq" if kind.starts_with('f') => "neq",
        "eq" => "ne",
        "ne" | "neq" => "eq",
        "lg" if scalar => "eq",
        "lg" => "nlg",
        "nlg" => "lg",
        "o" => "u",
        "u" => "o",
        _ => return None,
    };
    Some(format!("{prefix}{other}_{kind}"))
}

/// Two operands of which the order matters.
fn ordered(op: Op) -> Option<(Kind, [usize; 2])> {
    let name = op.name();
    let starts = |names: &[&str]| names.iter().any(|start| name.starts_with(start));
    if starts(&["v_cndmask_", "s_cselect_"]) {
        return Some((Kind::Select, [0, 1]));
    }
    let pair = if starts(&[
        "s_sub_",
        "s_subb_",
        "s_lshl",
        "s_lshr_",
        "s_ashr_",
        "s_bfe_",
        "s_bfm_",
        "s_andn2_b",
        "s_orn2_b",
        "s_pack_",
        "v_lshlrev_",
        "v_lshrrev_",
        "v_ashrrev_",
        "v_ldexp_",
        "v_cvt_pk",
        "v_pack_",
        "v_mbcnt_",
        "v_bcnt_",
        "v_lshl_add_",
        "v_lshl_or_",
        "v_alignb",
        "v_perm_b32",
        "v_bfm_",
        "v_pk_sub_",
        "v_pk_lshl",
        "v_pk_lshr",
        "v_pk_ashr",
        "v_mfma_",
        "v_bfi_",
    ]) {
        [0, 1]
    } else if starts(&[
        "v_fma_f",
        "v_mad_",
        "v_pk_fma_",
        "v_pk_mad_",
        "v_fma_mix",
        "v_div_scale_",
        "v_div_fixup_",
        "v_div_fmas_",
        "v_add_lshl_",
        "v_and_or_",
        "v_xad_",
        "v_bfe_",
    ]) {
        [1, 2]
    } else {
        return None;
    };
    Some((Kind::Swap, pair))
}
