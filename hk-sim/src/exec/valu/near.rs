//! Transcendental functions of sixteen lanes at a time, for hosts with AVX-512.
//!
//! Each is computed in `f64` with a relative error below 2^-39, and says for which lanes that decides
//! how to round to `f32`. If a lane of a wave is in doubt, or its operand special, the kernel that is
//! always right computes the wave: the results are the same, and one wave in a few hundred is slow.
//!
//! Polynomials are Chebyshev fits computed with 240 bits.

use std::arch::x86_64::*;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::lane::{Kernel, LaneArgs, Level, avx512, write_rows};
use crate::exec::WAVE;

/// Table of sixteen entries, aligned for vector loads.
#[repr(align(64))]
struct Table([f64; 16]);

/// `2^t` for `|t| <= 1/2`.
const EXP2: [f64; 9] = [
    1.0,
    0.693_147_180_545_933_5,
    0.240_226_506_958_129_9,
    0.055_504_109_412_059_33,
    0.009_618_129_159_402_558,
    0.001_333_345_056_800_064_5,
    0.000_154_034_558_524_538_38,
    1.531_007_940_224_929_6e-05,
    1.325_522_487_866_881_7e-06,
];

/// `sin(2 pi r) / r` in powers of `r^2`, for `|r| <= 1/4`.
const SIN: [f64; 7] = [
    6.283_185_307_179_27,
    -41.341_702_239_903_675,
    81.605_249_149_015_83,
    -76.705_847_543_773_26,
    42.058_134_871_372_054,
    -15.081_483_206_893,
    3.665_855_159_563_961_2,
];

/// `log2(1 + r) / r` for `-1/32 <= r <= 1/16`.
const LOG2: [f64; 7] = [
    1.442_695_040_889_845_1,
    -0.721_347_520_299_138_4,
    0.480_898_335_189_872_57,
    -0.360_674_255_147_469_5,
    0.288_566_857_916_366_1,
    -0.240_263_393_359_345_07,
    0.187_970_927_992_001_4,
];

/// Reciprocal of a middle of each sixteenth of `[1, 2)`; doubled from 3/2 on, where the mantissa is
/// halved, and 1 next to 1, so that `log2` is accurate there.
static RECIPROCAL: Table = Table([
    1.0,
    0.914_285_714_285_714_3,
    0.864_864_864_864_864_9,
    0.820_512_820_512_820_5,
    0.780_487_804_878_048_8,
    0.744_186_046_511_627_9,
    0.711_111_111_111_111_1,
    0.680_851_063_829_787_2,
    1.306_122_448_979_591_7,
    1.254_901_960_784_313_7,
    1.207_547_169_811_320_7,
    1.163_636_363_636_363_6,
    1.122_807_017_543_859_6,
    1.084_745_762_711_864_4,
    1.049_180_327_868_852_5,
    1.0,
]);

/// `log2` of these middles.
static LOG2_MIDDLE: Table = Table([
    0.0,
    0.129_283_016_944_966_5,
    0.209_453_365_628_949_7,
    0.285_402_218_862_248_37,
    0.357_552_004_618_083_6,
    0.426_264_754_702_097_96,
    0.491_853_096_329_674_67,
    0.554_588_851_677_637_4,
    0.614_709_844_115_208_3,
    0.672_425_341_971_495_6,
    0.727_920_454_563_199_2,
    0.781_359_713_524_659_7,
    0.832_890_014_164_741_7,
    0.882_643_049_361_841_2,
    0.930_737_337_562_886_2,
    1.0,
]);

/// Units in the last place by which an `f64` may be wrong: a relative error of at least 2^-39.
const MARGIN: i32 = 1 << 14;
/// The middle between two `f32`, in the low bits of an `f64`.
const MIDDLE: i32 = 1 << 28;

/// Sixteen `f64`.
type Doubles = [__m512d; 2];

/// Function of sixteen lanes.
pub(super) trait Near {
    /// Operands that are special, as this function notes them, are no less than this.
    const BOUND: u32;

    /// The values; notes in `doubts` whether they are certain.
    ///
    /// # Safety
    /// The host has AVX-512 F and DQ.
    unsafe fn near(x: __m512, doubts: &mut Doubts) -> __m512;
}

/// What tells whether all lanes so far are certain; in vectors, since masks cost more.
pub(super) struct Doubts {
    /// Zero in a lane where a result was in doubt.
    distance: __m512i,
    /// The greatest operand of a lane, as each function counts it.
    operand: __m512i,
}

impl Doubts {
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn none() -> Self {
        Self { distance: _mm512_set1_epi32(-1), operand: _mm512_setzero_si512() }
    }

    /// Notes what is zero where a result is in doubt.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn distance(&mut self, distance: __m512i) {
        self.distance = _mm512_min_epu32(self.distance, distance);
    }

    /// Notes operands.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn operand(&mut self, bits: __m512i) {
        self.operand = _mm512_max_epu32(self.operand, bits);
    }
}

/// Kernel of `N` if that is certain in all lanes, else `K`; for the level of AVX-512 alone.
pub(super) struct Hasty<N, K>(PhantomData<(N, K)>);

impl<N: Near, K: Kernel> Kernel for Hasty<N, K> {
    #[inline(always)]
    unsafe fn run<L: Level>(args: &LaneArgs) -> u64 {
        let source = args.src[0].cast::<f32>();
        // SAFETY: the caller's promise: rows of 64 words, and a host with AVX-512.
        unsafe {
            let mut doubts = Doubts::none();
            let mut values = [_mm512_setzero_ps(); WAVE / 16];
            for (at, values) in values.iter_mut().enumerate() {
                *values = N::near(_mm512_loadu_ps(source.add(16 * at)), &mut doubts);
            }
            let near = _mm512_testn_epi32_mask(doubts.distance, doubts.distance);
            let special =
                _mm512_cmpge_epu32_mask(doubts.operand, _mm512_set1_epi32(N::BOUND as i32));
            if near | special != 0 {
                return args.call(avx512::<K>);
            }
            write_rows::<L>(values.as_ptr().cast(), args.dst, 1, args.exec);
        }
        0
    }
}

/// Goes through memory, because a conversion of what is loaded costs one operation, but of half a
/// register three; the compiler would make those of it.
#[target_feature(enable = "avx512f,avx512dq")]
#[inline]
fn widen(x: __m512) -> Doubles {
    let mut words = MaybeUninit::<__m512>::uninit();
    // SAFETY: the halves are of what was written.
    let [low, high] = unsafe {
        words.as_mut_ptr().write_volatile(x);
        words.as_ptr().cast::<[__m256; 2]>().read()
    };
    [_mm512_cvtps_pd(low), _mm512_cvtps_pd(high)]
}

/// Rounds to `f32`, and notes whether the result would be the same if the operand were wrong by
/// [`MARGIN`].
#[target_feature(enable = "avx512f,avx512dq")]
#[inline]
fn narrow([low, high]: Doubles, doubts: &mut Doubts) -> __m512 {
    let rounded = _mm512_castps256_ps512(_mm512_cvtpd_ps(low));
    let rounded = _mm512_insertf32x8::<1>(rounded, _mm512_cvtpd_ps(high));
    // The low words, in whatever order.
    let low_bits = _mm512_shuffle_ps::<0x88>(_mm512_castpd_ps(low), _mm512_castpd_ps(high));
    let low_bits = _mm512_castps_si512(low_bits);
    // Zero in the bits above the margin exactly if it is within the margin of the middle.
    let shifted = _mm512_add_epi32(low_bits, _mm512_set1_epi32(MIDDLE + MARGIN));
    let above = _mm512_set1_epi32(2 * MIDDLE - 2 * MARGIN);
    doubts.distance(_mm512_and_si512(shifted, above));
    rounded
}

#[target_feature(enable = "avx512f,avx512dq")]
#[inline]
fn polynomial<const N: usize>(coefficients: &[f64; N], x: __m512d) -> __m512d {
    let mut sum = _mm512_set1_pd(coefficients[N - 1]);
    for coefficient in coefficients[..N - 1].iter().rev() {
        sum = _mm512_fmadd_pd(sum, x, _mm512_set1_pd(*coefficient));
    }
    sum
}

/// The entry of a table that the low four bits of each index name.
#[target_feature(enable = "avx512f,avx512dq")]
#[inline]
fn look_up(table: &Table, index: __m512i) -> __m512d {
    let (low, high) = table.0.split_at(8);
    // SAFETY: both halves have eight entries.
    let (low, high) = unsafe { (_mm512_load_pd(low.as_ptr()), _mm512_load_pd(high.as_ptr())) };
    _mm512_permutex2var_pd(low, index, high)
}

/// Notes operands of which those are special that are no positive, finite, normal numbers.
#[target_feature(enable = "avx512f,avx512dq")]
#[inline]
fn positive(x: __m512, doubts: &mut Doubts) {
    doubts.operand(_mm512_sub_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x0080_0000)));
}

/// `x` rounded to a multiple of a power of two, with the integer in its low bits, and what that
/// leaves: exact, for `unit` 1.5 times 2^23 such powers and `|x|` below 2^21 of them.
#[target_feature(enable = "avx512f,avx512dq")]
#[inline]
fn split(x: __m512, unit: f32) -> (__m512i, __m512) {
    let unit = _mm512_set1_ps(unit);
    let shifted = _mm512_add_ps(x, unit);
    (_mm512_castps_si512(shifted), _mm512_sub_ps(x, _mm512_sub_ps(shifted, unit)))
}

/// 1.5 times 2^23.
const ONE: f32 = 12_582_912.0;

/// `2^x`, 0 below -126 and in doubt from 127.5 on.
pub(super) struct Exp2;

impl Near for Exp2 {
    const BOUND: u32 = 1;
    #[target_feature(enable = "avx512f,avx512dq")]
    #[inline]
    unsafe fn near(x: __m512, doubts: &mut Doubts) -> __m512 {
        let (whole, fraction) = split(x, ONE);
        let [low, high] = widen(fraction);
        let power = narrow([polynomial(&EXP2, low), polynomial(&EXP2, high)], doubts);
        let large = _mm512_cmp_ps_mask::<_CMP_NLT_UQ>(x, _mm512_set1_ps(127.5));
        doubts.operand = _mm512_mask_set1_epi32(doubts.operand, large, 1);
        // Denormal results are flushed to zero.
        let normal = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(x, _mm512_set1_ps(-126.0));
        let exponent = _mm512_slli_epi32::<23>(whole);
        let scaled = _mm512_maskz_add_epi32(normal, _mm512_castps_si512(power), exponent);
        _mm512_castsi512_ps(scaled)
    }
}

/// `log2(x)` of normal numbers.
pub(super) struct Log2;

impl Near for Log2 {
    const BOUND: u32 = 0x7f00_0000;
    #[target_feature(enable = "avx512f,avx512dq")]
    #[inline]
    unsafe fn near(x: __m512, doubts: &mut Doubts) -> __m512 {
        let [low, high] = widen(x);
        positive(x, doubts);
        narrow([log2(low), log2(high)], doubts)
    }
}

#[target_feature(enable = "avx512f,avx512dq")]
#[inline]
fn log2(x: __m512d) -> __m512d {
    let sixteenth = _mm512_srli_epi64::<48>(_mm512_castpd_si512(x));
    let mantissa = _mm512_getmant_pd::<_MM_MANT_NORM_P75_1P5, _MM_MANT_SIGN_ZERO>(x);
    let r = _mm512_fmsub_pd(mantissa, look_up(&RECIPROCAL, sixteenth), _mm512_set1_pd(1.0));
    let whole = _mm512_add_pd(_mm512_getexp_pd(x), look_up(&LOG2_MIDDLE, sixteenth));
    _mm512_fmadd_pd(polynomial(&LOG2, r), r, whole)
}

/// `1 / sqrt(x)` of normal numbers.
pub(super) struct Rsq;

impl Near for Rsq {
    const BOUND: u32 = 0x7f00_0000;
    #[target_feature(enable = "avx512f,avx512dq")]
    #[inline]
    unsafe fn near(x: __m512, doubts: &mut Doubts) -> __m512 {
        let ([low, high], [first, second]) = (widen(x), widen(_mm512_rsqrt14_ps(x)));
        positive(x, doubts);
        narrow([refine_rsq(low, first), refine_rsq(high, second)], doubts)
    }
}

/// From an estimate that is good to 2^-14, by two terms of the series in its error.
#[target_feature(enable = "avx512f,avx512dq")]
#[inline]
fn refine_rsq(x: __m512d, estimate: __m512d) -> __m512d {
    let square = _mm512_mul_pd(x, estimate);
    let error = _mm512_fnmadd_pd(square, estimate, _mm512_set1_pd(1.0));
    let factor = polynomial(&[0.5, 0.375], error);
    _mm512_fmadd_pd(estimate, _mm512_mul_pd(error, factor), estimate)
}

/// `sin(2 pi x)` for `|x|` below 256; in doubt where it is zero, whose sign is special.
pub(super) struct Sin;

impl Near for Sin {
    const BOUND: u32 = 256_f32.to_bits();
    #[target_feature(enable = "avx512f,avx512dq")]
    #[inline]
    unsafe fn near(x: __m512, doubts: &mut Doubts) -> __m512 {
        let (half_turns, rest) = split(x, ONE / 2.0);
        doubts.operand(_mm512_castps_si512(_mm512_abs_ps(x)));
        // The exponents of zeros and denormal numbers are zero.
        let infinity = _mm512_set1_epi32(f32::INFINITY.to_bits() as i32);
        doubts.distance(_mm512_and_si512(_mm512_castps_si512(rest), infinity));
        sine(widen(rest), half_turns, doubts)
    }
}

/// `cos(2 pi x)` for `|x|` below 256.
pub(super) struct Cos;

impl Near for Cos {
    const BOUND: u32 = 256_f32.to_bits();
    #[target_feature(enable = "avx512f,avx512dq")]
    #[inline]
    unsafe fn near(x: __m512, doubts: &mut Doubts) -> __m512 {
        let (half_turns, rest) = split(x, ONE / 2.0);
        let quarter = _mm512_set1_pd(0.25);
        let [low, high] = widen(_mm512_abs_ps(rest));
        let folded = [_mm512_sub_pd(quarter, low), _mm512_sub_pd(quarter, high)];
        doubts.operand(_mm512_castps_si512(_mm512_abs_ps(x)));
        sine(folded, half_turns, doubts)
    }
}

/// `sin(2 pi r)` for `|r| <= 1/4`, negated where `half_turns` is odd.
#[target_feature(enable = "avx512f,avx512dq")]
#[inline]
fn sine([low, high]: Doubles, half_turns: __m512i, doubts: &mut Doubts) -> __m512 {
    let value = narrow([odd_sine(low), odd_sine(high)], doubts);
    let sign = _mm512_slli_epi32::<31>(half_turns);
    _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(value), sign))
}

#[target_feature(enable = "avx512f,avx512dq")]
#[inline]
fn odd_sine(r: __m512d) -> __m512d {
    _mm512_mul_pd(polynomial(&SIN, _mm512_mul_pd(r, r)), r)
}
