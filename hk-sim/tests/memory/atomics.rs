//! Atomic operations by their names, in exact or arbitrary-precision arithmetic.

use rustc_apfloat::Float;
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};

/// Atomic as its mnemonic describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Atomic {
    op: String,
    kind: String,
    pub(crate) bits: u32,
    /// LDS names its operands compare, new; memory has new, compare.
    lds: bool,
}

/// Denormal handling: of operands, of results.
#[derive(Clone, Copy)]
struct Flush(bool, bool);

impl Atomic {
    /// Atomic of a mnemonic, if it is one of a single address and value.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let atomic = |op: &str, kind: &str, lds| {
            let digits: String = kind.chars().filter(char::is_ascii_digit).collect();
            let bits = if kind.starts_with("pk") { 32 } else { digits.parse().ok()? };
            Some(Self { op: op.to_owned(), kind: kind.to_owned(), bits, lds })
        };
        if let Some(rest) = name.strip_prefix("ds_") {
            let rest = rest.replace("_rtn", "");
            if let Some(format) = rest.strip_prefix("pk_add_") {
                return atomic("add", &format!("pk{format}"), true);
            }
            let (op, kind) = rest.split_once('_')?;
            let known = [
                "add", "sub", "rsub", "inc", "dec", "min", "max", "and", "or", "xor", "mskor",
                "wrxchg", "cmpst", "wrap",
            ];
            return known.contains(&op).then(|| atomic(op, kind, true)).flatten();
        }
        let (_, rest) = name.split_once("atomic_")?;
        if let Some(format) = rest.strip_prefix("pk_add_") {
            return atomic("add", &format!("pk{format}"), false);
        }
        let (rest, bits) = match rest.strip_suffix("_x2") {
            Some(rest) => (rest, 64),
            None => (rest, 32),
        };
        match rest.split_once('_') {
            Some((op, float)) => atomic(op, float, false),
            None => match rest {
                "smin" | "smax" => atomic(&rest[1..], &format!("i{bits}"), false),
                "umin" | "umax" => atomic(&rest[1..], &format!("u{bits}"), false),
                _ => atomic(rest, &format!("u{bits}"), false),
            },
        }
    }

    /// Dwords of the first data operand in registers.
    pub(crate) fn swaps_in_pairs(&self) -> bool {
        self.op == "cmpswap"
    }

    /// What memory holds afterwards. `first` and `second` are the data operands in register order.
    pub(crate) fn apply(&self, old: u64, first: u64, second: u64, lds_mode: Option<u32>) -> u64 {
        match self.kind.as_str() {
            "pkf16" => self.halves::<Half>(old, first, lds_mode),
            "pkbf16" => self.halves::<BFloat>(old, first, lds_mode),
            "f32" => self.float::<Single>(old, first, second, self.flush(lds_mode)),
            "f64" => self.float::<Double>(old, first, second, self.flush(lds_mode)),
            _ => self.integer(old, first, second),
        }
    }

    /// Table 53 of the CDNA4 manual.
    fn flush(&self, lds_mode: Option<u32>) -> Flush {
        match lds_mode {
            None => {
                let flush = self.kind == "f32";
                Flush(flush, flush)
            }
            Some(_) if self.kind == "f64" && self.op == "add" => Flush(false, false),
            Some(mode) => {
                let field = if self.kind == "f32" { mode >> 4 & 3 } else { mode >> 6 & 3 };
                Flush(field & 1 == 0, field & 2 == 0)
            }
        }
    }

    fn halves<F: Float>(&self, old: u64, data: u64, lds_mode: Option<u32>) -> u64 {
        let flush = self.flush(lds_mode);
        let low = self.float::<F>(old & 0xffff, data & 0xffff, 0, flush);
        let high = self.float::<F>(old >> 16, data >> 16, 0, flush);
        low | high << 16
    }

    fn float<F: Float>(&self, old: u64, first: u64, second: u64, flush: Flush) -> u64 {
        let flushed = |bits: u64, active: bool| {
            let value = F::from_bits(bits.into());
            if active && value.is_denormal() { F::ZERO.copy_sign(value) } else { value }
        };
        let bits = |value: F| value.to_bits() as u64;
        let quiet = 1 << (F::PRECISION - 2);
        let (a, b) = (flushed(old, flush.0), flushed(first, flush.0));
        let signalling = |bits: u64| F::from_bits(bits.into()).is_nan() && bits & quiet == 0;
        match self.op.as_str() {
            "add" => {
                if a.is_nan() || b.is_nan() {
                    return (if a.is_nan() { old } else { first }) | quiet;
                }
                let sum = (a + b).value;
                if sum.is_nan() {
                    return bits(F::INFINITY) | quiet;
                }
                bits(flushed(bits(sum), flush.1))
            }
            "min" | "max" => {
                if signalling(old) || signalling(first) {
                    return (if signalling(old) { old } else { first }) | quiet;
                }
                let below = |x: F, y: F| x < y || (x == y && x.is_negative() && !y.is_negative());
                let take = match () {
                    () if b.is_nan() => false,
                    () if a.is_nan() => true,
                    () if self.op == "min" => below(b, a),
                    () => below(a, b),
                };
                if take { first } else { old }
            }
            "cmpst" => {
                if a == b {
                    bits(flushed(second, flush.0))
                } else {
                    old
                }
            }
            other => panic!("float {other}"),
        }
    }

    fn integer(&self, old: u64, first: u64, second: u64) -> u64 {
        let modulus = 1i128 << self.bits;
        let (m, d, e) = (i128::from(old), i128::from(first), i128::from(second));
        let signed = |value: i128| if value >= modulus / 2 { value - modulus } else { value };
        let order = |value| if self.kind.starts_with('i') { signed(value) } else { value };
        let result = match self.op.as_str() {
            "add" => m + d,
            "sub" => m - d,
            "rsub" => d - m,
            "inc" => {
                if m >= d {
                    0
                } else {
                    m + 1
                }
            }
            "dec" => {
                if m == 0 || m > d {
                    d
                } else {
                    m - 1
                }
            }
            "min" => order(m).min(order(d)),
            "max" => order(m).max(order(d)),
            "and" => m & d,
            "or" => m | d,
            "xor" => m ^ d,
            "mskor" => m & (modulus - 1 - d) | e,
            "wrxchg" | "swap" => d,
            "cmpst" => {
                if m == d {
                    e
                } else {
                    m
                }
            }
            "cmpswap" => {
                if m == e {
                    d
                } else {
                    m
                }
            }
            "wrap" => {
                if m >= d {
                    m - d
                } else {
                    m + e
                }
            }
            other => panic!("integer {other}"),
        };
        result.rem_euclid(modulus) as u64
    }
}

/// Bit patterns worth testing for a float of `bits` bits with `mantissa` mantissa bits.
pub(crate) fn special_floats(bits: u32, mantissa: u32) -> Vec<u64> {
    let sign = 1u64 << (bits - 1);
    let infinity = sign - (1 << mantissa);
    let one = (infinity >> 1) >> mantissa << mantissa;
    let positive = [
        0,
        1,
        (1 << mantissa) - 1,
        1 << mantissa,
        (1 << mantissa) + 1,
        one,
        one + 1,
        one + (1 << mantissa),
        infinity - 1,
        infinity,
        infinity + 1,
        infinity | 1 << (mantissa - 1) | 5,
    ];
    positive.into_iter().flat_map(|value| [value, value | sign]).collect()
}

impl Atomic {
    /// Value for memory or data: small and equal numbers are as likely as any.
    pub(crate) fn sample(&self, random: impl Fn() -> u64) -> u64 {
        let mask = u64::MAX >> (64 - self.bits);
        let pick = |values: Vec<u64>| values[random() as usize % values.len()];
        if random() & 3 == 0 {
            return random() & mask;
        }
        match self.kind.as_str() {
            "f32" => pick(special_floats(32, 23)),
            "f64" => pick(special_floats(64, 52)),
            "pkf16" => pick(special_floats(16, 10)) | pick(special_floats(16, 10)) << 16,
            "pkbf16" => pick(special_floats(16, 7)) | pick(special_floats(16, 7)) << 16,
            _ => pick(vec![0, 1, 2, mask, mask - 1, mask / 2, mask / 2 + 1]),
        }
    }
}
