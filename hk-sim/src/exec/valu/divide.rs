//! The steps of a division that the hardware helps with: scaling, fused refinement, fix-up.
//!
//! The compiler's sequence scales numerator and denominator with `v_div_scale` so that no step of
//! the refinement overflows or loses bits, `v_div_fmas` undoes the scaling of the quotient, and
//! `v_div_fixup` puts in the special cases.

use rustc_apfloat::ieee::{Double, Quad, Single};
use rustc_apfloat::{Float, FloatConvert, Round, Status};

use super::half::Half;
use super::lane::{
    Bit, Class, Context, Core, Kernel, LaneArgs, Level, cores, map_arith, quiet32, quiet64,
};
use super::soft;
use crate::isa::Op;

/// Scaling of a host format.
macro_rules! scaling {
    ($scale:ident, $fixup:ident, $float:ty, $quiet:ident, $mantissa:literal, $max_exponent:literal,
     $far:literal, $low:literal, $up:expr, $vanish:literal) => {
        /// `v_div_scale`: the operand `x` (the denominator or the numerator), scaled, and whether
        /// `v_div_fmas` must scale the quotient back.
        #[inline(always)]
        fn $scale(x: $float, denominator: $float, numerator: $float) -> ($float, bool) {
            const UP: $float = $up;
            const SMALLEST: $float = <$float>::MIN_POSITIVE;
            let exponent = |x: $float| (x.to_bits() >> $mantissa) as i32 & $max_exponent;
            let distance = exponent(numerator) - exponent(denominator);
            let magnitude = denominator.abs();
            // The quotient is exact, as SMALLEST is a power of two.
            let inverse_denormal = magnitude > 1.0 / SMALLEST && magnitude < <$float>::INFINITY;
            let quotient_denormal =
                (numerator / denominator).abs() < SMALLEST && magnitude < <$float>::INFINITY;
            let same = |y: $float| x.to_bits() == y.to_bits();
            if numerator == 0.0 || denominator == 0.0 {
                return (<$float>::NAN, false);
            }
            if distance >= $far {
                return (if same(denominator) { x * UP } else { x }, true);
            }
            if magnitude < SMALLEST {
                return (x * UP, false);
            }
            if inverse_denormal && quotient_denormal {
                return (if same(denominator) { x / UP } else { x }, true);
            }
            if inverse_denormal {
                return (x / UP, false);
            }
            if quotient_denormal {
                return (if same(numerator) { x * UP } else { x }, true);
            }
            if exponent(numerator) <= $low {
                return (x * UP, false);
            }
            (x, false)
        }

        /// `v_div_fixup`: the quotient with the sign of the operands, or what the special cases of
        /// a division give.
        #[inline(always)]
        fn $fixup(quotient: $float, denominator: $float, numerator: $float) -> $float {
            let exponent = |x: $float| (x.to_bits() >> $mantissa) as i32 & $max_exponent;
            let sign = (denominator.to_bits() ^ numerator.to_bits()) & (-0.0 as $float).to_bits();
            let signed = |x: $float| <$float>::from_bits(x.to_bits() | sign);
            let (bottom, top) = (denominator.abs(), numerator.abs());
            let infinity = <$float>::INFINITY;
            let vanishes = exponent(numerator) - exponent(denominator) < $vanish;
            // Of ordinary operands, only a quotient that overflows ends up as a NaN.
            let result = if quotient.is_nan() { infinity } else { quotient.abs() };
            let result = if vanishes { 0.0 } else { result };
            let result = if bottom == infinity || top == 0.0 { 0.0 } else { result };
            let result = if bottom == 0.0 || top == infinity { infinity } else { result };
            let result = signed(result);
            let undefined =
                (bottom == 0.0 && top == 0.0) || (bottom == infinity && top == infinity);
            let result = if undefined { -<$float>::NAN } else { result };
            let result = if denominator.is_nan() { $quiet(denominator) } else { result };
            if numerator.is_nan() { $quiet(numerator) } else { result }
        }
    };
}

scaling!(scale32, fixup32, f32, quiet32, 23, 0xff, 96, 23, 18_446_744_073_709_551_616.0, -150);
scaling!(
    scale64,
    fixup64,
    f64,
    quiet64,
    52,
    0x7ff,
    768,
    53,
    18_446_744_073_709_551_616.0 * 18_446_744_073_709_551_616.0,
    -1075
);

/// `v_div_fixup_f16`, which has no rule for vanishing quotients.
#[inline(always)]
fn fixup16(quotient: Half, denominator: Half, numerator: Half) -> Half {
    const INFINITY: u16 = 0x7c00;
    let sign = (denominator.0 ^ numerator.0) & 0x8000;
    let (bottom, top) = (denominator.0 & 0x7fff, numerator.0 & 0x7fff);
    let result = if quotient.is_nan() { INFINITY } else { quotient.0 & 0x7fff };
    let result = if bottom == INFINITY || top == 0 { 0 } else { result };
    let result = if bottom == 0 || top == INFINITY { INFINITY } else { result };
    let undefined = (bottom == 0 && top == 0) || (bottom == INFINITY && top == INFINITY);
    let result = if undefined { Half(0xfe00) } else { Half(result | sign) };
    let result = if denominator.is_nan() { denominator.quiet() } else { result };
    if numerator.is_nan() { numerator.quiet() } else { result }
}

/// `fma(a, b, c) * 2^exponent` in the format `T`, rounded once, by way of a format `W` of more
/// than twice its precision.
fn scaled_fma<T, W>(a: T, b: T, c: T, exponent: i32, round: Round) -> T
where
    T: Float + FloatConvert<W>,
    W: Float + FloatConvert<T>,
{
    let wide = |x: T| x.convert(&mut false).value;
    // Rounded to odd, the wide result still says on which side of a boundary it is.
    let sum = wide(a).mul_add_r(wide(b), wide(c), Round::TowardZero);
    if sum.value.is_zero() {
        // Exactly zero; only its sign depends on the rounding mode.
        return a.mul_add_r(b, c, round).value;
    }
    let inexact = sum.status.contains(Status::INEXACT);
    let odd = W::from_bits(sum.value.to_bits() | u128::from(inexact));
    odd.scalbn(exponent).convert_r(round, &mut false).value
}

/// `v_div_fmas`: a fused multiplication and addition whose result is scaled up or down if
/// `v_div_scale` has said so.
///
/// The direction follows from the last operand, the quotient so far: only a large one was scaled
/// down.
trait DivFmas: soft::Soft {
    fn scaled(self, factor: Self, addend: Self, round: Round) -> Self;
    fn host_fma(self, factor: Self, addend: Self) -> Self;
}

macro_rules! div_fmas {
    ($float:ty, $ap:ty, $wide:ty, $scale:literal) => {
        impl DivFmas for $float {
            fn scaled(self, factor: Self, addend: Self, round: Round) -> Self {
                let ap = |x: Self| <$ap>::from_bits(x.to_bits().into());
                let exponent = if addend.abs() >= 2.0 { $scale } else { -$scale };
                let (a, b, c) = (ap(self), ap(factor), ap(addend));
                let result = scaled_fma::<$ap, $wide>(a, b, c, exponent, round);
                Self::from_bits(result.to_bits() as _)
            }

            #[inline(always)]
            fn host_fma(self, factor: Self, addend: Self) -> Self {
                self.mul_add(factor, addend)
            }
        }
    };
}

div_fmas!(f32, Single, Double, 64);
div_fmas!(f64, Double, Quad, 128);

fn scaled_in_mode<T: DivFmas>(cx: Context, a: T, b: T, c: T, Bit(scale): Bit) -> T {
    if scale { a.scaled(b, c, soft::round::<T>(cx)) } else { soft::fma(cx, a, b, c) }
}

/// Kernel of `v_div_fmas`: the vector loop if no lane is scaled and the rounding is the default.
struct Fmas<T>(std::marker::PhantomData<T>);

macro_rules! fmas_kernel {
    ($float:ty) => {
        impl Kernel for Fmas<$float> {
            #[inline(always)]
            unsafe fn run<L: Level>(args: &LaneArgs) -> u64 {
                // SAFETY: the caller's promise; the fourth source is a mask.
                unsafe {
                    let scaled = (*args.src[3]).iter().fold(0, |any, bit| any | bit);
                    let nearest = args.mode >> <$float as soft::Soft>::ROUND_AT & 3 == 0;
                    if scaled == 0 && nearest {
                        map_arith::<L, ($float, $float, $float, Bit), $float>(
                            args,
                            |_, (a, b, c, _)| a.host_fma(b, c),
                        )
                    } else {
                        map_arith::<L, ($float, $float, $float, Bit), $float>(
                            args,
                            |cx, (a, b, c, bit)| scaled_in_mode(cx, a, b, c, bit),
                        )
                    }
                }
            }
        }
    };
}

fmas_kernel!(f32);
fmas_kernel!(f64);

pub(super) const FMAS_CORES: &[Core] = &[
    Core::new::<Fmas<f32>, (f32, f32, f32, Bit), f32>(Op::v_div_fmas_f32, Class::Float)
        .with_round(super::lane::portable::<Fmas<f32>>),
    Core::new::<Fmas<f64>, (f64, f64, f64, Bit), f64>(Op::v_div_fmas_f64, Class::Float)
        .with_round(super::lane::portable::<Fmas<f64>>),
];

pub(super) const CORES: &[Core] = cores! {
    bits v_div_scale_f32(_, a: f32, b: f32, c: f32) -> (f32, bool) = scale32(a, b, c);
    bits v_div_scale_f64(_, a: f64, b: f64, c: f64) -> (f64, bool) = scale64(a, b, c);
    bits v_div_fixup_f32(_, a: f32, b: f32, c: f32) -> f32 = fixup32(a, b, c);
    bits v_div_fixup_f64(_, a: f64, b: f64, c: f64) -> f64 = fixup64(a, b, c);
    bits v_div_fixup_f16(_, a: Half, b: Half, c: Half) -> Half = fixup16(a, b, c);
    bits v_div_fixup_legacy_f16(_, a: Half, b: Half, c: Half) -> Half = fixup16(a, b, c);
};
