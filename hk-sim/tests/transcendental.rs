//! Transcendental functions are correctly rounded.
//!
//! The expectation comes from the `f64` functions of the host's mathematical library, whose few
//! units of error matter only next to a rounding boundary; there, double-double series decide.

use hk_sim::exec::SingleWave;
use hk_sim::exec::float::{RoundMode, f16_from_f64, f32_from_f16};
use hk_sim::exec::simd::SimdLevel;
use hk_sim::exec::transcendental as tested;
use hk_sim::isa::Arch;

/// Unevaluated sum of two `f64`, about 106 bits.
#[derive(Clone, Copy, Debug)]
struct Double {
    high: f64,
    low: f64,
}

impl Double {
    const LN_2: Self = Self { high: std::f64::consts::LN_2, low: 2.319_046_813_846_299_6e-17 };
    const TAU: Self = Self { high: std::f64::consts::TAU, low: 2.449_293_598_294_706_4e-16 };

    fn new(high: f64) -> Self {
        Self { high, low: 0.0 }
    }

    fn sum(a: f64, b: f64) -> Self {
        let high = a + b;
        let part = high - a;
        Self { high, low: (a - (high - part)) + (b - part) }
    }

    fn product(a: f64, b: f64) -> Self {
        let high = a * b;
        Self { high, low: a.mul_add(b, -high) }
    }

    fn add(self, other: Self) -> Self {
        let sum = Self::sum(self.high, other.high);
        Self::sum(sum.high, sum.low + self.low + other.low)
    }

    fn mul(self, other: Self) -> Self {
        let product = Self::product(self.high, other.high);
        let cross = self.high.mul_add(other.low, self.low * other.high);
        Self::sum(product.high, product.low + cross)
    }

    fn div(self, divisor: f64) -> Self {
        let high = self.high / divisor;
        let rest = (-high).mul_add(divisor, self.high) + self.low;
        Self::sum(high, rest / divisor)
    }

    /// `e^self` for small arguments.
    fn exp(self) -> Self {
        let (mut sum, mut term) = (Self::new(1.0), Self::new(1.0));
        for n in 1..28 {
            term = term.mul(self).div(f64::from(n));
            sum = sum.add(term);
        }
        sum
    }

    fn sin(self) -> Self {
        let (mut sum, mut term) = (self, self);
        let square = self.mul(self);
        for n in 1..16 {
            term = term.mul(square).div(-f64::from(2 * n * (2 * n + 1)));
            sum = sum.add(term);
        }
        sum
    }

    fn scaled(self, exponent: i32) -> Self {
        let factor = 2_f64.powi(exponent);
        Self { high: self.high * factor, low: self.low * factor }
    }

    /// The nearest `f32`, ties to even.
    fn rounded(self) -> f32 {
        let near = self.high as f32;
        let distance = |candidate: f32| ((self.high - f64::from(candidate)) + self.low).abs();
        let even_first = [near, near.next_down(), near.next_up()];
        let closest = even_first.into_iter().map(distance).fold(f64::INFINITY, f64::min);
        even_first.into_iter().find(|candidate| distance(*candidate) == closest).expect("minimum")
    }
}

/// What `f64` rounds to if it is certain, given that it is wrong by a few units.
fn certain(value: f64) -> Option<f32> {
    let margin = value.abs() * 2_f64.powi(-50);
    let (below, above) = ((value - margin) as f32, (value + margin) as f32);
    (below == above).then_some(below)
}

fn flushed(x: f32) -> f32 {
    if x.is_subnormal() { 0_f32.copysign(x) } else { x }
}

fn exp2(x: f32) -> f32 {
    let x = f64::from(flushed(x));
    flushed(certain(x.exp2()).unwrap_or_else(|| {
        let whole = x.round();
        Double::LN_2.mul(Double::new(x - whole)).exp().scaled(whole as i32).rounded()
    }))
}

fn log2(x: f32) -> f32 {
    let x = f64::from(flushed(x));
    let near = x.log2();
    certain(near).unwrap_or_else(|| {
        // x = 2^near (1 + rest), and log2(1 + rest) is rest / ln 2 with a small correction.
        let whole = near.round();
        let power = Double::LN_2.mul(Double::new(near - whole)).exp().scaled(whole as i32);
        let rest = (x - power.high - power.low) / power.high;
        Double::sum(near, (rest - rest * rest / 2.0) / Double::LN_2.high).rounded()
    })
}

fn rsq(x: f32) -> f32 {
    let x = f64::from(flushed(x));
    let near = 1.0 / x.sqrt();
    certain(near).unwrap_or_else(|| {
        // One Newton step with the residual 1 - x near^2 in double-double.
        let square = Double::product(near, near);
        let residual = square.mul(Double::new(-x)).add(Double::new(1.0));
        Double::sum(near, near * residual.high / 2.0).rounded()
    })
}

/// Sine of `x` revolutions.
fn sine(x: f64) -> f32 {
    let x = x - x.round();
    let folded = if x.abs() > 0.25 { 0.5_f64.copysign(x) - x } else { x };
    certain((std::f64::consts::TAU * folded).sin())
        .unwrap_or_else(|| Double::TAU.mul(Double::new(folded)).sin().rounded())
}

fn sin(x: f32) -> f32 {
    let x = flushed(x);
    if x == 0.0 { x } else { sine(x.into()) }
}

fn cos(x: f32) -> f32 {
    let x = f64::from(flushed(x));
    sine(0.25 - (x - x.round()).abs())
}

struct Random(u64);

impl Random {
    fn word(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as u32
    }
}

fn same(got: f32, expected: f32) -> bool {
    got.to_bits() == expected.to_bits() || (got.is_nan() && expected.is_nan())
}

fn assert_same(name: &str, x: f32, got: f32, expected: f32) {
    assert!(
        same(got, expected),
        "{name}({x:e} = {:#010x}): {got:e}, expected {expected:e}",
        x.to_bits()
    );
}

fn check(
    name: &str,
    inputs: impl Iterator<Item = f32>,
    tested: impl Fn(f32) -> f32,
    expected: impl Fn(f32) -> f32,
) {
    let wrong = inputs.filter(|x| !same(tested(*x), expected(*x)));
    let wrong: Vec<_> = wrong.map(|x| (x.to_bits(), tested(x), expected(x))).collect();
    assert!(wrong.is_empty(), "{name}: {} wrong: {:x?}", wrong.len(), &wrong[..wrong.len().min(9)]);
}

/// Every `f32` from `from` up to `to`, both positive.
fn every(from: f32, to: f32) -> impl Iterator<Item = f32> {
    (from.to_bits()..to.to_bits()).map(f32::from_bits)
}

/// Numbers of either sign with magnitudes from `from` to `to`.
fn some(seed: u64, from: f32, to: f32) -> impl Iterator<Item = f32> {
    let mut random = Random(seed);
    let (first, count) = (from.to_bits(), to.to_bits() - from.to_bits());
    (0..2_000_000).map(move |_| {
        let magnitude = f32::from_bits(first + random.word() % count);
        if random.word() & 1 == 0 { magnitude } else { -magnitude }
    })
}

#[test]
fn exp2_is_correctly_rounded() {
    check("exp2", every(0.5, 1.0), tested::exp2_f32, exp2);
    check("exp2", some(1, 1e-9, 160.0), tested::exp2_f32, exp2);
    check("exp2", (-160..140).map(|x| x as f32), tested::exp2_f32, exp2);
}

#[test]
fn log2_is_correctly_rounded() {
    check("log2", every(0.5, 2.0), tested::log2_f32, log2);
    let positive = some(2, f32::MIN_POSITIVE, f32::MAX).map(f32::abs);
    check("log2", positive, tested::log2_f32, log2);
}

#[test]
fn rsq_is_correctly_rounded_everywhere() {
    // Both functions commute with powers of four, so these are all significands.
    check("rsq", every(1.0, 4.0), tested::rsq_f32, rsq);
    let positive = some(3, f32::MIN_POSITIVE, f32::MAX).map(f32::abs);
    check("rsq", positive, tested::rsq_f32, rsq);
}

#[test]
fn reciprocal_and_root_are_correctly_rounded() {
    // In f64, division and square root of f32 round to the right f32 (53 >= 2 * 24 + 2).
    let rcp = |x: f32| flushed((1.0 / f64::from(flushed(x))) as f32);
    check("rcp", some(4, 1e-45, f32::MAX), tested::rcp_f32, rcp);
    let sqrt = |x: f32| f64::from(flushed(x)).sqrt() as f32;
    check("sqrt", some(5, 1e-45, f32::MAX), tested::sqrt_f32, sqrt);
}

#[test]
fn sine_and_cosine_are_correctly_rounded() {
    check("sin", every(0.125, 0.25), tested::sin_f32, sin);
    check("cos", every(0.125, 0.25), tested::cos_f32, cos);
    check("sin", some(6, 1e-30, 256.0), tested::sin_f32, sin);
    check("cos", some(7, 1e-30, 256.0), tested::cos_f32, cos);
    check("sin", some(8, 1e-4, 2.0), tested::sin_f32, sin);
    check("cos", some(9, 1e-4, 2.0), tested::cos_f32, cos);
}

/// Every `f32` but NaNs.
fn all() -> impl Iterator<Item = f32> {
    (0..=u32::MAX).map(f32::from_bits).filter(|x| !x.is_nan())
}

#[test]
#[ignore = "every f32 takes minutes"]
fn exp2_is_correctly_rounded_everywhere() {
    check("exp2", all().filter(|x| x.abs() < 200.0), tested::exp2_f32, exp2);
}

#[test]
#[ignore = "every f32 takes minutes"]
fn log2_is_correctly_rounded_everywhere() {
    check("log2", every(f32::MIN_POSITIVE, f32::INFINITY), tested::log2_f32, log2);
}

#[test]
#[ignore = "every f32 takes minutes"]
fn sine_is_correctly_rounded_everywhere() {
    check("sin", all().filter(|x| x.abs() <= 256.0), tested::sin_f32, sin);
}

#[test]
#[ignore = "every f32 takes minutes"]
fn cosine_is_correctly_rounded_everywhere() {
    check("cos", all().filter(|x| x.abs() <= 256.0), tested::cos_f32, cos);
}

type Function = fn(f32) -> f32;

/// Instructions and the functions that they compute.
const INSTRUCTIONS: [(&str, Function); 7] = [
    ("v_exp_f32", tested::exp2_f32),
    ("v_log_f32", tested::log2_f32),
    ("v_rcp_f32", tested::rcp_f32),
    ("v_rsq_f32", tested::rsq_f32),
    ("v_sqrt_f32", tested::sqrt_f32),
    ("v_sin_f32", tested::sin_f32),
    ("v_cos_f32", tested::cos_f32),
];

/// Registers of a wave that are operands; as many others are results.
const REGISTERS: usize = 128;
/// Operands of a wave.
const OPERANDS: usize = 64 * REGISTERS;

/// A wave that computes one function of all its operands.
fn wave(name: &str, level: SimdLevel) -> SingleWave {
    let line = |at: usize| format!("{name}_e32 v{}, v{at}\n", at + REGISTERS);
    let source: String = (0..REGISTERS).map(line).collect();
    let code = hk_build::assemble(&source, Arch::Gfx950).expect("it assembles");
    let words: Vec<u32> =
        code.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    SingleWave::with_level(Arch::Gfx950, &words, level)
}

fn results(wave: &mut SingleWave, operand: impl Fn(usize) -> u32) -> Vec<u32> {
    for row in 0..REGISTERS {
        wave.set_vgpr(row, std::array::from_fn(|lane| operand(64 * row + lane)));
    }
    wave.run().expect("it runs");
    (0..REGISTERS).flat_map(|row| *wave.vgpr(row + REGISTERS)).collect()
}

#[test]
fn instructions_compute_the_functions_at_every_level() {
    for (name, function) in INSTRUCTIONS {
        for level in SimdLevel::available() {
            let mut wave = wave(name, level);
            let mut random = Random(11);
            for round in 0..100 {
                // Special operands make a wave take another way, so most waves have none.
                let operands: Vec<u32> = (0..OPERANDS)
                    .map(|_| match round % 4 {
                        0 => random.word(),
                        1 => 0x3f00_0000 + random.word() % (1 << 24),
                        _ => (random.word() as f32 / 2_f32.powi(25) - 64.0 * (round & 1) as f32)
                            .to_bits(),
                    })
                    .collect();
                let got = results(&mut wave, |at| operands[at]);
                for (x, got) in operands.iter().zip(&got) {
                    let x = f32::from_bits(*x);
                    assert_same(name, x, f32::from_bits(*got), function(x));
                }
            }
        }
    }
}

#[test]
fn rough_instructions_are_off_by_less_than_a_unit() {
    let exact: [fn(f64) -> f64; 5] =
        [f64::exp2, f64::log2, f64::recip, |x| x.sqrt().recip(), f64::sqrt];
    for ((name, function), exact) in INSTRUCTIONS.into_iter().zip(exact) {
        for level in SimdLevel::available() {
            let mut wave = wave(name, level);
            wave.set_rough(true);
            let mode = wave.mode();
            let mut random = Random(12);
            let operands: Vec<u32> =
                (0..OPERANDS).map(|_| 0x3d00_0000 + random.word() % (1 << 26)).collect();
            let got = results(&mut wave, |at| operands[at]);
            let mut moved = 0;
            for (x, got) in operands.iter().zip(&got) {
                let (x, got) = (f32::from_bits(*x), f32::from_bits(*got));
                let near = function(x);
                let unit = f64::from(near.abs().next_up()) - f64::from(near.abs());
                let off = (f64::from(got) - exact(x.into())).abs();
                assert!(off < 1.001 * unit, "{name} of {x}: {got}, not {near}");
                moved += usize::from(got != near);
            }
            assert!(moved > OPERANDS * 9 / 10, "{name}: {moved} of {OPERANDS}");
            assert_eq!(wave.mode(), mode);
        }
    }
}

#[test]
#[ignore = "every f32 takes minutes"]
fn levels_agree_on_every_operand() {
    for (name, _) in INSTRUCTIONS {
        let mut waves: Vec<_> = SimdLevel::available()
            .filter(|level| *level > SimdLevel::Portable)
            .map(|level| wave(name, level))
            .collect();
        for first in (0..=u32::MAX).step_by(OPERANDS) {
            let mut all = waves.iter_mut().map(|wave| results(wave, |at| first + at as u32));
            let Some(expected) = all.next() else { return };
            for got in all {
                assert!(got == expected, "{name} of an operand from {first:#010x} on");
            }
        }
    }
}

#[test]
fn special_operands_give_what_the_manual_says() {
    const INF: f32 = f32::INFINITY;
    const NAN: f32 = f32::NAN;
    let tiny = f32::from_bits(0x007f_ffff);
    type Case<'a> = (&'a str, fn(f32) -> f32, &'a [(f32, f32)]);
    let cases: [Case<'_>; 7] = [
        (
            "exp2",
            tested::exp2_f32,
            &[
                (0.0, 1.0),
                (-0.0, 1.0),
                (tiny, 1.0),
                (INF, INF),
                (-INF, 0.0),
                (NAN, NAN),
                (128.0, INF),
                (f32::MAX, INF),
                (-f32::MAX, 0.0),
                (-126.0, f32::MIN_POSITIVE),
                // Denormal results are flushed, one that rounds to a normal number is not.
                (-126.5, 0.0),
                (-127.0, 0.0),
            ],
        ),
        (
            "log2",
            tested::log2_f32,
            &[
                (0.0, -INF),
                (-0.0, -INF),
                (tiny, -INF),
                (-tiny, -INF),
                (-1.0, NAN),
                (-INF, NAN),
                (INF, INF),
                (NAN, NAN),
                (1.0, 0.0),
                (f32::MIN_POSITIVE, -126.0),
            ],
        ),
        (
            "rcp",
            tested::rcp_f32,
            &[
                (0.0, INF),
                (-0.0, -INF),
                (tiny, INF),
                (-tiny, -INF),
                (INF, 0.0),
                (-INF, -0.0),
                (NAN, NAN),
                (f32::MAX, 0.0),
                (-f32::MAX, -0.0),
                (-4.0, -0.25),
            ],
        ),
        (
            "rsq",
            tested::rsq_f32,
            &[(0.0, INF), (-0.0, -INF), (tiny, INF), (-1.0, NAN), (INF, 0.0), (NAN, NAN)],
        ),
        (
            "sqrt",
            tested::sqrt_f32,
            &[
                (0.0, 0.0),
                (-0.0, -0.0),
                (tiny, 0.0),
                (-tiny, -0.0),
                (-1.0, NAN),
                (-INF, NAN),
                (INF, INF),
                (NAN, NAN),
            ],
        ),
        (
            "sin",
            tested::sin_f32,
            &[
                (0.0, 0.0),
                (-0.0, -0.0),
                (tiny, 0.0),
                (0.25, 1.0),
                (0.5, 0.0),
                (0.75, -1.0),
                (-0.25, -1.0),
                (256.0, 0.0),
                (256.25, 0.0),
                (-300.25, 0.0),
                (INF, NAN),
                (-INF, NAN),
                (NAN, NAN),
            ],
        ),
        (
            "cos",
            tested::cos_f32,
            &[
                (0.0, 1.0),
                (-tiny, 1.0),
                (0.25, 0.0),
                (0.5, -1.0),
                (-0.5, -1.0),
                (256.0, 1.0),
                (256.5, 1.0),
                (INF, NAN),
                (NAN, NAN),
            ],
        ),
    ];
    for (name, function, cases) in cases {
        for &(x, expected) in cases {
            assert_same(name, x, function(x), expected);
        }
    }
}

#[test]
fn every_f16_is_correctly_rounded() {
    type Case = (&'static str, fn(u16) -> u16, fn(f64) -> f64);
    let functions: [Case; 7] = [
        ("exp2", tested::exp2_f16, f64::exp2),
        ("log2", tested::log2_f16, f64::log2),
        ("rcp", tested::rcp_f16, f64::recip),
        ("rsq", tested::rsq_f16, |x| 1.0 / x.sqrt()),
        ("sqrt", tested::sqrt_f16, f64::sqrt),
        ("sin", tested::sin_f16, |x| folded(x, 0.0, 0.0)),
        ("cos", tested::cos_f16, |x| folded(x, 0.25, 1.0)),
    ];
    for (name, function, exact) in functions {
        for code in 0..=u16::MAX {
            let got = function(code);
            let exact = exact(f64::from(f32_from_f16(code)));
            let expected = f16_from_f64(exact, RoundMode::NearestEven);
            let same = got == expected || (f32_from_f16(got).is_nan() && exact.is_nan());
            assert!(same, "{name}({code:#06x}): {got:#06x}, expected {expected:#06x}");
        }
    }
}

/// Sine of `x + shift` revolutions; `outside` beyond 256.
fn folded(x: f64, shift: f64, outside: f64) -> f64 {
    if x.abs() > 256.0 && x.is_finite() {
        return outside;
    }
    if shift == 0.0 && x == 0.0 {
        return x;
    }
    let turn = if shift == 0.0 { x - x.round() } else { shift - (x - x.round()).abs() };
    let turn = if turn.abs() > 0.25 { 0.5_f64.copysign(turn) - turn } else { turn };
    (std::f64::consts::TAU * turn).sin()
}

#[test]
fn f64_functions_are_accurate() {
    let mut random = Random(10);
    for _ in 0..100_000 {
        let bits = u64::from(random.word()) << 32 | u64::from(random.word());
        let x = f64::from_bits(bits & 0x3fff_ffff_ffff_ffff | 0x2000_0000_0000_0000);
        assert_eq!(tested::rcp_f64(x), x.recip());
        assert_eq!(tested::sqrt_f64(x), x.sqrt());
        let y = tested::rsq_f64(x);
        let residual = Double::product(y, y).mul(Double::new(-x)).add(Double::new(1.0));
        assert!(residual.high.abs() < 2_f64.powi(-51), "rsq({x:e}) = {y:e}");
    }
    assert_eq!(tested::rcp_f64(-0.0), f64::NEG_INFINITY);
    assert_eq!(tested::rsq_f64(0.0), f64::INFINITY);
    assert!(tested::sqrt_f64(-1.0).is_nan() && tested::rsq_f64(-1.0).is_nan());
}
