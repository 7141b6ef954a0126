//! Transposition between lane-major memory and register-major rows.
//!
//! Memory holds the dwords of a lane side by side, the register file the lanes of a dword. A level
//! moves both ways; all levels give the same bytes and store the lanes in ascending order.

#[cfg(target_arch = "x86_64")]
use super::Body;
use super::Places;
#[cfg(target_arch = "x86_64")]
use crate::exec::{Flow, MicroOp, Wave};
use crate::exec::{Lanes, WAVE};

/// Vector level of the transfers.
pub(in crate::exec) trait Level: 'static {
    /// Copies `N` dwords from the address of every lane into `N` rows.
    ///
    /// # Safety
    /// `4 * N` bytes must be readable at every address, and `out` must be `N` writable rows.
    unsafe fn gather<const N: usize>(at: &impl Places, out: *mut Lanes);

    /// Copies `N` rows to the addresses, `N` dwords per lane.
    ///
    /// # Safety
    /// `4 * N` bytes must be writable at every address, and `rows` must be `N` readable rows.
    unsafe fn scatter<const N: usize>(at: &impl Places, rows: *const Lanes);

    /// Transposing read of gfx950: 64 bits of every lane, as elements of `BITS` bits, into two
    /// rows. `false` if the level has no special code for it, then nothing is done.
    ///
    /// # Safety
    /// As for [`Level::gather`] of two dwords.
    unsafe fn transpose<const BITS: usize>(at: &impl Places, out: *mut Lanes) -> bool;
}

/// Level of every host.
pub(in crate::exec) struct Portable;

impl Level for Portable {
    #[inline(always)]
    unsafe fn gather<const N: usize>(at: &impl Places, out: *mut Lanes) {
        if N == 1 && at.are_contiguous(4) {
            // SAFETY: the lanes together are one readable row.
            return unsafe { out.write(at.pointer(0).cast::<Lanes>().read_unaligned()) };
        }
        for lane in 0..WAVE {
            let from = at.pointer(lane).cast::<u32>();
            for index in 0..N {
                // SAFETY: the caller's promise.
                unsafe { (*out.add(index))[lane] = from.add(index).read_unaligned() };
            }
        }
    }

    #[inline(always)]
    unsafe fn scatter<const N: usize>(at: &impl Places, rows: *const Lanes) {
        if N == 1 && at.are_contiguous(4) {
            // SAFETY: the lanes together are one writable row.
            return unsafe { at.pointer(0).cast::<Lanes>().write_unaligned(rows.read()) };
        }
        for lane in 0..WAVE {
            let to = at.pointer(lane).cast::<u32>();
            for index in 0..N {
                // SAFETY: the caller's promise.
                unsafe { to.add(index).write_unaligned((*rows.add(index))[lane]) };
            }
        }
    }

    unsafe fn transpose<const BITS: usize>(_: &impl Places, _: *mut Lanes) -> bool {
        false
    }
}

/// Level of hosts with AVX2: blocks of 8 lanes, transposed in registers.
#[cfg(target_arch = "x86_64")]
pub(in crate::exec) struct Avx2;

/// Runs a body compiled for AVX2.
///
/// # Safety
/// The host must have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn with_avx2<B: Body>(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
    B::run::<Avx2>(wave, op)
}

/// Runs a body compiled for AVX-512. Its blocks are those of AVX2, addresses and masks are faster.
///
/// # Safety
/// The host must have AVX-512 F, BW, DQ and VL.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) unsafe fn with_avx512<B: Body>(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
    B::run::<Avx2>(wave, op)
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{Avx2, Lanes, Level, Places, Portable, WAVE};

    impl Level for Avx2 {
        #[inline(always)]
        unsafe fn gather<const N: usize>(at: &impl Places, out: *mut Lanes) {
            // SAFETY: the caller's promise, and only code for AVX2 hosts uses this level.
            unsafe {
                match N {
                    2 => gather2(at, out.cast()),
                    4 => gather4(at, out.cast()),
                    _ => Portable::gather::<N>(at, out),
                }
            }
        }

        #[inline(always)]
        unsafe fn scatter<const N: usize>(at: &impl Places, rows: *const Lanes) {
            // SAFETY: as above.
            unsafe {
                match N {
                    2 => scatter2(at, rows.cast()),
                    4 => scatter4(at, rows.cast()),
                    _ => Portable::scatter::<N>(at, rows),
                }
            }
        }

        #[inline(always)]
        unsafe fn transpose<const BITS: usize>(at: &impl Places, out: *mut Lanes) -> bool {
            // SAFETY: as above.
            unsafe {
                match BITS {
                    16 => transpose16(at, out.cast()),
                    4 | 8 => transpose8::<BITS>(at, out.cast()),
                    _ => return false,
                }
            }
            true
        }
    }

    /// Two 16-byte values side by side.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn pair(low: *const u8, high: *const u8) -> __m256i {
        // SAFETY: the caller's pointers have 16 readable bytes.
        unsafe { _mm256_loadu2_m128i(high.cast(), low.cast()) }
    }

    /// 4x4 transposition of dwords in both 128-bit halves.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn transpose(a: __m256i, b: __m256i, c: __m256i, d: __m256i) -> [__m256i; 4] {
        let (ab0, ab1) = (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
        let (cd0, cd1) = (_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
        [
            _mm256_unpacklo_epi64(ab0, cd0),
            _mm256_unpackhi_epi64(ab0, cd0),
            _mm256_unpacklo_epi64(ab1, cd1),
            _mm256_unpackhi_epi64(ab1, cd1),
        ]
    }

    #[target_feature(enable = "avx2")]
    unsafe fn gather4(at: &impl Places, out: *mut u32) {
        for block in (0..WAVE).step_by(8) {
            let from = |lane: usize| at.pointer(block + lane).cast_const();
            // SAFETY: 16 bytes are readable at every address, and the rows have 64 dwords.
            unsafe {
                let a = pair(from(0), from(4));
                let b = pair(from(1), from(5));
                let c = pair(from(2), from(6));
                let d = pair(from(3), from(7));
                for (index, row) in transpose(a, b, c, d).into_iter().enumerate() {
                    _mm256_storeu_si256(out.add(index * WAVE + block).cast(), row);
                }
            }
        }
    }

    #[target_feature(enable = "avx2")]
    unsafe fn scatter4(at: &impl Places, rows: *const u32) {
        for block in (0..WAVE).step_by(8) {
            // SAFETY: 16 bytes are writable at every address, and the rows have 64 dwords.
            unsafe {
                let row = |index| _mm256_loadu_si256(rows.add(index * WAVE + block).cast());
                let lanes = transpose(row(0), row(1), row(2), row(3));
                for (lane, value) in lanes.iter().enumerate() {
                    let to = at.pointer(block + lane).cast();
                    _mm_storeu_si128(to, _mm256_castsi256_si128(*value));
                }
                for (lane, value) in lanes.iter().enumerate() {
                    let to = at.pointer(block + 4 + lane).cast();
                    _mm_storeu_si128(to, _mm256_extracti128_si256(*value, 1));
                }
            }
        }
    }

    /// Eight bytes of a lane.
    #[inline]
    unsafe fn word(at: &impl Places, lane: usize) -> i64 {
        // SAFETY: the caller's lanes have 8 readable bytes.
        unsafe { at.pointer(lane).cast::<i64>().read_unaligned() }
    }

    /// Eight bytes of each of two consecutive lanes.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn words(at: &impl Places, lane: usize) -> __m128i {
        // SAFETY: as for `word`.
        unsafe { _mm_set_epi64x(word(at, lane + 1), word(at, lane)) }
    }

    #[target_feature(enable = "avx2")]
    unsafe fn gather2(at: &impl Places, out: *mut u32) {
        for block in (0..WAVE).step_by(8) {
            // SAFETY: 8 bytes are readable at every address, and the rows have 64 dwords.
            unsafe {
                let two = |lane| words(at, block + lane);
                let a = _mm256_castsi256_ps(_mm256_set_m128i(two(4), two(0)));
                let b = _mm256_castsi256_ps(_mm256_set_m128i(two(6), two(2)));
                _mm256_storeu_ps(out.add(block).cast(), _mm256_shuffle_ps(a, b, 0x88));
                _mm256_storeu_ps(out.add(WAVE + block).cast(), _mm256_shuffle_ps(a, b, 0xdd));
            }
        }
    }

    #[target_feature(enable = "avx2")]
    unsafe fn scatter2(at: &impl Places, rows: *const u32) {
        for block in (0..WAVE).step_by(8) {
            // SAFETY: 8 bytes are writable at every address, and the rows have 64 dwords.
            unsafe {
                let low = _mm256_loadu_si256(rows.add(block).cast());
                let high = _mm256_loadu_si256(rows.add(WAVE + block).cast());
                // Lanes 0, 1 | 4, 5 and 2, 3 | 6, 7.
                let a = _mm256_unpacklo_epi32(low, high);
                let b = _mm256_unpackhi_epi32(low, high);
                let parts = [
                    _mm256_castsi256_si128(a),
                    _mm256_castsi256_si128(b),
                    _mm256_extracti128_si256(a, 1),
                    _mm256_extracti128_si256(b, 1),
                ];
                for (index, part) in parts.into_iter().enumerate() {
                    let to = |lane: usize| at.pointer(block + 2 * index + lane);
                    _mm_storel_epi64(to(0).cast(), part);
                    _mm_storeh_pd(to(1).cast(), _mm_castsi128_pd(part));
                }
            }
        }
    }

    /// Per 16 lanes a 4x16 matrix of 16-bit elements, four lanes a row.
    #[target_feature(enable = "avx2")]
    unsafe fn transpose16(at: &impl Places, out: *mut u32) {
        for group in (0..WAVE).step_by(16) {
            // SAFETY: 8 bytes are readable at every address, and the rows have 64 dwords.
            unsafe {
                let row = |row| {
                    let lane = group + 4 * row;
                    _mm256_set_m128i(words(at, lane + 2), words(at, lane))
                };
                for half in 0..2 {
                    let (even, odd) = (row(2 * half), row(2 * half + 1));
                    // Columns 0..4 | 8..12 and 4..8 | 12..16.
                    let low = _mm256_unpacklo_epi16(even, odd);
                    let high = _mm256_unpackhi_epi16(even, odd);
                    let to = out.add(half * WAVE + group);
                    _mm256_storeu_si256(to.cast(), _mm256_permute2x128_si256(low, high, 0x20));
                    _mm256_storeu_si256(
                        to.add(8).cast(),
                        _mm256_permute2x128_si256(low, high, 0x31),
                    );
                }
            }
        }
    }

    /// Per 16 lanes an 8x16 matrix of bytes, two lanes a row; or a 16x16 matrix of nibbles, one
    /// lane a row, of which two rows become one of bytes.
    #[target_feature(enable = "avx2")]
    unsafe fn transpose8<const BITS: usize>(at: &impl Places, out: *mut u32) {
        for group in (0..WAVE).step_by(16) {
            // SAFETY: 8 bytes are readable at every address, and the rows have 64 dwords.
            unsafe {
                let row = |row: usize| {
                    let pair = words(at, group + 2 * row);
                    if BITS == 8 {
                        return pair;
                    }
                    let low = _mm_and_si128(pair, _mm_set1_epi8(15));
                    let high = _mm_and_si128(_mm_srli_epi16(pair, 4), _mm_set1_epi8(15));
                    let even = _mm_unpacklo_epi8(low, high);
                    let odd = _mm_unpackhi_epi8(low, high);
                    _mm_or_si128(even, _mm_slli_epi16(odd, 4))
                };
                for half in 0..2 {
                    let first = 4 * half;
                    let (a, b) = (row(first), row(first + 1));
                    let (c, d) = (row(first + 2), row(first + 3));
                    let to = out.add(half * WAVE + group);
                    let (ab, cd) = (_mm_unpacklo_epi8(a, b), _mm_unpacklo_epi8(c, d));
                    _mm_storeu_si128(to.cast(), _mm_unpacklo_epi16(ab, cd));
                    _mm_storeu_si128(to.add(4).cast(), _mm_unpackhi_epi16(ab, cd));
                    let (ab, cd) = (_mm_unpackhi_epi8(a, b), _mm_unpackhi_epi8(c, d));
                    _mm_storeu_si128(to.add(8).cast(), _mm_unpacklo_epi16(ab, cd));
                    _mm_storeu_si128(to.add(12).cast(), _mm_unpackhi_epi16(ab, cd));
                }
            }
        }
    }
}
