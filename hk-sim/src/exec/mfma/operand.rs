//! Bringing the A and B registers into rows that the kernels can stream.
//!
//! Whatever the element type, an operand becomes rows of 32-bit words: row `k` holds the element
//! with inner index `k` of every row (A) or column (B) of every block. A word is an `f32`, or for
//! 8-bit integers a pair of `i16`, so that one row covers two inner indices.

use super::Lanes;
use crate::exec::float::FloatFormat;
use crate::exec::simd::SimdLevel;

/// Words of the largest decoded operand: 32 elements in each of 64 lanes.
pub(super) const ROW_WORDS: usize = 32 * 64;

/// MODE bit that keeps denormal `f32` inputs.
const MODE_F32_DENORM_INPUT: u32 = 1 << 4;

/// Element type of A or B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    F64,
    F32,
    Xf32,
    F16,
    Bf16,
    I8,
    E4m3,
    E4m3Fnuz,
    E5m2,
    E5m2Fnuz,
    E2m3,
    E3m2,
    E2m1,
}

impl Element {
    pub(super) const fn bits(self) -> usize {
        match self {
            Self::F64 => 64,
            Self::F32 | Self::Xf32 => 32,
            Self::F16 | Self::Bf16 => 16,
            Self::I8 | Self::E4m3 | Self::E4m3Fnuz | Self::E5m2 | Self::E5m2Fnuz => 8,
            Self::E2m3 | Self::E3m2 => 6,
            Self::E2m1 => 4,
        }
    }
}

/// How the elements of an operand lie in its registers.
///
/// Lane `l` belongs to lane group `l / width`; it holds row or column `l % width` (counted through
/// the blocks). Inner indices are dealt to the lane groups in runs of `run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Words that one lane contributes.
    pub(super) words: u8,
    /// Registers.
    pub(super) registers: u8,
    /// Consecutive inner indices of one lane group.
    pub(super) run: u8,
    /// Words per decoded row: rows or columns of all blocks.
    pub(super) width: u8,
}

impl Layout {
    /// Layout of `k` elements of `bits` in `width` rows, in runs of `run` (or one run).
    pub(super) fn new(k: usize, bits: usize, width: usize, run: Option<usize>) -> Self {
        let elements = k * width / 64;
        let registers = elements * bits / 32;
        let narrow =
            |value: usize| u8::try_from(value).expect("an operand has at most 32 elements");
        Self {
            words: narrow(elements),
            registers: narrow(registers),
            run: narrow(run.unwrap_or(elements)),
            width: narrow(width),
        }
    }

    /// The same registers when each word takes two elements.
    pub(super) fn paired(self) -> Self {
        Self { words: self.words / 2, run: self.run / 2, ..self }
    }

    /// Decoded rows.
    pub(super) fn rows(self) -> usize {
        usize::from(self.words) * 64 / usize::from(self.width)
    }

    /// Position in the decoded rows of word `word` of each block of 16 lanes.
    #[inline(always)]
    pub(super) fn position(self, word: usize) -> [usize; 4] {
        let [run, width] = [self.run, self.width].map(usize::from);
        let row = word / run * run * (64 / width) + word % run;
        std::array::from_fn(|block| {
            let lane = 16 * block;
            (row + lane / width * run) * width + lane % width
        })
    }
}

/// Decodes the registers at the first pointer into rows at the second; the last argument is the
/// MODE register.
pub(super) type DecodeFn = unsafe fn(Layout, *const Lanes, *mut u32, u32);

/// The decoder of an element type. `paired` asks for two 8-bit integers per word.
pub(super) fn decoder(element: Element, paired: bool, level: SimdLevel) -> DecodeFn {
    match element {
        Element::F64 => at_level::<Double>(level),
        Element::F32 => at_level::<Single>(level),
        Element::Xf32 => at_level::<Tensor>(level),
        Element::F16 => at_level::<Small<F16>>(level),
        Element::Bf16 => at_level::<Brain>(level),
        Element::I8 if paired => at_level::<BytePair>(level),
        Element::I8 => at_level::<Byte>(level),
        Element::E4m3 => at_level::<Small<E4m3>>(level),
        Element::E4m3Fnuz => at_level::<Small<E4m3Fnuz>>(level),
        Element::E5m2 => at_level::<Small<E5m2>>(level),
        Element::E5m2Fnuz => at_level::<Small<E5m2Fnuz>>(level),
        Element::E2m3 => at_level::<Small<E2m3>>(level),
        Element::E3m2 => at_level::<Small<E3m2>>(level),
        Element::E2m1 => at_level::<Small<E2m1>>(level),
    }
}

/// A decoder, written once for all levels.
trait Decode {
    /// # Safety
    ///
    /// `from` must be valid for reads of `layout.registers` registers and `to` for writes of
    /// [`ROW_WORDS`] words.
    unsafe fn decode(layout: Layout, from: *const Lanes, to: *mut u32, mode: u32);
}

fn at_level<D: Decode>(level: SimdLevel) -> DecodeFn {
    match level {
        #[cfg(target_arch = "x86_64")]
        SimdLevel::Avx512 => avx512::<D>,
        #[cfg(target_arch = "x86_64")]
        SimdLevel::Avx2 => avx2::<D>,
        _ => D::decode,
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn avx512<D: Decode>(layout: Layout, from: *const Lanes, to: *mut u32, mode: u32) {
    // SAFETY: the contract is that of `D::decode`.
    unsafe { D::decode(layout, from, to, mode) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn avx2<D: Decode>(layout: Layout, from: *const Lanes, to: *mut u32, mode: u32) {
    // SAFETY: the contract is that of `D::decode`.
    unsafe { D::decode(layout, from, to, mode) }
}

/// Writes each word of each lane where the layout wants it.
///
/// `word(w)(lane)` computes word `w` of a lane. The inner loop has a constant length and no bounds
/// to check, so that it becomes one vector statement.
///
/// # Safety
///
/// `to` must be valid for writes of [`ROW_WORDS`] words.
#[inline(always)]
unsafe fn scatter<W: Fn(usize) -> u32>(layout: Layout, to: *mut u32, word: impl Fn(usize) -> W) {
    for w in 0..usize::from(layout.words) {
        let of_lane = word(w);
        for (block, position) in layout.position(w).into_iter().enumerate() {
            let row: [u32; 16] = std::array::from_fn(|lane| of_lane(16 * block + lane));
            // SAFETY: a layout has at most 32 words per lane, so `position + 16 <= ROW_WORDS`.
            unsafe { to.add(position).cast::<[u32; 16]>().write_unaligned(row) };
        }
    }
}

/// The registers as a slice.
///
/// # Safety
///
/// `from` must be valid for reads of `layout.registers` registers for the life of the slice.
#[inline(always)]
unsafe fn registers<'a>(layout: Layout, from: *const Lanes) -> &'a [Lanes] {
    // SAFETY: the caller's promise; `Lanes` has the alignment of its words.
    unsafe { std::slice::from_raw_parts(from, usize::from(layout.registers)) }
}

/// `f32`; denormals are flushed when MODE says so.
struct Single;

impl Decode for Single {
    #[inline(always)]
    unsafe fn decode(layout: Layout, from: *const Lanes, to: *mut u32, mode: u32) {
        // SAFETY: the caller's promise.
        let from = unsafe { registers(layout, from) };
        let keep = mode & MODE_F32_DENORM_INPUT != 0;
        // SAFETY: the caller's promise.
        unsafe {
            scatter(layout, to, |word| {
                let from = &from[word];
                move |lane| {
                    let bits = from[lane];
                    let flushed = if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits };
                    if keep { bits } else { flushed }
                }
            });
        }
    }
}

/// `xf32`: an `f32` rounded to ten mantissa bits.
struct Tensor;

impl Decode for Tensor {
    #[inline(always)]
    unsafe fn decode(layout: Layout, from: *const Lanes, to: *mut u32, _mode: u32) {
        // SAFETY: the caller's promise.
        let from = unsafe { registers(layout, from) };
        // SAFETY: the caller's promise.
        unsafe {
            scatter(layout, to, |word| {
                let from = &from[word];
                move |lane| {
                    let bits = from[lane];
                    let rounded = bits.wrapping_add(0xfff + (bits >> 13 & 1)) & !0x1fff;
                    // A carry out of the mantissa must not turn a NaN into a number.
                    if bits & 0x7fff_ffff > 0x7f80_0000 { bits } else { rounded }
                }
            });
        }
    }
}

/// `bf16`: the upper half of an `f32`.
struct Brain;

impl Decode for Brain {
    #[inline(always)]
    unsafe fn decode(layout: Layout, from: *const Lanes, to: *mut u32, _mode: u32) {
        // SAFETY: the caller's promise.
        let from = unsafe { registers(layout, from) };
        // SAFETY: the caller's promise.
        unsafe {
            scatter(layout, to, |word| {
                let (from, shift) = (&from[word / 2], 16 - 16 * (word % 2));
                move |lane| (from[lane] << shift) & 0xffff_0000
            });
        }
    }
}

/// 8-bit integers, two per word: bytes 0 and 2, or 1 and 3, of a register.
///
/// Integer sums do not depend on their order, so it does not matter that the two inner indices of
/// a word are not neighbours.
struct BytePair;

impl Decode for BytePair {
    #[inline(always)]
    unsafe fn decode(layout: Layout, from: *const Lanes, to: *mut u32, _mode: u32) {
        // SAFETY: the caller's promise.
        let from = unsafe { registers(layout, from) };
        // SAFETY: the caller's promise.
        unsafe {
            scatter(layout, to, |word| {
                let (from, shift) = (&from[word / 2], 8 * (word % 2));
                move |lane| {
                    let bits = from[lane] >> shift;
                    let low = ((bits << 24) as i32 >> 24) as u32 & 0xffff;
                    let high = ((bits << 8) as i32 >> 8) as u32 & 0xffff_0000;
                    low | high
                }
            });
        }
    }
}

/// 8-bit integers, one per word, as a pair of `i16` whose upper half is zero.
struct Byte;

impl Decode for Byte {
    #[inline(always)]
    unsafe fn decode(layout: Layout, from: *const Lanes, to: *mut u32, _mode: u32) {
        // SAFETY: the caller's promise.
        let from = unsafe { registers(layout, from) };
        // SAFETY: the caller's promise.
        unsafe {
            scatter(layout, to, |word| {
                let (from, shift) = (&from[word / 4], 24 - 8 * (word % 4));
                move |lane| ((from[lane] << shift) as i32 >> 24) as u32 & 0xffff
            });
        }
    }
}

/// `f64`: each pair of registers becomes a row of `f64`, so a row takes two words per element.
struct Double;

impl Decode for Double {
    #[inline(always)]
    unsafe fn decode(layout: Layout, from: *const Lanes, to: *mut u32, _mode: u32) {
        // SAFETY: the caller's promise.
        let from = unsafe { registers(layout, from) };
        for (lane, (low, high)) in from[0].iter().zip(&from[1]).enumerate() {
            let bits = u64::from(*low) | u64::from(*high) << 32;
            // SAFETY: 64 `f64` are 128 words, less than `ROW_WORDS`.
            unsafe { to.cast::<u64>().add(lane).write_unaligned(bits) };
        }
    }
}

/// A float format of at most 16 bits whose exponent is narrower than that of `f32`.
trait SmallFormat {
    const FORMAT: FloatFormat;
}

macro_rules! small_formats {
    ($($name:ident = $format:expr;)*) => {$(
        struct $name;
        impl SmallFormat for $name {
            const FORMAT: FloatFormat = $format;
        }
    )*};
}

small_formats! {
    F16 = FloatFormat::F16;
    E4m3 = FloatFormat::E4M3;
    E4m3Fnuz = FloatFormat::E4M3_FNUZ;
    E5m2 = FloatFormat::E5M2;
    E5m2Fnuz = FloatFormat::E5M2_FNUZ;
    E2m3 = FloatFormat::E2M3;
    E3m2 = FloatFormat::E3M2;
    E2m1 = FloatFormat::E2M1;
}

/// Decoder of a [`SmallFormat`].
struct Small<F>(std::marker::PhantomData<F>);

impl<F: SmallFormat> Small<F> {
    const BITS: usize = F::FORMAT.bits() as usize;
    /// Distance between the exponent of a code whose sign is at bit 31 and that of an `f32`.
    const SHIFT: u32 = 8 - F::FORMAT.exponent_bits;
    /// Sign, exponent and mantissa bits of a code after that shift.
    const MASK: u32 = {
        let magnitude = F::FORMAT.exponent_bits + F::FORMAT.mantissa_bits;
        1 << 31 | ((1 << magnitude) - 1) << (23 - F::FORMAT.mantissa_bits)
    };
    /// Makes up for the difference of the exponent biases.
    const SCALE: f32 = f32::from_bits(((254 - F::FORMAT.bias) as u32) << 23);

    /// Code number `element` of each lane in the uppermost bits of a word, whatever follows it.
    #[inline(always)]
    fn top(from: &[Lanes], element: usize) -> impl Fn(usize) -> u32 {
        let first = element * Self::BITS;
        let (register, shift) = (first / 32, first % 32);
        let low = &from[register];
        // Only 6-bit codes straddle two registers; the others read the same register twice.
        let straddles = 32 % Self::BITS != 0 && shift + Self::BITS > 32;
        let high = if straddles { &from[register + 1] } else { low };
        let (left, right) = if straddles {
            (64 - Self::BITS - shift, shift + Self::BITS - 32)
        } else {
            (32 - Self::BITS - shift, 0)
        };
        move |lane| {
            if straddles { low[lane] >> right | high[lane] << left } else { low[lane] << left }
        }
    }

    /// Whether any code is an infinity or a NaN, which [`Small::number`] does not understand.
    #[inline(always)]
    fn any_special(from: &[Lanes]) -> bool {
        if !F::FORMAT.has_specials() {
            return false;
        }
        let mut seen = 0;
        for register in from {
            for word in register {
                seen |= F::FORMAT.specials_in_word(*word);
            }
        }
        seen != 0
    }

    /// The number whose code is in the uppermost bits.
    ///
    /// With the fields moved to their `f32` places the value is wrong by a power of two only,
    /// denormals included, and a multiplication repairs it without rounding.
    #[inline(always)]
    fn number(top: u32) -> u32 {
        let fields = (top as i32 >> Self::SHIFT) as u32 & Self::MASK;
        (f32::from_bits(fields) * Self::SCALE).to_bits()
    }
}

impl<F: SmallFormat> Decode for Small<F> {
    #[inline(always)]
    unsafe fn decode(layout: Layout, from: *const Lanes, to: *mut u32, _mode: u32) {
        // SAFETY: the caller's promise.
        let from = unsafe { registers(layout, from) };
        if Self::any_special(from) {
            // SAFETY: the caller's promise.
            unsafe {
                scatter(layout, to, |word| {
                    let top = Self::top(from, word);
                    move |lane| F::FORMAT.decode(top(lane) >> (32 - Self::BITS)).to_bits()
                });
            }
        } else {
            // SAFETY: the caller's promise.
            unsafe {
                scatter(layout, to, |word| {
                    let top = Self::top(from, word);
                    move |lane| Self::number(top(lane))
                });
            }
        }
    }
}
