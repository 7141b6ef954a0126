//! Results of simple operations, bit by bit.

use super::known::Known;
use super::registers;
use crate::isa::{Ext, Inst, Op, Operand};

/// A bit of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bit {
    Is(bool),
    /// That bit of that register, before the instruction.
    Of(u16, u8),
    /// Some function of the sources.
    Opaque,
}

impl Bit {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Is(false), _) | (_, Self::Is(false)) => Self::Is(false),
            (Self::Is(true), bit) | (bit, Self::Is(true)) => bit,
            _ if self == other => self,
            _ => Self::Opaque,
        }
    }

    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Is(true), _) | (_, Self::Is(true)) => Self::Is(true),
            (Self::Is(false), bit) | (bit, Self::Is(false)) => bit,
            _ if self == other => self,
            _ => Self::Opaque,
        }
    }

    fn xor(self, other: Self) -> Self {
        match (self, other) {
            (Self::Is(a), Self::Is(b)) => Self::Is(a != b),
            (Self::Is(false), bit) | (bit, Self::Is(false)) => bit,
            _ => Self::Opaque,
        }
    }

    fn not(self) -> Self {
        if let Self::Is(bit) = self { Self::Is(!bit) } else { Self::Opaque }
    }
}

type Word = [Bit; 32];

fn constant(value: u32) -> Word {
    std::array::from_fn(|bit| Bit::Is(value >> bit & 1 != 0))
}

/// The dwords of a source. What is not known of a special one is opaque.
pub(super) fn source(inst: &Inst, operand: Operand, known: &Known) -> Vec<Word> {
    let dwords = usize::from(operand.dwords);
    let registers: Vec<usize> = registers(operand).collect();
    if !registers.is_empty() {
        let word = |register: usize| {
            std::array::from_fn(|bit| match known.bit(register, bit as u32) {
                Some(value) => Bit::Is(value),
                None => Bit::Of(register as u16, bit as u8),
            })
        };
        return registers.into_iter().map(word).collect();
    }
    let signed = match operand.code {
        128..=192 => i64::from(operand.code) - 128,
        193..=208 => 192 - i64::from(operand.code),
        Operand::LITERAL if dwords == 1 => i64::from(inst.literal),
        _ => return vec![[Bit::Opaque; 32]; dwords],
    };
    (0..dwords).map(|dword| constant((signed >> (32 * dword)) as u32)).collect()
}

fn value(word: &Word) -> Option<u32> {
    word.iter().enumerate().try_fold(0, |value, (at, bit)| match bit {
        Bit::Is(bit) => Some(value | u32::from(*bit) << at),
        _ => None,
    })
}

/// The result of an instruction, if it is one of those that move bits about. Sums and products are
/// known only in part: from what is known of their sources.
pub(super) fn result(inst: &Inst, known: &Known) -> Option<Vec<Word>> {
    let plain = inst.ext == Ext::None
        && (inst.neg, inst.abs, inst.op_sel, inst.omod, inst.clamp) == (0, 0, 0, 0, false);
    if !plain || !inst.dst[0].is_some() {
        return None;
    }
    let [a, b, c, ..] = inst.src.map(|operand| source(inst, operand, known));
    let both = |of: fn(Bit, Bit) -> Bit| -> Vec<Word> {
        let word = |(a, b): (&Word, &Word)| std::array::from_fn(|bit| of(a[bit], b[bit]));
        a.iter().zip(&b).map(word).collect()
    };
    let of = |word: Word| Some(vec![word]);
    let zip = |a: &Word, b: &Word, of: fn(Bit, Bit) -> Bit| -> Word {
        std::array::from_fn(|bit| of(a[bit], b[bit]))
    };
    // Distances count modulo 32.
    let left = |word: &Word, by: &Word| -> Option<Word> {
        let by = value(&low(by, 5))? as usize;
        Some(std::array::from_fn(|bit| if bit < by { Bit::Is(false) } else { word[bit - by] }))
    };
    let right = |word: &Word, by: &Word, fill: Bit| -> Option<Word> {
        let by = value(&low(by, 5))? as usize;
        Some(std::array::from_fn(|bit| word.get(bit + by).copied().unwrap_or(fill)))
    };
    let zero = Bit::Is(false);
    match inst.info.op {
        Op::s_mov_b32
        | Op::s_mov_b64
        | Op::v_mov_b32
        | Op::v_mov_b64
        | Op::v_readfirstlane_b32
        | Op::v_accvgpr_read_b32
        | Op::v_accvgpr_write_b32 => Some(a),
        Op::s_movk_i32 => of(constant(i32::from(inst.simm16.cast_signed()).cast_unsigned())),
        Op::s_and_b32 | Op::s_and_b64 | Op::v_and_b32 => Some(both(Bit::and)),
        Op::s_or_b32 | Op::s_or_b64 | Op::v_or_b32 => Some(both(Bit::or)),
        Op::s_xor_b32 | Op::s_xor_b64 | Op::v_xor_b32 => Some(both(Bit::xor)),
        Op::s_andn2_b32 | Op::s_andn2_b64 => Some(both(|a, b| a.and(b.not()))),
        Op::s_lshl_b32 => of(left(&a[0], &b[0])?),
        Op::s_lshr_b32 => of(right(&a[0], &b[0], zero)?),
        Op::v_lshlrev_b32 => of(left(&b[0], &a[0])?),
        Op::v_lshrrev_b32 => of(right(&b[0], &a[0], zero)?),
        Op::s_ashr_i32 => of(right(&a[0], &b[0], a[0][31])?),
        Op::v_ashrrev_i32 => of(right(&b[0], &a[0], b[0][31])?),
        Op::v_lshl_or_b32 => of(zip(&left(&a[0], &b[0])?, &c[0], Bit::or)),
        Op::v_and_or_b32 => of(zip(&zip(&a[0], &b[0], Bit::and), &c[0], Bit::or)),
        Op::v_bfe_u32 => {
            let (moved, width) = (right(&a[0], &b[0], zero)?, value(&low(&c[0], 5))?);
            of(low(&moved, width))
        }
        Op::v_perm_b32 => {
            let selector = value(&c[0])?;
            let byte = |at: usize| (selector >> (8 * at) & 0xff) as usize;
            let bit = |bit: usize| match byte(bit / 8) {
                which @ 0..4 => b[0][8 * which + bit % 8],
                which @ 4..8 => a[0][8 * (which - 4) + bit % 8],
                _ => Bit::Opaque,
            };
            of(std::array::from_fn(bit))
        }
        Op::s_cselect_b32 | Op::s_cselect_b64 | Op::v_cndmask_b32 => {
            Some(both(|a, b| if a == b { a } else { Bit::Opaque }))
        }
        op => {
            let number = |words: &Vec<Word>| words.first().map(Range::of);
            let sum = |words: [&Vec<Word>; 2]| Some(number(words[0])?.plus(number(words[1])?));
            of(match op {
                Op::s_add_i32 | Op::s_add_u32 | Op::v_add_u32 => sum([&a, &b])?.bits(),
                Op::v_add3_u32 => sum([&a, &b])?.plus(number(&c)?).bits(),
                Op::v_lshl_add_u32 => sum([&vec![left(&a[0], &b[0])?], &c])?.bits(),
                Op::v_add_lshl_u32 => left(&sum([&a, &b])?.bits(), &c[0])?,
                Op::s_mul_i32 | Op::v_mul_lo_u32 => number(&a)?.times(number(&b)?).bits(),
                // It counts bits of a word that belong to lower lanes.
                Op::v_mbcnt_lo_u32_b32 | Op::v_mbcnt_hi_u32_b32 => number(&b)?.plus(LANES).bits(),
                _ => return None,
            })
        }
    }
}

/// Whether a bit of the result depends on no higher ones of the sources.
pub(super) fn carries_up(inst: &Inst) -> bool {
    let adds = matches!(
        inst.info.op,
        Op::s_add_i32
            | Op::s_add_u32
            | Op::s_sub_i32
            | Op::s_sub_u32
            | Op::s_mul_i32
            | Op::v_add_u32
            | Op::v_sub_u32
            | Op::v_subrev_u32
            | Op::v_add3_u32
            | Op::v_mul_lo_u32
    );
    adds && inst.ext == Ext::None && !inst.clamp
}

/// The lowest bits of a word, others zero.
fn low(word: &Word, bits: u32) -> Word {
    std::array::from_fn(|bit| if bit < bits as usize { word[bit] } else { Bit::Is(false) })
}

/// How large a number is at most, and how many of its lowest bits are zero.
#[derive(Clone, Copy)]
struct Range {
    most: u64,
    zeros: u32,
}

/// Of a half wave.
const LANES: Range = Range { most: 32, zeros: 0 };

impl Range {
    fn of(word: &Word) -> Self {
        let most = (0..32).filter(|bit| word[*bit] != Bit::Is(false)).map(|bit| 1u64 << bit).sum();
        let zeros = word.iter().take_while(|bit| **bit == Bit::Is(false)).count() as u32;
        Self { most, zeros }
    }

    fn plus(self, other: Self) -> Self {
        let most = self.most.saturating_add(other.most);
        Self { most, zeros: self.zeros.min(other.zeros) }
    }

    fn times(self, other: Self) -> Self {
        let most = self.most.saturating_mul(other.most);
        Self { most, zeros: (self.zeros + other.zeros).min(32) }
    }

    /// The bits of a result of 32 bits.
    fn bits(self) -> Word {
        let fits = self.most <= u64::from(u32::MAX);
        let length = if fits { 64 - self.most.leading_zeros() } else { 32 };
        std::array::from_fn(|bit| {
            let zero = (bit as u32) < self.zeros || bit as u32 >= length;
            if zero { Bit::Is(false) } else { Bit::Opaque }
        })
    }
}
