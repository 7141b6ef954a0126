//! NaN and infinity out of finite operands.
//!
//! Each floating-point operation is looked at before and after it is executed: a result that is
//! not finite although all that it is made of was. Values that are not finite may be copied,
//! loaded and computed with; only where they come up is of interest. The steps of a division that
//! produce NaN by design are left out.

use std::ops::Range;

use super::Kind;
use super::facts::{Facts, ones};
use super::group::GroupChecker;
use super::launch::Draft;
use super::undefined::{Taint, dpp_source, dpp_written};
use crate::exec::{WAVE, Wave};
use crate::isa::{Arch, Elem, Ext, Format, Inst, MatType, MfmaClass, MfmaInfo, Mods, Op, Operand};

/// How some bits of a dword are a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    F32,
    /// The high dword.
    F64,
    F16 {
        high: bool,
    },
    Bf16 {
        high: bool,
    },
    /// A byte; `wide` for five bits of exponent.
    Fp8 {
        byte: u32,
        wide: bool,
        arch: Arch,
    },
    /// The exponent that scales a block, in any byte.
    Scale,
}

impl Number {
    /// Whether these bits are NaN or infinity.
    #[inline(always)]
    fn is_special(self, bits: u32) -> bool {
        let special = |mask: u32, shift: u32| bits >> shift & mask == mask;
        match self {
            Self::F32 => special(0x7f80_0000, 0),
            Self::F64 => special(0x7ff0_0000, 0),
            Self::F16 { high } => special(0x7c00, if high { 16 } else { 0 }),
            Self::Bf16 { high } => special(0x7f80, if high { 16 } else { 0 }),
            Self::Fp8 { byte, wide, arch } => {
                let bits = bits >> (8 * byte) & 0xff;
                match (arch, wide) {
                    (Arch::Gfx942, _) => bits == 0x80,
                    (Arch::Gfx950, false) => bits & 0x7f == 0x7f,
                    (Arch::Gfx950, true) => bits & 0x7c == 0x7c,
                }
            }
            Self::Scale => bits.to_le_bytes().contains(&0xff),
        }
    }

    /// Both numbers of 16 bits.
    fn halves(elem: Elem) -> [Self; 2] {
        [false, true].map(|high| match elem {
            Elem::F16 => Self::F16 { high },
            _ => Self::Bf16 { high },
        })
    }
}

/// A number in a register.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// One dword.
    operand: Operand,
    number: Number,
    /// Whether it is read through a DPP control.
    moved: bool,
}

/// Results and all that they are made of, lane by lane.
#[derive(Debug, Default)]
struct Part {
    sources: Vec<Place>,
    results: Vec<Place>,
}

/// Floating-point numbers that an instruction reads and writes.
#[derive(Debug)]
pub(super) enum Floats {
    /// One or two independent operations.
    Lanes(Parts),
    /// A matrix instruction.
    Matrix(&'static MfmaInfo),
}

/// Independent operations of an instruction.
#[derive(Debug)]
pub(super) struct Parts(Vec<Part>);

impl Floats {
    pub(super) fn of(inst: &Inst, arch: Arch) -> Option<Self> {
        if let Some(shape) = MfmaInfo::get(inst.info.op, arch) {
            let is_float = shape.cd != MatType::I32;
            return is_float.then_some(Self::Matrix(shape));
        }
        if !inst.info.format.is_valu()
            || matches!(inst.info.op, Op::v_div_scale_f32 | Op::v_div_scale_f64)
        {
            return None;
        }
        let parts = parts(inst, arch);
        (!parts.is_empty()).then_some(Self::Lanes(Parts(parts)))
    }
}

/// The numbers of an operand: all elements, or the half that a modifier picks of a single one.
fn numbers(operand: Operand, elem: Elem, count: u8, high: bool) -> Vec<Place> {
    let place = |dword: usize, number| {
        let code = if is_register(operand) { operand.code + dword as u16 } else { operand.code };
        Place { operand: Operand { code, dwords: 1 }, number, moved: false }
    };
    let count = usize::from(count);
    match elem {
        Elem::F32 | Elem::Xf32 => (0..count).map(|at| place(at, Number::F32)).collect(),
        Elem::F64 => (0..count).map(|at| place(2 * at + 1, Number::F64)).collect(),
        Elem::F16 | Elem::Bf16 if count == 1 => {
            vec![place(0, Number::halves(elem)[usize::from(high)])]
        }
        Elem::F16 | Elem::Bf16 => {
            (0..count).map(|at| place(at / 2, Number::halves(elem)[at % 2])).collect()
        }
        _ => Vec::new(),
    }
}

/// Conversions that round one number at random to a byte.
const TO_A_BYTE: [&str; 2] = ["_sr_fp8_", "_sr_bf8_"];

/// A number of 8 bits in the first dword of an operand.
fn of_byte(operand: Operand, byte: u32, inst: &Inst, arch: Arch) -> Place {
    let number = Number::Fp8 { byte, wide: inst.info.base().contains("bf8"), arch };
    Place { operand: Operand { dwords: 1, ..operand }, number, moved: false }
}

/// Bytes that a conversion from numbers of 8 bits reads.
fn bytes_read(inst: &Inst) -> Range<u32> {
    let picked = u32::from(inst.op_sel);
    let count = if inst.info.base().contains("_pk_") { 2 } else { 1 };
    let first = match inst.ext {
        Ext::Sdwa(sdwa) if sdwa.src_sel[0] < 4 => {
            let byte = u32::from(sdwa.src_sel[0]);
            return byte..byte + 1;
        }
        Ext::Sdwa(sdwa) => 2 * u32::from(sdwa.src_sel[0] == 5),
        _ if count == 2 => 2 * (picked & 1),
        _ => picked & 3,
    };
    first..first + count
}

fn is_register(operand: Operand) -> bool {
    operand.is_vector() || operand.scalar_index().is_some()
}

fn parts(inst: &Inst, arch: Arch) -> Vec<Part> {
    let (result, dst) = (inst.info.dst[0], inst.dst[0]);
    let bit = |bits: u8, at: usize| bits >> at & 1 != 0;
    if !dst.is_vector() {
        return Vec::new();
    }
    let is_packed = inst.info.format == Format::Vop3p
        && inst.info.base().starts_with("v_pk_")
        && result.count == 2
        && matches!(result.elem, Elem::F16 | Elem::Bf16 | Elem::F32);
    if is_packed {
        return (0..2)
            .map(|part| {
                let picked = if part == 0 { inst.op_sel } else { inst.op_sel_hi };
                let sources = inst.src.iter().zip(&inst.info.src).enumerate();
                let sources = sources.filter(|(_, (operand, _))| operand.is_some());
                let sources = sources.filter_map(|(at, (operand, slot))| {
                    let all = numbers(*operand, slot.elem, 2, false);
                    all.get(usize::from(bit(picked, at))).copied()
                });
                let results = numbers(dst, result.elem, 2, false);
                Part { sources: sources.collect(), results: results[part..=part].to_vec() }
            })
            .collect();
    }

    let mut all = Part { sources: Vec::new(), results: results(inst, arch) };
    if all.results.is_empty() {
        return Vec::new();
    }
    let is_mixed = inst.info.mods.has(Mods::MIX);
    let name = inst.info.base();
    let from_bytes = name.ends_with("_fp8") || name.ends_with("_bf8");
    let is_single = TO_A_BYTE.iter().any(|part| name.contains(part));
    for (at, (operand, slot)) in inst.src.iter().zip(&inst.info.src).enumerate() {
        if !operand.is_some() {
            continue;
        }
        let moved = at == 0 && matches!(inst.ext, Ext::Dpp(_));
        let moved = |place: Place| Place { moved, ..place };
        if at == 0 && from_bytes {
            let bytes = bytes_read(inst).map(|byte| of_byte(*operand, byte, inst, arch));
            all.sources.extend(bytes.map(moved));
            continue;
        }
        let (elem, high) = match inst.ext {
            _ if is_mixed && bit(inst.op_sel_hi, at) => (Elem::F16, bit(inst.op_sel, at)),
            Ext::Sdwa(sdwa) if at < 2 && matches!(sdwa.src_sel[at], 0..=3) => continue,
            Ext::Sdwa(sdwa) if at < 2 => (slot.elem, sdwa.src_sel[at] == 5),
            _ => (slot.elem, inst.info.mods.sel != 0 && bit(inst.op_sel, at)),
        };
        let count = if is_single { 1 } else { slot.count };
        all.sources.extend(numbers(*operand, elem, count, high).into_iter().map(moved));
    }
    if result.rw {
        all.sources.extend(numbers(dst, result.elem, result.count, false));
    }
    vec![all]
}

/// Numbers that an instruction writes, packed ones aside.
fn results(inst: &Inst, arch: Arch) -> Vec<Place> {
    let (result, dst) = (inst.info.dst[0], inst.dst[0]);
    let name = inst.info.base();
    let selected = inst.op_sel >> 2;
    let place = |byte: u32| of_byte(dst, byte, inst, arch);
    if ["_pk_fp8_", "_pk_bf8_"].iter().any(|part| name.contains(part)) {
        let first = u32::from(selected & 2);
        return vec![place(first), place(first + 1)];
    }
    if TO_A_BYTE.iter().any(|part| name.contains(part)) {
        return vec![place(u32::from(selected & 3))];
    }
    let high = match inst.ext {
        Ext::Sdwa(sdwa) if sdwa.dst_sel < 4 => return Vec::new(),
        Ext::Sdwa(sdwa) => sdwa.dst_sel == 5,
        _ => inst.info.op == Op::v_fma_mixhi_f16 || selected & 2 != 0,
    };
    // These keep the other half.
    let count = if name.starts_with("v_cvt_scalef32_f16_") { 1 } else { result.count };
    numbers(dst, result.elem, count, high)
}

/// Lanes in which a number is not finite.
fn special(wave: &Wave<'_>, inst: &Inst, place: Place) -> u64 {
    let Place { operand, number, moved } = place;
    let Some(row) = operand.vector_index() else {
        // Inline constants are finite; of a literal for 64 bits this is the high dword.
        let is_literal = operand.code == Operand::LITERAL;
        let is_special = (is_literal || operand.scalar_index().is_some())
            && number.is_special(wave.scalar(operand.code, inst.literal));
        return if is_special { u64::MAX } else { 0 };
    };
    let mut lanes = 0;
    for (lane, bits) in wave.row(row & 511).iter().enumerate() {
        lanes |= u64::from(number.is_special(*bits)) << lane;
    }
    match inst.ext {
        Ext::Dpp(dpp) if moved => (0..WAVE).fold(0, |bits, lane| {
            let from = dpp_source(dpp.ctrl, lane);
            bits | from.map_or(0, |from| lanes >> from & 1) << lane
        }),
        _ => lanes,
    }
}

/// Lanes whose operands are finite: of each part, or of each dword of a matrix.
pub(super) type Finite = Vec<u64>;

/// What of the result of an instruction can only be special if the instruction makes it so.
fn finite_before(wave: &Wave<'_>, inst: &Inst, floats: &Floats, finite: &mut Finite) {
    finite.clear();
    match floats {
        Floats::Lanes(parts) => {
            let written = match inst.ext {
                Ext::Dpp(dpp) => wave.exec() & dpp_written(dpp, wave.exec()),
                _ => wave.exec(),
            };
            finite.extend(parts.0.iter().map(|part| {
                let specials = part.sources.iter().map(|place| special(wave, inst, *place));
                written & !specials.fold(0, |all, lanes| all | lanes)
            }));
        }
        Floats::Matrix(shape) => {
            let [a, b, c, scale_a, scale_b] = inst.src;
            let factor = |operand, number: MatType, format, scale| {
                let places = matrix_numbers(operand, number, format, wave.env.arch).into_iter();
                let scale = scale_places(scale).into_iter();
                places.chain(scale).fold(0, |all, place| all | special(wave, inst, place))
            };
            let rows = Taint::new(factor(a, shape.a, inst.cbsz, scale_a), 0);
            let columns = Taint::new(factor(b, shape.b, inst.blgp, scale_b), 0);
            let mut spoilt = vec![Taint::default(); usize::from(inst.dst[0].dwords)];
            super::matrix::spread(shape, inst, rows, columns, &mut spoilt);
            let accumulator = if shape.sparse { inst.dst[0] } else { c };
            let number = result_number(shape);
            finite.extend(spoilt.iter().enumerate().map(|(dword, taint)| {
                let code = accumulator.code + dword as u16;
                let operand = match accumulator.is_vector() {
                    true => Operand { code, dwords: 1 },
                    false => accumulator,
                };
                !(taint.lanes | special(wave, inst, Place { operand, number, moved: false }))
            }));
        }
    }
}

/// Number in the dwords of a result; of those of 64 bits only the high one counts.
fn result_number(shape: &MfmaInfo) -> Number {
    if shape.class == MfmaClass::Dgemm { Number::F64 } else { Number::F32 }
}

fn scale_places(scale: Operand) -> Option<Place> {
    scale.is_vector().then_some(Place { operand: scale, number: Number::Scale, moved: false })
}

/// Numbers of A or B.
fn matrix_numbers(operand: Operand, number: MatType, format: u8, arch: Arch) -> Vec<Place> {
    let wide = match number {
        MatType::Bf8 => true,
        MatType::F8F6F4 => format == 1,
        _ => false,
    };
    let numbers: Vec<Number> = match number {
        MatType::F16 => Number::halves(Elem::F16).to_vec(),
        MatType::Bf16 => Number::halves(Elem::Bf16).to_vec(),
        MatType::F32 | MatType::Xf32 => vec![Number::F32],
        MatType::F64 => vec![Number::F64],
        MatType::F8F6F4 if format > 1 => Vec::new(),
        MatType::Fp8 | MatType::Bf8 | MatType::F8F6F4 => {
            (0..4).map(|byte| Number::Fp8 { byte, wide, arch }).collect()
        }
        MatType::I8 | MatType::I32 => Vec::new(),
    };
    let is_double = number == MatType::F64;
    let dwords = usize::from(is_double)..usize::from(operand.dwords);
    let dwords = dwords.step_by(if is_double { 2 } else { 1 });
    dwords
        .flat_map(|dword| {
            let operand = Operand { code: operand.code + dword as u16, dwords: 1 };
            numbers.iter().map(move |number| Place { operand, number: *number, moved: false })
        })
        .collect()
}

/// A lane in which the result is special although all that it is made of was finite.
fn special_after(wave: &Wave<'_>, inst: &Inst, floats: &Floats, finite: &Finite) -> Option<u32> {
    let lanes = match floats {
        Floats::Lanes(parts) => parts.0.iter().zip(finite).fold(0, |all, (part, finite)| {
            let specials = part.results.iter().map(|place| special(wave, inst, *place));
            all | finite & specials.fold(0, |all, lanes| all | lanes)
        }),
        Floats::Matrix(shape) => {
            let number = result_number(shape);
            let first = usize::from(number == Number::F64);
            let dwords = finite.iter().enumerate().skip(first).step_by(first + 1);
            dwords.fold(0, |all, (dword, finite)| {
                let operand = Operand { code: inst.dst[0].code + dword as u16, dwords: 1 };
                all | finite & special(wave, inst, Place { operand, number, moved: false })
            })
        }
    };
    ones(lanes).next().map(|lane| lane as u32)
}

impl GroupChecker<'_> {
    /// Looks at the operands of an instruction that is about to be executed.
    pub(super) fn note_operands(&mut self, wave: &Wave<'_>, facts: &Facts) {
        if let Some(floats) = &facts.floats {
            finite_before(wave, &facts.inst, floats, &mut self.finite);
        }
    }

    /// Looks at the results of the instruction that was just executed.
    pub(super) fn note_results(&mut self, wave: &Wave<'_>, index: usize) {
        let launch = self.launch;
        if !launch.checks.has(Kind::Float) {
            return;
        }
        let Some(facts) = self.current else { return };
        let Some(floats) = &facts.floats else { return };
        if let Some(lane) = special_after(wave, &facts.inst, floats, &self.finite) {
            let detail = "NaN or infinity comes of finite operands";
            let who = self.who(wave.index as usize);
            let mut draft = Draft::new(Kind::Float, who, index, detail);
            draft.lane = Some(lane);
            self.launch.report(draft);
        }
    }
}
