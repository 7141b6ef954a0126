//! Exact arithmetic on dyadic numbers of any size, and rounding into float formats.

use std::cmp::Ordering;

/// Unsigned integer, least significant word first, without leading zeros.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Big(Vec<u32>);

impl Big {
    pub(crate) fn new(value: u128) -> Self {
        Self((0..4).map(|at| (value >> (32 * at)) as u32).collect()).trimmed()
    }

    fn trimmed(mut self) -> Self {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
        self
    }

    fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    fn bits(&self) -> i32 {
        self.0.last().map_or(0, |top| self.0.len() as i32 * 32 - top.leading_zeros() as i32)
    }

    fn word(&self, at: usize) -> u64 {
        self.0.get(at).copied().unwrap_or(0).into()
    }

    fn bit(&self, at: i32) -> bool {
        at >= 0 && self.word(at as usize / 32) >> (at % 32) & 1 == 1
    }

    fn shl(&self, count: i32) -> Self {
        let mut words = vec![0; count as usize / 32];
        let shift = count % 32;
        let mut carry = 0;
        for &word in &self.0 {
            let wide = u64::from(word) << shift | carry;
            words.push(wide as u32);
            carry = wide >> 32;
        }
        words.push(carry as u32);
        Self(words).trimmed()
    }

    /// Lowest 128 bits of the integer without its lowest `count` bits.
    fn shr(&self, count: i32) -> u128 {
        (0..128).map(|at| u128::from(self.bit(at + count)) << at).sum()
    }

    fn any_below(&self, count: i32) -> bool {
        (0..count).any(|at| self.bit(at))
    }

    fn add(&self, other: &Self) -> Self {
        let mut words = Vec::new();
        let mut carry = 0;
        for at in 0..=self.0.len().max(other.0.len()) {
            let sum = self.word(at) + other.word(at) + carry;
            words.push(sum as u32);
            carry = sum >> 32;
        }
        Self(words).trimmed()
    }

    /// `self - other`, which must not be negative.
    fn sub(&self, other: &Self) -> Self {
        let mut words = Vec::new();
        let mut borrow = 0;
        for at in 0..self.0.len() {
            let difference = self.word(at) as i64 - other.word(at) as i64 - borrow;
            words.push(difference as u32);
            borrow = i64::from(difference < 0);
        }
        Self(words).trimmed()
    }

    fn mul(&self, other: &Self) -> Self {
        let mut words = vec![0u32; self.0.len() + other.0.len()];
        for (i, &a) in self.0.iter().enumerate() {
            let mut carry = 0;
            for j in 0..other.0.len() + 1 {
                let Some(word) = words.get_mut(i + j) else { break };
                let sum = u64::from(a) * other.word(j) + u64::from(*word) + carry;
                *word = sum as u32;
                carry = sum >> 32;
            }
        }
        Self(words).trimmed()
    }

    fn compare(&self, other: &Self) -> Ordering {
        let by_length = self.0.len().cmp(&other.0.len());
        by_length.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}

/// A float: `(-1)^negative * magnitude * 2^exponent`, or none of the numbers.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Nan,
    Infinity(bool),
    Number { negative: bool, magnitude: Big, exponent: i32 },
}

/// IEEE format by the widths of its exponent and mantissa.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) exponent: u32,
    pub(crate) mantissa: u32,
}

pub(crate) const F16: Format = Format { exponent: 5, mantissa: 10 };
pub(crate) const BF16: Format = Format { exponent: 8, mantissa: 7 };
pub(crate) const F32: Format = Format { exponent: 8, mantissa: 23 };
pub(crate) const F64: Format = Format { exponent: 11, mantissa: 52 };

/// Rounding modes, numbered as in MODE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    Even,
    Up,
    Down,
    Zero,
}

impl Round {
    pub(crate) fn of(field: u32) -> Self {
        [Self::Even, Self::Up, Self::Down, Self::Zero][field as usize & 3]
    }
}

impl Format {
    pub(crate) fn bits(self) -> u32 {
        1 + self.exponent + self.mantissa
    }

    pub(crate) fn sign(self) -> u64 {
        1 << (self.bits() - 1)
    }

    pub(crate) fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.mantissa
    }

    pub(crate) fn quiet_bit(self) -> u64 {
        1 << (self.mantissa - 1)
    }

    pub(crate) fn default_nan(self) -> u64 {
        self.infinity() | self.quiet_bit()
    }

    pub(crate) fn is_nan(self, bits: u64) -> bool {
        bits & (self.sign() - 1) > self.infinity()
    }

    pub(crate) fn is_signalling(self, bits: u64) -> bool {
        self.is_nan(bits) && bits & self.quiet_bit() == 0
    }

    pub(crate) fn is_denormal(self, bits: u64) -> bool {
        bits & self.infinity() == 0 && bits & (self.quiet_bit() * 2 - 1) != 0
    }

    /// Exponent of the unit in the last place of denormals.
    fn lowest(self) -> i32 {
        1 - ((1 << (self.exponent - 1)) - 1) - self.mantissa as i32
    }

    pub(crate) fn unpack(self, bits: u64) -> Value {
        let negative = bits & self.sign() != 0;
        let field = (bits & self.infinity()) >> self.mantissa;
        let mantissa = bits & ((1 << self.mantissa) - 1);
        if bits & self.infinity() == self.infinity() {
            return if mantissa == 0 { Value::Infinity(negative) } else { Value::Nan };
        }
        let hidden = if field == 0 { 0 } else { 1 << self.mantissa };
        Value::Number {
            negative,
            magnitude: Big::new((mantissa | hidden).into()),
            exponent: self.lowest() + field.max(1) as i32 - 1,
        }
    }

    pub(crate) fn pack(self, value: &Value, round: Round) -> u64 {
        match value {
            Value::Nan => self.default_nan(),
            Value::Infinity(negative) => self.infinity() | if *negative { self.sign() } else { 0 },
            Value::Number { negative, magnitude, exponent } => {
                let sign = if *negative { self.sign() } else { 0 };
                if magnitude.is_zero() {
                    return sign;
                }
                let ideal = exponent + magnitude.bits() - 1 - self.mantissa as i32;
                let quantum = ideal.max(self.lowest());
                let dropped = quantum - exponent;
                let (kept, half, rest) = if dropped <= 0 {
                    (magnitude.shl(-dropped).shr(0), false, false)
                } else {
                    let half = magnitude.bit(dropped - 1);
                    (magnitude.shr(dropped), half, magnitude.any_below(dropped - 1))
                };
                let up = match round {
                    Round::Even => half && (rest || kept & 1 == 1),
                    Round::Up => (half || rest) && !negative,
                    Round::Down => (half || rest) && *negative,
                    Round::Zero => false,
                };
                let code = (kept + u128::from(up))
                    + (((quantum - self.lowest()) as u128) << self.mantissa);
                let finite = match round {
                    Round::Even => false,
                    Round::Up => *negative,
                    Round::Down => !*negative,
                    Round::Zero => true,
                };
                let largest = if finite { self.infinity() - 1 } else { self.infinity() };
                sign | code.min(largest.into()) as u64
            }
        }
    }

    /// The value as `f64`, which holds all values of the formats.
    pub(crate) fn to_f64(self, bits: u64) -> f64 {
        let sign = if bits & self.sign() == 0 { 1.0 } else { -1.0 };
        f64::from_bits(F64.pack(&self.unpack(bits), Round::Even)).copysign(sign)
    }
}

impl Value {
    pub(crate) fn integer(value: i128) -> Self {
        let magnitude = Big::new(value.unsigned_abs());
        Self::Number { negative: value < 0, magnitude, exponent: 0 }
    }

    pub(crate) fn f64(value: f64) -> Self {
        F64.unpack(value.to_bits())
    }

    fn is_zero(&self) -> bool {
        matches!(self, Self::Number { magnitude, .. } if magnitude.is_zero())
    }

    fn is_negative(&self) -> bool {
        match self {
            Self::Nan => false,
            Self::Infinity(negative) | Self::Number { negative, .. } => *negative,
        }
    }

    pub(crate) fn negated(self) -> Self {
        match self {
            Self::Nan => Self::Nan,
            Self::Infinity(negative) => Self::Infinity(!negative),
            Self::Number { negative, magnitude, exponent } => {
                Self::Number { negative: !negative, magnitude, exponent }
            }
        }
    }

    /// `self * 2^by`.
    pub(crate) fn scaled(self, by: i32) -> Self {
        match self {
            Self::Number { negative, magnitude, exponent } => {
                Self::Number { negative, magnitude, exponent: exponent + by }
            }
            other => other,
        }
    }

    /// Exact sum; `round` decides the sign of a zero that is no sum of zeros.
    pub(crate) fn plus(&self, other: &Self, round: Round) -> Self {
        match (self, other) {
            (Self::Nan, _) | (_, Self::Nan) => Self::Nan,
            (Self::Infinity(a), Self::Infinity(b)) if a != b => Self::Nan,
            (Self::Infinity(sign), _) | (_, Self::Infinity(sign)) => Self::Infinity(*sign),
            (
                Self::Number { negative: sa, magnitude: a, exponent: ea },
                Self::Number { negative: sb, magnitude: b, exponent: eb },
            ) => {
                if self.is_zero() && other.is_zero() {
                    let negative = if sa == sb { *sa } else { round == Round::Down };
                    return Self::Number { negative, magnitude: Big::default(), exponent: 0 };
                }
                let exponent = *ea.min(eb);
                let (a, b) = (a.shl(ea - exponent), b.shl(eb - exponent));
                let (negative, magnitude) = match (sa == sb, a.compare(&b)) {
                    (true, _) => (*sa, a.add(&b)),
                    (false, Ordering::Greater) => (*sa, a.sub(&b)),
                    (false, Ordering::Less) => (*sb, b.sub(&a)),
                    (false, Ordering::Equal) => (round == Round::Down, Big::default()),
                };
                Self::Number { negative, magnitude, exponent }
            }
        }
    }

    /// Exact product.
    pub(crate) fn times(&self, other: &Self) -> Self {
        let negative = self.is_negative() != other.is_negative();
        match (self, other) {
            (Self::Nan, _) | (_, Self::Nan) => Self::Nan,
            (Self::Infinity(_), x) | (x, Self::Infinity(_)) => {
                if x.is_zero() {
                    Self::Nan
                } else {
                    Self::Infinity(negative)
                }
            }
            (
                Self::Number { magnitude: a, exponent: ea, .. },
                Self::Number { magnitude: b, exponent: eb, .. },
            ) => Self::Number { negative, magnitude: a.mul(b), exponent: ea + eb },
        }
    }

    /// `1 / self`, correct in at least 60 bits, with an odd last bit where it is inexact.
    pub(crate) fn reciprocal(&self) -> Self {
        let negative = self.is_negative();
        match self {
            Self::Nan => Self::Nan,
            Self::Infinity(_) => Self::Number { negative, magnitude: Big::default(), exponent: 0 },
            Self::Number { magnitude, .. } if magnitude.is_zero() => Self::Infinity(negative),
            Self::Number { magnitude, exponent, .. } => {
                let divisor = magnitude.shr(0);
                let dividend = 1 << 126;
                let quotient = (dividend / divisor) << 1 | u128::from(dividend % divisor != 0);
                let magnitude = Big::new(quotient);
                Self::Number { negative, magnitude, exponent: -127 - exponent }
            }
        }
    }

    /// Square root, correct in at least 60 bits, with an odd last bit where it is inexact.
    pub(crate) fn root(&self) -> Self {
        match self {
            _ if self.is_zero() => self.clone(),
            Self::Nan | Self::Infinity(true) | Self::Number { negative: true, .. } => Self::Nan,
            Self::Infinity(false) => Self::Infinity(false),
            Self::Number { magnitude, exponent, .. } => {
                // An even exponent and 124 or 125 bits.
                let shift = 124 - magnitude.bits();
                let shift = shift + (exponent - shift) % 2;
                let square = magnitude.shl(shift).shr(0);
                let root = square.isqrt();
                let magnitude = Big::new(root << 1 | u128::from(root * root != square));
                Self::Number { negative: false, magnitude, exponent: (exponent - shift) / 2 - 1 }
            }
        }
    }

    /// Order of two numbers; `None` with a NaN.
    pub(crate) fn order(&self, other: &Self) -> Option<Ordering> {
        let difference = match (self, other) {
            (Self::Infinity(a), Self::Infinity(b)) if a == b => return Some(Ordering::Equal),
            _ => self.plus(&other.clone().negated(), Round::Even),
        };
        match difference {
            Self::Nan => None,
            _ if difference.is_zero() => Some(Ordering::Equal),
            _ if difference.is_negative() => Some(Ordering::Less),
            _ => Some(Ordering::Greater),
        }
    }

    /// Integer next to the value in a direction, saturated to what `i128` holds; `None` for a NaN.
    pub(crate) fn to_integer(&self, direction: Direction) -> Option<i128> {
        match self {
            Self::Nan => None,
            Self::Infinity(negative) => Some(if *negative { i128::MIN } else { i128::MAX }),
            Self::Number { negative, magnitude, exponent } => {
                let signed = |whole: i128| if *negative { -whole } else { whole };
                if magnitude.bits() + exponent > 100 {
                    return Some(signed(i128::MAX));
                }
                if *exponent >= 0 {
                    return Some(signed(magnitude.shl(*exponent).shr(0) as i128));
                }
                let dropped = -exponent;
                let whole = magnitude.shr(dropped) as i128;
                let half = magnitude.bit(dropped - 1);
                let rest = magnitude.any_below(dropped - 1);
                let up = match direction {
                    Direction::Truncate => false,
                    Direction::Floor => *negative && (half || rest),
                    Direction::Ceil => !*negative && (half || rest),
                    Direction::NearestEven => half && (rest || whole & 1 == 1),
                    Direction::NearestUp => half && (rest || !*negative),
                };
                Some(signed(whole + i128::from(up)))
            }
        }
    }

    /// As [`Value::to_integer`], but a float that keeps its sign, infinity or NaN.
    pub(crate) fn to_integral(&self, direction: Direction) -> Self {
        match self {
            Self::Number { negative, magnitude, exponent } => {
                if magnitude.bits() + exponent > 100 || magnitude.is_zero() {
                    return self.clone();
                }
                let whole = self.to_integer(direction).unwrap_or(0);
                Self::Number {
                    negative: *negative,
                    magnitude: Big::new(whole.unsigned_abs()),
                    exponent: 0,
                }
            }
            other => other.clone(),
        }
    }

    /// Exponent `e` of a number in `[2^(e-1), 2^e)`; `None` if it is zero or none.
    pub(crate) fn exponent(&self) -> Option<i32> {
        match self {
            Self::Number { magnitude, exponent, .. } if !magnitude.is_zero() => {
                Some(magnitude.bits() + exponent)
            }
            _ => None,
        }
    }
}

/// Direction of rounding to an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Truncate,
    Floor,
    Ceil,
    NearestEven,
    /// To nearest, ties upwards.
    NearestUp,
}

#[test]
fn exact_arithmetic_agrees_with_the_host() {
    let samples: Vec<f64> = [
        0.0,
        -0.0,
        1.0,
        -1.5,
        f64::MIN_POSITIVE,
        5e-324,
        -2.5e-310,
        f64::MAX,
        f64::INFINITY,
        1.0 / 3.0,
        -1e300,
        2.0f64.powi(-600),
        123_456_789.123,
    ]
    .to_vec();
    for &a in &samples {
        let va = Value::f64(a);
        assert_eq!(F64.pack(&va, Round::Even), a.to_bits());
        assert_eq!(F32.pack(&va, Round::Even), u64::from((a as f32).to_bits()), "{a:e}");
        for &b in &samples {
            let vb = Value::f64(b);
            let check = |got: Value, want: f64, what: &str| {
                let got = f64::from_bits(F64.pack(&got, Round::Even));
                let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
                assert!(same, "{a:e} {what} {b:e}: {got:e}, not {want:e}");
            };
            check(va.plus(&vb, Round::Even), a + b, "+");
            check(va.times(&vb), a * b, "*");
            check(va.times(&vb).plus(&Value::f64(1.0), Round::Even), a.mul_add(b, 1.0), "fma");
            assert_eq!(va.order(&vb), a.partial_cmp(&b));
        }
        let got = f64::from_bits(F64.pack(&va.reciprocal(), Round::Even));
        assert_eq!(got, 1.0 / a);
        let got = f64::from_bits(F64.pack(&va.root(), Round::Even));
        assert!(got == a.sqrt() || got.is_nan() && a.sqrt().is_nan(), "{a:e}: {got:e}");
        assert_eq!(va.to_integer(Direction::Truncate).unwrap().clamp(-(1 << 60), 1 << 60), {
            (a.trunc() as i128).clamp(-(1 << 60), 1 << 60)
        });
    }
}
