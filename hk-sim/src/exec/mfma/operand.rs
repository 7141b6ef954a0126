//! Bringing the A and B registers into rows that the kernels can stream.
//!
//! Whatever the element type, an operand becomes rows of 32-bit words: row `k` holds the element
//! with inner index `k` of every row (A) or column (B) of every block. A word is an `f32`, or for
//! 8-bit integers a pair of `i16`, so that one row covers two inner indices.

use super::Lanes;
use super::vector::{self, Vector};
use crate::exec::float::{FloatFormat, Specials};
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

/// How the elements of an operand lie in its registers, and where they go.
///
/// Lane `l` belongs to lane group `l / width`; it holds row or column `l % width` (counted through
/// the blocks). Inner indices are dealt to the lane groups in runs of `run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Words that one lane contributes.
    pub(super) words: u8,
    /// Registers.
    pub(super) registers: u8,
    /// Consecutive words of one lane group.
    run: u8,
    /// Words per decoded row: rows or columns of all blocks.
    width: u8,
    /// Position of the first word of each 16 lanes in the decoded rows.
    pub(super) first: [u16; LANE_BLOCKS],
}

/// Lanes are decoded in blocks of 16, one host vector.
const LANE_BLOCKS: usize = 4;

impl Layout {
    /// Layout of `k` elements of `element` in each of `width` rows, in runs of `run` (or in one).
    ///
    /// `paired` puts two elements into a word. An `f64` takes two words, one row each.
    pub(super) fn new(
        k: usize,
        element: Element,
        width: usize,
        run: Option<usize>,
        paired: bool,
    ) -> Self {
        let narrow =
            |value: usize| u8::try_from(value).expect("an operand has at most 32 elements");
        let elements = k * width / 64;
        let words = |elements: usize| match (element, paired) {
            (Element::F64, _) => 2 * elements,
            (_, true) => elements / 2,
            (_, false) => elements,
        };
        let run = words(run.unwrap_or(elements));
        Self {
            words: narrow(words(elements)),
            registers: narrow(elements * element.bits() / 32),
            run: narrow(run),
            width: narrow(width),
            first: std::array::from_fn(|block| {
                let lane = 16 * block;
                (lane / width * run * width + lane % width) as u16
            }),
        }
    }

    /// Decoded rows.
    pub(super) fn rows(self) -> usize {
        usize::from(self.words) * 64 / usize::from(self.width)
    }

    /// Calls `put` with each word number and the distance of its rows from those of the first word.
    #[inline(always)]
    pub(super) fn for_each(self, mut put: impl FnMut(usize, usize)) {
        let [words, run, width] = [self.words, self.run, self.width].map(usize::from);
        let (mut word, mut distance) = (0, 0);
        while word < words {
            for _ in 0..run {
                put(word, distance);
                word += 1;
                distance += width;
            }
            // Skip the runs of the other lane groups.
            distance += run * (64 - width);
        }
    }
}

/// Decodes the registers at the first pointer into rows at the second; the last argument is the
/// MODE register.
pub(super) type DecodeFn = unsafe fn(Layout, *const Lanes, *mut u32, u32);

/// The decoder of an element type. `paired` asks for two 8-bit integers per word.
pub(super) fn decoder(element: Element, paired: bool, level: SimdLevel) -> DecodeFn {
    match element {
        Element::F64 => at_level::<Plain<false>>(level),
        Element::F32 => at_level::<Plain<true>>(level),
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

/// Decoding of one element type, written once for all levels.
///
/// Registers are named by a pointer to the first; words are numbered as in [`Layout::for_each`].
trait Decode {
    /// Whether [`Decode::vector`] gives wrong results for a register.
    ///
    /// # Safety
    ///
    /// `register` must be valid for reads, and the host must have the instructions of `V`.
    #[inline(always)]
    unsafe fn needs_scalar<V: Vector>(_register: *const Lanes, _mode: u32) -> bool {
        false
    }

    /// Word `word` of `V::LANES` lanes from `lane` on.
    ///
    /// # Safety
    ///
    /// `from` must be valid for reads of the registers of the operand, and the host must have the
    /// instructions of `V`.
    unsafe fn vector<V: Vector>(from: *const Lanes, word: usize, lane: usize) -> V;

    /// Word `word` of one lane, whatever it is.
    fn scalar(from: &[Lanes], word: usize, lane: usize) -> u32;
}

fn at_level<D: Decode>(level: SimdLevel) -> DecodeFn {
    match level {
        #[cfg(target_arch = "x86_64")]
        SimdLevel::Avx512 => avx512::<D>,
        #[cfg(target_arch = "x86_64")]
        SimdLevel::Avx2 => avx2::<D>,
        _ => decode::<D, vector::Portable>,
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn avx512<D: Decode>(layout: Layout, from: *const Lanes, to: *mut u32, mode: u32) {
    // SAFETY: the contract is that of `DecodeFn`.
    unsafe { decode::<D, vector::Avx512>(layout, from, to, mode) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn avx2<D: Decode>(layout: Layout, from: *const Lanes, to: *mut u32, mode: u32) {
    // SAFETY: the contract is that of `DecodeFn`.
    unsafe { decode::<D, vector::Avx2>(layout, from, to, mode) }
}

/// The body of a [`DecodeFn`].
///
/// # Safety
///
/// `from` must be valid for reads of `layout.registers` registers and `to` for writes of
/// [`ROW_WORDS`] words, and the host must have the instructions of `V`.
#[inline(always)]
unsafe fn decode<D: Decode, V: Vector>(
    layout: Layout,
    from: *const Lanes,
    to: *mut u32,
    mode: u32,
) {
    let first = layout.first.map(usize::from);
    let position = |lane: usize| first[lane / 16] + lane % 16;
    let registers = usize::from(layout.registers);
    // SAFETY: the caller's promises; a layout has at most 32 words per lane, so every position is
    // within `ROW_WORDS`.
    unsafe {
        if (0..registers).any(|register| D::needs_scalar::<V>(from.add(register), mode)) {
            let from = std::slice::from_raw_parts(from, registers);
            layout.for_each(|word, distance| {
                for lane in 0..64 {
                    to.add(position(lane) + distance).write(D::scalar(from, word, lane));
                }
            });
        } else {
            layout.for_each(|word, distance| {
                for lane in (0..64).step_by(V::LANES) {
                    D::vector::<V>(from, word, lane).store(to.add(position(lane) + distance));
                }
            });
        }
    }
}

/// Lanes from `lane` on of a register.
///
/// # Safety
///
/// `from` must be valid for reads of that register, and the host must have the instructions of `V`.
#[inline(always)]
unsafe fn load<V: Vector>(from: *const Lanes, register: usize, lane: usize) -> V {
    // SAFETY: the caller's promise.
    unsafe { V::load(from.add(register).cast::<u32>().add(lane)) }
}

/// Whether `test` gives a bit for any lanes of a register.
///
/// # Safety
///
/// As for [`Decode::needs_scalar`].
#[inline(always)]
unsafe fn any_lane<V: Vector>(register: *const Lanes, test: impl Fn(V) -> V) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let mut seen = V::splat(0);
        for lane in (0..64).step_by(V::LANES) {
            seen = seen.or(test(load::<V>(register, 0, lane)));
        }
        seen.any_bit()
    }
}

/// Whole words: `f32`, whose denormals are flushed when MODE says so, or halves of `f64`.
struct Plain<const FLUSH: bool>;

impl<const FLUSH: bool> Decode for Plain<FLUSH> {
    #[inline(always)]
    unsafe fn needs_scalar<V: Vector>(_register: *const Lanes, mode: u32) -> bool {
        FLUSH && mode & MODE_F32_DENORM_INPUT == 0
    }

    #[inline(always)]
    unsafe fn vector<V: Vector>(from: *const Lanes, word: usize, lane: usize) -> V {
        // SAFETY: the caller's promise.
        unsafe { load(from, word, lane) }
    }

    fn scalar(from: &[Lanes], word: usize, lane: usize) -> u32 {
        let bits = from[word][lane];
        if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
    }
}

/// `xf32`: an `f32` rounded to ten mantissa bits.
struct Tensor;

impl Decode for Tensor {
    #[inline(always)]
    unsafe fn needs_scalar<V: Vector>(register: *const Lanes, _mode: u32) -> bool {
        // A carry out of the mantissa would turn a NaN into a number: infinities and NaNs carry
        // into the sign bit here, nothing else does.
        // SAFETY: the caller's promise.
        unsafe {
            any_lane::<V>(register, |bits| {
                let magnitude = bits.and(V::splat(0x7fff_ffff));
                magnitude.add(V::splat(0x0080_0000)).and(V::splat(0x8000_0000))
            })
        }
    }

    #[inline(always)]
    unsafe fn vector<V: Vector>(from: *const Lanes, word: usize, lane: usize) -> V {
        // SAFETY: the caller's promise.
        unsafe {
            let bits = load::<V>(from, word, lane);
            let odd = bits.shift_right(13).and(V::splat(1));
            bits.add(V::splat(0xfff)).add(odd).and(V::splat(!0x1fff))
        }
    }

    fn scalar(from: &[Lanes], word: usize, lane: usize) -> u32 {
        let bits = from[word][lane];
        if bits & 0x7fff_ffff > 0x7f80_0000 {
            bits
        } else {
            (bits + 0xfff + (bits >> 13 & 1)) & !0x1fff
        }
    }
}

/// `bf16`: the upper half of an `f32`.
struct Brain;

impl Decode for Brain {
    #[inline(always)]
    unsafe fn vector<V: Vector>(from: *const Lanes, word: usize, lane: usize) -> V {
        let shift = 16 - 16 * (word as u32 % 2);
        // SAFETY: the caller's promise.
        unsafe { load::<V>(from, word / 2, lane).shift_left(shift).and(V::splat(0xffff_0000)) }
    }

    fn scalar(from: &[Lanes], word: usize, lane: usize) -> u32 {
        from[word / 2][lane] << (16 - 16 * (word % 2)) & 0xffff_0000
    }
}

/// 8-bit integers, two per word: bytes 0 and 2, or 1 and 3, of a register.
///
/// Integer sums do not depend on their order, so it does not matter that the two inner indices of
/// a word are not neighbours.
struct BytePair;

impl Decode for BytePair {
    #[inline(always)]
    unsafe fn vector<V: Vector>(from: *const Lanes, word: usize, lane: usize) -> V {
        // SAFETY: the caller's promise.
        unsafe {
            let bits = load::<V>(from, word / 2, lane).shift_right(8 * (word as u32 % 2));
            let low = bits.shift_left(24).shift_right_signed(8).shift_right(16);
            let high = bits.shift_left(8).shift_right_signed(8).and(V::splat(0xffff_0000));
            low.or(high)
        }
    }

    fn scalar(from: &[Lanes], word: usize, lane: usize) -> u32 {
        let bits = from[word / 2][lane] >> (8 * (word % 2));
        let [low, high] = [bits, bits >> 16].map(|bits| u32::from(bits as i8 as u16));
        low | high << 16
    }
}

/// 8-bit integers, one per word, as a pair of `i16` whose upper half is zero.
struct Byte;

impl Decode for Byte {
    #[inline(always)]
    unsafe fn vector<V: Vector>(from: *const Lanes, word: usize, lane: usize) -> V {
        let shift = 24 - 8 * (word as u32 % 4);
        // SAFETY: the caller's promise.
        unsafe {
            let top = load::<V>(from, word / 4, lane).shift_left(shift);
            top.shift_right_signed(8).shift_right(16)
        }
    }

    fn scalar(from: &[Lanes], word: usize, lane: usize) -> u32 {
        u32::from((from[word / 4][lane] >> (8 * (word % 4))) as i8 as u16)
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
}

impl<F: SmallFormat> Decode for Small<F> {
    #[inline(always)]
    unsafe fn needs_scalar<V: Vector>(register: *const Lanes, _mode: u32) -> bool {
        // Infinities and NaNs are found by a carry into the sign bits of the codes.
        let ones = u32::MAX / ((1 << Self::BITS) - 1);
        let signs = ones << (Self::BITS - 1);
        let largest = F::FORMAT.max_code();
        let distance = ones * (F::FORMAT.sign_bit() - 1 - largest);
        // SAFETY: the caller's promise.
        unsafe {
            match F::FORMAT.specials {
                Specials::Finite => false,
                Specials::Ieee | Specials::NanAtMax => any_lane::<V>(register, |bits| {
                    bits.and(V::splat(!signs)).add(V::splat(distance)).and(V::splat(signs))
                }),
                // The code of -0 has the sign bit, and its magnitude is the one without a carry.
                Specials::NanAtMinusZero => any_lane::<V>(register, |bits| {
                    let carries = bits.and(V::splat(!signs)).add(V::splat(!signs));
                    bits.and(V::splat(signs)).and_not(carries)
                }),
            }
        }
    }

    /// With the fields moved to their `f32` places the value is wrong by a power of two only,
    /// denormals included, and a multiplication repairs it without rounding.
    #[inline(always)]
    unsafe fn vector<V: Vector>(from: *const Lanes, word: usize, lane: usize) -> V {
        let first = word * Self::BITS;
        let (register, shift) = (first / 32, first % 32);
        // SAFETY: the caller's promise; a code that straddles two registers has both.
        unsafe {
            let low = load::<V>(from, register, lane);
            // Only 6-bit codes straddle two registers.
            let top = if 32 % Self::BITS != 0 && shift + Self::BITS > 32 {
                let high = load::<V>(from, register + 1, lane);
                let low = low.shift_right((shift + Self::BITS - 32) as u32);
                low.or(high.shift_left((64 - Self::BITS - shift) as u32))
            } else {
                low.shift_left((32 - Self::BITS - shift) as u32)
            };
            let fields = top.shift_right_signed(Self::SHIFT).and(V::splat(Self::MASK));
            fields.mul(V::splat(Self::SCALE.to_bits()))
        }
    }

    fn scalar(from: &[Lanes], word: usize, lane: usize) -> u32 {
        let first = word * Self::BITS;
        let (register, shift) = (first / 32, first % 32);
        let high = from.get(register + 1).map_or(0, |register| register[lane]);
        let both = u64::from(from[register][lane]) | u64::from(high) << 32;
        F::FORMAT.decode((both >> shift) as u32).to_bits()
    }
}
