//! Results of simple operations, bit by bit.

use super::known::Facts;
use super::registers;
use crate::isa::{Elem, Ext, Inst, Op, Operand};

/// A bit of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bit {
    Is(bool),
    /// That bit of that register, before the instruction.
    Of(u16, u8),
    /// The opposite of that bit.
    Not(u16, u8),
    /// Some function of the sources.
    Opaque,
}

impl Bit {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Is(false), _) | (_, Self::Is(false)) => Self::Is(false),
            (Self::Is(true), bit) | (bit, Self::Is(true)) => bit,
            _ if self == other => self,
            _ if self.is_opposite(other) => Self::Is(false),
            _ => Self::Opaque,
        }
    }

    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Is(true), _) | (_, Self::Is(true)) => Self::Is(true),
            (Self::Is(false), bit) | (bit, Self::Is(false)) => bit,
            _ if self == other => self,
            _ if self.is_opposite(other) => Self::Is(true),
            _ => Self::Opaque,
        }
    }

    fn xor(self, other: Self) -> Self {
        match (self, other) {
            (Self::Is(false), bit) | (bit, Self::Is(false)) => bit,
            (Self::Is(true), bit) | (bit, Self::Is(true)) => bit.not(),
            _ => Self::Opaque,
        }
    }

    fn not(self) -> Self {
        match self {
            Self::Is(bit) => Self::Is(!bit),
            Self::Of(register, bit) => Self::Not(register, bit),
            Self::Not(register, bit) => Self::Of(register, bit),
            Self::Opaque => Self::Opaque,
        }
    }

    fn is_opposite(self, other: Self) -> bool {
        self != Self::Opaque && self == other.not()
    }

    /// What two of three are.
    fn majority(a: Self, b: Self, c: Self) -> Self {
        if a == b || a == c {
            a
        } else if b == c {
            b
        } else {
            Self::Opaque
        }
    }
}

pub(super) type Word = [Bit; 32];

fn constant(value: u32) -> Word {
    std::array::from_fn(|bit| Bit::Is(value >> bit & 1 != 0))
}

/// The dwords of a source. What is not known of a special one is opaque.
pub(super) fn source(inst: &Inst, operand: Operand, known: &Facts) -> Vec<Word> {
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
        240..=247 if dwords == 1 && takes_words(inst) => {
            let size = [0.5f32, 1.0, 2.0, 4.0][usize::from(operand.code - 240) / 2];
            i64::from(size.to_bits() | u32::from(operand.code & 1) << 31)
        }
        Operand::LITERAL if dwords == 1 => i64::from(inst.literal),
        _ => return vec![[Bit::Opaque; 32]; dwords],
    };
    (0..dwords).map(|dword| constant((signed >> (32 * dword)) as u32)).collect()
}

/// Whether sources of 32 bits are words, as which inline constants of floating-point numbers are those of
/// f32.
fn takes_words(inst: &Inst) -> bool {
    let mut words = inst.info.src.iter().filter(|slot| slot.dwords == 1);
    words.all(|slot| matches!(slot.elem, Elem::B32 | Elem::F32))
}

pub(super) fn value(word: &Word) -> Option<u32> {
    word.iter().enumerate().try_fold(0, |value, (at, bit)| match bit {
        Bit::Is(bit) => Some(value | u32::from(*bit) << at),
        _ => None,
    })
}

/// Whether the bits of a mask are the same.
pub(super) fn equal(one: &Word, other: &Word, mask: u32) -> bool {
    (0..32).all(|bit| mask >> bit & 1 == 0 || one[bit] != Bit::Opaque && one[bit] == other[bit])
}

/// Whether a number is known to be smaller than that.
pub(super) fn is_below(word: &Word, end: u32) -> bool {
    value(word).is_some_and(|value| value < end)
}

/// What the instruction does nothing with but to see whether it is equal to a constant.
pub(super) fn test(inst: &Inst, known: &Facts) -> Option<(Operand, u32)> {
    let compares = matches!(
        inst.info.op,
        Op::v_cmp_eq_u32
            | Op::v_cmp_ne_u32
            | Op::v_cmp_eq_i32
            | Op::v_cmp_ne_i32
            | Op::s_cmp_eq_u32
            | Op::s_cmp_lg_u32
            | Op::s_cmp_eq_i32
            | Op::s_cmp_lg_i32
    );
    if !compares || !is_plain(inst) {
        return None;
    }
    let [a, b, ..] = inst.src;
    let constant = |operand| value(source(inst, operand, known).first()?);
    match (constant(a), constant(b)) {
        (Some(constant), None) => Some((b, constant)),
        (None, Some(constant)) => Some((a, constant)),
        _ => None,
    }
}

/// Whether a number is known to be equal to another or not.
pub(super) fn is_equal_to(word: &Word, constant: u32) -> Option<bool> {
    value(word).map(|value| value == constant)
}

/// Whether the operation alone decides what becomes of the operands.
pub(super) fn is_plain(inst: &Inst) -> bool {
    inst.ext == Ext::None && is_unmodified(inst)
}

/// Whether the operation alone decides what becomes of the parts of operands that it takes.
pub(super) fn is_unmodified(inst: &Inst) -> bool {
    (inst.neg, inst.abs, inst.op_sel, inst.omod, inst.clamp) == (0, 0, 0, 0, false)
}

/// The parts of the sources that an operation on plain words takes, if it gives a whole word.
fn selected(inst: &Inst) -> Option<[u8; 2]> {
    match inst.ext {
        Ext::None => Some([DWORD; 2]),
        Ext::Sdwa(sdwa) => {
            (sdwa.dst_sel == DWORD && sdwa.src_sext == [false; 2]).then_some(sdwa.src_sel)
        }
        Ext::Dpp(_) => None,
    }
}

/// Selects a whole source.
const DWORD: u8 = 6;

/// The byte or half of a word that a selector names.
fn select(word: &Word, selector: u8) -> Word {
    match selector {
        0..=3 => low(&right(&[*word], &constant(8 * u32::from(selector)), Bit::Is(false))[0], 8),
        4..=5 => {
            low(&right(&[*word], &constant(16 * u32::from(selector - 4)), Bit::Is(false))[0], 16)
        }
        _ => *word,
    }
}

/// The result of an instruction, if it is one of those that move bits about. Sums and products are
/// known only in part: from what is known of their sources.
pub(super) fn result(inst: &Inst, known: &Facts) -> Option<Vec<Word>> {
    if !is_unmodified(inst) || !inst.dst[0].is_some() {
        return None;
    }
    let [mut a, mut b, c, ..] = inst.src.map(|operand| source(inst, operand, known));
    let [of_a, of_b] = selected(inst)?;
    a.iter_mut().for_each(|word| *word = select(word, of_a));
    b.iter_mut().for_each(|word| *word = select(word, of_b));
    let both = |of: fn(Bit, Bit) -> Bit| -> Vec<Word> {
        a.iter().zip(&b).map(|(a, b)| zip(a, b, of)).collect()
    };
    let of = |word: Word| Some(vec![word]);
    let zero = Bit::Is(false);
    match inst.info.op {
        Op::s_mov_b32
        | Op::s_mov_b64
        | Op::v_mov_b32
        | Op::v_mov_b64
        | Op::v_readfirstlane_b32
        | Op::v_accvgpr_read_b32
        | Op::v_accvgpr_write_b32 => Some(a),
        // The mask that was; what it becomes, they do not say.
        Op::s_and_saveexec_b64 | Op::s_or_saveexec_b64 | Op::s_andn2_saveexec_b64 => {
            Some(source(inst, Operand { code: Operand::EXEC, dwords: 2 }, known))
        }
        Op::s_movk_i32 => of(constant(i32::from(inst.simm16.cast_signed()).cast_unsigned())),
        Op::s_and_b32 | Op::s_and_b64 | Op::v_and_b32 => Some(both(Bit::and)),
        Op::s_or_b32 | Op::s_or_b64 | Op::v_or_b32 => Some(both(Bit::or)),
        Op::s_xor_b32 | Op::s_xor_b64 | Op::v_xor_b32 => Some(both(Bit::xor)),
        Op::s_andn2_b32 | Op::s_andn2_b64 => Some(both(|a, b| a.and(b.not()))),
        Op::s_not_b32 | Op::s_not_b64 | Op::v_not_b32 => {
            Some(a.iter().map(|word| word.map(Bit::not)).collect())
        }
        Op::s_brev_b32 | Op::v_bfrev_b32 => of(std::array::from_fn(|bit| a[0][31 - bit])),
        Op::s_lshl_b32 | Op::s_lshl_b64 => Some(left(&a, &b[0])),
        Op::v_lshlrev_b32 | Op::v_lshlrev_b64 => Some(left(&b, &a[0])),
        Op::s_lshr_b32 | Op::s_lshr_b64 => Some(right(&a, &b[0], zero)),
        Op::v_lshrrev_b32 | Op::v_lshrrev_b64 => Some(right(&b, &a[0], zero)),
        Op::s_ashr_i32 | Op::s_ashr_i64 => Some(right(&a, &b[0], a[a.len() - 1][31])),
        Op::v_ashrrev_i32 | Op::v_ashrrev_i64 => Some(right(&b, &a[0], b[b.len() - 1][31])),
        Op::v_lshl_or_b32 => of(zip(&left(&a, &b[0])[0], &c[0], Bit::or)),
        Op::v_and_or_b32 => of(zip(&zip(&a[0], &b[0], Bit::and), &c[0], Bit::or)),
        Op::v_or3_b32 => of(zip(&zip(&a[0], &b[0], Bit::or), &c[0], Bit::or)),
        Op::v_bfi_b32 => of(std::array::from_fn(|bit| {
            let [mask, one, other] = [a[0][bit], b[0][bit], c[0][bit]];
            match mask {
                Bit::Is(true) => one,
                Bit::Is(false) => other,
                _ if one == other => one,
                _ => Bit::Opaque,
            }
        })),
        Op::v_bfe_u32 => {
            let width = value(&low(&c[0], 5))?;
            of(low(&right(&a, &b[0], zero)[0], width))
        }
        Op::s_bfe_u32 => {
            let selector = value(&b[0])?;
            let moved = right(&a, &constant(selector & 31), zero);
            of(low(&moved[0], selector >> 16 & 0x7f))
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
        // Sums of parts of words are not followed.
        _ if inst.ext != Ext::None => None,
        op => {
            let number = |words: &[Word]| words.first().map(Range::of);
            let factor = |words: &[Word]| words.first().map(|word| Range::of(&low(word, 24)));
            of(match op {
                Op::s_add_i32
                | Op::s_add_u32
                | Op::s_addc_u32
                | Op::s_sub_i32
                | Op::s_sub_u32
                | Op::s_subb_u32
                | Op::v_add_u32
                | Op::v_sub_u32
                | Op::v_subrev_u32 => sum(inst, known)?.0,
                Op::v_add3_u32 => add(&add(&a[0], &b[0], zero).0, &c[0], zero).0,
                Op::v_lshl_add_u32 => add(&left(&a, &b[0])[0], &c[0], zero).0,
                Op::v_add_lshl_u32 => left(&[add(&a[0], &b[0], zero).0], &c[0])[0],
                Op::s_mul_i32 | Op::v_mul_lo_u32 => number(&a)?.times(number(&b)?).bits(),
                Op::s_mul_hi_u32 | Op::v_mul_hi_u32 => {
                    number(&a)?.times(number(&b)?).upper().bits()
                }
                Op::v_mul_u32_u24 => factor(&a)?.times(factor(&b)?).bits(),
                Op::v_mad_u32_u24 => add(&factor(&a)?.times(factor(&b)?).bits(), &c[0], zero).0,
                Op::s_min_u32 | Op::v_min_u32 => number(&a)?.least(number(&b)?).bits(),
                Op::s_max_u32 | Op::v_max_u32 => number(&a)?.either(number(&b)?).bits(),
                // It counts bits of a word that belong to lower lanes.
                Op::v_mbcnt_lo_u32_b32 | Op::v_mbcnt_hi_u32_b32 => number(&b)?.plus(LANES).bits(),
                _ => return None,
            })
        }
    }
}

/// The sum or difference of two words that the instruction makes, and the carry or borrow.
fn sum(inst: &Inst, known: &Facts) -> Option<(Word, Bit)> {
    let [a, b, ..] = inst.src.map(|operand| source(inst, operand, known));
    let (a, b) = (a.first()?, b.first()?);
    let carry = known.bit(super::SCC, 0).map_or(Bit::Opaque, Bit::Is);
    let subtract = |a, b: &Word, borrow: Bit| {
        let (word, carry) = add(a, &b.map(Bit::not), borrow.not());
        (word, carry.not())
    };
    Some(match inst.info.op {
        Op::s_add_i32 | Op::s_add_u32 | Op::v_add_u32 => add(a, b, Bit::Is(false)),
        Op::s_addc_u32 => add(a, b, carry),
        Op::s_sub_i32 | Op::s_sub_u32 | Op::v_sub_u32 => subtract(a, b, Bit::Is(false)),
        Op::v_subrev_u32 => subtract(b, a, Bit::Is(false)),
        Op::s_subb_u32 => subtract(a, b, carry),
        _ => return None,
    })
}

/// SCC behind an instruction with this result, if that is known.
pub(super) fn scc(inst: &Inst, known: &Facts, result: &[Word]) -> Bit {
    match inst.info.op {
        Op::s_add_u32 | Op::s_addc_u32 | Op::s_sub_u32 | Op::s_subb_u32 if is_plain(inst) => {
            sum(inst, known).map_or(Bit::Opaque, |(_, carry)| carry)
        }
        _ if tells_zero(inst) => {
            let bits = || result.iter().flatten();
            if bits().any(|bit| *bit == Bit::Is(true)) {
                Bit::Is(true)
            } else if bits().all(|bit| *bit == Bit::Is(false)) {
                Bit::Is(false)
            } else {
                Bit::Opaque
            }
        }
        _ => Bit::Opaque,
    }
}

/// Whether SCC says that the result is not zero.
pub(super) fn tells_zero(inst: &Inst) -> bool {
    let name = inst.info.op.name();
    if name.contains("saveexec") {
        // It speaks of the new mask.
        return false;
    }
    ["and", "or", "xor", "andn2", "not", "lshl", "lshr", "ashr", "bfe"]
        .iter()
        .any(|operation| name.split('_').nth(1) == Some(operation))
}

fn zip(a: &Word, b: &Word, of: fn(Bit, Bit) -> Bit) -> Word {
    std::array::from_fn(|bit| of(a[bit], b[bit]))
}

/// The sum of two words and a bit, and the carry.
fn add(a: &Word, b: &Word, mut carry: Bit) -> (Word, Bit) {
    let one = Range { most: u64::from(carry != Bit::Is(false)), zeros: 0 };
    let range = Range::of(a).plus(Range::of(b));
    let range = if carry == Bit::Is(false) { range } else { range.plus(one) };
    let within = range.bits();
    let word = std::array::from_fn(|bit| {
        let known = [a[bit], b[bit], carry];
        carry = Bit::majority(known[0], known[1], known[2]);
        let mut known = known;
        // Of three of which two are known, the third is left.
        known.sort_by_key(|bit| !matches!(bit, Bit::Is(_)));
        match known[0].xor(known[1]).xor(known[2]) {
            Bit::Opaque => within[bit],
            bit => bit,
        }
    });
    let fits = range.most <= u64::from(u32::MAX);
    (word, if fits { Bit::Is(false) } else { carry })
}

/// Words moved up by a distance, which counts modulo their bits.
fn left(words: &[Word], by: &Word) -> Vec<Word> {
    let bits: Vec<Bit> = words.concat();
    let distance = low(by, bits.len().ilog2());
    let zeros = bits.iter().take_while(|bit| **bit == Bit::Is(false)).count();
    let moved = (0..bits.len()).map(|bit| match value(&distance) {
        Some(by) => bit.checked_sub(by as usize).map_or(Bit::Is(false), |from| bits[from]),
        None if bit < zeros + at_least(&distance) => Bit::Is(false),
        None => Bit::Opaque,
    });
    words_of(moved)
}

/// Words moved down by a distance, which counts modulo their bits.
fn right(words: &[Word], by: &Word, fill: Bit) -> Vec<Word> {
    let bits: Vec<Bit> = words.concat();
    let distance = low(by, bits.len().ilog2());
    let zeros = bits.iter().rev().take_while(|bit| **bit == Bit::Is(false)).count();
    let zeros = if fill == Bit::Is(false) { zeros + at_least(&distance) } else { 0 };
    let moved = (0..bits.len()).map(|bit| match value(&distance) {
        Some(by) => bits.get(bit + by as usize).copied().unwrap_or(fill),
        None if bit + zeros >= bits.len() => Bit::Is(false),
        None => Bit::Opaque,
    });
    words_of(moved)
}

/// The least that a number can be.
fn at_least(word: &Word) -> usize {
    (0..32).filter(|bit| word[*bit] == Bit::Is(true)).map(|bit| 1 << bit).sum()
}

fn words_of(bits: impl Iterator<Item = Bit>) -> Vec<Word> {
    let bits: Vec<Bit> = bits.collect();
    bits.as_chunks().0.to_vec()
}

/// Of an operation on each bit by itself, the bits of the sources that those of the result in `bits`
/// come from; of one that chooses between two sources, those of the chosen.
pub(super) fn bitwise(inst: &Inst, bits: u32, known: &Facts) -> Option<[u32; 3]> {
    let constants = inst.src.map(|operand| {
        let words = source(inst, operand, known);
        if let [word] = words.as_slice() { value(word) } else { None }
    });
    let [a, b, c] = [constants[0], constants[1], constants[2]];
    let kept_by = |mask: Option<u32>| bits & mask.unwrap_or(u32::MAX);
    let left_by = |mask: Option<u32>| bits & !mask.unwrap_or(0);
    if !is_plain(inst) {
        return None;
    }
    Some(match inst.info.op {
        Op::s_and_b32 | Op::v_and_b32 => [kept_by(b), kept_by(a), 0],
        Op::s_or_b32 | Op::v_or_b32 => [left_by(b), left_by(a), 0],
        Op::s_and_b64 | Op::s_or_b64 | Op::s_xor_b64 | Op::s_andn2_b64 => [bits, bits, 0],
        Op::s_andn2_b32 | Op::s_xor_b32 | Op::v_xor_b32 => [bits, bits, 0],
        Op::s_not_b32 | Op::s_not_b64 | Op::v_not_b32 => [bits, 0, 0],
        Op::s_cselect_b32 | Op::s_cselect_b64 => [bits, bits, 0],
        Op::v_cndmask_b32 => [bits, bits, u32::MAX],
        Op::v_bfi_b32 => [bits, kept_by(a), left_by(a)],
        Op::v_and_or_b32 => [kept_by(b) & left_by(c), kept_by(a) & left_by(c), bits],
        Op::v_or3_b32 => [bits; 3],
        Op::v_lshl_or_b32 => [bits >> (b? & 31), 0, bits],
        Op::v_perm_b32 => picked_bytes(bits, c?)?,
        _ => return None,
    })
}

/// Which bits of the sources those of bytes picked by a constant come from: 0 to 3 are the second source's, 4
/// to 7 the first's, others are constants, but for those that a sign decides.
fn picked_bytes(bits: u32, selector: u32) -> Option<[u32; 3]> {
    let mut of = [0, 0, u32::MAX];
    for (at, select) in selector.to_le_bytes().into_iter().enumerate() {
        let byte = bits >> (8 * at) & 0xff;
        match select {
            0..=3 => of[1] |= byte << (8 * select),
            4..=7 => of[0] |= byte << (8 * (select - 4)),
            8..=11 => return None,
            _ => {}
        }
    }
    Some(of)
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
            | Op::v_mad_u32_u24
            | Op::v_mul_u32_u24
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

    /// The upper 32 bits of a number of 64.
    fn upper(self) -> Self {
        Self { most: self.most >> 32, zeros: 0 }
    }

    /// The smaller of two.
    fn least(self, other: Self) -> Self {
        Self { most: self.most.min(other.most), zeros: self.zeros.min(other.zeros) }
    }

    /// One of two.
    fn either(self, other: Self) -> Self {
        Self { most: self.most.max(other.most), zeros: self.zeros.min(other.zeros) }
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
