//! What the kernels and handlers do differently at each vector level of the host.

use crate::exec::{Lanes, WAVE};

/// Operations for which the compiler needs help.
///
/// # Safety
/// All require that the host has the level.
pub(super) trait Level {
    /// Bit `n` is set if byte `n`, which is 0 or 1, is.
    unsafe fn movemask(bytes: &[u8; WAVE]) -> u64;

    /// Copies the lanes whose bit in `lanes` is set.
    unsafe fn blend(from: &Lanes, to: &mut Lanes, lanes: u64);

    /// Makes a row of ones and zeros of a lane mask.
    unsafe fn expand(mask: u64, row: &mut Lanes);

    /// Fills a row.
    unsafe fn splat(value: u32, row: &mut Lanes);

    /// `to[n] = from[lanes[n]]`, where bits 4 and 5 of `lanes[n]` are those of `n` if `in_rows`.
    unsafe fn permute(from: &Lanes, to: &mut Lanes, lanes: &Lanes, in_rows: bool);
}

/// Any host.
pub(super) struct Portable;

impl Level for Portable {
    #[inline(always)]
    unsafe fn movemask(bytes: &[u8; WAVE]) -> u64 {
        let (groups, _) = bytes.as_chunks::<8>();
        groups.iter().rev().fold(0, |mask, group| {
            // The product gathers the low bits of the bytes in the top byte.
            let gathered = u64::from_le_bytes(*group).wrapping_mul(0x0102_0408_1020_4080) >> 56;
            mask << 8 | gathered
        })
    }

    #[inline(always)]
    unsafe fn blend(from: &Lanes, to: &mut Lanes, lanes: u64) {
        for (lane, (to, from)) in to.iter_mut().zip(from).enumerate() {
            *to = if lanes >> lane & 1 == 1 { *from } else { *to };
        }
    }

    #[inline(always)]
    unsafe fn expand(mask: u64, row: &mut Lanes) {
        for (lane, word) in row.iter_mut().enumerate() {
            *word = (mask >> lane) as u32 & 1;
        }
    }

    #[inline(always)]
    unsafe fn splat(value: u32, row: &mut Lanes) {
        *row = [value; WAVE];
    }

    #[inline(always)]
    unsafe fn permute(from: &Lanes, to: &mut Lanes, lanes: &Lanes, _in_rows: bool) {
        for (word, &lane) in to.iter_mut().zip(lanes) {
            *word = from[lane as usize % WAVE];
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
#[expect(
    clippy::undocumented_unsafe_blocks,
    reason = "all blocks rely on the trait's promise and stay inside their rows of 64 words"
)]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Lanes, Level, Portable, WAVE};

    /// AVX2 and FMA.
    pub(in super::super) struct Avx2;

    /// Lanes of a 256-bit vector.
    const EIGHT: usize = 8;

    /// All ones in the lanes whose bit in the low byte of `mask` is set.
    #[inline(always)]
    unsafe fn eight_lanes(mask: u64) -> __m256i {
        unsafe {
            let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
            let mask = _mm256_and_si256(_mm256_set1_epi32(mask as i32), bits);
            _mm256_cmpeq_epi32(mask, bits)
        }
    }

    impl Level for Avx2 {
        #[inline(always)]
        unsafe fn movemask(bytes: &[u8; WAVE]) -> u64 {
            let (halves, _) = bytes.as_chunks::<32>();
            let [low, high] = [0, 1].map(|half| unsafe {
                let half = _mm256_loadu_si256(halves[half].as_ptr().cast());
                _mm256_movemask_epi8(_mm256_cmpgt_epi8(half, _mm256_setzero_si256())) as u32
            });
            u64::from(low) | u64::from(high) << 32
        }

        #[inline(always)]
        unsafe fn blend(from: &Lanes, to: &mut Lanes, lanes: u64) {
            for at in (0..WAVE).step_by(EIGHT) {
                unsafe {
                    let mask = eight_lanes(lanes >> at);
                    let new = _mm256_loadu_si256(from.as_ptr().add(at).cast());
                    let to = to.as_mut_ptr().add(at).cast();
                    let old = _mm256_loadu_si256(to);
                    _mm256_storeu_si256(to, _mm256_blendv_epi8(old, new, mask));
                }
            }
        }

        #[inline(always)]
        unsafe fn expand(mask: u64, row: &mut Lanes) {
            for at in (0..WAVE).step_by(EIGHT) {
                unsafe {
                    let ones = _mm256_srli_epi32::<31>(eight_lanes(mask >> at));
                    _mm256_storeu_si256(row.as_mut_ptr().add(at).cast(), ones);
                }
            }
        }

        #[inline(always)]
        unsafe fn splat(value: u32, row: &mut Lanes) {
            for at in (0..WAVE).step_by(EIGHT) {
                unsafe {
                    let all = _mm256_set1_epi32(value as i32);
                    _mm256_storeu_si256(row.as_mut_ptr().add(at).cast(), all);
                }
            }
        }

        #[inline(always)]
        unsafe fn permute(from: &Lanes, to: &mut Lanes, lanes: &Lanes, in_rows: bool) {
            unsafe { Portable::permute(from, to, lanes, in_rows) }
        }
    }

    /// AVX-512.
    pub(in super::super) struct Avx512;

    /// Lanes of a 512-bit vector.
    const SIXTEEN: usize = 16;

    impl Level for Avx512 {
        #[inline(always)]
        unsafe fn movemask(bytes: &[u8; WAVE]) -> u64 {
            unsafe {
                let all = _mm512_loadu_si512(bytes.as_ptr().cast());
                _mm512_test_epi8_mask(all, all)
            }
        }

        #[inline(always)]
        unsafe fn blend(from: &Lanes, to: &mut Lanes, lanes: u64) {
            for at in (0..WAVE).step_by(SIXTEEN) {
                unsafe {
                    let new = _mm512_loadu_si512(from.as_ptr().add(at).cast());
                    let to = to.as_mut_ptr().add(at).cast();
                    let old = _mm512_loadu_si512(to);
                    let mask = (lanes >> at) as __mmask16;
                    _mm512_storeu_si512(to, _mm512_mask_blend_epi32(mask, old, new));
                }
            }
        }

        #[inline(always)]
        unsafe fn expand(mask: u64, row: &mut Lanes) {
            for at in (0..WAVE).step_by(SIXTEEN) {
                unsafe {
                    let ones = _mm512_maskz_set1_epi32((mask >> at) as __mmask16, 1);
                    _mm512_storeu_si512(row.as_mut_ptr().add(at).cast(), ones);
                }
            }
        }

        #[inline(always)]
        unsafe fn splat(value: u32, row: &mut Lanes) {
            for at in (0..WAVE).step_by(SIXTEEN) {
                unsafe {
                    let all = _mm512_set1_epi32(value as i32);
                    _mm512_storeu_si512(row.as_mut_ptr().add(at).cast(), all);
                }
            }
        }

        #[inline(always)]
        unsafe fn permute(from: &Lanes, to: &mut Lanes, lanes: &Lanes, in_rows: bool) {
            if !in_rows {
                return unsafe { Portable::permute(from, to, lanes, in_rows) };
            }
            for at in (0..WAVE).step_by(SIXTEEN) {
                unsafe {
                    let from = _mm512_loadu_si512(from.as_ptr().add(at).cast());
                    // Only the low four bits of an index count.
                    let lanes = _mm512_loadu_si512(lanes.as_ptr().add(at).cast());
                    let moved = _mm512_permutexvar_epi32(lanes, from);
                    _mm512_storeu_si512(to.as_mut_ptr().add(at).cast(), moved);
                }
            }
        }
    }
}
