//! The few vector operations that the matrix kernels need, once per vector level.

/// A host vector of 32-bit lanes, read as `f32`, `u32` or pairs of `i16` by the operation.
///
/// Implementations exist for every [`SimdLevel`](crate::exec::simd::SimdLevel). All methods are
/// inlined into a function that has the instruction set enabled.
///
/// # Safety
///
/// Every method requires that the host has the instruction set of the implementation. Pointers
/// must be valid for `LANES` words (one word for [`Vector::splat_from`]); alignment to 4 suffices.
pub(super) trait Vector: Copy {
    /// Lanes per vector.
    const LANES: usize;
    /// Set of lanes in which a NaN was seen.
    type Nans: Copy;
    /// The empty set.
    const NO_NANS: Self::Nans;

    unsafe fn load(from: *const u32) -> Self;
    unsafe fn store(self, to: *mut u32);
    unsafe fn splat(word: u32) -> Self;
    unsafe fn splat_from(from: *const u32) -> Self;
    /// `self * factor + addend`, rounded once to nearest even.
    unsafe fn mul_add(self, factor: Self, addend: Self) -> Self;
    /// `addend + self.lo * factor.lo + self.hi * factor.hi` on pairs of `i16`, modulo 2^32.
    unsafe fn dot_i16(self, factor: Self, addend: Self) -> Self;
    /// Copies lane `PATTERN & 3` of each group of four lanes to the whole group.
    ///
    /// `PATTERN` repeats the two-bit lane number four times (0x00, 0x55, 0xaa or 0xff).
    unsafe fn quad<const PATTERN: i32>(self) -> Self;
    unsafe fn and(self, other: Self) -> Self;
    unsafe fn or(self, other: Self) -> Self;
    /// `self & !other`.
    unsafe fn and_not(self, other: Self) -> Self;
    /// Integer sum modulo 2^32.
    unsafe fn add(self, other: Self) -> Self;
    /// Shifts by less than 32.
    unsafe fn shift_left(self, bits: u32) -> Self;
    unsafe fn shift_right(self, bits: u32) -> Self;
    unsafe fn shift_right_signed(self, bits: u32) -> Self;
    /// `f32` product.
    unsafe fn mul(self, factor: Self) -> Self;
    /// Whether any bit is set.
    unsafe fn any_bit(self) -> bool;
    /// The `f64` whose low words are in `self` and high words in `high`, in order.
    unsafe fn join(self, high: Self) -> [Self; 2];
    /// The low and the high words of `f64`: the inverse of [`Vector::join`].
    unsafe fn split(pair: [Self; 2]) -> [Self; 2];
    /// Adds the pairs of lanes where the `f64` is a NaN.
    unsafe fn note_double_nans(self, seen: Self::Nans) -> Self::Nans;
    /// The same `f64` in every pair of lanes.
    unsafe fn splat_double(value: f64) -> Self;
    /// `self * factor + addend` of `f64` in pairs of lanes.
    unsafe fn mul_add_double(self, factor: Self, addend: Self) -> Self;
    /// Adds the lanes where `self` or `other` is a NaN.
    unsafe fn note_nans(self, other: Self, seen: Self::Nans) -> Self::Nans;
    unsafe fn any(seen: Self::Nans) -> bool;
}

/// Vector of the portable level; four lanes are one register on every common host.
#[derive(Clone, Copy)]
pub(super) struct Portable([u32; 4]);

impl Portable {
    #[inline(always)]
    fn zip(self, other: Self, function: impl Fn(u32, u32) -> u32) -> Self {
        Self(std::array::from_fn(|lane| function(self.0[lane], other.0[lane])))
    }

    #[inline(always)]
    fn doubles(self) -> [f64; 2] {
        let bits = |pair: usize| u64::from(self.0[pair]) | u64::from(self.0[pair + 1]) << 32;
        [f64::from_bits(bits(0)), f64::from_bits(bits(2))]
    }
}

impl Vector for Portable {
    const LANES: usize = 4;
    type Nans = bool;
    const NO_NANS: bool = false;

    #[inline(always)]
    unsafe fn load(from: *const u32) -> Self {
        // SAFETY: the caller passes a pointer to `LANES` words.
        Self(unsafe { from.cast::<[u32; 4]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u32) {
        // SAFETY: the caller passes a pointer to `LANES` words.
        unsafe { to.cast::<[u32; 4]>().write_unaligned(self.0) }
    }

    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        Self([word; 4])
    }

    #[inline(always)]
    unsafe fn splat_from(from: *const u32) -> Self {
        // SAFETY: the caller passes a pointer to one word.
        Self([unsafe { from.read() }; 4])
    }

    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, addend: Self) -> Self {
        Self(std::array::from_fn(|lane| {
            let product = f32::from_bits(self.0[lane]);
            let (factor, addend) = (f32::from_bits(factor.0[lane]), f32::from_bits(addend.0[lane]));
            product.mul_add(factor, addend).to_bits()
        }))
    }

    #[inline(always)]
    unsafe fn dot_i16(self, factor: Self, addend: Self) -> Self {
        let halves = |word: u32| (i32::from(word as i16), word as i32 >> 16);
        Self(std::array::from_fn(|lane| {
            let (low, high) = halves(self.0[lane]);
            let (factor_low, factor_high) = halves(factor.0[lane]);
            let sum = (low * factor_low).wrapping_add(high * factor_high);
            addend.0[lane].wrapping_add(sum as u32)
        }))
    }

    #[inline(always)]
    unsafe fn quad<const PATTERN: i32>(self) -> Self {
        Self([self.0[(PATTERN & 3) as usize]; 4])
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        self.zip(other, |a, b| a & b)
    }

    #[inline(always)]
    unsafe fn and_not(self, other: Self) -> Self {
        self.zip(other, |a, b| a & !b)
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        self.zip(other, |a, b| a | b)
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        self.zip(other, u32::wrapping_add)
    }

    #[inline(always)]
    unsafe fn shift_left(self, bits: u32) -> Self {
        Self(self.0.map(|word| word << bits))
    }

    #[inline(always)]
    unsafe fn shift_right(self, bits: u32) -> Self {
        Self(self.0.map(|word| word >> bits))
    }

    #[inline(always)]
    unsafe fn shift_right_signed(self, bits: u32) -> Self {
        Self(self.0.map(|word| (word as i32 >> bits) as u32))
    }

    #[inline(always)]
    unsafe fn mul(self, factor: Self) -> Self {
        self.zip(factor, |a, b| (f32::from_bits(a) * f32::from_bits(b)).to_bits())
    }

    #[inline(always)]
    unsafe fn any_bit(self) -> bool {
        self.0 != [0; 4]
    }

    #[inline(always)]
    unsafe fn join(self, high: Self) -> [Self; 2] {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, high.0);
        [Self([a, e, b, f]), Self([c, g, d, h])]
    }

    #[inline(always)]
    unsafe fn split([first, second]: [Self; 2]) -> [Self; 2] {
        let ([a, e, b, f], [c, g, d, h]) = (first.0, second.0);
        [Self([a, b, c, d]), Self([e, f, g, h])]
    }

    #[inline(always)]
    unsafe fn note_double_nans(self, seen: bool) -> bool {
        seen | self.doubles().into_iter().any(f64::is_nan)
    }

    #[inline(always)]
    unsafe fn splat_double(value: f64) -> Self {
        let bits = value.to_bits();
        Self([bits as u32, (bits >> 32) as u32, bits as u32, (bits >> 32) as u32])
    }

    #[inline(always)]
    unsafe fn mul_add_double(self, factor: Self, addend: Self) -> Self {
        let [product, factor, addend] = [self, factor, addend].map(Self::doubles);
        let sums: [u64; 2] =
            std::array::from_fn(|pair| product[pair].mul_add(factor[pair], addend[pair]).to_bits());
        Self(std::array::from_fn(|lane| (sums[lane / 2] >> (lane % 2 * 32)) as u32))
    }

    #[inline(always)]
    unsafe fn note_nans(self, other: Self, seen: bool) -> bool {
        let is_nan = |word: &u32| f32::from_bits(*word).is_nan();
        seen | self.0.iter().chain(&other.0).any(is_nan)
    }

    #[inline(always)]
    unsafe fn any(seen: bool) -> bool {
        seen
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Vector;

    /// Eight lanes.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Avx2(__m256);

    // SAFETY of every block: the caller guarantees AVX2 and FMA and valid pointers, as the trait
    // demands.
    #[expect(clippy::undocumented_unsafe_blocks, reason = "one reason for all, stated above")]
    impl Vector for Avx2 {
        const LANES: usize = 8;
        type Nans = i32;
        const NO_NANS: i32 = 0;

        #[inline(always)]
        unsafe fn load(from: *const u32) -> Self {
            Self(unsafe { _mm256_loadu_ps(from.cast()) })
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut u32) {
            unsafe { _mm256_storeu_ps(to.cast(), self.0) }
        }

        #[inline(always)]
        unsafe fn splat(word: u32) -> Self {
            Self(unsafe { _mm256_castsi256_ps(_mm256_set1_epi32(word as i32)) })
        }

        #[inline(always)]
        unsafe fn splat_from(from: *const u32) -> Self {
            Self(unsafe { _mm256_broadcast_ss(&*from.cast()) })
        }

        #[inline(always)]
        unsafe fn mul_add(self, factor: Self, addend: Self) -> Self {
            Self(unsafe { _mm256_fmadd_ps(self.0, factor.0, addend.0) })
        }

        #[inline(always)]
        unsafe fn dot_i16(self, factor: Self, addend: Self) -> Self {
            unsafe {
                let (left, right) = (_mm256_castps_si256(self.0), _mm256_castps_si256(factor.0));
                let sum = _mm256_madd_epi16(left, right);
                let sum = _mm256_add_epi32(sum, _mm256_castps_si256(addend.0));
                Self(_mm256_castsi256_ps(sum))
            }
        }

        #[inline(always)]
        unsafe fn quad<const PATTERN: i32>(self) -> Self {
            Self(unsafe { _mm256_permute_ps::<PATTERN>(self.0) })
        }

        #[inline(always)]
        unsafe fn and(self, other: Self) -> Self {
            Self(unsafe { _mm256_and_ps(self.0, other.0) })
        }

        #[inline(always)]
        unsafe fn and_not(self, other: Self) -> Self {
            Self(unsafe { _mm256_andnot_ps(other.0, self.0) })
        }

        #[inline(always)]
        unsafe fn or(self, other: Self) -> Self {
            Self(unsafe { _mm256_or_ps(self.0, other.0) })
        }

        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            unsafe {
                let (left, right) = (_mm256_castps_si256(self.0), _mm256_castps_si256(other.0));
                Self(_mm256_castsi256_ps(_mm256_add_epi32(left, right)))
            }
        }

        #[inline(always)]
        unsafe fn shift_left(self, bits: u32) -> Self {
            unsafe {
                let count = _mm_cvtsi32_si128(bits as i32);
                Self(_mm256_castsi256_ps(_mm256_sll_epi32(_mm256_castps_si256(self.0), count)))
            }
        }

        #[inline(always)]
        unsafe fn shift_right(self, bits: u32) -> Self {
            unsafe {
                let count = _mm_cvtsi32_si128(bits as i32);
                Self(_mm256_castsi256_ps(_mm256_srl_epi32(_mm256_castps_si256(self.0), count)))
            }
        }

        #[inline(always)]
        unsafe fn shift_right_signed(self, bits: u32) -> Self {
            unsafe {
                let count = _mm_cvtsi32_si128(bits as i32);
                Self(_mm256_castsi256_ps(_mm256_sra_epi32(_mm256_castps_si256(self.0), count)))
            }
        }

        #[inline(always)]
        unsafe fn mul(self, factor: Self) -> Self {
            Self(unsafe { _mm256_mul_ps(self.0, factor.0) })
        }

        #[inline(always)]
        unsafe fn any_bit(self) -> bool {
            unsafe {
                let bits = _mm256_castps_si256(self.0);
                _mm256_testz_si256(bits, bits) == 0
            }
        }

        #[inline(always)]
        unsafe fn join(self, high: Self) -> [Self; 2] {
            unsafe {
                let even = _mm256_unpacklo_ps(self.0, high.0);
                let odd = _mm256_unpackhi_ps(self.0, high.0);
                let first = _mm256_permute2f128_ps::<0x20>(even, odd);
                [Self(first), Self(_mm256_permute2f128_ps::<0x31>(even, odd))]
            }
        }

        #[inline(always)]
        unsafe fn split([first, second]: [Self; 2]) -> [Self; 2] {
            unsafe {
                let in_order = |words: __m256| {
                    let words = _mm256_castps_pd(words);
                    Self(_mm256_castpd_ps(_mm256_permute4x64_pd::<0xd8>(words)))
                };
                [
                    in_order(_mm256_shuffle_ps::<0x88>(first.0, second.0)),
                    in_order(_mm256_shuffle_ps::<0xdd>(first.0, second.0)),
                ]
            }
        }

        #[inline(always)]
        unsafe fn note_double_nans(self, seen: i32) -> i32 {
            unsafe {
                let value = _mm256_castps_pd(self.0);
                seen | _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_UNORD_Q>(value, value))
            }
        }

        #[inline(always)]
        unsafe fn splat_double(value: f64) -> Self {
            Self(unsafe { _mm256_castpd_ps(_mm256_set1_pd(value)) })
        }

        #[inline(always)]
        unsafe fn mul_add_double(self, factor: Self, addend: Self) -> Self {
            unsafe {
                let [product, factor, addend] =
                    [self, factor, addend].map(|vector| _mm256_castps_pd(vector.0));
                Self(_mm256_castpd_ps(_mm256_fmadd_pd(product, factor, addend)))
            }
        }

        #[inline(always)]
        unsafe fn note_nans(self, other: Self, seen: i32) -> i32 {
            unsafe { seen | _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_UNORD_Q>(self.0, other.0)) }
        }

        #[inline(always)]
        unsafe fn any(seen: i32) -> bool {
            seen != 0
        }
    }

    /// Sixteen lanes.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Avx512(__m512);

    // SAFETY of every block: the caller guarantees AVX-512 F and BW and valid pointers, as the
    // trait demands.
    #[expect(clippy::undocumented_unsafe_blocks, reason = "one reason for all, stated above")]
    impl Vector for Avx512 {
        const LANES: usize = 16;
        type Nans = __mmask16;
        const NO_NANS: __mmask16 = 0;

        #[inline(always)]
        unsafe fn load(from: *const u32) -> Self {
            Self(unsafe { _mm512_loadu_ps(from.cast()) })
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut u32) {
            unsafe { _mm512_storeu_ps(to.cast(), self.0) }
        }

        #[inline(always)]
        unsafe fn splat(word: u32) -> Self {
            Self(unsafe { _mm512_castsi512_ps(_mm512_set1_epi32(word as i32)) })
        }

        #[inline(always)]
        unsafe fn splat_from(from: *const u32) -> Self {
            Self(unsafe { _mm512_set1_ps(*from.cast()) })
        }

        #[inline(always)]
        unsafe fn mul_add(self, factor: Self, addend: Self) -> Self {
            Self(unsafe { _mm512_fmadd_ps(self.0, factor.0, addend.0) })
        }

        #[inline(always)]
        unsafe fn dot_i16(self, factor: Self, addend: Self) -> Self {
            unsafe {
                let (left, right) = (_mm512_castps_si512(self.0), _mm512_castps_si512(factor.0));
                let sum = _mm512_madd_epi16(left, right);
                let sum = _mm512_add_epi32(sum, _mm512_castps_si512(addend.0));
                Self(_mm512_castsi512_ps(sum))
            }
        }

        #[inline(always)]
        unsafe fn quad<const PATTERN: i32>(self) -> Self {
            Self(unsafe { _mm512_permute_ps::<PATTERN>(self.0) })
        }

        #[inline(always)]
        unsafe fn and(self, other: Self) -> Self {
            Self(unsafe { _mm512_and_ps(self.0, other.0) })
        }

        #[inline(always)]
        unsafe fn and_not(self, other: Self) -> Self {
            Self(unsafe { _mm512_andnot_ps(other.0, self.0) })
        }

        #[inline(always)]
        unsafe fn or(self, other: Self) -> Self {
            Self(unsafe { _mm512_or_ps(self.0, other.0) })
        }

        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            unsafe {
                let (left, right) = (_mm512_castps_si512(self.0), _mm512_castps_si512(other.0));
                Self(_mm512_castsi512_ps(_mm512_add_epi32(left, right)))
            }
        }

        #[inline(always)]
        unsafe fn shift_left(self, bits: u32) -> Self {
            unsafe {
                let count = _mm_cvtsi32_si128(bits as i32);
                Self(_mm512_castsi512_ps(_mm512_sll_epi32(_mm512_castps_si512(self.0), count)))
            }
        }

        #[inline(always)]
        unsafe fn shift_right(self, bits: u32) -> Self {
            unsafe {
                let count = _mm_cvtsi32_si128(bits as i32);
                Self(_mm512_castsi512_ps(_mm512_srl_epi32(_mm512_castps_si512(self.0), count)))
            }
        }

        #[inline(always)]
        unsafe fn shift_right_signed(self, bits: u32) -> Self {
            unsafe {
                let count = _mm_cvtsi32_si128(bits as i32);
                Self(_mm512_castsi512_ps(_mm512_sra_epi32(_mm512_castps_si512(self.0), count)))
            }
        }

        #[inline(always)]
        unsafe fn mul(self, factor: Self) -> Self {
            Self(unsafe { _mm512_mul_ps(self.0, factor.0) })
        }

        #[inline(always)]
        unsafe fn any_bit(self) -> bool {
            unsafe {
                let bits = _mm512_castps_si512(self.0);
                _mm512_test_epi32_mask(bits, bits) != 0
            }
        }

        #[inline(always)]
        unsafe fn join(self, high: Self) -> [Self; 2] {
            unsafe {
                let low_half =
                    _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
                let high_half = _mm512_add_epi32(low_half, _mm512_set1_epi32(8));
                [
                    Self(_mm512_permutex2var_ps(self.0, low_half, high.0)),
                    Self(_mm512_permutex2var_ps(self.0, high_half, high.0)),
                ]
            }
        }

        #[inline(always)]
        unsafe fn split([first, second]: [Self; 2]) -> [Self; 2] {
            unsafe {
                let even =
                    _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
                let odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
                [
                    Self(_mm512_permutex2var_ps(first.0, even, second.0)),
                    Self(_mm512_permutex2var_ps(first.0, odd, second.0)),
                ]
            }
        }

        #[inline(always)]
        unsafe fn note_double_nans(self, seen: __mmask16) -> __mmask16 {
            unsafe {
                let value = _mm512_castps_pd(self.0);
                seen | __mmask16::from(_mm512_cmp_pd_mask::<_CMP_UNORD_Q>(value, value))
            }
        }

        #[inline(always)]
        unsafe fn splat_double(value: f64) -> Self {
            Self(unsafe { _mm512_castpd_ps(_mm512_set1_pd(value)) })
        }

        #[inline(always)]
        unsafe fn mul_add_double(self, factor: Self, addend: Self) -> Self {
            unsafe {
                let [product, factor, addend] =
                    [self, factor, addend].map(|vector| _mm512_castps_pd(vector.0));
                Self(_mm512_castpd_ps(_mm512_fmadd_pd(product, factor, addend)))
            }
        }

        #[inline(always)]
        unsafe fn note_nans(self, other: Self, seen: __mmask16) -> __mmask16 {
            unsafe { seen | _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(self.0, other.0) }
        }

        #[inline(always)]
        unsafe fn any(seen: __mmask16) -> bool {
            seen != 0
        }
    }
}
