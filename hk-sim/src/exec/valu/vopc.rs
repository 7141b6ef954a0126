//! Comparisons.
//!
//! A few kernels serve all predicates: `gt` and `ge` swap the operands of `lt` and `le`, and the
//! negated predicates complement the mask.

use super::half::Half;
use super::lane::{Core, cores};
use crate::isa::Op;

/// How a comparison is computed.
pub(super) struct Comparison {
    /// Kernel; its mask must be complemented if `negate` is set.
    pub(super) core: &'static Core,
    /// Exchange the operands.
    pub(super) swap: bool,
    /// Complement the mask.
    pub(super) negate: bool,
    /// The mask goes to EXEC too.
    pub(super) exec: bool,
}

/// Class bits of `v_cmp_class`, from 0: signalling NaN, quiet NaN, -infinity, -normal, -denormal,
/// -0, +0, +denormal, +normal, +infinity.
macro_rules! class_of {
    ($bits:expr, $type:ty, $mantissa:literal) => {{
        const SIGN: $type = 1 << (<$type>::BITS - 1);
        const INFINITY: $type = SIGN - (1 << $mantissa);
        let bits: $type = $bits;
        let magnitude = bits & !SIGN;
        let kind = if magnitude == 0 {
            6
        } else if magnitude < 1 << $mantissa {
            7
        } else if magnitude < INFINITY {
            8
        } else {
            9
        };
        let signed: u32 = if bits & SIGN == 0 { kind } else { 11 - kind };
        let nan = u32::from(magnitude >> ($mantissa - 1) & 1 == 1);
        if magnitude > INFINITY { nan } else { signed }
    }};
}

const CORES: &[Core] = cores! {
    float v_cmp_lt_f32(_, a: f32, b: f32) -> bool = a < b;
    float v_cmp_le_f32(_, a: f32, b: f32) -> bool = a <= b;
    float v_cmp_eq_f32(_, a: f32, b: f32) -> bool = a == b;
    float v_cmp_lg_f32(_, a: f32, b: f32) -> bool = (a != b) & !(a.is_nan() | b.is_nan());
    float v_cmp_u_f32(_, a: f32, b: f32) -> bool = a.is_nan() | b.is_nan();
    float v_cmp_lt_f64(_, a: f64, b: f64) -> bool = a < b;
    float v_cmp_le_f64(_, a: f64, b: f64) -> bool = a <= b;
    float v_cmp_eq_f64(_, a: f64, b: f64) -> bool = a == b;
    float v_cmp_lg_f64(_, a: f64, b: f64) -> bool = (a != b) & !(a.is_nan() | b.is_nan());
    float v_cmp_u_f64(_, a: f64, b: f64) -> bool = a.is_nan() | b.is_nan();
    float v_cmp_lt_f16(_, a: Half, b: Half) -> bool = a.to_f32() < b.to_f32();
    float v_cmp_le_f16(_, a: Half, b: Half) -> bool = a.to_f32() <= b.to_f32();
    float v_cmp_eq_f16(_, a: Half, b: Half) -> bool = a.to_f32() == b.to_f32();
    float v_cmp_lg_f16(_, a: Half, b: Half) -> bool =
        (a.to_f32() != b.to_f32()) & !(a.is_nan() | b.is_nan());
    float v_cmp_u_f16(_, a: Half, b: Half) -> bool = a.is_nan() | b.is_nan();
    bits v_cmp_f_u32(_, _a: u32, _b: u32) -> bool = false;
    bits v_cmp_f_u64(_, _a: u64, _b: u64) -> bool = false;
    bits v_cmp_lt_i16(_, a: i16, b: i16) -> bool = a < b;
    bits v_cmp_le_i16(_, a: i16, b: i16) -> bool = a <= b;
    bits v_cmp_eq_i16(_, a: i16, b: i16) -> bool = a == b;
    bits v_cmp_lt_u16(_, a: u16, b: u16) -> bool = a < b;
    bits v_cmp_le_u16(_, a: u16, b: u16) -> bool = a <= b;
    bits v_cmp_eq_u16(_, a: u16, b: u16) -> bool = a == b;
    bits v_cmp_lt_i32(_, a: i32, b: i32) -> bool = a < b;
    bits v_cmp_le_i32(_, a: i32, b: i32) -> bool = a <= b;
    bits v_cmp_eq_i32(_, a: i32, b: i32) -> bool = a == b;
    bits v_cmp_lt_u32(_, a: u32, b: u32) -> bool = a < b;
    bits v_cmp_le_u32(_, a: u32, b: u32) -> bool = a <= b;
    bits v_cmp_eq_u32(_, a: u32, b: u32) -> bool = a == b;
    bits v_cmp_lt_i64(_, a: i64, b: i64) -> bool = a < b;
    bits v_cmp_le_i64(_, a: i64, b: i64) -> bool = a <= b;
    bits v_cmp_eq_i64(_, a: i64, b: i64) -> bool = a == b;
    bits v_cmp_lt_u64(_, a: u64, b: u64) -> bool = a < b;
    bits v_cmp_le_u64(_, a: u64, b: u64) -> bool = a <= b;
    bits v_cmp_eq_u64(_, a: u64, b: u64) -> bool = a == b;
    bits v_cmp_class_f32(_, a: u32, b: u32) -> bool = b >> class_of!(a, u32, 23) & 1 == 1;
    bits v_cmp_class_f64(_, a: u64, b: u32) -> bool = b >> class_of!(a, u64, 52) & 1 == 1;
    bits v_cmp_class_f16(_, a: u16, b: u32) -> bool = b >> class_of!(a, u16, 10) & 1 == 1;
};

/// The comparison that an operation of VOPC makes.
pub(super) fn comparison(op: Op) -> Option<Comparison> {
    let name = op.name();
    let (rest, exec) = match name.strip_prefix("v_cmpx_") {
        Some(rest) => (rest, true),
        None => (name.strip_prefix("v_cmp_")?, false),
    };
    let (predicate, format) = rest.split_once('_')?;
    let (kernel, swap, negate) = match predicate {
        "f" => ("f", false, false),
        "t" | "tru" => ("f", false, true),
        "class" => ("class", false, false),
        "lt" => ("lt", false, false),
        "le" => ("le", false, false),
        "gt" => ("lt", true, false),
        "ge" => ("le", true, false),
        "eq" => ("eq", false, false),
        "ne" => ("eq", false, true),
        "lg" => ("lg", false, false),
        "nlg" => ("lg", false, true),
        "neq" => ("eq", false, true),
        "nlt" => ("lt", false, true),
        "nle" => ("le", false, true),
        "ngt" => ("lt", true, true),
        "nge" => ("le", true, true),
        "u" => ("u", false, false),
        "o" => ("u", false, true),
        _ => return None,
    };
    // The constant predicates do not look at their operands.
    let format = match (kernel, &format[1..]) {
        ("f", "64") => "u64",
        ("f", _) => "u32",
        _ => format,
    };
    let name = format!("v_cmp_{kernel}_{format}");
    let core = CORES.iter().find(|core| core.op.name() == name)?;
    Some(Comparison { core, swap, negate, exec })
}
