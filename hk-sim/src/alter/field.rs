//! Where the parts of an instruction stand in its encoding.

use crate::isa::{Ext, Format, Inst, Op};

/// Bits of an encoding.
#[derive(Clone, Copy)]
pub(super) struct Field {
    dword: usize,
    first: u32,
    pub(super) bits: u32,
}

impl Field {
    pub(super) const fn new(dword: usize, first: u32, bits: u32) -> Self {
        Self { dword, first, bits }
    }

    fn mask(self) -> u32 {
        (1 << self.bits) - 1
    }

    pub(super) fn get(self, raw: &[u32; 4]) -> u32 {
        raw[self.dword] >> self.first & self.mask()
    }

    pub(super) fn set(self, raw: &mut [u32; 4], value: u16) {
        self.set_all(raw, value.into());
    }

    pub(super) fn set_all(self, raw: &mut [u32; 4], value: u32) {
        let word = &mut raw[self.dword];
        *word = *word & !(self.mask() << self.first) | (value & self.mask()) << self.first;
    }
}

/// Where a source operand stands.
pub(super) fn source_field(inst: &Inst, at: usize) -> Option<Field> {
    if inst.ext != Ext::None {
        return None;
    }
    // Their literal stands between the others.
    let inserted = matches!(inst.info.op, Op::v_fmamk_f32 | Op::v_fmaak_f32);
    Some(match (inst.info.format, at) {
        (Format::Sop1, 0) => Field::new(0, 0, 8),
        (Format::Sop2 | Format::Sopc, 0 | 1) => Field::new(0, 8 * at as u32, 8),
        (Format::Vop1 | Format::Vop2 | Format::Vopc, 0) => Field::new(0, 0, 9),
        (Format::Vop2 | Format::Vopc, 1) if !inserted => Field::new(0, 9, 8),
        (Format::Vop3a | Format::Vop3b | Format::Vop3p | Format::Mai, 0..=2) => {
            Field::new(1, 9 * at as u32, 9)
        }
        _ => return None,
    })
}

/// Where the modifiers of two sources stand, which move with them.
pub(super) fn modifier_fields(format: Format, a: usize, b: usize) -> Vec<(Field, Field)> {
    let pair = |dword, first| {
        let field = |at: usize| Field::new(dword, first + at as u32, 1);
        (field(a), field(b))
    };
    match format {
        // Negation and absolute value, the half.
        Format::Vop3a => vec![pair(1, 29), pair(0, 8), pair(0, 11)],
        Format::Vop3b => vec![pair(1, 29)],
        Format::Vop3p => {
            let high =
                |at| if at < 2 { Field::new(1, 27 + at as u32, 1) } else { Field::new(0, 14, 1) };
            vec![pair(1, 29), pair(0, 8), pair(0, 11), (high(a), high(b))]
        }
        // Whether an operand is an accumulation register.
        Format::Mai => vec![pair(1, 27)],
        _ => Vec::new(),
    }
}

/// Where the number of the operation stands.
pub(super) fn opcode_field(format: Format) -> Option<Field> {
    Some(match format {
        Format::Sop2 => Field::new(0, 23, 7),
        Format::Sopk => Field::new(0, 23, 5),
        Format::Sop1 => Field::new(0, 8, 8),
        Format::Sopc => Field::new(0, 16, 7),
        Format::Vop2 => Field::new(0, 25, 6),
        Format::Vop1 => Field::new(0, 9, 8),
        Format::Vopc => Field::new(0, 17, 8),
        Format::Vop3a | Format::Vop3b => Field::new(0, 16, 10),
        Format::Vop3p | Format::Mai => Field::new(0, 16, 7),
        Format::Ds => Field::new(0, 17, 8),
        _ => return None,
    })
}
