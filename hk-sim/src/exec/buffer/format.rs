//! Loads and stores that convert between memory formats and registers.

use half::f16;
use hk_types::FaultKind;

use super::{Buffer, Descriptor};
use crate::exec::access::{Access, Addresses, Places, Space, each, order, write_rows, write_slots};
use crate::exec::{Flow, Handler, MicroOp, WAVE, Wave};
use crate::isa::{Format, Inst};

/// Format instruction: what is left of the opcode after lowering.
#[derive(Clone, Copy)]
pub(super) struct Typed {
    store: bool,
    /// Components in registers.
    count: u32,
    /// Registers hold 16-bit components.
    d16: bool,
    /// The one 16-bit component is in the high half.
    high: bool,
    /// The component goes to LDS.
    to_lds: bool,
    /// Data and number format of the instruction; MUBUF takes them from the descriptor.
    format: Option<(u8, u8)>,
}

const D16: u32 = 1 << 8;
const HIGH: u32 = 1 << 9;
const OWN_FORMAT: u32 = 1 << 10;
const TO_LDS: u32 = 1 << 11;

impl Typed {
    /// Format instruction with this opcode.
    pub(super) fn of(opcode: u16, inst: &Inst) -> Option<Self> {
        let mtbuf = inst.info.format == Format::Mtbuf;
        let format = mtbuf.then_some((inst.mem.dfmt, inst.mem.nfmt));
        let count = u32::from(opcode & 3) + 1;
        match opcode {
            0..=15 => Some(Self {
                store: opcode & 4 != 0,
                count,
                d16: opcode & 8 != 0,
                high: false,
                to_lds: inst.mem.lds,
                format,
            }),
            38 | 39 => Some(Self {
                store: opcode == 39,
                count: 1,
                d16: true,
                high: true,
                to_lds: false,
                format,
            }),
            _ => None,
        }
    }

    pub(super) fn handler(self) -> Handler {
        if self.store { store } else { load }
    }

    /// Encoding in [`MicroOp::literal`].
    pub(super) fn bits(self) -> u32 {
        let (data, number) = self.format.unwrap_or_default();
        self.count
            | u32::from(data) << 16
            | u32::from(number) << 20
            | if self.d16 { D16 } else { 0 }
            | if self.high { HIGH } else { 0 }
            | if self.to_lds { TO_LDS } else { 0 }
            | if self.format.is_some() { OWN_FORMAT } else { 0 }
    }
}

/// Meaning of the bits of a component.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Number {
    Unorm,
    Snorm,
    Uscaled,
    Sscaled,
    Uint,
    Sint,
    Float,
}

impl Number {
    fn is_integer(self) -> bool {
        matches!(self, Self::Uint | Self::Sint)
    }
}

/// Element in memory.
struct Element {
    /// Bits of the components, from the least significant one; formats name them the other way.
    widths: &'static [u32],
    number: Number,
}

impl Element {
    /// Element of format fields; `None` for combinations that do not exist.
    fn of(data: u32, number: u32) -> Option<Self> {
        let widths: &[u32] = match data {
            1 => &[8],
            2 => &[16],
            3 => &[8, 8],
            4 => &[32],
            5 => &[16, 16],
            6 => &[11, 11, 10],
            7 => &[10, 11, 11],
            8 => &[2, 10, 10, 10],
            9 => &[10, 10, 10, 2],
            10 => &[8, 8, 8, 8],
            11 => &[32, 32],
            12 => &[16, 16, 16, 16],
            13 => &[32, 32, 32],
            14 => &[32, 32, 32, 32],
            _ => return None,
        };
        let number = match number {
            0 => Number::Unorm,
            1 => Number::Snorm,
            2 => Number::Uscaled,
            3 => Number::Sscaled,
            4 => Number::Uint,
            5 => Number::Sint,
            7 => Number::Float,
            _ => return None,
        };
        let no_float = matches!(data, 1 | 3 | 8 | 9 | 10);
        (number != Number::Float || !no_float).then_some(Self { widths, number })
    }

    fn bytes(&self) -> u32 {
        self.widths.iter().sum::<u32>() / 8
    }

    /// Components as registers hold them, absent ones 0.
    fn unpack(&self, raw: u128) -> [u32; 4] {
        let mut components = [0; 4];
        let mut at = 0;
        for (component, &width) in components.iter_mut().zip(self.widths) {
            let bits = (raw >> at) as u32 & (u32::MAX >> (32 - width));
            *component = to_register(self.number, width, bits);
            at += width;
        }
        components
    }

    fn pack(&self, components: [u32; 4]) -> u128 {
        let mut raw = 0;
        let mut at = 0;
        for (component, &width) in components.into_iter().zip(self.widths) {
            raw |= u128::from(to_memory(self.number, width, component)) << at;
            at += width;
        }
        raw
    }
}

/// Register value of a component. "Memory reads of data in memory that is 32 or 64 bits do not
/// undergo any format conversion" (CDNA4 ISA, 9.1.3).
fn to_register(number: Number, width: u32, bits: u32) -> u32 {
    if width == 32 {
        return bits;
    }
    let signed = (bits << (32 - width)).cast_signed() >> (32 - width);
    match number {
        Number::Unorm => (bits as f32 / (u32::MAX >> (32 - width)) as f32).to_bits(),
        Number::Snorm => {
            let largest = (u32::MAX >> (33 - width)) as f32;
            (signed as f32 / largest).max(-1.0).to_bits()
        }
        Number::Uscaled => (bits as f32).to_bits(),
        Number::Sscaled => (signed as f32).to_bits(),
        Number::Uint => bits,
        Number::Sint => signed.cast_unsigned(),
        Number::Float if width == 16 => f16::from_bits(bits as u16).to_f32().to_bits(),
        // Unsigned floats with the exponent of f16 and the top of its mantissa.
        Number::Float => f16::from_bits((bits << (15 - width)) as u16).to_f32().to_bits(),
    }
}

/// Component in memory of a register value: normalised and scaled numbers and integers saturate,
/// floats round to nearest even.
fn to_memory(number: Number, width: u32, value: u32) -> u32 {
    if width == 32 {
        return value;
    }
    // In double precision the products below are exact.
    let float = f64::from(f32::from_bits(value));
    let unsigned_max = u32::MAX >> (32 - width);
    let signed_max = (unsigned_max >> 1) as i32;
    // Casts saturate and turn NaN into 0.
    let unsigned = |value: f64| (value.round_ties_even() as u32).min(unsigned_max);
    let signed = |value: f64, least: i32| {
        (value.round_ties_even() as i32).clamp(least, signed_max).cast_unsigned() & unsigned_max
    };
    match number {
        Number::Unorm => unsigned(float.clamp(0.0, 1.0) * f64::from(unsigned_max)),
        Number::Snorm => signed(float.clamp(-1.0, 1.0) * f64::from(signed_max), -signed_max),
        Number::Uscaled => unsigned(float),
        Number::Sscaled => signed(float, -signed_max - 1),
        Number::Uint => value.min(unsigned_max),
        Number::Sint => {
            value.cast_signed().clamp(-signed_max - 1, signed_max).cast_unsigned() & unsigned_max
        }
        Number::Float if width == 16 => f16::from_f32(f32::from_bits(value)).to_bits().into(),
        Number::Float => small_float(f32::from_bits(value), width),
    }
}

/// Unsigned float of 11 or 10 bits, rounded to nearest even; negative numbers become 0.
fn small_float(value: f32, width: u32) -> u32 {
    let dropped = 15 - width;
    let infinity = 31 << (width - 5);
    if value.is_nan() {
        return infinity | 1;
    }
    if value <= 0.0 {
        return 0;
    }
    // Round once: f32 has the spare bits that keep the exponent of f16 exact.
    let step = if value < 2f32.powi(-14) {
        2f32.powi(-24 + dropped as i32)
    } else {
        let exponent = (value.to_bits() >> 23) as i32 - 127;
        2f32.powi(exponent - 10 + dropped as i32)
    };
    let rounded = (value / step).round_ties_even() * step;
    if rounded > 65504.0 {
        return infinity;
    }
    u32::from(f16::from_f32(rounded).to_bits()) >> dropped
}

/// Instruction and element together.
struct Conversion {
    element: Element,
    /// What each register component is: a component of memory (4..=7), 1 or 0.
    select: [u32; 4],
    count: usize,
    d16: bool,
    high: bool,
}

impl Conversion {
    /// Conversion of an instruction; `Ok(None)` for an unbound resource.
    fn of(wave: &mut Wave<'_>, op: &MicroOp) -> Result<Option<Self>, Flow> {
        const IDENTITY: [u32; 4] = [4, 5, 6, 7];
        let bits = op.literal;
        let buffer = Descriptor::of(wave, op);
        let own = bits & OWN_FORMAT != 0;
        let (data, number) = if own {
            (bits >> 16 & 15, bits >> 20 & 7)
        } else {
            (buffer.word >> 15 & 15, buffer.word >> 12 & 7)
        };
        if data == 0 || buffer.is_unbound() {
            return Ok(None);
        }
        let Some(element) = Element::of(data, number) else {
            let detail = format!("data format {data} with number format {number} does not exist");
            return Err(wave.raise(FaultKind::IllegalState, detail, None, None));
        };
        let select = if own {
            IDENTITY
        } else {
            std::array::from_fn(|index| buffer.word >> (3 * index) & 7)
        };
        Ok(Some(Self {
            element,
            select,
            count: (bits & 0xff) as usize,
            d16: bits & D16 != 0,
            high: bits & HIGH != 0,
        }))
    }

    /// Register components of an element.
    fn select(&self, memory: [u32; 4]) -> [u32; 4] {
        let one = if self.element.number.is_integer() { 1 } else { 1f32.to_bits() };
        self.select.map(|select| match select {
            1 => one,
            4..=7 => memory[select as usize - 4],
            _ => 0,
        })
    }

    /// Memory components of register components: the first that selects each.
    fn unselect(&self, register: [u32; 4]) -> [u32; 4] {
        std::array::from_fn(|component| {
            self.select
                .iter()
                .position(|&select| select == 4 + component as u32)
                .map_or(0, |index| register[index])
        })
    }

    /// 16-bit form of a register component.
    fn shorten(&self, value: u32) -> u32 {
        if self.element.number.is_integer() {
            value & 0xffff
        } else {
            f16::from_f32(f32::from_bits(value)).to_bits().into()
        }
    }

    /// Register component of its 16-bit form.
    fn lengthen(&self, value: u32) -> u32 {
        match self.element.number {
            Number::Uint => value & 0xffff,
            Number::Sint => (value as u16).cast_signed() as u32,
            _ => f16::from_bits(value as u16).to_f32().to_bits(),
        }
    }
}

fn load(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
    let exec = wave.exec();
    order(op);
    let (count, d16) = ((op.literal & 0xff) as usize, op.literal & D16 != 0);
    let registers = if d16 { count.div_ceil(2) } else { count };
    let mut rows = [[0; WAVE]; 4];
    let conversion = match Conversion::of(wave, op) {
        Ok(conversion) => conversion,
        Err(flow) => return flow,
    };
    if let Some(conversion) = conversion {
        let mut at = Addresses::new();
        let bytes = conversion.element.bytes();
        let hits = match Buffer::locate(wave, op, bytes, Access::Read, &mut at) {
            Ok(hits) => hits,
            Err(flow) => return flow,
        };
        for lane in each(exec) {
            let mut raw = [0; 16];
            if hits.whole >> lane & 1 != 0 {
                // SAFETY: `locate` checked the bytes of the element.
                unsafe {
                    at.pointer(lane).copy_to_nonoverlapping(raw.as_mut_ptr(), bytes as usize);
                }
            }
            let memory = conversion.element.unpack(u128::from_le_bytes(raw));
            let components = conversion.select(memory);
            for (index, component) in components.into_iter().take(conversion.count).enumerate() {
                if conversion.d16 {
                    let shift = if conversion.high { 16 } else { 16 * (index % 2) };
                    rows[index / 2][lane] |= conversion.shorten(component) << shift;
                } else {
                    rows[index][lane] = component;
                }
            }
        }
    }
    if op.literal & TO_LDS != 0 {
        write_slots(wave, op, &rows[0], exec);
    } else {
        write_rows(wave, op.dst, &rows[..registers], exec);
    }
    order(op);
    Flow::Next
}

fn store(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
    order(op);
    let conversion = match Conversion::of(wave, op) {
        Ok(Some(conversion)) => conversion,
        Ok(None) => return Flow::Next,
        Err(flow) => return flow,
    };
    let mut at = Addresses::new();
    let bytes = conversion.element.bytes();
    let hits = match Buffer::locate(wave, op, bytes, Access::Write, &mut at) {
        Ok(hits) => hits,
        Err(flow) => return flow,
    };
    for lane in each(hits.whole) {
        let mut register = [0; 4];
        for (index, value) in register.iter_mut().take(conversion.count).enumerate() {
            *value = if conversion.d16 {
                let shift = if conversion.high { 16 } else { 16 * (index % 2) };
                let row = wave.row(usize::from(op.src[1]) + index / 2);
                conversion.lengthen(row[lane] >> shift)
            } else {
                wave.row(usize::from(op.src[1]) + index)[lane]
            };
        }
        let raw = conversion.element.pack(conversion.unselect(register)).to_le_bytes();
        // SAFETY: `locate` checked the bytes of the element.
        unsafe { at.pointer(lane).copy_from_nonoverlapping(raw.as_ptr(), bytes as usize) };
    }
    order(op);
    Flow::Next
}
