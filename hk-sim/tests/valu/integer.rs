//! Model of the operations on integers and bits, in 128-bit arithmetic.

use crate::model::{Cx, Out};

/// Low `bits` bits, sign-extended.
pub(crate) fn signed(value: u128, bits: u32) -> i128 {
    (value << (128 - bits)) as i128 >> (128 - bits)
}

/// Low `bits` bits.
pub(crate) fn unsigned(value: u128, bits: u32) -> i128 {
    (value & (u128::MAX >> (128 - bits))) as i128
}

fn fields(word: u128, width: u32, count: u32) -> impl Iterator<Item = u128> {
    (0..count).map(move |at| word >> (width * at) & ((1 << width) - 1))
}

fn join(width: u32, values: impl IntoIterator<Item = u128>) -> u128 {
    values
        .into_iter()
        .enumerate()
        .fold(0, |word, (at, value)| word | (value & ((1 << width) - 1)) << (width * at as u32))
}

/// Bit string of a value, most significant bit first.
fn bits_of(value: u128, width: u32) -> impl DoubleEndedIterator<Item = bool> {
    (0..width).rev().map(move |at| value >> at & 1 == 1)
}

fn position(mut bits: impl Iterator<Item = bool>, wanted: bool) -> u128 {
    bits.position(|bit| bit == wanted).map_or(0xffff_ffff, |at| at as u128)
}

/// Number of the type in the suffix of a name: bits and signedness.
fn suffix(name: &str) -> Option<(u32, bool)> {
    let (_, last) = name.rsplit_once('_')?;
    let width = last.get(1..)?.parse().ok()?;
    match last.as_bytes()[0] {
        b'i' => Some((width, true)),
        b'u' | b'b' => Some((width, false)),
        _ => None,
    }
}

/// A result that the clamp bit saturates to a type, and that wraps without.
fn number(cx: &Cx, value: i128, width: u32, is_signed: bool) -> Option<Out> {
    let (low, high) = if is_signed {
        (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1)
    } else {
        (0, (1i128 << width) - 1)
    };
    let value = if cx.clamp { value.clamp(low, high) } else { value };
    bits(value as u128 & (u128::MAX >> (128 - width)))
}

fn bits(value: u128) -> Option<Out> {
    Some(Out { bits: value, ..Out::default() })
}

/// Sum of absolute differences of four bytes; `masked` skips zero bytes of the reference.
fn sad(a: u128, b: u128, masked: bool) -> i128 {
    let pairs = fields(a, 8, 4).zip(fields(b, 8, 4));
    pairs.filter(|(_, b)| !masked || *b != 0).map(|(a, b)| a.abs_diff(b) as i128).sum()
}

/// Sum with a carry or borrow bit.
fn carry(cx: &Cx, value: i128) -> Option<Out> {
    let out = number(cx, value, 32, false)?;
    Some(Out { mask: !(0..1 << 32).contains(&value), ..out })
}

/// Saturates to a signed or unsigned type whatever the clamp bit.
fn saturate(value: i128, width: u32, is_signed: bool) -> u128 {
    number(&Cx { clamp: true, ..Cx::plain() }, value, width, is_signed).map_or(0, |out| out.bits)
}

pub(crate) fn eval(cx: &Cx, name: &str, s: &[u128]) -> Option<Out> {
    let at = |index: usize| s.get(index).copied().unwrap_or(0);
    let (a, b, c) = (at(0), at(1), at(2));
    if let Some(out) = compare(name, a, b) {
        return Some(out);
    }
    let (width, is_signed) = suffix(name).unwrap_or((32, false));
    let value = |x: u128| if is_signed { signed(x, width) } else { unsigned(x, width) };
    let (na, nb, nc) = (value(a), value(b), value(c));
    let num = |value: i128| number(cx, value, width, is_signed);
    let (a5, b5, c5) = (a as u32 & 31, b as u32 & 31, c as u32 & 31);
    match name {
        "v_mov_b32"
        | "v_mov_b64"
        | "v_accvgpr_read_b32"
        | "v_accvgpr_write_b32"
        | "v_accvgpr_mov_b32" => bits(a),
        "v_not_b32" => bits(a ^ 0xffff_ffff),
        "v_bfrev_b32" => bits(bits_of(a, 32).rev().fold(0, |w, bit| w << 1 | u128::from(bit))),
        "v_ffbh_u32" => bits(position(bits_of(a, 32), true)),
        "v_ffbl_b32" => bits(position(bits_of(a, 32).rev(), true)),
        "v_ffbh_i32" => bits(position(bits_of(a, 32), a >> 31 & 1 == 0)),
        "v_prng_b32" => bits((a << 1 ^ if a >> 31 == 1 { 197 } else { 0 }) & 0xffff_ffff),
        "v_sat_pk_u8_i16" => {
            bits(join(8, fields(a, 16, 2).map(|x| saturate(signed(x, 16), 8, false))))
        }
        "v_cndmask_b32" => bits(if c != 0 { b } else { a }),
        "v_and_b32" => bits(a & b),
        "v_or_b32" => bits(a | b),
        "v_xor_b32" => bits(a ^ b),
        "v_xnor_b32" => bits(a ^ b ^ 0xffff_ffff),
        "v_bfi_b32" => bits((0..32).map(|i| (if a >> i & 1 == 1 { b } else { c }) & 1 << i).sum()),
        "v_bfm_b32" => num(((1 << a5) - 1) << b5),
        "v_bfe_u32" => bits(a >> b5 & ((1 << c5) - 1)),
        "v_bfe_i32" if c5 == 0 => bits(0),
        "v_bfe_i32" => bits(signed((signed(a, 32) >> b5) as u128, c5) as u128 & 0xffff_ffff),
        "v_lshrrev_b32" => bits(b >> a5),
        "v_lshlrev_b32" => bits(b << a5 & 0xffff_ffff),
        "v_ashrrev_i32" => bits((signed(b, 32) >> a5) as u128 & 0xffff_ffff),
        "v_lshrrev_b16" => bits((b & 0xffff) >> (a & 15)),
        "v_lshlrev_b16" => bits(b << (a & 15) & 0xffff),
        "v_ashrrev_i16" => bits((signed(b, 16) >> (a & 15)) as u128 & 0xffff),
        "v_lshrrev_b64" => bits(b >> (a & 63)),
        "v_lshlrev_b64" => bits(b << (a & 63) & u128::from(u64::MAX)),
        "v_ashrrev_i64" => bits((signed(b, 64) >> (a & 63)) as u128 & u128::from(u64::MAX)),
        "v_add_co_u32" => carry(cx, na + nb),
        "v_sub_co_u32" => carry(cx, na - nb),
        "v_subrev_co_u32" => carry(cx, nb - na),
        "v_addc_co_u32" => carry(cx, na + nb + (c != 0) as i128),
        "v_subb_co_u32" => carry(cx, na - nb - (c != 0) as i128),
        "v_subbrev_co_u32" => carry(cx, nb - na - (c != 0) as i128),
        "v_add_u32" | "v_add_u16" | "v_add_i32" | "v_add_i16" => num(na + nb),
        "v_sub_u32" | "v_sub_u16" | "v_sub_i32" | "v_sub_i16" => num(na - nb),
        "v_subrev_u32" | "v_subrev_u16" => num(nb - na),
        "v_min_i32" | "v_min_u32" | "v_min_u16" | "v_min_i16" => num(na.min(nb)),
        "v_max_i32" | "v_max_u32" | "v_max_u16" | "v_max_i16" => num(na.max(nb)),
        "v_mul_lo_u16" | "v_mul_lo_u32" => num(na * nb),
        "v_mul_hi_u32" | "v_mul_hi_i32" => bits(((na * nb) >> 32) as u128 & 0xffff_ffff),
        "v_mul_i32_i24" => number(cx, signed(a, 24) * signed(b, 24), 32, true),
        "v_mul_u32_u24" => number(cx, unsigned(a, 24) * unsigned(b, 24), 32, false),
        "v_mul_hi_i32_i24" => bits(((signed(a, 24) * signed(b, 24)) >> 32) as u128 & 0xffff_ffff),
        "v_mul_hi_u32_u24" => bits(((unsigned(a, 24) * unsigned(b, 24)) >> 32) as u128),
        "v_mad_i32_i24" => number(cx, signed(a, 24) * signed(b, 24) + signed(c, 32), 32, true),
        "v_mad_u32_u24" => {
            number(cx, unsigned(a, 24) * unsigned(b, 24) + unsigned(c, 32), 32, false)
        }
        "v_mad_u32_u16" => {
            number(cx, unsigned(a, 16) * unsigned(b, 16) + unsigned(c, 32), 32, false)
        }
        "v_mad_i32_i16" => number(cx, signed(a, 16) * signed(b, 16) + signed(c, 32), 32, true),
        "v_mad_u16" | "v_mad_i16" | "v_mad_legacy_u16" | "v_mad_legacy_i16" => num(na * nb + nc),
        "v_mad_u64_u32" => {
            let sum = unsigned(a, 32) * unsigned(b, 32) + unsigned(c, 64);
            Some(Out { mask: sum >> 64 != 0, ..number(cx, sum, 64, false)? })
        }
        "v_mad_i64_i32" => {
            let sum = signed(a, 32) * signed(b, 32) + signed(c, 64);
            let overflow = i64::try_from(sum).is_err();
            Some(Out { mask: overflow, ..number(cx, sum, 64, true)? })
        }
        "v_min3_i32" | "v_min3_u32" | "v_min3_i16" | "v_min3_u16" => num(na.min(nb).min(nc)),
        "v_max3_i32" | "v_max3_u32" | "v_max3_i16" | "v_max3_u16" => num(na.max(nb).max(nc)),
        "v_med3_i32" | "v_med3_u32" | "v_med3_i16" | "v_med3_u16" => {
            let mut sorted = [na, nb, nc];
            sorted.sort_unstable();
            num(sorted[1])
        }
        "v_xad_u32" => num(unsigned(a ^ b, 32) + nc),
        "v_lshl_add_u32" => num((na << b5) + nc),
        "v_add_lshl_u32" => num((na + nb) << c5),
        "v_add3_u32" => num(na + nb + nc),
        "v_lshl_or_b32" => bits((a << b5 | c) & 0xffff_ffff),
        "v_and_or_b32" => bits(a & b | c),
        "v_or3_b32" => bits(a | b | c),
        // Shift counts above 4 are not defined; the engine takes three bits.
        "v_lshl_add_u64" => number(cx, (unsigned(a, 64) << (b & 7)) + unsigned(c, 64), 64, false),
        "v_alignbit_b32" => bits((a << 32 | b) >> c5 & 0xffff_ffff),
        "v_alignbyte_b32" => bits((a << 32 | b) >> (8 * (c & 3)) & 0xffff_ffff),
        "v_perm_b32" => {
            let bytes: Vec<u128> = fields(b, 8, 4).chain(fields(a, 8, 4)).collect();
            let sign = |byte: usize| if bytes[byte] >= 0x80 { 0xff } else { 0 };
            bits(join(
                8,
                fields(c, 8, 4).map(|selector| match selector {
                    0..=7 => bytes[selector as usize],
                    8 => sign(1),
                    9 => sign(3),
                    10 => sign(5),
                    11 => sign(7),
                    12 => 0,
                    _ => 0xff,
                }),
            ))
        }
        "v_lerp_u8" => {
            let all = fields(a, 8, 4).zip(fields(b, 8, 4)).zip(fields(c, 8, 4));
            bits(join(8, all.map(|((a, b), c)| (a + b + (c & 1)) / 2)))
        }
        "v_sad_u8" => number(cx, sad(a, b, false) + unsigned(c, 32), 32, false),
        "v_sad_hi_u8" => number(cx, (sad(a, b, false) << 16) + unsigned(c, 32), 32, false),
        "v_msad_u8" => number(cx, sad(a, b, true) + unsigned(c, 32), 32, false),
        "v_sad_u16" => {
            let pairs = fields(a, 16, 2).zip(fields(b, 16, 2));
            let sum: i128 = pairs.map(|(a, b)| a.abs_diff(b) as i128).sum();
            number(cx, sum + unsigned(c, 32), 32, false)
        }
        "v_sad_u32" => number(cx, a.abs_diff(b) as i128 + unsigned(c, 32), 32, false),
        "v_qsad_pk_u16_u8" | "v_mqsad_pk_u16_u8" => {
            let masked = name.contains("mqsad");
            bits(join(
                16,
                (0..4).map(|i| {
                    let sum = sad(a >> (8 * i), b, masked) + unsigned(c >> (16 * i), 16);
                    number(cx, sum, 16, false).map_or(0, |out| out.bits)
                }),
            ))
        }
        "v_mqsad_u32_u8" => bits(join(
            32,
            (0..4).map(|i| {
                let sum = sad(a >> (8 * i), b, true) + unsigned(c >> (32 * i), 32);
                number(cx, sum, 32, false).map_or(0, |out| out.bits)
            }),
        )),
        "v_bitop3_b32" | "v_bitop3_b16" => {
            let width = if name.ends_with("16") { 16 } else { 32 };
            bits(join(
                1,
                (0..width).map(|i| {
                    let row = (a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1);
                    u128::from(cx.truth_table) >> row & 1
                }),
            ))
        }
        "v_ashr_pk_i8_i32" | "v_ashr_pk_u8_i32" => {
            let is_signed = name.contains("_i8_");
            let part = |x: u128| saturate(signed(x, 32) >> c5, 8, is_signed);
            bits(join(8, [part(a), part(b)]))
        }
        "v_bcnt_u32_b32" => num(bits_of(a, 32).filter(|bit| *bit).count() as i128 + nb),
        "v_mbcnt_lo_u32_b32" | "v_mbcnt_hi_u32_b32" => {
            let first = if name.contains("_lo_") { 0 } else { 32 };
            let below = (0..32).filter(|i| first + i < cx.lane && a >> i & 1 == 1).count();
            number(cx, below as i128 + unsigned(b, 32), 32, false)
        }
        "v_pack_b32_f16" => bits(join(16, [a, b])),
        "v_cvt_pk_u16_u32" => bits(join(16, [a, b].map(|x| saturate(unsigned(x, 32), 16, false)))),
        "v_cvt_pk_i16_i32" => bits(join(16, [a, b].map(|x| saturate(signed(x, 32), 16, true)))),
        "v_dot2_i32_i16" | "v_dot2c_i32_i16" => dot(cx, a, b, c, 16, true),
        "v_dot2_u32_u16" => dot(cx, a, b, c, 16, false),
        "v_dot4_i32_i8" | "v_dot4c_i32_i8" => dot(cx, a, b, c, 8, true),
        "v_dot4_u32_u8" => dot(cx, a, b, c, 8, false),
        "v_dot8_i32_i4" | "v_dot8c_i32_i4" => dot(cx, a, b, c, 4, true),
        "v_dot8_u32_u4" => dot(cx, a, b, c, 4, false),
        _ => None,
    }
}

fn dot(cx: &Cx, a: u128, b: u128, c: u128, width: u32, is_signed: bool) -> Option<Out> {
    let number_of = |x| if is_signed { signed(x, width) } else { unsigned(x, width) };
    let pairs = fields(a, width, 32 / width).zip(fields(b, width, 32 / width));
    let sum: i128 = pairs.map(|(a, b)| number_of(a) * number_of(b)).sum();
    let c = if is_signed { signed(c, 32) } else { unsigned(c, 32) };
    number(cx, sum + c, 32, is_signed)
}

/// Comparisons of integers.
fn compare(name: &str, a: u128, b: u128) -> Option<Out> {
    let rest = name.strip_prefix("v_cmp_").or_else(|| name.strip_prefix("v_cmpx_"))?;
    let (predicate, format) = rest.split_once('_')?;
    let width = format.get(1..)?.parse().ok()?;
    let value = |x| match format.as_bytes()[0] {
        b'i' => Some(signed(x, width)),
        b'u' => Some(unsigned(x, width)),
        _ => None,
    };
    let (a, b) = (value(a)?, value(b)?);
    let mask = match predicate {
        "f" => false,
        "t" => true,
        "lt" => a < b,
        "le" => a <= b,
        "eq" => a == b,
        "ne" => a != b,
        "ge" => a >= b,
        "gt" => a > b,
        _ => return None,
    };
    Some(Out { mask, ..Out::default() })
}
